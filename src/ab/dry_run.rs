//! `--dry-run`: the schedule, without a change to the machine.

use std::fmt::Write;

use anyhow::Result;
use iosched_read::messages::note;
use iosched_read::print;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::plan::Plan;
use iosched_result::types::scratch::spec::DiskSpec;

use crate::cli::Conditions;
use crate::load;
use crate::outlook::announce;
use crate::primary::primary_metrics;
use crate::seed::seed;
use crate::times::times;

/// The simulated disk is not made.
pub fn of_simulated(
    arms: &[Arm],
    spec: DiskSpec,
    stopping: Stopping,
    conditions: &Conditions,
) -> Result<()> {
    note(&format!("a scratch device ({spec}) would be made"));
    let workload = load::wanted(conditions, true)?;
    let (ramp, time) = times(conditions, workload.properties().fixed);
    let metrics = primary_metrics(conditions, &*workload)?.0.len();
    announce(
        (arms.len(), metrics),
        stopping,
        &*workload,
        conditions.washout.at_first() + ramp,
        time,
    );
    let plan = Plan::new(
        seed(conditions.seed),
        arms.len(),
        stopping.most_blocks().unwrap_or(0),
    );
    print_schedule(arms, &plan)
}

pub fn print_schedule(arms: &[Arm], plan: &Plan) -> Result<()> {
    let mut out = format!("seed {}\n", plan.seed);
    for block in 0..plan.blocks() {
        let rounds = plan.rounds.iter().filter(|round| round.block == block);
        let labels: Vec<&str> = rounds.map(|round| arms[round.arm].label.as_str()).collect();
        writeln!(out, "block {}: {}", block + 1, labels.join("  "))?;
    }
    print::print_page(&out)
}
