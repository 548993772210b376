//! How long a run goes on, by what its rounds so far took. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use super::budget;
use super::turn;
use crate::statistics::stopping::Stopping;
use crate::types::plan::PlannedRound;
use crate::types::result::{ResultFile, Round};

/// The rest of a run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Until the verdicts that may end the run are next drawn; None where they are drawn after every block, or now.
    pub next_s: Option<f64>,
    /// Until the run ends at the latest; None: no number of blocks ends it.
    pub most_s: Option<f64>,
}

/// None: nothing says it, because no round has ended, or because rounds keep to hours of the day. `took_before_s`: what the rounds had
/// taken when this run was started or resumed, for which alone `--for` holds.
pub fn left(result: &ResultFile, took_before_s: f64) -> Option<Left> {
    let costs = Costs::of(result)?;
    let live = result.design.live.as_ref();
    if live.is_some_and(|live| live.between.is_some()) {
        return None;
    }
    let most_blocks = result.design.schedule().most_blocks();
    let traces_s = costs.traces_s(result);
    let found = match most_blocks {
        None => Left {
            next_s: None,
            most_s: None,
        },
        Some(most) => by_the_plan(result, &costs, most),
    };
    // A round that has begun in time ends after it.
    let is_extended = !result.design.extensions.is_empty();
    let limit_s = live.and_then(|live| live.for_s).filter(|_| !is_extended);
    let of_limit_s = limit_s.map(|limit_s| {
        let ran_s = result.rounds_took_s.unwrap_or(0.0) - took_before_s;
        (limit_s - ran_s).max(0.0) + costs.usual_s / 2.0
    });
    let within = |seconds: f64| of_limit_s.map_or(seconds, |limit_s| limit_s.min(seconds));
    Some(Left {
        next_s: found.next_s.map(|next_s| {
            // The traces follow the last round.
            let is_last = found.most_s == Some(next_s);
            within(next_s) + if is_last { traces_s } else { 0.0 }
        }),
        most_s: found
            .most_s
            .map(within)
            .or(of_limit_s)
            .map(|most_s| most_s + traces_s),
    })
}

fn by_the_plan(result: &ResultFile, costs: &Costs<'_>, most: usize) -> Left {
    let drawn = result.plan.blocks();
    let left = turn::left_until(result, drawn);
    let drawn_s: f64 = left.iter().map(|planned| costs.round_s(planned)).sum();
    let arms = result.plan.arms - result.stopped_arms().len();
    let rounds = most.saturating_sub(drawn) * arms;
    let most_s = drawn_s + costs.usual_s * rounds as f64;
    let in_budget_s = result
        .design
        .budget_s
        .filter(|_| result.design.extensions.is_empty())
        .map(|budget_s| (budget_s - budget::spent_s(result)).max(drawn_s));
    let most_s = in_budget_s.map_or(most_s, |limit_s| limit_s.min(most_s));
    let has_looks = matches!(result.design.stopping, Stopping::Looks { .. });
    let next_s = if !has_looks || !result.design.extensions.is_empty() {
        Some(most_s)
    } else {
        // At a look nothing is drawn beyond it, and whether the run goes on takes time to know.
        (!left.is_empty() || drawn == most).then_some(drawn_s)
    };
    Left {
        next_s,
        most_s: Some(most_s),
    }
}

/// What rounds take.
struct Costs<'a> {
    result: &'a ResultFile,
    /// By arm: the mean of its rounds, without their pauses and wash-outs; None: it had none.
    arms_s: Vec<Option<f64>>,
    /// That of all arms.
    mean_s: f64,
    /// What every round takes beside: its wash-out, and what passes between rounds.
    beside_s: f64,
    /// A round whose pause and arm are not known.
    usual_s: f64,
}

impl Costs<'_> {
    fn of(result: &ResultFile) -> Option<Costs<'_>> {
        let again = result.pilot.iter().flat_map(|pilot| &pilot.rounds);
        let all: Vec<&Round> = result.rounds.iter().chain(again).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let took_s = result.rounds_took_s.filter(|took| *took > 0.0)?;
        let known_s: f64 = all
            .iter()
            .map(|round| timed_s(round) + washed_s(round))
            .sum();
        let between_s = ((took_s - known_s) / all.len().max(1) as f64).max(0.0);
        let planned = |round: &Round| {
            let mut planned = result.plan.rounds.iter();
            planned.find(|it| (it.block, it.position) == (round.block, round.position))
        };
        let arms_s = result.design.arms.iter().map(|arm| {
            let of_arm = all.iter().filter(|round| round.arm == arm.label);
            let costs_s: Vec<f64> = of_arm
                .map(|round| timed_s(round) - planned(round).map_or(0.0, |it| pause_s(result, it)))
                .collect();
            (!costs_s.is_empty()).then(|| mean(&costs_s))
        });
        let arms_s: Vec<Option<f64>> = arms_s.collect();
        let known_arms_s: Vec<f64> = arms_s.iter().flatten().copied().collect();
        let mean_s = (!known_arms_s.is_empty()).then(|| mean(&known_arms_s))?;
        let beside_s = between_s + washout_s(result);
        let planned_time = result.design.ramp() + result.design.time();
        let share = PlannedRound::share_of_pause(result.workload.fixed, planned_time);
        Some(Costs {
            result,
            arms_s,
            mean_s,
            beside_s,
            usual_s: mean_s + beside_s + share / 2.0,
        })
    }

    fn round_s(&self, planned: &PlannedRound) -> f64 {
        let arm_s = self.arms_s.get(planned.arm).copied().flatten();
        arm_s.unwrap_or(self.mean_s) + pause_s(self.result, planned) + self.beside_s
    }

    /// Each arm is traced once, after the last round.
    fn traces_s(&self, result: &ResultFile) -> f64 {
        let Some(trace) = result.design.trace() else {
            return 0.0;
        };
        let done: BTreeSet<&str> = result.traces.iter().map(|it| it.arm.as_str()).collect();
        let arms = result.plan.arms - result.stopped_arms().len();
        let window_s = result.design.round_time_s.min(self.mean_s);
        let one_s = self.usual_s - window_s + trace.as_secs_f64();
        one_s * arms.saturating_sub(done.len()) as f64
    }
}

/// The time of a round that is known by its parts, with its pause.
fn timed_s(round: &Round) -> f64 {
    let times = round.evidence.times.unwrap_or_default();
    round.window_s + times.switch_s + times.start_s + times.ramp_s + times.end_s
}

fn washed_s(round: &Round) -> f64 {
    round.evidence.times.map_or(0.0, |times| times.washout_s)
}

fn pause_s(result: &ResultFile, planned: &PlannedRound) -> f64 {
    let time: Duration = result.design.ramp() + result.design.time();
    planned.pause(result.workload.fixed, time).as_secs_f64()
}

/// As long as wash-outs took, or are to take: they may begin after the first blocks.
fn washout_s(result: &ResultFile) -> f64 {
    let Some((_, planned)) = result.design.washout() else {
        return 0.0;
    };
    let seen_s: Vec<f64> = result.rounds.iter().map(washed_s).collect();
    if seen_s.is_empty() {
        return planned.as_secs_f64();
    }
    seen_s.iter().sum::<f64>() / seen_s.len() as f64
}

#[cfg(test)]
#[path = "left_tests.rs"]
mod tests;
