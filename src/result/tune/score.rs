//! How the candidates stand, by the rounds of the search: means of their differences to what the disk had, without the fifth of
//! the blocks at either end. For the search alone: the best of many is better than it is. Pure.

use super::{DEFAULT, Stage, TuneResult};
use crate::metric::Metric;
use crate::statistics::scale::Direction;
use crate::types::goals::Goals;
use crate::types::result::{ResultFile, Round};

const TRIMMED: f64 = 0.2;
/// Standard deviation of a difference, on the scale of its metric, above which stages have more blocks.
const NOISY: f64 = 0.06;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Of the candidate.
    pub index: usize,
    /// The preferred metric, on its scale; positive is better. Minus infinity: it stalled or failed too often.
    pub score: f64,
    /// By how many margins what is to be kept is worse than its margin; 0 if it is not.
    pub violation: f64,
    pub blocks: usize,
}

impl Standing {
    fn dominates(&self, other: &Standing) -> bool {
        let is_no_worse = self.score >= other.score && self.violation <= other.violation;
        is_no_worse && (self.score > other.score || self.violation < other.violation)
    }
}

/// The metric that should get better, as far as it is known.
pub fn preferred(tune: &TuneResult) -> Option<&Metric> {
    let mut stages = tune.stages.iter().rev();
    stages
        .find_map(|stage| wanted(&stage.result))
        .map(|wanted| wanted.prefer)
}

struct Wanted<'a> {
    prefer: &'a Metric,
    kept: Vec<&'a Metric>,
    /// Each with the worst value that is allowed, on the metric's scale.
    limits: Vec<(&'a Metric, f64)>,
}

/// What a design wants: the preferred metric, and those that are kept.
fn wanted(result: &ResultFile) -> Option<Wanted<'_>> {
    let goals: Goals = result.design.goals.clone().unwrap_or_default();
    let primary = &result.design.primary;
    let prefer = primary
        .iter()
        .find(|metric| goals.is_preferred(&metric.name))?;
    let kept = primary.iter().filter(|metric| goals.is_kept(&metric.name));
    let limits = goals.limits.iter().filter_map(|limit| {
        let metric = primary.iter().find(|metric| metric.name == limit.metric)?;
        Some((metric, metric.scale.transformed(limit.bound(metric)?)?))
    });
    Some(Wanted {
        prefer,
        kept: kept.collect(),
        limits: limits.collect(),
    })
}

/// How far an arm's values are within the limit, on the metric's scale; negative is beyond it.
fn within(result: &ResultFile, arm: &str, metric: &Metric, bound: f64) -> Vec<f64> {
    let rounds = result.rounds.iter();
    let own = rounds.filter(|round| round.arm == arm && round.exclusion.is_none());
    own.map(|round| {
        let value = Some(round).filter(|round| round.censored.is_none());
        let value = value.and_then(|round| metric.scale.transformed(round.value(metric)?));
        // Whatever keeps a round from having a value may be its arm's doing.
        value.map_or(f64::NEG_INFINITY, |value| match metric.direction {
            Direction::HigherIsBetter => value - bound,
            Direction::LowerIsBetter | Direction::Neutral => bound - value,
        })
    })
    .collect()
}

/// The differences of an arm to the default, in blocks in which that has a value. Positive is better.
fn differences(result: &ResultFile, arm: &str, metric: &Metric) -> Vec<f64> {
    let reference = &result.design.arms[result.design.reference].label;
    let sign = match metric.direction {
        Direction::HigherIsBetter => 1.0,
        Direction::LowerIsBetter => -1.0,
        Direction::Neutral => return Vec::new(),
    };
    let counts = |round: &&Round| round.exclusion.is_none();
    let of = |label: &str, place: (usize, usize)| {
        let mut rounds = result.rounds.iter().filter(counts);
        rounds.find(|round| round.arm == label && (round.block, round.attempt) == place)
    };
    let own = result.rounds.iter().filter(counts);
    let own = own.filter(|round| round.arm == arm);
    own.filter_map(|round| {
        let base = of(reference, (round.block, round.attempt))?;
        if base.censored.is_some() {
            return None;
        }
        let base = metric.scale.transformed(base.value(metric)?)?;
        // Whatever keeps a round from having a value may be its arm's doing.
        let value = Some(round).filter(|round| round.censored.is_none());
        let value = value.and_then(|round| metric.scale.transformed(round.value(metric)?));
        let difference = value.map_or(f64::NEG_INFINITY, |value| sign * (value - base));
        (!difference.is_nan()).then_some(difference)
    })
    .collect()
}

/// Without the fifth of the values at either end. None without values.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * TRIMMED) as usize;
    let kept = &sorted[cut..sorted.len() - cut];
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

