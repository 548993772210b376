//! The kernel's cell of a time is the user side's, in both of the ways in which bpf/cell.h finds the highest bit.
//! Compiles that header natively; skips, and says so, where there is no C compiler.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iosched::histogram::{DEVICE, Layout, OWNER};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Reads times, writes for each the cells of the two layouts as the BPF programs find them.
const PROGRAM: &str = r#"
#include <stdio.h>
typedef unsigned int __u32;
typedef unsigned long long __u64;
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "wire.h"
#include "cell.h"

int main(void)
{
	unsigned long long ns;

	while (scanf("%llu", &ns) == 1)
		printf("%u %u\n",
		       clamp_cell(cell_of(ns, DEVICE_UNIT_SHIFT, DEVICE_SUB_BITS), DEVICE_CELLS),
		       clamp_cell(cell_of(ns, OWNER_UNIT_SHIFT, OWNER_SUB_BITS), OWNER_CELLS));
	return 0;
}
"#;

fn compilers() -> Vec<&'static str> {
    let answers = |name: &&str| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|output| output.status.success())
    };
    let known = ["cc", "clang", "clang-14", "clang-19"];
    known.into_iter().filter(answers).collect()
}

fn compile(compiler: &str, by_builtin: bool, directory: &Path) -> PathBuf {
    let source = directory.join("cells.c");
    let binary = directory.join(format!("cells-{compiler}-{by_builtin}"));
    std::fs::write(&source, PROGRAM).unwrap();
    let output = Command::new(compiler)
        .args(["-O2", "-Wall", "-Werror"])
        .arg(format!("-DOCTAVE_BY_BUILTIN={}", u8::from(by_builtin)))
        .arg(format!("-I{}/bpf", env!("CARGO_MANIFEST_DIR")))
        .arg("-o")
        .args([&binary, &source])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {messages}");
    binary
}

/// Every border of every cell with its neighbours, every power of two with its own, and what chance adds.
fn times() -> Vec<u64> {
    let mut times = vec![0, u64::MAX];
    let around = |ns: u64| [ns.saturating_sub(1), ns, ns.saturating_add(1)];
    for layout in [DEVICE, OWNER] {
        let borders = (0..=layout.cells as usize).map(|cell| layout.lower_ns(cell));
        times.extend(borders.flat_map(around));
    }
    times.extend((0..64).flat_map(|bit| around(1 << bit)));
    let mut random = ChaCha8Rng::seed_from_u64(1);
    times.extend((0..100_000).map(|_| random.random::<u64>() >> random.random_range(0..64u32)));
    times
}

fn cells_in_c(binary: &Path, times: &[u64]) -> Vec<(usize, usize)> {
    let mut child = Command::new(binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = times
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    lines.push('\n');
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let pair = |line: &str| {
        let (device, owner) = line.split_once(' ').unwrap();
        (device.parse().unwrap(), owner.parse().unwrap())
    };
    text.lines().map(pair).collect()
}

#[test]
fn kernel_and_user_side_agree_on_every_cell() {
    let compilers = compilers();
    if compilers.is_empty() {
        println!("skipped: no C compiler (cc or clang)");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let times = times();
    let check = |layout: Layout, ns: u64, cell: usize, how: &str| {
        let wanted = layout.index(ns);
        assert_eq!(cell, wanted, "{ns} ns in {layout:?}, {how}");
    };
    for compiler in compilers {
        for by_builtin in [true, false] {
            let how = format!("{compiler}, builtin {by_builtin}");
            let cells = cells_in_c(&compile(compiler, by_builtin, directory.path()), &times);
            assert_eq!(cells.len(), times.len(), "{how}");
            for (&ns, (device, owner)) in times.iter().zip(cells) {
                check(DEVICE, ns, device, &how);
                check(OWNER, ns, owner, &how);
            }
            println!("{how}: {} times agree", times.len());
        }
    }
}
