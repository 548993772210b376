//! The probe loses requests, for instance where it does not see their end. This module decides which values of a round
//! those requests could change. Pure.

use crate::analysis::difference::is_doubtful;
use crate::measured::histogram::Histogram;
use crate::measured::snapshot::DeviceNumbers;
use crate::metric::Metric;
use crate::types::result::{Exclusion, Round};

/// Up to this share of lost requests every value is reliable.
const TOLERATED_LOSS: f64 = 0.001;
/// Fewer lost events have no effect: a percentile needs at least 100 I/Os beyond it.
const TOLERATED_EVENTS: u64 = 20;
/// A value that the lost requests could change by more than this share is not reported.
const TOLERATED_CHANGE: f64 = 0.01;

/// Requests of a device that are missing in its numbers; 0 where they are too few to matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Requests that no count and no sum contains.
    uncounted: u64,
    /// Requests that no histogram contains: those, and requests without a record.
    unrecorded: u64,
}

impl Losses {
    pub fn of(device: &DeviceNumbers) -> Losses {
        let ios: u64 = device.ios();
        let those_that_matter = |lost: u64| {
            let matter = lost > TOLERATED_EVENTS && lost as f64 > ios as f64 * TOLERATED_LOSS;
            if matter { lost } else { 0 }
        };
        let lost = device.quality.lost_events();
        let unrecorded = device.quality.unrecorded;
        Losses {
            uncounted: those_that_matter(lost - unrecorded),
            // Records are lost in bursts, when everything is slow: they may be all of a tail, however few they are.
            unrecorded: if unrecorded > 0 && lost > TOLERATED_EVENTS {
                lost
            } else {
                those_that_matter(lost)
            },
        }
    }

    /// True if every count, sum and longest time is right.
    pub fn leave_counts(self) -> bool {
        self.uncounted == 0
    }

    /// True if every histogram is complete.
    pub fn leave_histograms(self) -> bool {
        self.unrecorded == 0
    }

    /// Whether a sum over `ios` requests is right without the lost ones.
    pub fn leave_sum(self, ios: u64) -> bool {
        self.uncounted as f64 <= TOLERATED_CHANGE * ios as f64
    }

    /// Whether the percentile is right wherever the lost requests belong: all of them above it, or all below.
    pub fn leave_quantile(self, histogram: &Histogram, p: f64) -> bool {
        if self.leave_histograms() {
            return true;
        }
        let (known, lost) = (histogram.count() as f64, self.unrecorded as f64);
        let wanted = p * (known + lost);
        let at = |rank: f64| {
            let share = rank / known;
            histogram
                .quantile_ns(share)
                .filter(|_| (0.0..=1.0).contains(&share))
        };
        let ends = at(wanted - lost).zip(at(wanted));
        ends.is_some_and(|(low, high)| high <= low * (1.0 + TOLERATED_CHANGE))
    }
}

/// Excludes the round if what the probe lost leaves none of the values that decide.
pub fn exclude(primary: &[Metric], round: &mut Round) {
    let Some(first) = primary.iter().find(|of| is_doubtful(of, round)) else {
        return;
    };
    let has_value = primary.iter().any(|of| round.value(of).is_some());
    if has_value || round.exclusion.is_some() || round.censored.is_some() {
        return;
    }
    let device = &round.evidence.device;
    let ios: u64 = device.ios();
    round.problem = Some(format!(
        "the probe lost {} requests and recorded {ios} I/Os, which could change {}: {}",
        device.quality.lost_events(),
        first.name,
        device.quality.losses_in_words()
    ));
    round.exclusion = Some(Exclusion::LostEvents);
}

#[cfg(test)]
#[path = "losses_tests.rs"]
mod tests;
