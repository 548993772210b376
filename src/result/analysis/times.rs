//! Chooses ramp and window of the rounds from a pilot: from how the load varies, never from how the arms differ. Pure.

mod limit; // what --budget leaves
mod stand_ins; // metrics that vary like those that decide
mod watched; // their level and their variance

use std::time::Duration;

use self::limit::Limit;
pub use self::stand_ins::{kept, weight_of};
use self::watched::Watched;
use crate::statistics::power;
use crate::statistics::scale::Scale;
use crate::statistics::signed_rank::{FEWEST_BLOCKS, blocks_needed};
use crate::statistics::stopping::{LOOKS, Stopping};
use crate::statistics::verdict::bonferroni;
use crate::types::result::{Design, ResultFile};
use crate::types::times::{ChosenTimes, DetectableEffect, PilotRound, mean_around_s};

const RAMPS_S: [f64; 4] = [1.0, 2.0, 3.0, 5.0];
/// Not shorter: in fewer seconds, an arm that stalls now and then would more often have no stall in any round.
const WINDOWS_S: [f64; 3] = [5.0, 10.0, 20.0];
/// So long must the windows of an arm be together before a run ends with "equivalent": what happens rarely needs time to be seen.
pub const EQUIVALENT_AFTER_S: f64 = 60.0;
/// Before the pilot, for what needs times then.
pub const FIRST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(20));
/// What it may choose at the least.
pub const SHORTEST: (Duration, Duration) = (
    Duration::from_secs(RAMPS_S[0] as u64),
    Duration::from_secs(WINDOWS_S[0] as u64),
);
/// The longest window that takes at most this multiple of the shortest time is chosen: stalls and short ramps weigh less in it.
const AS_SOON: f64 = 1.1;
/// The time that a round may take on average before a run gives up: 5 s of ramp, 20 s of window, 1 s for the rest.
pub const LONGEST_ROUND_S: f64 = 26.0;
/// The blocks of a run after its last look, where the looks are not further apart.
const BLOCKS_OF_LOOKS: usize = LOOKS[LOOKS.len() - 1];
/// So many of the blocks of a run are to be enough: the pilot underestimates what differs from round to round.
const SHARE_OF_BLOCKS: f64 = 0.6;

/// A time that may not be undercut.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    pub ramp_s: f64,
    pub round_time_s: f64,
    pub because: String,
}

/// Whether the pilot comes next.
pub fn is_due(result: &ResultFile) -> bool {
    result.times.is_none() && result.design.auto_times.is_some() && result.rounds.is_empty()
}

/// The times, with the stopping rule that suits them, into the design.
pub fn decide(result: &mut ResultFile, pilot: Vec<PilotRound>, floors: &[Floor]) {
    let (chosen, stopping) = choose(&result.design, pilot, floors);
    result.design.ramp_s = chosen.ramp_s;
    result.design.round_time_s = chosen.round_time_s;
    result.design.stopping = stopping;
    result.times = Some(chosen);
}

fn choose(design: &Design, pilot: Vec<PilotRound>, floors: &[Floor]) -> (ChosenTimes, Stopping) {
    let auto = design.auto_times.unwrap_or_default();
    let mut chosen = ChosenTimes {
        ramp_s: design.ramp_s,
        round_time_s: design.round_time_s,
        ramp_because: "named".to_owned(),
        round_time_because: "named".to_owned(),
        ..ChosenTimes::default()
    };
    let bin_s = pilot.first().map_or(1.0, |round| round.bin_s);
    let (watched, unseen) = watched(design, &pilot);
    if auto.ramp {
        (chosen.ramp_s, chosen.ramp_because) = ramp(&watched, unseen.as_deref(), bin_s, floors);
    }
    let rows = design.primary.len().max(1) * (design.arms.len().max(2) - 1);
    let needs = Needs {
        watched: &watched,
        unseen,
        alpha: bonferroni(design.stopping.level(design.alpha), rows),
        ramp_s: chosen.ramp_s,
        around_s: mean_around_s(&pilot),
        bin_s,
    };
    let limit = Limit::of(design, &pilot);
    if auto.round_time {
        // An arm against itself is to say what a run shows, whose rounds are those that decide soonest.
        let planned = match design.stopping {
            Stopping::Fixed { blocks } if !design.is_placebo => Some(blocks),
            _ => None,
        };
        (chosen.round_time_s, chosen.round_time_because) = needs.window(planned, floors);
        if let Some(limit) = &limit {
            limit.shorten(&needs, &mut chosen);
        }
    }
    chosen.blocks_needed = needs.blocks(chosen.round_time_s);
    let round_s = needs.ramp_s + chosen.round_time_s + needs.around_s;
    let in_budget = limit.map(|limit| limit.blocks(round_s));
    let stopping = match design.stopping {
        Stopping::Looks { .. } => {
            let affordable = match in_budget {
                // The last looks may be beyond the time.
                Some(blocks) => blocks.div_ceil(BLOCKS_OF_LOOKS),
                None => (LONGEST_ROUND_S / round_s) as usize,
            };
            looks(chosen.blocks_needed, affordable)
        }
        other => other,
    };
    chosen.blocks_in_budget =
        in_budget.map(|blocks| stopping.most_blocks().unwrap_or(blocks).min(blocks));
    if let Some(blocks) = chosen.blocks_in_budget {
        chosen.detectable = needs.detectable(chosen.round_time_s, blocks);
        chosen.too_short_for = needs.too_short(chosen.round_time_s);
    }
    chosen.pilot = pilot;
    (chosen, stopping)
}

