//! The primary metrics of `run` and `aa`, and checks of them.

use anyhow::Result;
use iosched_experiment::live;
use iosched_experiment::workload::{Workload, participants};
use iosched_result::failure::Failure;
use iosched_result::metric::Metric;
use iosched_result::metric::offer::Offer;
use iosched_result::metric::profile::Does;
use iosched_result::types::goals::Goals;
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
        let read = |text: &String| offer.metric(text);
        let prefer = conditions.prefer.as_ref().map(read).transpose()?;
        let keep = conditions.keep.iter().map(read);
        let keep = keep.collect::<Result<Vec<Metric>>>()?;
        let named = conditions.metrics.iter().map(read);
        let mut metrics = named.collect::<Result<Vec<Metric>>>()?;
        let mut left_out = None;
        // Without names what is kept is the workload's own.
        if metrics.is_empty() && keep.is_empty() {
            (metrics, left_out) = defaults(&offer, workload);
        }
        for metric in prefer.iter().chain(&keep) {
            add(&mut metrics, metric)?;
        }
        refuse_elapsed(&metrics, workload)?;
        let is_kept_too = |metric: &&Metric| keep.iter().any(|kept| kept.is_same(metric));
        if let Some(metric) = prefer.as_ref().filter(is_kept_too) {
            return Err(Failure::usage(
                format!("{} is both preferred and kept", metric.name),
                "what is preferred decides; name other metrics with --keep",
            ));
        }
        let goals = Goals {
            prefer: prefer.map(|metric| metric.name),
            keep: keep.into_iter().map(|metric| metric.name).collect(),
        };
        Ok(Primary {
            metrics,
            goals: (goals != Goals::default()).then_some(goals),
            left_out,
        })
    }
}

/// Once, with one margin.
fn add(metrics: &mut Vec<Metric>, metric: &Metric) -> Result<()> {
    let known = metrics.iter().find(|it| it.is_same(metric));
    match known {
        None => metrics.push(metric.clone()),
        Some(known) if known.margin.total_cmp(&metric.margin).is_eq() => {}
        Some(_) => {
            return Err(Failure::usage(
                format!("{} has two margins", metric.name),
                "give the same margin, or name the metric once",
            ));
        }
    }
    Ok(())
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
