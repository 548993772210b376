//! What stands in `object/` is what a compiler makes of the sources: the build script is run once more with this compiler.
//! `UPDATE=1` renews what stands there.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

const CLANG: &str = "clang-19";
const NAMES: [&str; 3] = ["iosched.o", "sync.o", "sources"];

#[test]
fn the_kept_objects_are_those_of_the_sources() {
    let update = env::var_os("UPDATE").is_some();
    if Command::new(CLANG).arg("--version").output().is_err() {
        assert!(!update, "{CLANG} cannot be run");
        println!("skipped: {CLANG} is not installed");
        return;
    }
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("object");
    fs::create_dir_all(&made).expect("a directory");
    let output = Command::new(env!("IOSCHED_BPF_BUILD"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("OUT_DIR", &made)
        .env("CLANG", CLANG)
        .output()
        .expect("the build script can be run");
    assert!(output.status.success(), "{output:?}");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("object");
    for name in NAMES {
        let bytes = fs::read(made.join(name)).expect("the build script wrote it");
        if update {
            fs::create_dir_all(&kept).expect("the directory");
            fs::write(kept.join(name), &bytes).expect("it can be written");
        }
        let is_same = fs::read(kept.join(name)).is_ok_and(|kept| kept == bytes);
        assert!(
            is_same,
            "object/{name} is of other sources; UPDATE=1 renews it"
        );
    }
}