/// The metrics that decide; none, and why, where the pilot does not show all of them under each arm.
fn watched<'a>(design: &'a Design, pilot: &[PilotRound]) -> (Vec<Watched<'a>>, Option<String>) {
    let reference = design.arms.get(design.reference);
    let reference = reference.map_or("", |arm| &arm.label);
    let each = design.primary.iter();
    let each = each.map(|metric| Watched::of(metric, pilot, reference).ok_or(&*metric.name));
    let unseen = |name: &str| Some(format!("the pilot does not show {name}"));
    match each.collect::<Result<Vec<Watched<'_>>, &str>>() {
        Ok(all) if all.is_empty() => (all, unseen("what decides")),
        Ok(all) => (all, None),
        Err(name) => (Vec::new(), unseen(name)),
    }
}

/// So many times the usual blocks that those needed are a part of them; not more than can be afforded.
fn looks(blocks_needed: Option<usize>, affordable: usize) -> Stopping {
    let most = BLOCKS_OF_LOOKS as f64 * SHARE_OF_BLOCKS;
    let wanted = blocks_needed.map(|blocks| (blocks as f64 / most).ceil() as usize);
    let times = wanted.unwrap_or(usize::MAX).min(affordable).max(1);
    Stopping::Looks { times }
}

fn ramp(
    watched: &[Watched<'_>],
    unseen: Option<&str>,
    bin_s: f64,
    floors: &[Floor],
) -> (f64, String) {
    let has_settled = |ramp_s: &f64| watched.iter().all(|it| it.has_settled(*ramp_s, bin_s));
    let longest = RAMPS_S[RAMPS_S.len() - 1];
    let (ramp_s, because) = match (unseen, RAMPS_S.into_iter().find(has_settled)) {
        (Some(unseen), _) => (longest, unseen.to_owned()),
        (None, Some(ramp_s)) => (ramp_s, format!("the level after {ramp_s} s stayed")),
        (None, None) => (longest, "the pilot had not settled after 3 s".to_owned()),
    };
    let floor = floors.iter().filter(|floor| floor.ramp_s > ramp_s);
    let floor = floor.max_by(|a, b| a.ramp_s.total_cmp(&b.ramp_s));
    floor.map_or((ramp_s, because), |floor| {
        (floor.ramp_s, floor.because.clone())
    })
}

/// How many blocks are needed.
struct Needs<'a> {
    watched: &'a [Watched<'a>],
    /// Something that decides was not seen, and why.
    unseen: Option<String>,
    alpha: f64,
    ramp_s: f64,
    around_s: f64,
    bin_s: f64,
}

