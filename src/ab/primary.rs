//! The primary metrics of `run` and `aa`, and checks of them.

use anyhow::Result;
use iosched_experiment::live;
use iosched_experiment::workload::{Workload, participants};
use iosched_result::failure::Failure;
use iosched_result::metric::Metric;
use iosched_result::metric::offer::Offer;
use iosched_result::metric::profile::Does;
use iosched_result::types::goals::Goals;
use iosched_result::types::goals::asked::Asked;
use iosched_result::types::outcome::Fixed;

use crate::cli::{Conditions, DetailOption};

/// What decides.
pub struct Primary {
    pub metrics: Vec<Metric>,
    /// What the user wants of them.
    pub goals: Option<Goals>,
    /// Why a default metric is not among them.
    pub left_out: Option<String>,
}

impl Primary {
    pub fn wanted(conditions: &Conditions, workload: &dyn Workload) -> Result<Primary> {
        let offer = offer(conditions, workload);
        let asked = Asked::read(
            &offer,
            &conditions.metrics,
            conditions.prefer.as_deref(),
            &conditions.keep,
        )?;
        let (defaults, mut left_out) = if asked.needs_defaults() {
            defaults(&offer, workload)
        } else {
            (Vec::new(), None)
        };
        if asked.has_goals() && asked.names_none() && workload.properties().may_report {
            let others = match workload.properties().fixed {
                Fixed::Time => "what the application reports besides",
                Fixed::Work => "what the command reports besides, or its elapsed time,",
            };
            left_out = Some(format!(
                "nothing is kept: {others} does not count; name it with --keep"
            ));
        }
        let (metrics, goals) = asked.beside(defaults)?;
        refuse_elapsed(&metrics, workload)?;
        Ok(Primary {
            metrics,
            goals,
            left_out,
        })
    }
}

/// The workload's own metrics, and a note if one of them cannot be measured.
fn defaults(offer: &Offer, workload: &dyn Workload) -> (Vec<Metric>, Option<String>) {
    let without = workload.properties().without_latency;
    let (defaults, left_out): (&[&str], _) = match (workload.properties().fixed, without) {
        // The first round shows what the command reports; without a report it is `elapsed`.
        _ if workload.properties().may_report => (&[], None),
        (Fixed::Work, _) => (&["elapsed"], None),
        _ if workload.properties().is_live => (&live::METRICS, None),
        (Fixed::Time, without) if offer.profile.does.is_some_and(Does::only_discards) => (
            if without.is_some() {
                &["discard_throughput"]
            } else {
                &["discard_throughput", "program_p99"]
            },
            without,
        ),
        (Fixed::Time, None) => (&["throughput", "program_p99"], None),
        (Fixed::Time, Some(why)) => (
            &["throughput"],
            Some(format!(
                "{why}; the arms are compared by throughput only, not by program_p99: remove that option from the job file"
            )),
        ),
    };
    let known = defaults.iter().filter_map(|name| Metric::named(name));
    (known.collect(), left_out)
}

/// Metrics that this run can measure.
fn offer(conditions: &Conditions, workload: &dyn Workload) -> Offer {
    let participants = conditions.participants();
    iosched_experiment::workload::offer::for_workload(
        workload,
        participants.iter().map(participants::label).collect(),
        conditions.detail.contains(&DetailOption::Order),
        conditions.detail.contains(&DetailOption::Fairness),
    )
}

/// A workload that runs for a fixed time has no elapsed time to compare.
fn refuse_elapsed(named: &[Metric], workload: &dyn Workload) -> Result<()> {
    let is_timed =
        workload.properties().fixed == Fixed::Time || workload.properties().ends_by_the_clock;
    if is_timed && named.iter().any(|metric| metric.name == "elapsed") {
        return Err(Failure::usage(
            format!(
                "{} runs for a fixed time, so `elapsed` is the same under every arm",
                workload.name()
            ),
            "choose another metric, such as iops or throughput",
        ));
    }
    Ok(())
}
