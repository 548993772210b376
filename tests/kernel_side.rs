//! The parts of bpf/ that are plain C, compiled natively and held to what user space says, and to known sequences.
//! Skips, and says so, where there is no C compiler.

#[path = "kernel_side/stages.rs"]
mod stages;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Declarations that a BPF program's surroundings bring along.
const PRELUDE: &str = r#"
#include <stdio.h>
#include <string.h>
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "wire.h"
#define add_alone(counter, n) (*(counter) += (n))
"#;

fn compilers() -> Vec<&'static str> {
    let answers = |name: &&str| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|output| output.status.success())
    };
    let known = ["cc", "clang", "clang-14", "clang-19"];
    let found: Vec<&str> = known.into_iter().filter(answers).collect();
    if found.is_empty() {
        println!("skipped: no C compiler (cc or clang)");
    }
    found
}

fn compile(compiler: &str, program: &str, flags: &[&str], directory: &Path) -> PathBuf {
    let source = directory.join("program.c");
    let binary = directory.join("program");
    std::fs::write(&source, format!("{PRELUDE}{program}")).unwrap();
    let output = Command::new(compiler)
        .args(["-O2", "-Wall", "-Werror"])
        .args(flags)
        .arg(format!("-I{}/bpf", env!("CARGO_MANIFEST_DIR")))
        .arg("-o")
        .args([&binary, &source])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {messages}");
    binary
}

/// The program, compiled by every compiler that is here.
struct Compiled {
    binary: PathBuf,
    _directory: TempDir,
}

fn by_all(program: &str) -> Vec<Compiled> {
    let build = |compiler: &str| {
        let directory = tempfile::tempdir().unwrap();
        Compiled {
            binary: compile(compiler, program, &[], directory.path()),
            _directory: directory,
        }
    };
    compilers().into_iter().map(build).collect()
}

/// The program's output when it reads `input`.
fn run(binary: &Path, input: String) -> String {
    let mut child = Command::new(binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
