//! One answer from the results of many hosts, for each model of disk, firmware and kernel series. Pure.
//!
//! Each host has one vote, however many runs it made: a fleet's question is what a further host may expect, and runs of one host
//! do not tell that.

mod contribution; // what one result brings
mod pooled; // what all hosts of a group say in one metric
pub mod read; // a merged file
pub mod view; // a group as a result, for what judges results

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::statistics::estimate::ConfidenceInterval;
use crate::statistics::verdict::{Reason, Verdict, bonferroni};
use crate::types::arm::Arm;
use crate::types::goals::Goals;

pub use contribution::{Contribution, contribution, fingerprint, other_question};

/// Raised when a field changes its meaning or is removed. Readers ignore unknown fields.
pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "merge-1.schema.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Merged {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub iosched_version: String,
    pub question: Question,
    /// Number of files that were read.
    pub files: usize,
    /// Those of them that say nothing, and why.
    pub left_out: Vec<LeftOut>,
    /// The most hosts first.
    pub groups: Vec<Group>,
}

/// What all results were asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    pub workload: String,
    pub arms: Vec<Arm>,
    /// Index of the reference arm in `arms`.
    pub reference: usize,
    pub primary: Vec<Metric>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goals: Option<Goals>,
    /// All intervals of a group hold together at this level.
    pub alpha: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    pub file: String,
    pub why: String,
}

/// Disks of one model and firmware, under kernels of one series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kind {
    /// Several disks that were measured as one: each model, with its number.
    pub model: String,
    pub firmware: String,
    /// `6.12`.
    pub kernel: String,
    /// It was measured on simulated disks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_simulated: bool,
    /// The disks do not say what they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_nameless: bool,
    /// The model of each disk, each once; empty if they are simulated or do not say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    #[serde(flatten)]
    pub kind: Kind,
    /// In the order of their names.
    pub hosts: Vec<Host>,
    /// One for each arm but the reference, in each primary metric.
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    pub name: String,
    pub runs: Vec<Run>,
}

/// A run of a host, as its result identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    pub file: String,
    /// RFC 3339.
    pub started: String,
    pub seed: u64,
    /// `uname -r`.
    pub kernel: String,
    /// What differs is not how requests are ordered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hardly_any_waited: bool,
}

/// An arm against the reference in a metric, over all hosts. Estimates are arm minus reference on the metric's scale; ratios are
/// arm over reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub metric: Metric,
    pub arm: String,
    pub reference: String,
    /// The level of the interval: that of the group, shared by its rows.
    pub alpha: f64,
    /// Hosts that have a number.
    pub hosts: usize,
    /// The mean over hosts; absent with fewer than two.
    pub estimate: Option<f64>,
    pub standard_error: Option<f64>,
    /// Confidence interval of `estimate`, by the method of Hartung, Knapp, Sidik and Jonkman.
    pub interval: Option<ConfidenceInterval>,
    pub ratio: Option<f64>,
    pub ratio_interval: Option<ConfidenceInterval>,
    pub p: Option<f64>,
    /// 95 % prediction interval for the true difference on a further host. It holds for this row alone, and is absent with
    /// fewer than three hosts.
    pub prediction: Option<ConfidenceInterval>,
    pub prediction_ratio: Option<ConfidenceInterval>,
    /// Standard deviation of the true differences between hosts, on the scale.
    pub tau: Option<f64>,
    /// Share of the variation that is not noise within the hosts.
    pub i_squared: Option<f64>,
    /// Cochran's statistic, and its p.
    pub q: Option<f64>,
    pub q_p: Option<f64>,
    pub verdict: Verdict,
    /// The verdict of the hosts that have a number, where others keep it from being said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Verdict>,
    /// The whole interval lies beyond the margin.
    pub beyond_margin: bool,
    /// Hosts on which the arm cannot be judged, by what it did there or for want of blocks: the others are no evidence that it
    /// does well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<String>,
    /// Hosts that do not fit to all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<String>,
    /// In the order of the group's hosts.
    pub votes: Vec<HostVote>,
}

impl Row {
    /// The prediction for a further host does not exclude that the arm is worse there by more than the margin.
    pub fn may_be_worse_elsewhere(&self) -> bool {
        let margin = self.metric.scale.margins(self.metric.margin);
        self.prediction.is_some_and(|interval| {
            let (worst, _) = self.metric.direction.worst_and_best(interval);
            worst < -margin.down.min(margin.up)
        })
    }

