//! Chooses ramp and window of the rounds from a pilot: from how the load varies, never from how the arms differ. Pure.

mod stand_ins; // metrics that vary like those that decide

use std::time::Duration;

pub use self::stand_ins::{kept, weight_of};
use self::stand_ins::{rates, stand_ins};
use crate::metric::{Metric, QUANTILES};
use crate::statistics::beyond;
use crate::statistics::power;
use crate::statistics::scale::Scale;
use crate::statistics::serial::Serial;
use crate::statistics::signed_rank::{FEWEST_BLOCKS, blocks_needed};
use crate::statistics::stopping::Stopping;
use crate::statistics::verdict::bonferroni;
use crate::types::result::{Design, ResultFile};
use crate::types::times::{ChosenTimes, PilotRound, PilotSeries};

const RAMPS_S: [f64; 4] = [1.0, 2.0, 3.0, 5.0];
const WINDOWS_S: [f64; 5] = [2.0, 3.0, 5.0, 10.0, 20.0];
/// Before the pilot, for what needs times then.
pub const FIRST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(20));
/// What follows a ramp must have the level of the second half of the pilot.
const SETTLED_S: f64 = 2.0;
/// One observation of that level.
const UNIT_S: f64 = 1.0;
/// Of windows that decide about as soon, the longest is taken: stalls and short ramps weigh less in it.
const AS_SOON: f64 = 1.1;
/// The time that a round may take on average before a run gives up: 5 s of ramp, 20 s of window, 1 s for the rest.
pub const LONGEST_ROUND_S: f64 = 26.0;
/// How fast the variance falls with the window beyond what the pilot shows: by its inverse for noise without a memory, by less on
/// disks, and a short pilot cannot tell. `tests/verdicts/times.rs` has what it costs on a real one.
const STEEPEST: f64 = 0.5;
/// So many of the blocks of a run are to be enough: the pilot underestimates what differs from round to round.
const SHARE_OF_BLOCKS: f64 = 0.6;

/// A time that may not be undercut.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    pub ramp_s: f64,
    pub round_time_s: f64,
    pub because: String,
}

impl PilotSeries {
    fn serial(&self) -> Serial {
        let bins = self.values.iter().enumerate().map(|(bin, value)| {
            let weight = if self.weights.is_empty() {
                1.0
            } else {
                self.weights.get(bin).copied().unwrap_or(0.0)
            };
            value.map_or((0.0, 0.0), |value| (value * weight, weight))
        });
        Serial {
            bins: bins.collect(),
        }
    }

    /// Half of the bins have a value.
    fn is_dense(&self) -> bool {
        let known = self.values.iter().flatten().count();
        known > 0 && 2 * known >= self.values.len()
    }

    fn mean(&self) -> f64 {
        self.values.iter().flatten().sum::<f64>() / self.values.len().max(1) as f64
    }
}

/// A metric that decides, by the series of each arm that stand for it.
struct Watched<'a> {
    metric: &'a Metric,
    serials: Vec<Serial>,
    /// Of its I/O, the fewest under any arm.
    iops: Option<f64>,
}

