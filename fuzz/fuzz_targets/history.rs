#![no_main]

libfuzzer_sys::fuzz_target!(|lines: &[u8]| {
    iosched::hostile::history(lines);
});
