//! Compiles the BPF object and generates its typed skeleton. `CLANG` chooses the compiler;
//! `IOSCHED_BPF_WERROR=1` makes warnings errors.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

/// The distributions' names for it, the newest first.
fn installed_clang() -> Option<String> {
    let path = env::var_os("PATH")?;
    let versions = (14..=22).rev().map(|version| format!("clang-{version}"));
    versions
        .chain(["clang".to_owned()])
        .find(|name| env::split_paths(&path).any(|directory| directory.join(name).is_file()))
}

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
    let clang = env::var("CLANG")
        .ok()
        .or_else(installed_clang)
        .unwrap_or_else(|| "clang".to_owned());
    builder.clang(&clang);
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
        "detail.bpf.h",
        "inflight.bpf.h",
        "asked.bpf.h",
        "asked_stages.bpf.h",
        "submit.bpf.h",
        "start.bpf.h",
        "pending.bpf.h",
        "latency.bpf.h",
        "cell.h",
        "order.h",
        "fairness.h",
        source,
    ] {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=IOSCHED_BPF_WERROR");
}
