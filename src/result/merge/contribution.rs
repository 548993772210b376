//! What one result brings to a merge. Pure.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{Kind, LeftOut, Question, Run};
use crate::analysis::{conclude, exclusion, identity, turn};
use crate::gate;
use crate::metric::{Metric, Origin};
use crate::statistics::random_effects::Vote;
use crate::statistics::scale::{Direction, Scale};
use crate::statistics::verdict::{Comparison, Reason, Verdict};
use crate::types::result::{ArmComparison, DeviceInfo, ResultFile};

/// The little that is kept of a result: there may be thousands.
#[derive(Clone, Debug)]
pub struct Contribution {
    pub kind: Kind,
    pub host: String,
    pub run: Run,
    pub(super) question: Question,
    /// Empty if the run says nothing, see `why_nothing`.
    pub(super) said: Vec<Said>,
    /// Why the run has no answer: what the arm did may be the cause, so the others of its kind are no evidence that it does
    /// well.
    pub(super) why_nothing: Option<String>,
    /// SHA-256 over the values of all rounds. Files with the same one are copies of one run, even if they name other hosts or
    /// times.
    pub(super) values: [u8; 32],
}

/// What a run says of an arm in a metric.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub metric: String,
    pub arm: String,
    pub blocks: usize,
    pub vote: Option<Vote>,
    /// It has no number, or no verdict, by what the arm did or for want of blocks.
    pub is_unjudged: bool,
    pub verdict: Verdict,
    pub reasons: Vec<Reason>,
}

/// Fewer blocks say too little of their own noise.
const FEWEST_BLOCKS: usize = 3;
/// Runs whose blocks all say exactly the same are not infinitely sure.
const SMALLEST_VARIANCE: f64 = 1e-12;

/// The verdicts are drawn from the rounds again. Err: why it is about something else.
pub fn contribution(file: &str, mut result: ResultFile) -> Result<Contribution, LeftOut> {
    if result.design.is_placebo {
        return Err(LeftOut {
            file: file.to_owned(),
            why: "it compares an arm with itself".to_owned(),
        });
    }
    result.excluded = exclusion::excluded_blocks(&result);
    result.comparisons = conclude::judged_comparisons(&result);
    let why_nothing = why_nothing(&result);
    let silent = silent(&result);
    let environment = &result.environment;
    let host = environment.hostname.clone().unwrap_or_default();
    Ok(Contribution {
        kind: kind(&result),
        host: match host.trim() {
            // One host at most: they cannot be told apart.
            "" => "(no name)".to_owned(),
            name => name.to_owned(),
        },
        run: Run {
            file: file.to_owned(),
            started: result.started.clone(),
            seed: result.plan.seed,
            kernel: environment.kernel_release.clone(),
            hardly_any_waited: result.can_tell_schedulers_apart() == Some(false),
        },
        question: Question {
            workload: result.workload.name.clone(),
            arms: result.design.arms.clone(),
            reference: result.design.reference,
            primary: result.design.primary.clone(),
            goals: result.design.goals.clone(),
            alpha: result.design.alpha,
        },
        said: match why_nothing {
            None => result.primary().map(|row| said(row, &silent)).collect(),
            Some(_) => Vec::new(),
        },
        why_nothing,
        values: fingerprint(&result),
    })
}

/// SHA-256 over the values of all rounds: the same for copies of one run, whatever they say of host and time. Runs without any
/// value, in which every round failed, are told by host, time and seed.
pub fn fingerprint(result: &ResultFile) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut has_value = false;
    for round in &result.rounds {
        for (name, value) in round.metrics.iter().chain(&round.reported) {
            has_value = true;
            digest.update(name.as_bytes());
            digest.update(value.to_bits().to_le_bytes());
        }
    }
    if !has_value {
        let host = result.environment.hostname.as_deref().unwrap_or_default();
        for text in [host, &result.started] {
            digest.update(text.as_bytes());
            digest.update([0]);
        }
        digest.update(result.plan.seed.to_le_bytes());
    }
    digest.finalize().into()
}

/// Arms whose negative control has no value in some blocks, because their rounds failed. That does not show that the machine
/// changed.
fn silent(result: &ResultFile) -> BTreeSet<String> {
    let alarming = result.alarming_controls();
    let silent = alarming.filter(|row| is_censored(&row.comparison.reasons));
    silent.map(|row| row.arm.clone()).collect()
}

fn why_nothing(result: &ResultFile) -> Option<String> {
    if !result.has_ended() {
        return Some("the run is not complete".to_owned());
    }
    let mut alarming = result.alarming_controls();
    if let Some(row) = alarming.find(|row| !is_censored(&row.comparison.reasons)) {
        return Some(format!(
            "its negative control {} differs under {}",
            row.metric.name, row.arm
        ));
    }
    turn::why_invalid(result)
}

