//! What the pilot shows of the metrics that decide: their level and their variance. Pure.

use super::stand_ins::{rates, stand_ins};
use crate::metric::{Metric, QUANTILES};
use crate::statistics::beyond;
use crate::statistics::scale::Scale;
use crate::statistics::serial::Serial;
use crate::types::times::{PilotRound, PilotSeries};

/// What follows a ramp must have the level of the second half of the pilot.
const SETTLED_S: f64 = 2.0;
/// One observation of that level.
const UNIT_S: f64 = 1.0;
/// How fast the variance falls with the window beyond what the pilot shows: by its inverse for noise without a memory, by less on
/// disks, and a short pilot cannot tell. `tests/verdicts/times.rs` has what it costs on a real one.
const STEEPEST: f64 = 0.5;
/// The margin of a stand-in for a share: the share's own margin is absolute.
const RELATIVE_MARGIN: f64 = 0.05;

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
pub(super) struct Watched<'a> {
    pub metric: &'a Metric,
    pub scale: Scale,
    /// Not by another metric that varies alike: it has its own series.
    pub is_seen: bool,
    /// The smallest difference that matters, on that scale.
    pub effect: f64,
    /// In the order of the pilot.
    serials: Vec<Serial>,
    /// That of the reference among them.
    reference: Option<usize>,
    /// The I/Os per second that it describes, under the arm with the fewest.
    iops: Option<f64>,
}

impl<'a> Watched<'a> {
    /// None: the pilot does not show it under each arm.
    pub fn of(metric: &'a Metric, pilot: &[PilotRound], reference: &str) -> Option<Watched<'a>> {
        if pilot.is_empty() {
            return None;
        }
        let found = |name: &str| -> Option<Vec<&PilotSeries>> {
            let rounds = pilot.iter();
            rounds
                .map(|round| round.series.iter().find(|it| it.metric == name))
                .collect()
        };
        let is_dense = |series: &Vec<&PilotSeries>| series.iter().all(|it| it.is_dense());
        let mut names = stand_ins(&metric.name).into_iter();
        let (name, series) = names.find_map(|name| {
            let series = found(&name).filter(is_dense)?;
            Some((name, series))
        })?;
        let (scale, effect) = match metric.scale {
            Scale::Log => (Scale::Log, metric.margin.ln_1p()),
            Scale::Identity if name == metric.name => (Scale::Identity, metric.margin),
            Scale::Identity => (Scale::Log, RELATIVE_MARGIN.ln_1p()),
        };
        let rates = rates(&metric.name).into_iter();
        let rates = rates.filter_map(|name| found(&name)).flatten();
        Some(Watched {
            metric,
            scale,
            effect,
            is_seen: name == metric.name,
            serials: series.into_iter().map(PilotSeries::serial).collect(),
            reference: pilot.iter().position(|round| round.arm == reference),
            iops: rates
                .map(PilotSeries::mean)
                .reduce(f64::min)
                .filter(|rate| *rate > 0.0),
        })
    }

    /// Under each arm.
    pub fn has_settled(&self, ramp_s: f64, bin_s: f64) -> bool {
        let bins = |seconds: f64| (seconds / bin_s).round() as usize;
        let (ramp, bins, unit) = (bins(ramp_s), bins(SETTLED_S), bins(UNIT_S).max(1));
        let tolerance = 0.5 * self.effect;
        let mut each = self.serials.iter();
        each.all(|it| it.has_settled(ramp, bins, unit, tolerance, self.scale) == Some(true))
    }

    /// The variance of the difference between a round of an arm and one of the reference, for the arm in which it is largest. None
    /// where an arm did nothing for as long as a window, or was not seen for long enough.
    pub fn variance(&self, window_s: f64, ramp_s: f64, gap_s: f64, bin_s: f64) -> Option<f64> {
        let of = |serial: &Serial| {
            let bins = |seconds: f64| ((seconds / bin_s).round() as usize).max(1);
            // A short pilot keeps three fifths of its bins.
            let part = serial.bins.len() / 5;
            let (from, gap) = (bins(ramp_s).min(part), bins(gap_s).min(part));
            variance(serial, bins(window_s), from, gap, self.scale)
        };
        let each: Vec<f64> = self.serials.iter().map(of).collect::<Option<_>>()?;
        let most = each
            .iter()
            .enumerate()
            .filter(|(arm, _)| Some(*arm) != self.reference);
        let most = most.map(|(_, variance)| *variance).reduce(f64::max);
        let reference = self.reference.map(|arm| each[arm]);
        match (most, reference) {
            (Some(most), Some(reference)) => Some(f64::midpoint(most, reference)),
            (one, other) => one.or(other),
        }
    }

    /// The shortest window whose percentile has enough I/Os beyond it; None for another metric.
    pub fn tail_s(&self) -> Option<f64> {
        let (_, p, _) = QUANTILES
            .iter()
            .find(|(q, ..)| self.metric.name.ends_with(&format!("_{q}")))?;
        Some(beyond::TO_REPORT / (1.0 - p) / self.iops?)
    }
}

/// Measured, or beyond the pilot by how it fell within.
fn variance(serial: &Serial, window: usize, from: usize, gap: usize, scale: Scale) -> Option<f64> {
    let measured = |window: usize| serial.pair_variance(from, window, gap, scale);
    // A longer window leaves too few pairs that do not overlap.
    let left = serial.bins.len().checked_sub(from + gap)?;
    let longest = (left * 2 / 5).max(1);
    if window <= longest {
        return measured(window);
    }
    let half = longest.div_ceil(2);
    let (long, short) = (measured(longest)?, measured(half)?);
    let slope = ((short / long).ln() / (longest as f64 / half as f64).ln()).clamp(0.0, STEEPEST);
    let slope = if slope.is_finite() { slope } else { 0.0 };
    Some(long * (longest as f64 / window as f64).powf(slope))
}
