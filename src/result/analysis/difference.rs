//! The value of a metric in one round, and the difference of two of them. Pure.

use crate::metric::{Metric, Origin};
use crate::statistics::scale::Scale;
use crate::statistics::signed_rank::Difference;
use crate::types::result::Round;

/// The value of a metric in a round.
pub(super) enum Value {
    Measured(f64),
    /// The arm did too little for a value, failed, or did not report it.
    Censored,
    /// Too few I/Os for the percentile.
    TooFew,
    /// The requests that the probe lost could change it. A slow arm may be why their ends were not seen.
    Doubtful,
}

/// When one arm has enough I/Os for a percentile and the other has less than this share of them, the other did too
/// little. Above this share, which side of the limit it fell on is chance, and the difference is unknown.
const ALMOST_AS_MANY: f64 = 0.9;

pub(super) fn difference(
    metric: &Metric,
    is_asked: bool,
    arm: &Round,
    reference: &Round,
) -> Option<Difference> {
    let value = |round| value(metric, is_asked, round);
    against(
        metric.scale,
        metric.direction.worst(),
        (value(arm)?, samples(metric, arm)),
        (value(reference)?, samples(metric, reference)),
    )
}

/// Each value with the number of I/Os from which it is. None when a value is missing and neither arm did too little.
pub(super) fn against(
    scale: Scale,
    worst: Option<f64>,
    (of_arm, arm): (Value, u64),
    (of_reference, reference): (Value, u64),
) -> Option<Difference> {
    use Value::{Censored, Doubtful, Measured, TooFew};
    match (of_arm, of_reference) {
        // Neither did anything: which of them is better is not known.
        (Measured(arm), Measured(reference))
            if scale == Scale::Log
                && worst == Some(f64::NEG_INFINITY)
                && arm == 0.0
                && reference == 0.0 =>
        {
            Some(Difference::UNKNOWN)
        }
        (Measured(arm), Measured(reference)) => scale.difference(arm, reference),
        (Censored, Measured(_) | TooFew) => Some(as_bad(worst)),
        (Measured(_) | TooFew, Censored) => Some(as_bad(worst.map(|worst| -worst))),
        (Doubtful, _) | (_, Doubtful) | (Censored, Censored) => Some(Difference::UNKNOWN),
        (TooFew, Measured(_)) => Some(too_few(arm, reference, worst)),
        (Measured(_), TooFew) => Some(too_few(reference, arm, worst.map(|worst| -worst))),
        // The rounds are too short for this percentile, independent of the arm.
        (TooFew, TooFew) => None,
    }
}

/// The worst difference; unknown for a metric without a better direction.
fn as_bad(worst: Option<f64>) -> Difference {
    worst.map_or(Difference::UNKNOWN, Difference::exact)
}

fn too_few(ios: u64, others: u64, worst: Option<f64>) -> Difference {
    if (ios as f64) < ALMOST_AS_MANY * others as f64 {
        as_bad(worst)
    } else {
        Difference::UNKNOWN
    }
}

/// The value of the round, unless it has no ratio to another: a benchmark prints -1 where it has no answer.
pub(super) fn valid(metric: &Metric, round: &Round) -> Option<f64> {
    let value = round.value(metric)?;
    (metric.scale != Scale::Log || value >= 0.0).then_some(value)
}

pub(super) fn is_doubtful(metric: &Metric, round: &Round) -> bool {
    metric.origin == Origin::Measured && round.evidence.doubtful.contains(&metric.name)
}

pub(super) fn value(metric: &Metric, is_asked: bool, round: &Round) -> Option<Value> {
    if let Some(value) = valid(metric, round) {
        return Some(Value::Measured(value));
    }
    if round.censored.is_some() || round.value(metric).is_some() {
        return Some(Value::Censored);
    }
    if is_doubtful(metric, round) {
        return Some(Value::Doubtful);
    }
    let lacks_tail = round.evidence.insufficient_tail.contains(&metric.name);
    if lacks_tail {
        return Some(Value::TooFew);
    }
    is_asked.then_some(Value::Censored)
}

/// How many I/Os the round's value of the metric is made of: syncs are no I/Os of the device.
pub(super) fn samples(metric: &Metric, round: &Round) -> u64 {
    let measured = (metric.origin == Origin::Measured).then_some(metric.name.as_str());
    let synced = measured.and_then(|name| name.split_once(".sync_lat_"));
    let synced = synced.map(|(job, _)| {
        let mut jobs = round.evidence.outcome.jobs.iter();
        let job = jobs.find(|it| it.name == job);
        let latency = job.and_then(|job| job.sync_lat.as_ref());
        latency.map_or(0, |latency| latency.count)
    });
    synced.unwrap_or_else(|| ios_of(round))
}

pub(super) fn ios_of(round: &Round) -> u64 {
    round.evidence.device.ios()
}
