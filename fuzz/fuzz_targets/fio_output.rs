#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    iosched::hostile::fio_output(bytes);
});