    /// That for a further host excludes that the arm is better there by more than the margin.
    pub fn is_not_better_elsewhere(&self) -> bool {
        let margin = self.metric.scale.margins(self.metric.margin);
        self.prediction.is_some_and(|interval| {
            let (_, best) = self.metric.direction.worst_and_best(interval);
            best < margin.down.min(margin.up)
        })
    }

    /// That for a further host lies within the margin.
    pub fn is_the_same_elsewhere(&self) -> bool {
        let margins = self.metric.scale.margins(self.metric.margin);
        self.prediction
            .is_some_and(|interval| margins.hold(interval))
    }
}

/// What one host says in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostVote {
    pub host: String,
    /// Runs that have a number.
    pub runs: usize,
    /// Blocks of all runs.
    pub blocks: usize,
    /// Mean of the differences within blocks; of several runs weighted.
    pub estimate: Option<f64>,
    pub standard_error: Option<f64>,
    /// The verdict that each run reaches by itself.
    pub verdicts: Vec<Verdict>,
    /// Why runs have no number, and what else is to be known of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

impl Merged {
    /// The same with the level shared by all groups. A gate needs it, which fails as a whole where one group fails.
    #[must_use]
    pub fn with_shared_level(mut self) -> Merged {
        let groups = self.groups.len();
        for row in self.groups.iter_mut().flat_map(|group| &mut group.rows) {
            let names = (&row.metric, row.arm.as_str(), row.reference.as_str());
            let alpha = bonferroni(row.alpha, groups);
            *row = pooled::from_votes(names, alpha, row.unjudged.clone(), row.votes.clone());
        }
        self
    }
}

/// Merges what results bring that were asked the same.
pub fn merge(contributions: Vec<Contribution>, left_out: Vec<LeftOut>) -> Option<Merged> {
    let files = contributions.len() + left_out.len();
    let question = contributions.first()?.question.clone();
    let (contributions, twice) = without_copies(contributions);
    let (contributions, silent) = with_last_words(contributions);
    if contributions.iter().all(|of| of.why_nothing.is_some()) {
        return None;
    }
    let mut kinds: BTreeMap<Kind, Vec<Contribution>> = BTreeMap::new();
    for of in contributions {
        kinds.entry(of.kind.clone()).or_default().push(of);
    }
    let groups = kinds.into_iter();
    let groups = groups.map(|(kind, of)| pooled::group(kind, of, &question));
    let mut groups: Vec<Group> = groups.collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.hosts.len()));
    Some(Merged {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        iosched_version: env!("CARGO_PKG_VERSION").to_owned(),
        question,
        files,
        left_out: left_out.into_iter().chain(twice).chain(silent).collect(),
        groups,
    })
}

/// Runs without an answer are named. Where their host has a later one of the same kind, they are left out; else the host stays,
/// and cannot be judged: an earlier answer does not stand for a run that failed.
fn with_last_words(all: Vec<Contribution>) -> (Vec<Contribution>, Vec<LeftOut>) {
    let mut answers: BTreeMap<(Kind, String), String> = BTreeMap::new();
    for of in all.iter().filter(|of| of.why_nothing.is_none()) {
        let latest = answers
            .entry((of.kind.clone(), of.host.clone()))
            .or_default();
        if of.run.started > *latest {
            latest.clone_from(&of.run.started);
        }
    }
    let mut named = Vec::new();
    let kept = all.into_iter().filter(|of| {
        let Some(why) = &of.why_nothing else {
            return true;
        };
        let latest = answers.get(&(of.kind.clone(), of.host.clone()));
        let has_later = latest.is_some_and(|latest| *latest > of.run.started);
        let then = if has_later {
            format!("a later run of {} counts", of.host)
        } else {
            format!("so nothing can be judged on {}", of.host)
        };
        named.push(LeftOut {
            file: of.run.file.clone(),
            why: format!("{why}; {then}"),
        });
        !has_later
    });
    (kept.collect(), named)
}

/// The same run twice is one run: copies of a file lie about in every fleet.
fn without_copies(all: Vec<Contribution>) -> (Vec<Contribution>, Vec<LeftOut>) {
    let mut known: BTreeMap<[u8; 32], String> = BTreeMap::new();
    let (mut kept, mut twice) = (Vec::new(), Vec::new());
    for of in all {
        if let Some(first) = known.get(&of.values) {
            twice.push(LeftOut {
                file: of.run.file,
                why: format!("the same run as {first}"),
            });
            continue;
        }
        known.insert(of.values, of.run.file.clone());
        kept.push(of);
    }
    (kept, twice)
}

#[cfg(test)]
mod tests;
