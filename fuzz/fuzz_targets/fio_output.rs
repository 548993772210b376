#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    iosched_experiment::hostile::fio_output(bytes);
});
