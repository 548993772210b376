//! Two readings of a metric make its value in the time between them. Pure.

use std::fmt;
use std::time::Duration;

use iosched_result::statistics::beyond;

/// What is taken of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Take {
    /// Mean of both readings.
    Gauge,
    /// By how much it grew, per second.
    Rate,
    /// Sum by count of what was observed between them.
    Mean,
    /// The quantile of what was observed between them, with this probability.
    Quantile(f64),
    /// The share of what was observed between them that is above this bound, in per cent.
    Above(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Sums {
        sum: f64,
        count: f64,
    },
    /// Upper bounds and cumulative counts; the last one is infinite.
    Buckets(Vec<(f64, f64)>),
}

/// One metric at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub at: Duration,
    pub take: Take,
    pub value: Value,
}

/// Why two readings have no value.
#[derive(Clone, Debug, PartialEq)]
pub enum NoValue {
    /// Something was observed between them, and too little for this percentile: how much.
    TooFew(f64),
    Problem(String),
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoValue::TooFew(count) => {
                write!(f, "{count} observations are too few for this percentile")
            }
            NoValue::Problem(why) => f.write_str(why),
        }
    }
}

/// The application stood still, for which an arm may be the cause.
const NOTHING: &str = "nothing was observed";

/// The value between two readings, in the unit of the series; a rate per second.
pub fn between(first: &Reading, last: &Reading) -> Result<f64, NoValue> {
    let seconds = last.at.saturating_sub(first.at).as_secs_f64();
    let value = match (last.take, &first.value, &last.value) {
        (Take::Gauge, Value::Number(first), Value::Number(last)) => f64::midpoint(*first, *last),
        (Take::Rate, Value::Number(first), Value::Number(last)) => grown(*first, *last)? / seconds,
        (
            Take::Mean,
            Value::Sums {
                sum: sum_0,
                count: count_0,
            },
            Value::Sums {
                sum: sum_1,
                count: count_1,
            },
        ) => {
            let count = grown(*count_0, *count_1)?;
            if count == 0.0 {
                return Err(NoValue::Problem(NOTHING.to_owned()));
            }
            // A sum of what can be negative may fall.
            (sum_1 - sum_0) / count
        }
        (Take::Quantile(p), Value::Buckets(first), Value::Buckets(last)) => {
            quantile(&difference(first, last)?, p)?
        }
        (Take::Above(bound), Value::Buckets(first), Value::Buckets(last)) => {
            above(&difference(first, last)?, bound)?
        }
        _ => return Err(NoValue::Problem("it changed its kind".to_owned())),
    };
    let problem = || NoValue::Problem(format!("{value} is not a finite number"));
    Some(value)
        .filter(|value| value.is_finite())
        .ok_or_else(problem)
}

/// A counter only grows, unless the application began anew.
fn grown(first: f64, last: f64) -> Result<f64, NoValue> {
    if last >= first {
        return Ok(last - first);
    }
    Err(NoValue::Problem(format!(
        "it fell from {first} to {last}, so the application began anew, or it is no counter"
    )))
}

fn difference(first: &[(f64, f64)], last: &[(f64, f64)]) -> Result<Vec<(f64, f64)>, NoValue> {
    let bounds = |buckets: &[(f64, f64)]| -> Vec<u64> {
        buckets.iter().map(|(bound, _)| bound.to_bits()).collect()
    };
    if bounds(first) != bounds(last) {
        let text = "its buckets have other bounds than before";
        return Err(NoValue::Problem(text.to_owned()));
    }
    let pairs = first.iter().zip(last);
    let counts = pairs.map(|((bound, first), (_, last))| Ok((*bound, grown(*first, *last)?)));
    let counts = counts.collect::<Result<Vec<_>, NoValue>>()?;
    if counts.windows(2).any(|pair| pair[1].1 < pair[0].1) {
        let text = "the counts of its buckets do not add up";
        return Err(NoValue::Problem(text.to_owned()));
    }
    Ok(counts)
}

/// Whether it can have a value with a later one: its bound is one of the page, and its buckets add up.
pub fn ensure_usable(reading: &Reading) -> Result<(), String> {
    let Value::Buckets(buckets) = &reading.value else {
        return Ok(());
    };
    let none: Vec<(f64, f64)> = buckets.iter().map(|(bound, _)| (*bound, 0.0)).collect();
    let since_ever = difference(&none, buckets);
    let checked = match reading.take {
        Take::Above(bound) => since_ever.and_then(|all| above(&all, bound)).map(drop),
        _ => since_ever.map(drop),
    };
    match checked {
        Err(NoValue::Problem(why)) if why != NOTHING => Err(why),
        _ => Ok(()),
    }
}

fn above(buckets: &[(f64, f64)], bound: f64) -> Result<f64, NoValue> {
    let mut known = buckets.iter();
    let known = known.find(|(known, _)| known.total_cmp(&bound).is_eq());
    let Some((_, below)) = known else {
        let bounds = buckets.iter().map(|(bound, _)| bound.to_string());
        return Err(NoValue::Problem(format!(
            "{bound} is none of the bounds of its buckets: {}",
            bounds.collect::<Vec<_>>().join(", ")
        )));
    };
    let count = buckets.last().map_or(0.0, |(_, count)| *count);
    if count == 0.0 {
        return Err(NoValue::Problem(NOTHING.to_owned()));
    }
    Ok((count - below) / count * 100.0)
}

/// How many were observed between two readings of buckets.
pub fn observed(first: &Reading, last: &Reading) -> Option<f64> {
    let (Value::Buckets(first), Value::Buckets(last)) = (&first.value, &last.value) else {
        return None;
    };
    difference(first, last)
        .ok()?
        .last()
        .map(|(_, count)| *count)
}

