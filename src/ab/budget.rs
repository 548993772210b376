//! `run --budget`: what it cannot go with.

use anyhow::Result;
use iosched_experiment::workload::live;
use iosched_result::failure::Failure;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::washout::Washout;

use crate::cli::Conditions;

/// The number of rounds follows from the time alone.
pub fn check(conditions: &Conditions, stopping: Stopping) -> Result<()> {
    let cannot = |why: &str, cure: &str| Err(Failure::usage(format!("--budget {why}"), cure));
    if conditions.workload.as_deref() == Some(live::NAME) {
        return cannot(
            "plans the rounds of a workload, and nobody can plan the load of others",
            "limit a live run with --for",
        );
    }
    if !matches!(stopping, Stopping::Looks { .. }) {
        return cannot(
            "says how many rounds there are, and --rounds does, too",
            "leave one of them out",
        );
    }
    if conditions.washout == Washout::Auto {
        return cannot(
            "plans the rounds before the first one, and --washout auto may begin again",
            "name the time of the wash-out, as in --washout 20s",
        );
    }
    Ok(())
}
