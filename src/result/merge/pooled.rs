//! What all hosts of a group say. Pure.

use std::collections::BTreeMap;

use super::contribution::{Contribution, Said};
use super::{Group, Host, HostVote, Kind, Question, Row};
use crate::metric::Metric;
use crate::statistics::random_effects::{self, Pooled, Vote};
use crate::statistics::stopping::Method;
use crate::statistics::verdict::{self, Verdict, bonferroni};

/// Level of the prediction interval. Rows do not share it, because no verdict uses it.
const PREDICTION_ALPHA: f64 = 0.05;

pub fn group(kind: Kind, of: Vec<Contribution>, question: &Question) -> Group {
    let mut hosts: BTreeMap<String, Vec<Contribution>> = BTreeMap::new();
    for of in of {
        hosts.entry(of.host.clone()).or_default().push(of);
    }
    for runs in hosts.values_mut() {
        runs.sort_by(|a, b| (&a.run.started, a.run.seed).cmp(&(&b.run.started, b.run.seed)));
    }
    let reference = &question.arms[question.reference].label;
    let arms = question.arms.iter().map(|arm| &arm.label);
    let arms: Vec<&String> = arms.filter(|label| *label != reference).collect();
    let alpha = bonferroni(question.alpha, arms.len() * question.primary.len());
    let metrics = question.primary.iter();
    let pairs = metrics.flat_map(|metric| arms.iter().map(move |arm| (metric, *arm)));
    let rows = pairs.map(|(metric, arm)| row(&hosts, metric, arm, reference, alpha));
    Group {
        kind,
        rows: rows.collect(),
        hosts: hosts
            .into_iter()
            .map(|(name, runs)| Host {
                name,
                runs: runs.into_iter().map(|of| of.run).collect(),
            })
            .collect(),
    }
}

fn row(
    hosts: &BTreeMap<String, Vec<Contribution>>,
    metric: &Metric,
    arm: &str,
    reference: &str,
    alpha: f64,
) -> Row {
    let (mut votes, mut unjudged) = (Vec::new(), Vec::new());
    for (host, runs) in hosts {
        let of_run = |of: &'_ Contribution| -> Option<Said> {
            let mut said = of.said.iter();
            let own = said.find(|it| it.metric == metric.name && it.arm == arm);
            own.cloned()
        };
        let said: Vec<Option<Said>> = runs.iter().map(of_run).collect();
        // A run without the row has no answer, and the arm may be why.
        if said
            .iter()
            .any(|it| it.as_ref().is_none_or(|it| it.is_unjudged))
        {
            unjudged.push(host.clone());
        }
        let said: Vec<Said> = said.into_iter().flatten().collect();
        let own: Vec<Vote> = said.iter().filter_map(|it| it.vote).collect();
        let one = one_vote(&own);
        votes.push(HostVote {
            host: host.clone(),
            runs: own.len(),
            blocks: said.iter().map(|it| it.blocks).sum(),
            estimate: one.map(|vote| vote.estimate),
            standard_error: one.map(|vote| vote.variance.sqrt()),
            verdicts: said.iter().map(|it| it.verdict).collect(),
            reasons: said.into_iter().flat_map(|it| it.reasons).collect(),
        });
    }
    from_votes((metric, arm, reference), alpha, unjudged, votes)
}

/// The row that these votes make.
pub fn from_votes(
    names: (&Metric, &str, &str),
    alpha: f64,
    unjudged: Vec<String>,
    votes: Vec<HostVote>,
) -> Row {
    let numbers = votes.iter().filter_map(|vote| {
        let (estimate, error) = (vote.estimate?, vote.standard_error?);
        let variance = error * error;
        Some((vote.host.clone(), Vote { estimate, variance }))
    });
    let numbers: Vec<(String, Vote)> = numbers.collect();
    let all: Vec<Vote> = numbers.iter().map(|(_, vote)| *vote).collect();
    let pooled = random_effects::pool(&all, alpha);
    let odd = random_effects::outliers(&all, PREDICTION_ALPHA);
    let outliers = odd.iter().map(|index| numbers[*index].0.clone()).collect();
    said_by(
        names,
        alpha,
        &all,
        pooled.as_ref(),
        unjudged,
        outliers,
        votes,
    )
}

fn said_by(
    (metric, arm, reference): (&Metric, &str, &str),
    alpha: f64,
    all: &[Vote],
    pooled: Option<&Pooled>,
    unjudged: Vec<String>,
    outliers: Vec<String>,
    votes: Vec<HostVote>,
) -> Row {
    let question = verdict::Question::plain(
        metric.scale,
        metric.direction,
        metric.margin,
        alpha,
        Method::SignedRank,
    );
    let interval = pooled.map(|of| of.interval);
    let plain = interval.map_or(Verdict::Inconclusive, |interval| question.judge(interval));
    // A missing answer never speaks for the arm.
    let is_kept_back = !unjudged.is_empty() && plain != Verdict::Worse;
    let verdict = if is_kept_back {
        Verdict::Inconclusive
    } else {
        plain
    };
    let withheld = (is_kept_back && plain != verdict).then_some(plain);
    let estimate = pooled.map(|of| of.estimate);
    let prediction = random_effects::pool(all, PREDICTION_ALPHA).and_then(|of| of.prediction);
    let margins = metric.scale.margins(metric.margin);
    Row {
        metric: metric.clone(),
        arm: arm.to_owned(),
        reference: reference.to_owned(),
        alpha,
        hosts: all.len(),
        estimate,
        standard_error: pooled.map(|of| of.standard_error),
        interval,
        ratio: metric.scale.ratio(estimate),
        ratio_interval: metric.scale.ratio_interval(interval),
        p: pooled.map(|of| of.p),
        prediction,
        prediction_ratio: metric.scale.ratio_interval(prediction),
        tau: pooled.map(|of| of.tau),
        i_squared: pooled.map(|of| of.i_squared),
        q: pooled.map(|of| of.q),
        q_p: pooled.map(|of| of.q_p),
        verdict,
        withheld,
        beyond_margin: interval.is_some_and(|i| margins.are_left_by(i)) && !is_kept_back,
        unjudged,
        outliers,
        votes,
    }
}

/// Several runs of a host are one vote: as sure as their noise, and no surer than they vary from run to run.
fn one_vote(runs: &[Vote]) -> Option<Vote> {
    if runs.is_empty() {
        return None;
    }
    let weights = runs.iter().map(|run| 1.0 / run.variance);
    let total: f64 = weights.clone().sum();
    let sum: f64 = weights
        .zip(runs)
        .map(|(weight, run)| weight * run.estimate)
        .sum();
    let estimate = sum / total;
    let count = runs.len() as f64;
    let squares: f64 = runs
        .iter()
        .map(|run| (run.estimate - estimate).powi(2))
        .sum();
    let between = if runs.len() > 1 {
        squares / (count - 1.0) / count
    } else {
        0.0
    };
    Some(Vote {
        estimate,
        variance: between.max(1.0 / total),
    })
}
