//! Compiles the BPF objects and generates their typed skeletons. `CLANG` selects the compiler; `IOSCHED_BPF_WERROR=1` turns
//! warnings into errors.

use std::env;
use std::fs;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

/// Names of clang in the distributions, newest first.
fn installed_clang() -> Option<String> {
    let path = env::var_os("PATH")?;
    let versions = (14..=22).rev().map(|version| format!("clang-{version}"));
    versions
        .chain(["clang".to_owned()])
        .find(|name| env::split_paths(&path).any(|directory| directory.join(name).is_file()))
}

/// Compiles `NAME.bpf.c` to `NAME.skel.rs`.
fn build(name: &str, clang: &str, arguments: &[&str]) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let source = format!("{name}.bpf.c");
    let mut builder = SkeletonBuilder::new();
    builder.source(&source).clang(clang).clang_args(arguments);
    if let Err(error) = builder.build_and_generate(out.join(format!("{name}.skel.rs"))) {
        panic!("compiling bpf/{source} failed (it needs clang 14 or later): {error:#}");
    }
}

fn main() {
    let mut arguments = vec![
        "-I.",
        "-mcpu=v3",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Wno-missing-declarations",
    ];
    if env::var_os("IOSCHED_BPF_WERROR").is_some_and(|value| value == "1") {
        arguments.push("-Werror");
    }
    let clang = env::var("CLANG")
        .ok()
        .or_else(installed_clang)
        .unwrap_or_else(|| "clang".to_owned());
    build("iosched", &clang, &arguments);
    build("sync", &clang, &arguments);
    let entries = fs::read_dir(".").expect("the sources").flatten();
    let is_c = |path: &PathBuf| path.extension().is_some_and(|end| end == "h" || end == "c");
    for path in entries.map(|entry| entry.path()).filter(is_c) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=IOSCHED_BPF_WERROR");
}
