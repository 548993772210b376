#![no_main]

libfuzzer_sys::fuzz_target!(|lines: &[u8]| {
    iosched_measure::hostile::history(lines);
});
