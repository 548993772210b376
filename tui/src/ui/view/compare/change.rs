//! A comparison in few words: `83x faster`, `-12 %`, `+0.031`.

use iosched_result::statistics::scale::Scale;
use iosched_result::statistics::verdict::{Comparison, Reason, Verdict};
use iosched_result::types::result::ArmComparison;

/// From this factor on, a change is told as a factor.
const FACTOR: f64 = 2.0;

/// The sign of a verdict, so that colour is never the only information.
pub fn sign(comparison: &Comparison) -> &'static str {
    match comparison.verdict {
        Verdict::Better => "▲",
        Verdict::Worse => "▼",
        Verdict::Differs => "≠",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
    }
}

/// Why there is no estimate: the arms left out different waits, or there are too few I/Os for a percentile, or rounds
/// without a value, or none.
pub fn why_none(comparison: &Comparison) -> &'static str {
    if comparison.question.not_comparable {
        "n/c"
    } else if comparison.question.insufficient_tail {
        "few"
    } else if is_censored(comparison) {
        "gaps"
    } else {
        "-"
    }
}

/// Rounds have no value, because an arm did too little.
fn is_censored(comparison: &Comparison) -> bool {
    let mut reasons = comparison.reasons.iter();
    reasons.any(|reason| matches!(reason, Reason::Censored { .. }))
}

/// The arm did so little that there is no value, and the reference did enough: a number that is absent must not favour
/// it.
pub fn did_too_little(comparison: &Comparison) -> bool {
    let worse_rounds = |reason: &Reason| match reason {
        Reason::StalledRounds { arm, reference } => Some(arm > reference),
        _ => None,
    };
    comparison.estimate.is_none()
        && is_censored(comparison)
        && comparison.reasons.iter().find_map(worse_rounds) == Some(true)
}

/// The estimate without and with its word; None if there is none. Without the sign of a verdict, a factor
/// less has a minus, as a percentage has.
pub fn estimate(row: &ArmComparison) -> Option<[String; 2]> {
    let [mut short, long] = told(row, row.comparison.ratio, row.comparison.estimate)?;
    let is_less = row.comparison.ratio.is_some_and(|ratio| ratio < 1.0);
    if is_less && row.comparison.verdict == Verdict::Inconclusive && short.ends_with('x') {
        short.insert(0, '-');
    }
    Some([short, long])
}

/// The end of the interval that is nearer to no difference; only of a decided difference.
pub fn bound(row: &ArmComparison) -> Option<String> {
    let comparison = &row.comparison;
    if !matches!(
        comparison.verdict,
        Verdict::Better | Verdict::Worse | Verdict::Differs
    ) {
        return None;
    }
    let nearer = |lower: f64, upper: f64, none: f64| if lower > none { lower } else { upper };
    let ratio = comparison
        .ratio_interval
        .map(|i| nearer(i.lower, i.upper, 1.0));
    let difference = comparison.interval.map(|i| nearer(i.lower, i.upper, 0.0));
    Some(told(row, ratio, difference)?[0].clone())
}

/// Both ends of the interval.
pub fn interval(row: &ArmComparison) -> Option<String> {
    let comparison = &row.comparison;
    let (ratio, difference) = (comparison.ratio_interval, comparison.interval);
    let lower = told(row, ratio.map(|i| i.lower), difference.map(|i| i.lower))?;
    let upper = told(row, ratio.map(|i| i.upper), difference.map(|i| i.upper))?;
    // A factor needs its word unless both ends have the same.
    let word = |text: &[String; 2]| text[1][text[0].len()..].to_owned();
    let [lower, upper] = if word(&lower) == word(&upper) {
        [&lower[0], &upper[0]]
    } else {
        [&lower[1], &upper[1]]
    };
    Some(format!("[{lower}..{upper}]"))
}

fn told(row: &ArmComparison, ratio: Option<f64>, difference: Option<f64>) -> Option<[String; 2]> {
    let text = match row.comparison.question.scale {
        Scale::Identity => {
            let text = format!("{:+.3}", difference.filter(|d| d.is_finite())?);
            [text.clone(), text]
        }
        Scale::Log => of_ratio(ratio?, matches!(&*row.metric.unit, "ns" | "s")),
    };
    Some(text)
}

fn of_ratio(ratio: f64, is_time: bool) -> [String; 2] {
    let (less, more) = if is_time {
        ("faster", "slower")
    } else {
        ("less", "more")
    };
    let with = |factor: f64, word: &str| {
        let short = format!("{}x", of_factor(factor));
        let long = format!("{short} {word}");
        [short, long]
    };
    let percent = |change: f64| {
        let text = match change.abs() {
            small if small < 9.95 => format!("{change:+.1} %"),
            _ => format!("{change:+.0} %"),
        };
        [text.clone(), text]
    };
    match ratio {
        _ if ratio >= FACTOR => with(ratio, more),
        _ if is_time && ratio <= 1.0 / FACTOR => with(1.0 / ratio, less),
        // -99 % and -99.9 % are a factor of ten apart.
        _ if ratio < 0.015 => with(1.0 / ratio, less),
        _ => percent((ratio - 1.0) * 100.0),
    }
}

/// At least two significant digits.
fn of_factor(factor: f64) -> String {
    match factor {
        _ if !factor.is_finite() => "∞".to_owned(),
        _ if factor < 9.95 => format!("{factor:.1}"),
        _ if factor < 99_999.5 => format!("{factor:.0}"),
        _ => format!("{factor:.1e}"),
    }
}

/// The number of blocks with which a decision of an undecided row is likely. Err: the noise is too high; None: it is
/// decided, or never will be.
pub fn blocks_until(comparison: &Comparison) -> Option<Result<usize, ()>> {
    let needs = comparison.reasons.iter().find_map(|reason| match reason {
        Reason::NeedsRounds {
            at_least,
            projected,
        } => Some((*at_least, *projected)),
        _ => None,
    });
    let (at_least, projected) = needs?;
    // More blocks bring no value. And an interval that is valid at any time needs a value in every block.
    let has_none = comparison.blocks == 0 && comparison.blocks_missing > 0;
    if has_none || is_censored(comparison) {
        return None;
    }
    Some(match projected {
        Some(projected) => Ok(projected
            .max(at_least)
            .max(comparison.blocks.saturating_add(1))),
        None if comparison.blocks < at_least => Ok(at_least),
        None => Err(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_change_is_a_factor_and_a_small_one_a_percentage() {
        let time = |ratio| of_ratio(ratio, true)[1].clone();
        assert_eq!(time(1.0 / 83.2), "83x faster");
        assert_eq!(time(0.3), "3.3x faster");
        assert_eq!(time(0.6), "-40 %");
        assert_eq!(time(1.021), "+2.1 %");
        assert_eq!(time(2.31), "2.3x slower");
        assert_eq!(time(1e7), "1.0e7x slower");
        assert_eq!(time(0.0), "∞x faster");
        let rate = |ratio| of_ratio(ratio, false)[1].clone();
        assert_eq!(rate(0.02), "-98 %");
        assert_eq!(rate(0.001), "1000x less");
        assert_eq!(rate(4.0), "4.0x more");
    }
}
