//! Length of the rounds, and the settings of a live run.

use std::time::Duration;

use anyhow::Result;
use iosched_experiment::live::condition::Condition;
use iosched_experiment::workload::Workload;
use iosched_result::failure::Failure;
use iosched_result::types::live::LiveDesign;
use iosched_result::types::outcome::Fixed;
use iosched_result::types::times::AutoTimes;

use crate::cli::Conditions;

const LIVE_RAMP: Duration = Duration::from_secs(5);

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

/// What each round takes.
pub struct Times {
    pub ramp: Duration,
    pub window: Duration,
    /// Those that a pilot chooses; they are zero until then.
    pub auto: Option<AutoTimes>,
}

/// Settings of a live run, and the times of the rounds; no window if it is found by watching the load.
pub fn round_times(
    conditions: &Conditions,
    workload: &dyn Workload,
) -> Result<(Option<LiveDesign>, Times)> {
    let live = live_design(conditions, workload)?;
    if live.is_some() && conditions.precondition {
        return Err(Failure::usage(
            "--precondition runs the workload before the first round, and the load of others cannot be run",
            "leave it out",
        ));
    }
    let times = times(conditions, workload.properties().fixed, live.is_some());
    Ok((live, times))
}

fn times(conditions: &Conditions, fixed: Fixed, is_live: bool) -> Times {
    let (ramp, window) = (conditions.ramp.named(), conditions.round_time.named());
    let of = |ramp, window| Times {
        ramp,
        window,
        auto: None,
    };
    match fixed {
        Fixed::Work => of(Duration::ZERO, Duration::ZERO),
        Fixed::Time if conditions.quick => of(Duration::from_secs(2), Duration::from_secs(5)),
        Fixed::Time if is_live => of(ramp.unwrap_or(LIVE_RAMP), window.unwrap_or_default()),
        Fixed::Time => {
            let auto = AutoTimes {
                ramp: ramp.is_none(),
                round_time: window.is_none(),
            };
            Times {
                auto: auto.any().then_some(auto),
                ..of(ramp.unwrap_or_default(), window.unwrap_or_default())
            }
        }
    }
}
