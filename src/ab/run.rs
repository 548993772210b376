//! `iosched-ab run` and `aa`: from arguments to the comparison that they ask for.

use anyhow::Result;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::{self, Arm};

use crate::cli::{Aa, Rounds, Run};
use crate::comparison::{Comparison, compare};
use crate::reference::{active_scheduler, named_reference};
use crate::{resume, simulated};

pub fn run(arguments: &Run) -> Result<()> {
    let stopping = match (&arguments.resume, arguments.rounds) {
        (Some(file), None) => {
            let rest = resume::Wanted::Rest(arguments.budget);
            return resume::run(file, rest, &arguments.conditions, arguments.dry_run);
        }
        (Some(_), Some(Rounds::More(blocks))) if arguments.budget.is_some() => {
            return Err(Failure::usage(
                format!(
                    "--rounds +{blocks} says how many rounds there are, and --budget does, too"
                ),
                "leave one of them out",
            ));
        }
        (Some(file), Some(Rounds::More(blocks))) => {
            let more = resume::Wanted::More(blocks);
            return resume::run(file, more, &arguments.conditions, arguments.dry_run);
        }
        (Some(_), Some(Rounds::Of(_))) => {
            return Err(Failure::usage(
                "the file says how many rounds the run was to have",
                "leave out --rounds, or add to a run that has ended with --rounds +12",
            ));
        }
        (None, Some(Rounds::More(blocks))) => {
            return Err(Failure::usage(
                format!("--rounds +{blocks} adds rounds to a run that has ended"),
                format!("name its file with --resume, or start a new run with --rounds {blocks}"),
            ));
        }
        (None, Some(Rounds::Of(stopping))) => stopping,
        (None, None) => Stopping::LOOKS,
    };
    let arms = arguments
        .arms
        .iter()
        .map(|text| text.parse())
        .collect::<Result<Vec<Arm>>>()?;
    arm::refuse_duplicate_labels(&arms)?;
    if arms.len() < 2 {
        return Err(Failure::usage(
            "one arm alone cannot be compared",
            "give --arm at least twice",
        ));
    }
    let reference = named_reference(arguments.reference.as_deref(), &arms)?;
    compare(&Comparison {
        devices: &arguments.devices,
        arms,
        reference,
        stopping,
        conditions: &arguments.conditions,
        budget: arguments.budget,
        dry_run: arguments.dry_run,
        is_placebo: false,
    })
}

/// `iosched-ab aa`: both arms have the same scheduler and settings.
pub fn placebo(arguments: &Aa) -> Result<()> {
    let conditions = &arguments.conditions;
    if conditions.prefer.is_some() || !conditions.keep.is_empty() {
        return Err(Failure::usage(
            "`aa` compares an arm with itself: there is nothing to prefer or to keep",
            "leave out --prefer and --keep; --metric names what is compared",
        ));
    }
    let is_scratch = simulated::spec(&arguments.devices)?.is_some();
    let arm: Arm = match &arguments.arm {
        Some(text) => text.parse()?,
        None if is_scratch => "none".parse()?,
        None => active_scheduler(&Disks::resolve(&arguments.devices)?.0)?
            .ok_or_else(|| {
                Failure::usage("the disks have different schedulers", "name one with --arm")
            })?
            .parse()?,
    };
    let labelled = |label: &str| Arm {
        label: label.to_owned(),
        ..arm.clone()
    };
    compare(&Comparison {
        devices: &arguments.devices,
        arms: vec![labelled("A"), labelled("B")],
        reference: Some(0),
        stopping: arguments.rounds,
        conditions: &arguments.conditions,
        budget: None,
        dry_run: false,
        is_placebo: true,
    })
}
