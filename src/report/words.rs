//! A comparison in words, the same in every format. Pure.

use std::fmt::Write;

use super::result::{ArmComparison, ResultFile};
use super::{escape, units};
use crate::ab::metric::Metric;
use crate::ab::stopping::Stopping;
use crate::ab::verdict::{Comparison, Reason, Scale, Verdict};
use crate::snapshot::{DeviceNumbers, Op};
use crate::workload::Fixed;

/// What was compared where, in a line.
pub fn title(result: &ResultFile) -> String {
    let device = &result.device;
    let model = device.models();
    escape::line(&format!(
        "{}{} · {} · {} arms x {}",
        device.name(),
        model.map_or(String::new(), |model| format!(" ({model})")),
        result.workload.name,
        result.design.arms.len(),
        blocks(result),
    ))
}

/// A comparison's name for machines that keep lists of tests.
pub fn name(row: &ArmComparison) -> String {
    format!("{}: {} against {}", row.metric.name, row.arm, row.reference)
}

/// `total_p99: bfq against none: -12.4 % [-18.1 % .. -6.0 %], better (98.4 % confidence, 12 blocks)`.
pub fn sentence(row: &ArmComparison) -> String {
    let comparison = &row.comparison;
    let confidence = comparison.interval.map_or(String::new(), |interval| {
        format!("{:.1} % confidence, ", interval.attained_confidence * 100.0)
    });
    format!(
        "{}: {} [{}], {} ({confidence}{} blocks)",
        name(row),
        change(comparison),
        interval(comparison),
        verdict(row),
        comparison.blocks
    )
}

fn blocks(result: &ResultFile) -> String {
    let begun = result.blocks_begun();
    match result.design.stopping {
        Stopping::Fixed { blocks } => format!("{blocks} blocks"),
        Stopping::Looks => format!("{begun} of at most {} blocks", result.plan.blocks()),
        Stopping::Open => format!("{begun} blocks, open-ended"),
    }
}

/// `-12.4 %`, or the difference of shares; `-` where there is no estimate.
pub fn change(comparison: &Comparison) -> String {
    let text = match comparison.question.scale {
        Scale::Log => comparison.ratio.map(units::change),
        Scale::Identity => comparison.estimate.map(units::difference),
    };
    text.unwrap_or_else(|| "-".to_owned())
}

pub fn interval(comparison: &Comparison) -> String {
    let text = match comparison.question.scale {
        Scale::Log => comparison
            .ratio_interval
            .map(|i| units::change_range(i.lower, i.upper)),
        Scale::Identity => comparison.interval.map(|i| {
            let (lower, upper) = (units::difference(i.lower), units::difference(i.upper));
            format!("{lower} .. {upper}")
        }),
    };
    text.unwrap_or_else(|| "-".to_owned())
}

pub fn margin(metric: &Metric) -> String {
    match metric.scale {
        Scale::Log => format!("{} %", metric.margin * 100.0),
        Scale::Identity => metric.margin.to_string(),
    }
}

/// With its reasons in brackets.
pub fn verdict(row: &ArmComparison) -> String {
    let comparison = &row.comparison;
    let margin = margin(&row.metric);
    let word = match comparison.verdict {
        Verdict::Better if comparison.beyond_margin => format!("better by more than {margin}"),
        Verdict::Better => "better".to_owned(),
        Verdict::Worse if comparison.beyond_margin => format!("worse by more than {margin}"),
        Verdict::Worse => "worse".to_owned(),
        Verdict::Equivalent => format!("equivalent within {margin}"),
        Verdict::Inconclusive => "inconclusive".to_owned(),
    };
    let reasons: Vec<String> = comparison.reasons.iter().filter_map(reason).collect();
    if reasons.is_empty() {
        word
    } else {
        format!("{word} ({})", reasons.join("; "))
    }
}

fn reason(reason: &Reason) -> Option<String> {
    Some(match reason {
        Reason::NeedsRounds {
            at_least,
            projected,
        } => match projected {
            Some(projected) => format!("needs about {projected} blocks"),
            None => format!("needs {at_least} blocks or more"),
        },
        Reason::NotComparable => {
            "not comparable: submitters stalled differently, see stalls".to_owned()
        }
        Reason::Skewed => "skewed".to_owned(),
        Reason::InsufficientTail => "too few I/Os beyond the percentile".to_owned(),
        Reason::FragilePercentile => "percentile at a cliff".to_owned(),
        Reason::StalledRounds { arm, reference } if arm + reference > 0 => {
            let n = arm + reference;
            format!("{n} stalled round{}", if n == 1 { "" } else { "s" })
        }
        Reason::StalledRounds { .. } => return None,
    })
}

