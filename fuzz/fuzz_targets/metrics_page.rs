#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    iosched_experiment::hostile::metrics_page(text);
});
