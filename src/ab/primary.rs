//! The primary metrics of `run` and `aa`, and checks of them.

use anyhow::Result;
use iosched_experiment::live;
use iosched_experiment::workload::{Workload, participants};
use iosched_result::failure::Failure;
use iosched_result::metric::Metric;
use iosched_result::metric::offer::Offer;
use iosched_result::metric::profile::Does;
use iosched_result::statistics::scale::Direction;
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
        let read = |text: &String| Named::read(&offer, text);
        let prefer = conditions.prefer.as_ref().map(read).transpose()?;
        let keep = conditions.keep.iter().map(read);
        let keep = keep.collect::<Result<Vec<Named>>>()?;
        let named = conditions.metrics.iter().map(read);
        let named = named.collect::<Result<Vec<Named>>>()?;
        if let Some(Named { metric, .. }) = prefer.as_ref().filter(|it| it.has_no_direction()) {
            return Err(Failure::usage(
                format!(
                    "{} has no better direction, so it cannot be preferred",
                    metric.name
                ),
                "prefer another metric; --metric shows this one",
            ));
        }
        // A user who names no metric to keep keeps those of the workload.
        let are_named = !named.is_empty() || (prefer.is_some() && !keep.is_empty());
        let (defaults, mut left_out) = if are_named {
            (Vec::new(), None)
        } else {
            defaults(&offer, workload)
        };
        let mut all: Vec<Named> = defaults.into_iter().map(Named::unasked).collect();
        for metric in named.iter().chain(&prefer).chain(&keep) {
            metric.join(&mut all)?;
        }
        let has_goals = prefer.is_some() || !keep.is_empty();
        if has_goals && named.is_empty() && keep.is_empty() && workload.properties().may_report {
            let others = match workload.properties().fixed {
                Fixed::Time => "what the application reports besides",
                Fixed::Work => "what the command reports besides, or its elapsed time,",
            };
            left_out = Some(format!(
                "nothing is kept: {others} does not count; name it with --keep"
            ));
        }
        let metrics: Vec<Metric> = all.into_iter().map(|it| it.metric).collect();
        refuse_elapsed(&metrics, workload)?;
        let is_kept_too = |it: &&Named| keep.iter().any(|kept| kept.metric.is_same(&it.metric));
        if let Some(both) = prefer.as_ref().filter(is_kept_too) {
            return Err(Failure::usage(
                format!("{} is both preferred and kept", both.metric.name),
                "what is preferred decides; name other metrics with --keep",
            ));
        }
        let goals = Goals {
            prefer: prefer.map(|it| it.metric.name),
            keep: keep.into_iter().map(|it| it.metric.name).collect(),
        };
        Ok(Primary {
            metrics,
            goals: (goals != Goals::default()).then_some(goals),
            left_out,
        })
    }
}

/// A metric, and whether its margin was given with it.
struct Named {
    metric: Metric,
    has_margin: bool,
}

impl Named {
    fn read(offer: &Offer, text: &str) -> Result<Named> {
        let after = text.rsplit_once(':').map(|(_, margin)| margin);
        let is_number = |margin: &str| margin.trim_end_matches('%').parse::<f64>().is_ok();
        Ok(Named {
            metric: offer.metric(text)?,
            has_margin: after.is_some_and(is_number),
        })
    }

    fn unasked(metric: Metric) -> Named {
        Named {
            metric,
            has_margin: false,
        }
    }

    /// False for a metric that a command reports: its direction is known after the first round.
    fn has_no_direction(&self) -> bool {
        !self.metric.is_open() && self.metric.direction == Direction::Neutral
    }

    /// Each once, with the margin that was given.
    fn join(&self, all: &mut Vec<Named>) -> Result<()> {
        let Some(known) = all.iter_mut().find(|it| it.metric.is_same(&self.metric)) else {
            all.push(Named {
                metric: self.metric.clone(),
                has_margin: self.has_margin,
            });
            return Ok(());
        };
        let is_same = known.metric.margin.total_cmp(&self.metric.margin).is_eq();
        if known.has_margin && self.has_margin && !is_same {
            return Err(Failure::usage(
                format!("{} has two margins", self.metric.name),
                "give the same margin, or name it once",
            ));
        }
        if self.has_margin {
            known.metric.margin = self.metric.margin;
            known.has_margin = true;
        }
        Ok(())
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