impl Watched<'_> {
    fn among<'a>(primary: &'a [Metric], pilot: &[PilotRound]) -> Vec<Watched<'a>> {
        let found = |name: &str| -> Option<Vec<&PilotSeries>> {
            let rounds = pilot.iter();
            rounds
                .map(|round| round.series.iter().find(|it| it.metric == name))
                .collect()
        };
        if pilot.is_empty() {
            return Vec::new();
        }
        let watched = primary.iter().filter_map(|metric| {
            let names = stand_ins(&metric.name).into_iter();
            let dense = |series: &Vec<&PilotSeries>| series.iter().all(|it| it.is_dense());
            let series = names.filter_map(|name| found(&name)).find(dense)?;
            let rates = rates(&metric.name)
                .into_iter()
                .filter_map(|name| found(&name));
            let rates = rates.flatten().map(PilotSeries::mean);
            Some(Watched {
                metric,
                serials: series.into_iter().map(PilotSeries::serial).collect(),
                iops: rates.reduce(f64::min).filter(|rate| *rate > 0.0),
            })
        });
        watched.collect()
    }

    /// The smallest difference that matters, on its scale.
    fn effect(&self) -> f64 {
        match self.metric.scale {
            Scale::Log => self.metric.margin.ln_1p(),
            Scale::Identity => self.metric.margin,
        }
    }

    fn has_settled(&self, ramp_s: f64, bin_s: f64) -> Option<bool> {
        let bins = |seconds: f64| (seconds / bin_s).round() as usize;
        let (ramp, bins, unit) = (bins(ramp_s), bins(SETTLED_S), bins(UNIT_S));
        let tolerance = 0.5 * self.effect();
        let each = self.serials.iter();
        let mut each =
            each.map(|it| it.has_settled(ramp, bins, unit, tolerance, self.metric.scale));
        each.try_fold(true, |all, one| Some(all && one?))
    }

    /// Of the difference of two rounds with such windows, averaged over the arms; beyond the pilot by how it fell within.
    fn variance(&self, window_s: f64, ramp_s: f64, gap_s: f64, bin_s: f64) -> Option<f64> {
        let bins = |seconds: f64| ((seconds / bin_s).round() as usize).max(1);
        let length = self.serials.iter().map(|it| it.bins.len()).min()?;
        // Of a short pilot something must be left.
        let part = length / 5;
        let (from, gap) = (bins(ramp_s).min(part), bins(gap_s).min(part));
        let measured = |window: usize| -> Option<f64> {
            let each = self.serials.iter();
            let each = each.filter_map(|it| it.pair_variance(from, window, gap, self.metric.scale));
            let each: Vec<f64> = each.collect();
            (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
        };
        // Of a longer one there is no second window that shares nothing with the first.
        let longest = length
            .checked_sub(from + gap)
            .map(|left| left * 2 / 5)?
            .max(1);
        let window = bins(window_s);
        if window <= longest {
            return measured(window);
        }
        let (long, short) = (measured(longest)?, measured(longest.div_ceil(2))?);
        let slope = ((short / long).ln() / (longest as f64 / longest.div_ceil(2) as f64).ln())
            .clamp(0.0, STEEPEST);
        let slope = if slope.is_finite() { slope } else { 0.0 };
        Some(long * (longest as f64 / window as f64).powf(slope))
    }

    /// The shortest window whose percentile has enough I/Os beyond it; None for another metric.
    fn tail_s(&self) -> Option<f64> {
        let (_, p, _) = QUANTILES
            .iter()
            .find(|(q, ..)| self.metric.name.ends_with(&format!("_{q}")))?;
        Some(beyond::TO_REPORT / (1.0 - p) / self.iops?)
    }
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
    let bin_s = pilot.first().map_or(1.0, |round| round.bin_s);
    let around_s =
        pilot.iter().map(|round| round.around_s).sum::<f64>() / pilot.len().max(1) as f64;
    let watched = Watched::among(&design.primary, &pilot);
    let (mut ramp_s, mut ramp_because) = (design.ramp_s, "named".to_owned());
    if auto.ramp {
        (ramp_s, ramp_because) = ramp(&watched, bin_s, floors);
    }
    let rows = design.primary.len().max(1) * (design.arms.len().max(2) - 1);
    let needs = Needs {
        watched: &watched,
        alpha: bonferroni(design.stopping.level(design.alpha), rows),
        ramp_s,
        around_s,
        bin_s,
    };
    let (mut round_time_s, mut round_time_because) = (design.round_time_s, "named".to_owned());
    if auto.round_time {
        (round_time_s, round_time_because) = needs.window(design.stopping, floors);
    }
    let blocks_needed = needs.blocks(round_time_s);
    let stopping = match design.stopping {
        Stopping::Looks { .. } => {
            let wanted = blocks_needed.map_or(usize::MAX, |blocks| {
                let most = Stopping::LOOKS.most_blocks().unwrap_or(1) as f64 * SHARE_OF_BLOCKS;
                (blocks as f64 / most).ceil() as usize
            });
            let affordable = (LONGEST_ROUND_S / (ramp_s + round_time_s + around_s)) as usize;
            Stopping::Looks {
                times: wanted.min(affordable).max(1),
            }
        }
        other => other,
    };
    let chosen = ChosenTimes {
        ramp_s,
        round_time_s,
        ramp_because,
        round_time_because,
        blocks_needed,
        pilot,
    };
    (chosen, stopping)
}

