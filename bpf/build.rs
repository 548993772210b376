//! Compiles the BPF object and generates its typed skeleton. `CLANG` chooses the compiler;
//! `IOSCHED_BPF_WERROR=1` makes warnings errors.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let source = "iosched.bpf.c";
    let out =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("iosched.skel.rs");
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
    let mut builder = SkeletonBuilder::new();
    builder.source(source).clang_args(arguments);
    if let Some(clang) = env::var_os("CLANG") {
        builder.clang(clang);
    }
    if let Err(error) = builder.build_and_generate(&out) {
        panic!(
            "compiling bpf/{source} failed (a clang of version 14 or later is needed): {error:#}"
        );
    }
    for file in [
        "wire.h",
        "block.bpf.h",
        "compat.bpf.h",
        "queue.bpf.h",
        "owner.bpf.h",
        "inflight.bpf.h",
        "latency.bpf.h",
        source,
    ] {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=IOSCHED_BPF_WERROR");
}