/// How wide the bucket is in which a percentile lies, as a part of its upper bound: so much of it is interpolated.
pub fn coarseness(first: &Reading, last: &Reading) -> Option<f64> {
    let (Take::Quantile(p), Value::Buckets(first), Value::Buckets(last)) =
        (last.take, &first.value, &last.value)
    else {
        return None;
    };
    let buckets = difference(first, last).ok()?;
    let rank = p * buckets.last()?.1;
    let at = buckets.iter().position(|(_, counted)| *counted >= rank)?;
    let lower = at.checked_sub(1).map_or(0.0, |below| buckets[below].0);
    let upper = buckets[at].0;
    Some(((upper - lower) / upper).abs())
}

/// Interpolated within its bucket, which reaches down to 0 if it is the lowest.
fn quantile(buckets: &[(f64, f64)], p: f64) -> Result<f64, NoValue> {
    let count = buckets.last().map_or(0.0, |(_, count)| *count);
    if count == 0.0 {
        return Err(NoValue::Problem(NOTHING.to_owned()));
    }
    if !beyond::has(count, p, beyond::TO_REPORT) {
        return Err(NoValue::TooFew(count));
    }
    let rank = p * count;
    let mut below = (0.0_f64, 0.0);
    for &(bound, counted) in buckets {
        if counted >= rank {
            if bound == f64::INFINITY {
                return Err(NoValue::Problem(format!(
                    "this percentile is above {}, the highest bound of its buckets",
                    below.0
                )));
            }
            let low = if bound > 0.0 {
                below.0
            } else {
                below.0.min(bound)
            };
            let share = (rank - below.1) / (counted - below.1);
            return Ok(low + (bound - low) * share);
        }
        below = (bound, counted);
    }
    Err(NoValue::Problem("its buckets are empty".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, take: Take, value: Value) -> Reading {
        Reading {
            at: Duration::from_secs(seconds),
            take,
            value,
        }
    }

    #[track_caller]
    fn is(take: Take, first: Value, last: Value, expected: f64) {
        let value = between(&at(10, take, first), &at(14, take, last)).unwrap();
        assert!((value - expected).abs() < 1e-9, "{value}");
    }

    #[test]
    fn readings_make_a_value() {
        let number = Value::Number;
        is(Take::Gauge, number(3.0), number(5.0), 4.0);
        is(Take::Rate, number(100.0), number(300.0), 50.0);
        let sums = |sum, count| Value::Sums { sum, count };
        is(Take::Mean, sums(1.0, 10.0), sums(4.0, 40.0), 0.1);
        // 600 below 0.1, 300 up to 0.5, 100 up to 1.
        let first = Value::Buckets(vec![
            (0.1, 5.0),
            (0.5, 5.0),
            (1.0, 5.0),
            (f64::INFINITY, 5.0),
        ]);
        let last = vec![
            (0.1, 605.0),
            (0.5, 905.0),
            (1.0, 1005.0),
            (f64::INFINITY, 1005.0),
        ];
        let last = Value::Buckets(last);
        is(
            Take::Quantile(0.5),
            first.clone(),
            last.clone(),
            0.1 * 500.0 / 600.0,
        );
        is(Take::Quantile(0.9), first.clone(), last.clone(), 0.5);
        is(Take::Above(0.5), first.clone(), last.clone(), 10.0);
        let (first, last) = (
            at(1, Take::Quantile(0.9), first),
            at(2, Take::Quantile(0.9), last),
        );
        assert_eq!(coarseness(&first, &last), Some(0.8));
    }

    #[test]
    fn what_is_no_value_is_said() {
        let no = |take, first, last| match between(&at(1, take, first), &at(3, take, last)) {
            Err(NoValue::TooFew(count)) => format!("few: {count}"),
            Err(NoValue::Problem(why)) => why,
            Ok(value) => panic!("{value}"),
        };
        let number = Value::Number;
        let why = no(Take::Rate, number(5.0), number(4.0));
        assert!(why.contains("fell from 5 to 4"), "{why}");
        let sums = |sum, count| Value::Sums { sum, count };
        let why = no(Take::Mean, sums(1.0, 9.0), sums(1.0, 9.0));
        assert_eq!(why, NOTHING);
        let buckets = |low: f64, all: f64| Value::Buckets(vec![(0.1, low), (f64::INFINITY, all)]);
        let p99 = Take::Quantile(0.99);
        let why = no(p99, buckets(0.0, 0.0), buckets(99.0, 100.0));
        assert_eq!(why, "few: 100");
        let why = no(p99, buckets(9.0, 10.0), buckets(9.0, 10.0));
        assert_eq!(why, NOTHING);
        let why = no(p99, buckets(0.0, 0.0), buckets(5_000.0, 20_000.0));
        assert!(why.contains("above 0.1"), "{why}");
        let why = no(p99, buckets(0.0, 5.0), buckets(30_000.0, 20_000.0));
        assert!(why.contains("do not add up"), "{why}");
        let why = no(Take::Above(0.2), buckets(0.0, 5.0), buckets(3.0, 20.0));
        assert!(
            why.contains("0.2 is none of the bounds of its buckets: 0.1, inf"),
            "{why}"
        );
        let other = Value::Buckets(vec![(0.2, 0.0), (f64::INFINITY, 0.0)]);
        assert!(no(p99, other, buckets(1.0, 1.0)).contains("other bounds"));
        // Two readings at one moment.
        let one = at(1, Take::Rate, number(1.0));
        assert!(between(&one, &at(1, Take::Rate, number(1.0))).is_err());
    }
}
