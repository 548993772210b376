//! `--dry-run`: the order of the arms in each block.

use std::fmt::Write;

use anyhow::Result;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::plan::Plan;

use iosched_read::print::print_page;

/// All blocks that the run may have; decided arms skip the later ones.
pub fn print(arms: &[Arm], seed: u64, stopping: Stopping) -> Result<()> {
    let plan = Plan::new(seed, arms.len(), stopping.most_blocks().unwrap_or(0));
    let mut out = format!("seed {}\n", plan.seed);
    for block in 0..plan.blocks() {
        let rounds = plan.rounds.iter().filter(|round| round.block == block);
        let labels: Vec<&str> = rounds.map(|round| arms[round.arm].label.as_str()).collect();
        writeln!(out, "block {}: {}", block + 1, labels.join("  "))?;
    }
    print_page(&out)
}
