#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    iosched_host::hostile::journal(bytes);
});
