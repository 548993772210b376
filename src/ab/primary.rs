//! The primary metrics of `run` and `aa`, and checks of them.

use anyhow::Result;
use iosched_experiment::live;
use iosched_experiment::workload::{Workload, participants};
use iosched_result::failure::Failure;
use iosched_result::metric::Metric;
use iosched_result::metric::offer::Offer;
use iosched_result::metric::profile::Does;
use iosched_result::types::outcome::Fixed;

use crate::cli::{Conditions, DetailOption};

/// The primary metrics, and a note if a default metric cannot be measured.
pub fn primary_metrics(
    conditions: &Conditions,
    workload: &dyn Workload,
) -> Result<(Vec<Metric>, Option<String>)> {
    let without = workload.properties().without_latency;
    let offer = offer(conditions, workload);
    let named = conditions.metrics.iter().map(|text| offer.metric(text));
    let named = named.collect::<Result<Vec<Metric>>>()?;
    refuse_elapsed(&named, workload)?;
    if !named.is_empty() {
        return Ok((named, None));
    }
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
    Ok((known.collect(), left_out))
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
