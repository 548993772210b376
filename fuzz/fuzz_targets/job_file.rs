#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    iosched_experiment::hostile::job_file(text);
});
