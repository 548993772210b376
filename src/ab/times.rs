//! Length of the rounds, and the settings of a live run.

use std::time::Duration;

use anyhow::Result;
use iosched_experiment::live::condition::Condition;
use iosched_experiment::workload::Workload;
use iosched_result::failure::Failure;
use iosched_result::types::live::LiveDesign;
use iosched_result::types::outcome::Fixed;

use crate::cli::Conditions;

/// Default measured time of a round.
const ROUND_TIME: Duration = Duration::from_secs(20);

/// The settings of a live run; None for every other workload.
fn live_design(conditions: &Conditions, workload: &dyn Workload) -> Result<Option<LiveDesign>> {
    let text = |condition: &Option<Condition>| condition.as_ref().map(Condition::to_string);
    let design = LiveDesign {
        stop_if: text(&conditions.stop_if),
        only_when: text(&conditions.only_when),
        between: conditions.between,
        adjust_load: conditions.adjust.is_some(),
        for_s: conditions.for_time.map(|time| time.as_secs_f64()),
        ..LiveDesign::default()
    };
    if workload.properties().is_live {
        return Ok(Some(design));
    }
    if design == LiveDesign::default() {
        return Ok(None);
    }
    Err(Failure::usage(
        "--stop-if, --only-when, --for, --between and --adjust are for --workload live",
        "leave them out, or use --workload live",
    ))
}

/// Settings of a live run, ramp and window of the rounds; no window if it is found by watching the load.
pub fn round_times(
    conditions: &Conditions,
    workload: &dyn Workload,
) -> Result<(Option<LiveDesign>, Duration, Duration)> {
    let live = live_design(conditions, workload)?;
    if live.is_some() && conditions.precondition {
        return Err(Failure::usage(
            "--precondition runs the workload before the first round, and the load of others cannot be run",
            "leave it out",
        ));
    }
    let (ramp, time) = times(conditions, workload.properties().fixed);
    let is_watched = live.is_some() && conditions.round_time.is_none() && !conditions.quick;
    Ok((live, ramp, if is_watched { Duration::ZERO } else { time }))
}

fn times(conditions: &Conditions, fixed: Fixed) -> (Duration, Duration) {
    match fixed {
        Fixed::Work => (Duration::ZERO, Duration::ZERO),
        Fixed::Time if conditions.quick => (Duration::from_secs(2), Duration::from_secs(5)),
        Fixed::Time => (conditions.ramp, conditions.round_time.unwrap_or(ROUND_TIME)),
    }
}