fn said(row: &ArmComparison, silent: &BTreeSet<String>) -> Said {
    let found = &row.comparison;
    // A run whose verdict is withheld still measured a number, and the mean over hosts uses it.
    let said = Comparison {
        withheld: None,
        ..found.clone()
    };
    let is_unjudged = gate::cannot_be_judged(&said) || silent.contains(&row.arm);
    let variance = found.sd.map(|sd| sd * sd / found.blocks.max(1) as f64);
    let vote = found.student.estimate.zip(variance);
    let vote = vote.filter(|_| !is_unjudged && found.blocks >= FEWEST_BLOCKS);
    let vote = vote.map(|(estimate, variance)| Vote {
        estimate,
        variance: variance.max(SMALLEST_VARIANCE),
    });
    Said {
        metric: row.metric.name.clone(),
        arm: row.arm.clone(),
        blocks: found.blocks,
        // Nobody knows what it would have said.
        is_unjudged: is_unjudged || vote.is_none(),
        vote,
        verdict: found.verdict,
        reasons: found.reasons.clone(),
    }
}

fn is_censored(reasons: &[Reason]) -> bool {
    let mut reasons = reasons.iter();
    reasons.any(|reason| matches!(reason, Reason::Censored { .. }))
}

fn kind(result: &ResultFile) -> Kind {
    let disks = result.device.disks();
    let is_simulated = disks.iter().any(|disk| disk.scratch.is_some());
    let model = |disk: &DeviceInfo| {
        let simulated = identity::simulated(disk).map(|spec| format!("simulated {spec}"));
        let own = || disk.model.as_deref().map(|model| model.trim().to_owned());
        simulated.or_else(own).filter(|model| !model.is_empty())
    };
    let is_nameless = disks.iter().any(|disk| model(disk).is_none());
    let models = disks.iter().map(|disk| {
        model(disk).unwrap_or_else(|| {
            let size = disk.size_bytes.map(|bytes| format!(" of {bytes} bytes"));
            format!("no model{}", size.unwrap_or_default())
        })
    });
    let named: BTreeSet<String> = disks
        .iter()
        .filter(|disk| disk.scratch.is_none())
        .filter_map(model)
        .collect();
    let firmwares = disks.iter().map(|disk| {
        let own = disk.firmware.as_deref().map(str::trim);
        own.filter(|it| !it.is_empty()).unwrap_or("none").to_owned()
    });
    Kind {
        model: counted(models),
        firmware: each_once(firmwares),
        kernel: identity::series(result),
        is_simulated,
        is_nameless,
        models: named.into_iter().collect(),
    }
}

/// `2 x ST4000, MX500`.
fn counted(names: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(name, count)| match count {
        1 => name,
        _ => format!("{count} x {name}"),
    });
    counts.collect::<Vec<_>>().join(", ")
}

fn each_once(names: impl Iterator<Item = String>) -> String {
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Why two results must not be mixed: they were asked something else. Empty: they may.
pub fn other_question(first: &ResultFile, other: &ResultFile) -> Vec<String> {
    let mut why = identity::other_question(other, first);
    let arms = |result: &ResultFile| -> Vec<String> {
        let arms = result.design.arms.iter();
        let mut arms: Vec<String> = arms
            .map(|arm| match arm.to_string() {
                own if own == arm.label => own,
                own => format!("{} ({own})", arm.label),
            })
            .collect();
        arms.sort();
        arms
    };
    why.extend(difference("arms", " ", &arms(first), &arms(other)));
    let metrics = |result: &ResultFile| -> Vec<String> {
        let metric = |it: &Metric| {
            let direction = match it.direction {
                Direction::HigherIsBetter => "higher is better",
                Direction::LowerIsBetter => "lower is better",
                Direction::Neutral => "no direction",
            };
            let scale = match it.scale {
                Scale::Log => "as ratio",
                Scale::Identity => "as difference",
            };
            let origin = match it.origin {
                Origin::Measured => "",
                Origin::Reported => ", reported",
            };
            let (name, unit, margin) = (&it.name, &it.unit, it.margin);
            format!("{name} ({unit}, {direction}, {scale}, margin {margin}{origin})")
        };
        let mut metrics: Vec<String> = result.design.primary.iter().map(metric).collect();
        metrics.sort();
        metrics
    };
    why.extend(difference(
        "metrics",
        ", ",
        &metrics(first),
        &metrics(other),
    ));
    let (one, two) = (first.design.alpha, other.design.alpha);
    if one.to_bits() != two.to_bits() {
        why.push(format!("level of the intervals: {one} -> {two}"));
    }
    if first.design.goals != other.design.goals {
        why.push("other goals (--prefer, --keep)".to_owned());
    }
    why
}

/// None: both lists are the same.
fn difference(what: &str, separator: &str, first: &[String], other: &[String]) -> Option<String> {
    let [one, two] = [first, other].map(|list| list.join(separator));
    (first != other).then(|| format!("{what}: {one} -> {two}"))
}
