#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    iosched::hostile::command_output(text);
});
