#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    iosched::hostile::tables(text);
});
