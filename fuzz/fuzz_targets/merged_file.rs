#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    iosched_result::hostile::merged_file(bytes);
});
