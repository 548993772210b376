//! The kernel's cell of a time is the user side's, in both of the ways in which bpf/cell.h finds the highest bit.

use std::path::Path;
use std::process::Command;

use iosched_result::measured::histogram::GAP;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{compile, compilers, run};

/// Reads times, writes for each the cell of the layout as the BPF programs find it.
const PROGRAM: &str = r#"
int main(void)
{
	unsigned long long ns;

	while (scanf("%llu", &ns) == 1)
		printf("%u\n", clamp_cell(cell_of(span_of(ns), GAP_UNIT_SHIFT, GAP_SUB_BITS), GAP_CELLS));
	return 0;
}
"#;

/// Every border of every cell with its neighbours, every power of two with its own, and what chance adds.
fn times() -> Vec<u64> {
    let mut times = vec![0, u64::MAX];
    let around = |ns: u64| [ns.saturating_sub(1), ns, ns.saturating_add(1)];
    let borders = (0..=GAP.cells as usize).map(|cell| GAP.lower_ns(cell));
    times.extend(borders.flat_map(around));
    times.extend((0..64).flat_map(|bit| around(1 << bit)));
    let mut random = ChaCha8Rng::seed_from_u64(1);
    times.extend((0..100_000).map(|_| random.random::<u64>() >> random.random_range(0..64u32)));
    times
}

fn cells_in_c(binary: &Path, times: &[u64]) -> Vec<usize> {
    let lines: Vec<String> = times.iter().map(u64::to_string).collect();
    let text = run(binary, lines.join("\n"));
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn kernel_and_user_side_agree_on_every_cell() {
    let directory = tempfile::tempdir().unwrap();
    let times = times();
    for compiler in compilers() {
        for by_builtin in ["-DOCTAVE_BY_BUILTIN=0", "-DOCTAVE_BY_BUILTIN=1"] {
            let binary = compile(compiler, PROGRAM, &[by_builtin], directory.path());
            let cells = cells_in_c(&binary, &times);
            assert_eq!(cells.len(), times.len(), "{compiler} {by_builtin}");
            for (&ns, cell) in times.iter().zip(cells) {
                assert_eq!(cell, GAP.index(ns), "{ns} ns, {compiler} {by_builtin}");
            }
            println!("{compiler} {by_builtin}: {} times agree", times.len());
        }
    }
}

/// Some versions cannot compile a count of leading zeros for BPF: that is what OCTAVE_BY_BUILTIN is for.
#[test]
fn every_clang_compiles_the_octave_for_bpf() {
    const PROGRAM: &str = "typedef unsigned int __u32;\ntypedef unsigned long long __u64;\n\
        #define __always_inline inline __attribute__((always_inline))\n#include \"cell.h\"\n\
        __u32 octave(__u64 ns) { return span_of(ns).octave; }\n";
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let known = (14..=22).map(|version| format!("clang-{version}"));
    let mut compiled = 0;
    for compiler in known.chain(["clang".to_owned()]) {
        let output = Command::new(&compiler)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c"])
            .arg(format!("-I{}/bpf", env!("CARGO_MANIFEST_DIR")))
            .arg("-o")
            .args([&directory.path().join("program.o"), &source])
            .output();
        let Ok(output) = output else { continue };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler}: {errors}");
        compiled += 1;
    }
    if compiled == 0 {
        println!("skipped: no clang");
    }
}