fn over<'a>(stages: impl Iterator<Item = &'a Stage>, arm: &str, metric: &Metric) -> Vec<f64> {
    let each = stages.map(|stage| differences(&stage.result, arm, metric));
    each.flatten().collect()
}

/// Of these candidates, the best first. Those without a block are left out.
pub fn standings(tune: &TuneResult, indices: &[usize]) -> Vec<Standing> {
    standings_after(tune, tune.stages.len(), indices)
}

/// The same by the first stages alone.
pub fn standings_after(tune: &TuneResult, stages: usize, indices: &[usize]) -> Vec<Standing> {
    // The last stage knows the unit of what a command reports.
    let Some(wanted) = tune.stages.iter().rev().find_map(|it| wanted(&it.result)) else {
        return Vec::new();
    };
    let stages = || tune.stages.iter().take(stages);
    let standing = |index: &usize| {
        let label = &tune.candidates[*index].arm.label;
        let own = over(stages(), label, wanted.prefer);
        let kept = wanted.kept.iter().map(|metric| {
            let own = trimmed_mean(&over(stages(), label, metric));
            let margin = metric.scale.of_margin(metric.margin);
            own.map_or(0.0, |own| (-own / margin - 1.0).max(0.0))
        });
        let limits = wanted.limits.iter().map(|(metric, bound)| {
            let each = stages().flat_map(|stage| within(&stage.result, label, metric, *bound));
            let margin = metric.scale.of_margin(metric.margin);
            trimmed_mean(&each.collect::<Vec<f64>>()).map_or(0.0, |own| (-own / margin).max(0.0))
        });
        let violations = kept.chain(limits);
        Some(Standing {
            index: *index,
            score: trimmed_mean(&own)?,
            violation: violations.fold(0.0, f64::max),
            blocks: own.len(),
        })
    };
    let mut left: Vec<Standing> = indices.iter().filter_map(standing).collect();
    let mut sorted = Vec::new();
    // Front after front of those that no other beats in both.
    while !left.is_empty() {
        let is_beaten = |one: &Standing| left.iter().any(|other| other.dominates(one));
        let (mut front, rest): (Vec<Standing>, Vec<Standing>) =
            left.iter().copied().partition(|one| !is_beaten(one));
        front.sort_by(|a, b| {
            let by_violation = a.violation.total_cmp(&b.violation);
            by_violation.then(b.score.total_cmp(&a.score))
        });
        sorted.extend(front);
        left = rest;
    }
    sorted
}

/// Those that no other of them beats in both, at most `most`, the best first.
pub fn front(standings: &[Standing], most: usize) -> Vec<Standing> {
    let is_beaten = |one: &&Standing| standings.iter().any(|other| other.dominates(one));
    let front = standings.iter().filter(|one| !is_beaten(one));
    front.take(most).copied().collect()
}

/// Whether blocks differ so much that two of them say little.
pub fn is_noisy(tune: &TuneResult) -> bool {
    let Some(stage) = tune.stages.first() else {
        return false;
    };
    let Some(Wanted { prefer, .. }) = wanted(&stage.result) else {
        return false;
    };
    let arms = stage.result.design.arms.iter().enumerate();
    let others = arms.filter(|(index, _)| *index != DEFAULT);
    let (mut squares, mut degrees) = (0.0, 0);
    for (_, arm) in others {
        let own = differences(&stage.result, &arm.label, prefer);
        if own.len() < 2 || own.iter().any(|d| !d.is_finite()) {
            continue;
        }
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        squares += own.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
        degrees += own.len() - 1;
    }
    // A difference has the noise of two rounds.
    degrees > 0 && (squares / degrees as f64 / 2.0).sqrt() > NOISY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trimmed_mean_leaves_out_a_fifth_at_either_end() {
        assert_eq!(trimmed_mean(&[]), None);
        assert_eq!(trimmed_mean(&[3.0, 1.0]), Some(2.0));
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 1e9]), Some(3.0));
        let worst = f64::NEG_INFINITY;
        assert_eq!(trimmed_mean(&[worst, 1.0]), Some(worst));
        assert_eq!(trimmed_mean(&[worst, 1.0, 2.0, 3.0, 9.0]), Some(2.0));
    }

    #[test]
    fn the_front_is_of_those_that_no_other_beats() {
        let one = |index, score, violation| Standing {
            index,
            score,
            violation,
            blocks: 2,
        };
        let all = [
            one(1, 0.3, 2.0),
            one(2, 0.2, 0.0),
            one(3, 0.1, 0.0),
            one(4, 0.2, 1.0),
        ];
        let found: Vec<usize> = front(&all, 3).iter().map(|it| it.index).collect();
        assert_eq!(found, [1, 2]);
    }
}
