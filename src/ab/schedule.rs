//! `--dry-run`: the order of the arms in each block.

use std::collections::HashSet;
use std::fmt::Write;

use anyhow::Result;
use iosched_result::analysis::budget;
use iosched_result::analysis::left::left;
use iosched_result::analysis::turn;
use iosched_result::report::left::words;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::plan::{Plan, PlannedRound};
use iosched_result::types::result::ResultFile;

use iosched_read::messages::note;
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

/// What is left of a run: the rounds of the blocks that are drawn, and of those that it may have beyond.
pub fn print_rest(earlier: &ResultFile) -> Result<()> {
    let rest = with_all_blocks(earlier);
    let rounds = turn::left_until(&rest, rest.plan.blocks());
    let time = left(earlier, earlier.rounds_took_s.unwrap_or(0.0)).and_then(words);
    note(&format!(
        "{} rounds are done, and {} {} more{}",
        earlier.rounds.len(),
        match (rest.design.stopping, rest.design.extensions.is_empty()) {
            (Stopping::Looks { .. }, true) => "there are at most",
            (Stopping::Open, true) => "there are at least",
            _ => "there are",
        },
        rounds.len(),
        time.map_or_else(String::new, |time| format!(": {time}"))
    ));
    print_page(&format!(
        "seed {}\n{}",
        rest.plan.seed,
        lines(&rest, &rounds)
    ))
}

/// The result with all blocks drawn that may still follow.
fn with_all_blocks(earlier: &ResultFile) -> ResultFile {
    let mut rest = earlier.clone();
    let stopped = rest.stopped_arms();
    let arms = (0..rest.plan.arms).filter(|arm| !stopped.contains(arm));
    let arms: Vec<usize> = arms.collect();
    let drawn = rest.plan.blocks();
    // A segment that was shortened for want of time was the last.
    let most = rest
        .design
        .schedule()
        .most_blocks()
        .filter(|_| rest.design.schedule().is_look(drawn));
    let more = most.unwrap_or(drawn).saturating_sub(drawn);
    let affordable = budget::affordable_blocks(earlier, arms.len());
    let more = affordable.map_or(more, |affordable| more.min(affordable));
    rest.plan.extend(more, &arms);
    rest
}

/// A block that is run again has a line of its own. `rounds`: in the order of their blocks.
fn lines(rest: &ResultFile, rounds: &[&PlannedRound]) -> String {
    let done = rest.rounds.iter().map(|it| (it.block, it.position));
    let mut done: HashSet<(usize, usize)> = done.collect();
    let mut out = String::new();
    for of_block in rounds.chunk_by(|one, next| one.block == next.block) {
        // Those that were run, or stand here for a second time, are run again.
        let (now, again): (Vec<&PlannedRound>, Vec<&PlannedRound>) = of_block
            .iter()
            .partition(|round| done.insert((round.block, round.position)));
        for (rounds, what) in [(now, ""), (again, " again")] {
            let labels = rounds
                .iter()
                .map(|round| rest.design.arms[round.arm].label.as_str());
            let labels: Vec<&str> = labels.collect();
            if !labels.is_empty() {
                let block = of_block[0].block + 1;
                let _ = writeln!(out, "block {block}{what}: {}", labels.join("  "));
            }
        }
    }
    out
}
