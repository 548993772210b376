//! `--dry-run`: the order of the arms in each block.

use std::fmt::Write;

use anyhow::Result;
use iosched_result::types::arm::Arm;
use iosched_result::types::plan::Plan;

use iosched_read::print::print_page;

/// The `most` blocks that the run may have; decided arms skip the later ones. None: as many as it takes, and none is printed.
pub fn print(arms: &[Arm], seed: u64, most: Option<usize>) -> Result<()> {
    let plan = Plan::new(seed, arms.len(), most.unwrap_or(0));
    let mut out = format!("seed {}\n", plan.seed);
    for block in 0..plan.blocks() {
        let rounds = plan.rounds.iter().filter(|round| round.block == block);
        let labels: Vec<&str> = rounds.map(|round| arms[round.arm].label.as_str()).collect();
        writeln!(out, "block {}: {}", block + 1, labels.join("  "))?;
    }
    print_page(&out)
}