/// How sure the intervals are, and what could have been seen.
pub fn levels(primary: &[&ArmComparison]) -> String {
    let mut text = String::new();
    let Some(first) = primary.first() else {
        return text;
    };
    let attained = primary
        .iter()
        .filter_map(|row| {
            row.comparison
                .interval
                .map(|interval| interval.attained_confidence)
        })
        .fold(f64::INFINITY, f64::min);
    if attained.is_finite() {
        let _ = writeln!(
            text,
            "Values are medians; changes and intervals are of blocks ({:.1} % each, so that all {} hold together \
             at 95 %).",
            attained * 100.0,
            primary.len()
        );
    }
    let _ = match detectable(primary) {
        Some(smallest) => writeln!(
            text,
            "With {} blocks this run could have seen, in every row, {smallest}.",
            first.comparison.blocks
        ),
        None => writeln!(
            text,
            "There are too few blocks to say what this run could have seen."
        ),
    };
    text
}

/// The smallest effect that shows in all rows of a scale; shares only where there is nothing else.
fn detectable(primary: &[&ArmComparison]) -> Option<String> {
    let largest = |scale| {
        let rows = primary.iter().filter(|row| row.metric.scale == scale);
        rows.filter_map(|row| row.comparison.mde).reduce(f64::max)
    };
    match largest(Scale::Log) {
        None => largest(Scale::Identity).map(|mde| format!("differences from {mde:.3} on")),
        Some(mde) if mde < 1.0 => {
            Some(format!("differences from {:.0} % on", (mde * 100.0).ceil()))
        }
        Some(mde) if mde < 99.0 => {
            let factor = 1.0 + mde;
            Some(format!("only differences from a factor of {factor:.1} on"))
        }
        Some(_) => Some("hardly any difference: there are too few blocks".to_owned()),
    }
}

fn wrote(device: &DeviceNumbers) -> bool {
    Op::WRITES.iter().any(|op| device.ops[*op as usize].ios > 0)
}

/// Schedulers that act on a request only when it has waited so long, in rounds that end before.
pub fn unseen_expiries(result: &ResultFile) -> String {
    // In milliseconds, of mq-deadline and of bfq.
    const OF_WRITES: [&str; 2] = ["iosched/write_expire", "iosched/fifo_expire_async"];
    let mut text = String::new();
    let round_ms = result.design.round_time_s * 1e3;
    for arm in &result.design.arms {
        let mut rounds = result.rounds.iter().filter(|round| round.arm == arm.label);
        let Some(evidence) = rounds
            .find(|round| wrote(&round.evidence.device))
            .map(|round| &round.evidence)
        else {
            continue;
        };
        for name in OF_WRITES {
            let value = evidence.applied.effective.settings.get(name);
            let expire_ms = value.and_then(|text| text.parse().ok()).unwrap_or(0.0);
            if result.workload.fixed == Fixed::Time && round_ms < 2.0 * expire_ms {
                let _ = writeln!(
                    text,
                    "Rounds are shorter than twice the {name} of {} ({expire_ms} ms): what it does for old writes is \
                     hardly seen.",
                    arm.label
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{carry_out, empty, values};

    #[test]
    fn a_round_must_be_long_enough_for_what_a_scheduler_waits_for() {
        let mut result = empty(
            &["none", "mq-deadline"],
            Stopping::Fixed { blocks: 1 },
            &["throughput"],
        );
        carry_out(&mut result, |turn| Ok(values(turn, &[("throughput", 1.0)])));
        for round in result.rounds.iter_mut().filter(|r| r.arm == "mq-deadline") {
            let settings = &mut round.evidence.applied.effective.settings;
            settings.insert("iosched/write_expire".into(), "5000".into());
            round.evidence.device.ops[Op::WriteAsync as usize].ios = 9;
        }
        assert_eq!(unseen_expiries(&result), "", "20 s are enough");
        result.design.round_time_s = 2.0;
        let text = unseen_expiries(&result);
        assert!(text.contains("of mq-deadline (5000 ms)"), "{text}");
        for round in &mut result.rounds {
            round.evidence.device.ops[Op::WriteAsync as usize].ios = 0;
        }
        assert_eq!(unseen_expiries(&result), "", "no writes, nothing to expire");
    }
}