fn ramp(watched: &[Watched<'_>], bin_s: f64, floors: &[Floor]) -> (f64, String) {
    let settled = |ramp_s: &f64| {
        let mut each = watched.iter().map(|it| it.has_settled(*ramp_s, bin_s));
        each.all(|settled| settled == Some(true))
    };
    let longest = RAMPS_S[RAMPS_S.len() - 1];
    let (ramp_s, because) = match RAMPS_S.into_iter().find(settled) {
        _ if watched.is_empty() => (
            longest,
            "the pilot shows nothing of what decides".to_owned(),
        ),
        Some(ramp_s) => (ramp_s, format!("the level after {ramp_s} s stayed")),
        None => (longest, "the pilot had not settled earlier".to_owned()),
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
    alpha: f64,
    ramp_s: f64,
    around_s: f64,
    bin_s: f64,
}

impl Needs<'_> {
    /// For the row that needs the most; infinite where nothing is known.
    fn blocks_about(&self, window_s: f64) -> f64 {
        let gap_s = self.ramp_s + self.around_s;
        let each = self.watched.iter().map(|it| {
            let variance = it.variance(window_s, self.ramp_s, gap_s, self.bin_s);
            variance.map_or(f64::INFINITY, |variance| {
                power::blocks_about(self.alpha, variance.sqrt() / it.effect())
            })
        });
        let most = each.reduce(f64::max).unwrap_or(f64::INFINITY);
        most.max(blocks_needed(self.alpha).max(FEWEST_BLOCKS) as f64)
    }

    fn blocks(&self, window_s: f64) -> Option<usize> {
        let blocks = self.blocks_about(window_s).ceil();
        (blocks <= power::HORIZON as f64).then_some(blocks as usize)
    }

    fn window(&self, stopping: Stopping, floors: &[Floor]) -> (f64, String) {
        let (window_s, because) = self.soonest(stopping);
        let longest = WINDOWS_S[WINDOWS_S.len() - 1];
        let tails = self.watched.iter().filter_map(|it| {
            let tail_s = it.tail_s()?;
            let name = &it.metric.name;
            let because = if tail_s > longest {
                format!("{name} would need rounds of {tail_s:.0} s for 100 I/Os beyond it")
            } else {
                format!("{name} needs 100 I/Os beyond it")
            };
            // With a fifth to spare.
            Some(((1.2 * tail_s).ceil().min(longest), because))
        });
        let floors = floors
            .iter()
            .map(|floor| (floor.round_time_s, floor.because.clone()));
        let all = [(window_s, because)].into_iter().chain(floors).chain(tails);
        // Of equal ones the first.
        all.reduce(|most, one| if one.0 > most.0 { one } else { most })
            .unwrap_or_default()
    }

    fn soonest(&self, stopping: Stopping) -> (f64, String) {
        let longest = WINDOWS_S[WINDOWS_S.len() - 1];
        let blocks = |window_s: f64| self.blocks_about(window_s);
        if self.watched.is_empty() {
            return (
                longest,
                "the pilot shows nothing of what decides".to_owned(),
            );
        }
        if let Stopping::Fixed { blocks: planned } = stopping {
            let enough = WINDOWS_S
                .into_iter()
                .find(|window| blocks(*window) <= planned as f64);
            return match enough {
                Some(window_s) => (
                    window_s,
                    format!("{planned} blocks of such rounds show the margins"),
                ),
                None => (
                    longest,
                    format!("{planned} blocks hardly show the margins in this noise"),
                ),
            };
        }
        let time = |window_s: f64| (self.ramp_s + window_s + self.around_s) * blocks(window_s);
        let soonest = WINDOWS_S
            .into_iter()
            .map(time)
            .fold(f64::INFINITY, f64::min);
        if !soonest.is_finite() {
            return (longest, "the pilot says nothing of the noise".to_owned());
        }
        let window_s = WINDOWS_S
            .into_iter()
            .rfind(|window| time(*window) <= AS_SOON * soonest);
        let window_s = window_s.unwrap_or(longest);
        (
            window_s,
            "decides soonest by the noise of the pilot".to_owned(),
        )
    }
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;