impl Needs<'_> {
    /// By the noise, for the row that needs the most; infinite where that is not known.
    fn by_noise(&self, window_s: f64) -> f64 {
        let gap_s = self.ramp_s + self.around_s;
        let each = self.watched.iter().map(|it| {
            let variance = it.variance(window_s, self.ramp_s, gap_s, self.bin_s);
            variance.map_or(f64::INFINITY, |variance| {
                power::blocks_about(self.alpha, variance.sqrt() / it.effect)
            })
        });
        match self.unseen {
            Some(_) => f64::INFINITY,
            None => each.fold(0.0, f64::max),
        }
    }

    fn blocks(&self, window_s: f64) -> Option<usize> {
        let blocks = self.by_noise(window_s).ceil();
        (blocks <= power::HORIZON as f64).then_some((blocks as usize).max(1))
    }

    /// The fewest blocks with which each row has an interval.
    fn fewest(&self) -> f64 {
        blocks_needed(self.alpha).max(FEWEST_BLOCKS) as f64
    }

    /// The percentiles that have too few I/Os beyond them.
    fn too_short(&self, window_s: f64) -> Vec<String> {
        let tails = self.watched.iter();
        let short = tails.filter(|it| it.tail_s().is_some_and(|tail_s| tail_s > window_s));
        short.map(|it| it.metric.name.clone()).collect()
    }

    /// What so many blocks show of each metric that the pilot has seen: a mean that stands for a percentile varies far less.
    fn detectable(&self, window_s: f64, blocks: usize) -> Vec<DetectableEffect> {
        let gap_s = self.ramp_s + self.around_s;
        let blocks = SHARE_OF_BLOCKS * blocks.max(1) as f64;
        let seen = self.watched.iter().filter(|it| it.is_seen);
        let each = seen.filter_map(|it| {
            let variance = it.variance(window_s, self.ramp_s, gap_s, self.bin_s)?;
            let needed = power::blocks_about(self.alpha, variance.sqrt() / it.effect);
            let effect = it.effect * (needed / blocks).sqrt();
            let effect = match it.scale {
                Scale::Log => effect.exp_m1(),
                Scale::Identity => effect,
            };
            let metric = it.metric.name.clone();
            effect
                .is_finite()
                .then_some(DetectableEffect { metric, effect })
        });
        each.collect()
    }

    /// `planned`: so many blocks, whatever they show.
    fn window(&self, planned: Option<usize>, floors: &[Floor]) -> (f64, String) {
        let longest = WINDOWS_S[WINDOWS_S.len() - 1];
        let chosen = match (&self.unseen, planned) {
            (Some(unseen), _) => (longest, unseen.clone()),
            (None, Some(planned)) => self.for_planned(planned),
            (None, None) => self.soonest(),
        };
        let tails = self.watched.iter().filter_map(|it| {
            let tail_s = it.tail_s()?;
            let name = &it.metric.name;
            let because = if tail_s > longest {
                format!("{name} would need rounds of {tail_s:.0} s for 100 I/Os beyond it")
            } else {
                format!("{name} needs 100 I/Os beyond it")
            };
            // The rate of a round may be a little lower than that of the pilot.
            Some(((1.2 * tail_s).ceil().min(longest), because))
        });
        let floors = floors
            .iter()
            .map(|floor| (floor.round_time_s, floor.because.clone()));
        // The run ends after these, whatever they are.
        let enough = planned.map(|planned| {
            let least_s = (EQUIVALENT_AFTER_S / planned.max(1) as f64).ceil();
            let because = format!(
                "{planned} of them are a minute, before which \"equivalent\" would say little"
            );
            (least_s.min(longest), because)
        });
        let more = floors.chain(tails).chain(enough);
        // If two are equally long, the first one gives the reason.
        more.fold(chosen, |most, one| if one.0 > most.0 { one } else { most })
    }

    fn for_planned(&self, planned: usize) -> (f64, String) {
        let enough = SHARE_OF_BLOCKS * planned as f64;
        let longest = WINDOWS_S[WINDOWS_S.len() - 1];
        let mut windows = WINDOWS_S.into_iter();
        let found = windows.find(|window| self.by_noise(*window) <= enough);
        let verb = if found.is_some() {
            "show"
        } else {
            "hardly show"
        };
        let because =
            format!("{planned} blocks of such rounds {verb} the margins in the noise of the pilot");
        (found.unwrap_or(longest), because)
    }

    fn soonest(&self) -> (f64, String) {
        let longest = WINDOWS_S[WINDOWS_S.len() - 1];
        let blocks = |window_s: f64| self.by_noise(window_s).max(self.fewest());
        let time = |window_s: f64| (self.ramp_s + window_s + self.around_s) * blocks(window_s);
        let soonest = WINDOWS_S
            .into_iter()
            .map(time)
            .fold(f64::INFINITY, f64::min);
        if !soonest.is_finite() {
            let because = "under an arm the pilot was too still to tell its noise".to_owned();
            return (longest, because);
        }
        let mut windows = WINDOWS_S.into_iter();
        let window_s = windows.rfind(|window| time(*window) <= AS_SOON * soonest);
        let because = "decides soonest in the noise of the pilot".to_owned();
        (window_s.unwrap_or(longest), because)
    }
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;
