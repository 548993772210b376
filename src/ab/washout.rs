//! `--washout auto`: what it cannot go with, and what is said of it before the first round.

use anyhow::Result;
use iosched_experiment::workload::live;
use iosched_result::analysis::washout::PILOT_BLOCKS;
use iosched_result::failure::Failure;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::washout::Washout;

use crate::cli::Conditions;
use iosched_read::messages::note;

/// An automatic wash-out follows from the first blocks, and begins the run again.
pub fn check(conditions: &Conditions, stopping: Stopping) -> Result<()> {
    if conditions.washout != Washout::Auto {
        return Ok(());
    }
    let cannot = |why: &str| {
        Err(Failure::usage(
            format!("--washout auto {why}"),
            "name a time, as in --washout 20s",
        ))
    };
    if conditions.workload.as_deref() == Some(live::NAME) {
        return cannot("begins the run again, and the load of others cannot be washed out");
    }
    match stopping {
        Stopping::Fixed { blocks } if blocks < PILOT_BLOCKS => {
            cannot("needs six blocks to decide, so at least --rounds 6")
        }
        _ => {
            note(
                "--washout auto: unless the first 6 blocks show nothing of what arms leave behind, they do not count, the run \
                 begins again, and each round takes four times as long",
            );
            Ok(())
        }
    }
}
