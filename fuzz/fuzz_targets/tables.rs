#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    iosched_host::hostile::tables(text);
});
