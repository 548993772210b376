//! Describes a comparison in words, the same in every format. Pure.

use std::fmt::Write;

use super::units::{self, RatioForm};
use super::{escape, no_ratio, size};
use crate::measured::snapshot::{DeviceNumbers, Op};
use crate::metric::Metric;
use crate::statistics::scale::{Direction, Scale};
use crate::statistics::verdict::{Comparison, Reason, Verdict};
use crate::types::outcome::Fixed;
use crate::types::result::{ArmComparison, ResultFile};

/// One line: device, workload and size of the comparison.
pub fn title(result: &ResultFile) -> String {
    let device = &result.device;
    let model = device.models();
    escape::line(&format!(
        "{}{} · {} · {}",
        device.name(),
        model.map_or(String::new(), |model| format!(" ({model})")),
        result.workload.name,
        size::of(result),
    ))
}

/// What the arms are whose labels do not say it; None: all do.
pub fn arms(result: &ResultFile) -> Option<String> {
    let labelled = result.design.arms.iter().filter_map(|arm| {
        let own = arm.to_string();
        (own != arm.label).then(|| format!("{} is {own}", arm.label))
    });
    let labelled: Vec<String> = labelled.collect();
    (!labelled.is_empty()).then(|| escape::line(&format!("Arms: {}", labelled.join("; "))))
}

/// A stable name of the comparison for tools that keep lists of tests.
pub fn name(row: &ArmComparison) -> String {
    format!("{}: {} against {}", row.metric.name, row.arm, row.reference)
}

/// `total_p99: bfq against none: 12.4 % less, at least 6.0 % (95 %): better by more than 5 %; 12 blocks`.
pub fn sentence(row: &ArmComparison) -> String {
    let blocks = row.comparison.blocks;
    let found = said(&row.comparison, &row.metric.unit);
    format!("{}: {found}: {}; {blocks} blocks", name(row), verdict(row))
}

/// `13.0 times as long, at least 10.5 times (95 %)`; the bounds of all primary rows hold together.
pub fn said(comparison: &Comparison, unit: &str) -> String {
    let Some(ratio) = comparison.ratio else {
        let change = change(comparison);
        return match comparison.interval {
            Some(_) => format!("{change}, {} (95 %)", interval(comparison)),
            None => change,
        };
    };
    let is_time = matches!(unit, "ns" | "s");
    let form = ratio_form(comparison);
    let size = |ratio: f64| match form {
        RatioForm::Percent => format!("{:.1} %", (ratio - 1.0).abs() * 100.0),
        RatioForm::Times => format!("{} times", units::three(ratio)),
    };
    let (much, more, less) = if is_time {
        ("as long", "longer", "shorter")
    } else {
        ("as much", "more", "less")
    };
    let change = match form {
        RatioForm::Times => format!("{} {much}", size(ratio)),
        RatioForm::Percent if ratio < 1.0 => format!("{} {less}", size(ratio)),
        RatioForm::Percent => format!("{} {more}", size(ratio)),
    };
    match comparison.ratio_interval {
        Some(i) if i.lower > 1.0 => format!("{change}, at least {} (95 %)", size(i.lower)),
        Some(i) if i.upper < 1.0 && form == RatioForm::Times => {
            format!("{change}, at most {} (95 %)", size(i.upper))
        }
        Some(i) if i.upper < 1.0 => format!("{change}, at least {} (95 %)", size(i.upper)),
        Some(_) => format!("{change}, {} (95 %)", interval(comparison)),
        None => change,
    }
}

/// `-12.4 %`, or the difference of shares; `-` if there is no estimate.
pub fn change(comparison: &Comparison) -> String {
    let text = match comparison.question.scale {
        Scale::Log => comparison
            .ratio
            .map(|ratio| ratio_form(comparison).change(ratio)),
        Scale::Identity => comparison.estimate.map(units::difference),
    };
    text.unwrap_or_else(|| "-".to_owned())
}

pub fn interval(comparison: &Comparison) -> String {
    let text = match comparison.question.scale {
        Scale::Log => comparison
            .ratio_interval
            .map(|i| ratio_form(comparison).range(i.lower, i.upper)),
        Scale::Identity => comparison
            .interval
            .map(|i| units::range(i.lower, i.upper, units::difference)),
    };
    text.unwrap_or_else(|| "-".to_owned())
}

/// `at least +38.0 %`, `at most x0.51`: the end of the interval that is nearer to no change; None if it contains no change.
pub fn sure_change(comparison: &Comparison) -> Option<String> {
    let nearer = |low: f64, high: f64, none: f64| match () {
        () if low > none => Some(low),
        () if high < none => Some(high),
        () => None,
    };
    match comparison.question.scale {
        Scale::Log => {
            let i = comparison.ratio_interval?;
            let ratio = nearer(i.lower, i.upper, 1.0)?;
            let form = ratio_form(comparison);
            let word = if ratio < 1.0 { "at most" } else { "at least" };
            Some(format!("{word} {}", form.change(ratio)))
        }
        Scale::Identity => {
            let i = comparison.interval?;
            let end = nearer(i.lower, i.upper, 0.0)?;
            let word = if end < 0.0 { "at most" } else { "at least" };
            Some(format!("{word} {}", units::difference(end)))
        }
    }
}

fn ratio_form(comparison: &Comparison) -> RatioForm {
    let ends = comparison.ratio_interval.map(|i| [i.lower, i.upper]);
    RatioForm::of(
        comparison
            .ratio
            .into_iter()
            .chain(ends.into_iter().flatten()),
    )
}

pub fn margin(metric: &Metric) -> String {
    match metric.scale {
        // Rounded: 0.07 times 100 is not exactly 7.
        Scale::Log => format!("{} %", (metric.margin * 1e8).round() / 1e6),
        Scale::Identity => metric.margin.to_string(),
    }
}

/// The verdict with its reasons in brackets.
pub fn verdict(row: &ArmComparison) -> String {
    let (word, reasons) = verdict_and_reasons(row);
    with_reasons(word, &reasons)
}

pub fn with_reasons(word: String, reasons: &str) -> String {
    if reasons.is_empty() {
        return word;
    }
    format!("{word} ({reasons})")
}

/// The verdict, and its reasons in one line; empty if there are none to tell.
pub fn verdict_and_reasons(row: &ArmComparison) -> (String, String) {
    let comparison = &row.comparison;
    let margin = margin(&row.metric);
    let word = match comparison.verdict {
        Verdict::Better if comparison.beyond_margin => format!("better by more than {margin}"),
        Verdict::Better => "better".to_owned(),
        Verdict::Worse if comparison.beyond_margin => format!("worse by more than {margin}"),
        Verdict::Worse => "worse".to_owned(),
        Verdict::Differs if comparison.beyond_margin => format!("differs by more than {margin}"),
        Verdict::Differs => "differs".to_owned(),
        Verdict::Equivalent => format!("equivalent within {margin}"),
        Verdict::Inconclusive if comparison.question.is_stopped => {
            "stopped by --stop-if".to_owned()
        }
        Verdict::Inconclusive if comparison.question.nothing_happened => "no verdict".to_owned(),
        Verdict::Inconclusive => usually(comparison).unwrap_or_else(|| "not decided".to_owned()),
    };
    let blocks = comparison.blocks;
    let no_ratio = Reason::Censored { blocks };
    let is_without_ratio = comparison.reasons.contains(&no_ratio);
    let is_said = |reason: &Reason| match reason {
        Reason::MeanDisagrees => true,
        // More blocks like these would have no ratio either.
        Reason::NeedsRounds { .. } => {
            is_without_ratio || (blocks == 0 && comparison.question.insufficient_tail)
        }
        Reason::Stopped => comparison.verdict == Verdict::Inconclusive,
        _ => false,
    };
    let reasons = comparison
        .reasons
        .iter()
        .filter(|reason| !is_said(reason))
        .map(|reason| of_row(reason, row));
    let reasons: Vec<String> = reasons.collect();
    (word, reasons.join("; "))
}

/// Warnings about a run's row, whatever else it is compared with.
pub fn warnings(row: &ArmComparison) -> Vec<String> {
    let reasons = row.comparison.reasons.iter();
    reasons
        .filter(|reason| !matches!(reason, Reason::NeedsRounds { .. }))
        .map(|reason| of_row(reason, row))
        .collect()
}

fn of_row(reason: &Reason, row: &ArmComparison) -> String {
    let blocks = row.comparison.blocks;
    match reason {
        Reason::Censored { blocks: censored } => no_ratio::words(*censored, blocks, &row.no_ratio),
        _ => in_words(reason, blocks),
    }
}

/// Where stalls outweigh what is usual.
fn usually(comparison: &Comparison) -> Option<String> {
    let disagrees = comparison.reasons.contains(&Reason::MeanDisagrees);
    let estimate = comparison.estimate.filter(|_| disagrees)?;
    let is_more = estimate > 0.0;
    let is_better = is_more == (comparison.question.direction == Direction::HigherIsBetter);
    let (typical, mean) = if is_better {
        ("better", "worse")
    } else {
        ("worse", "better")
    };
    Some(format!(
        "not decided: usually {typical}, but {mean} on the mean"
    ))
}

/// A verdict as an adjective.
pub fn plain(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Differs => "different",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "not decided",
    }
}

pub(super) fn in_words(reason: &Reason, blocks: usize) -> String {
    match reason {
        Reason::NeedsRounds {
            at_least,
            projected,
        } => match projected {
            Some(projected) => format!("needs about {projected} blocks"),
            None if blocks < *at_least => format!("needs {at_least} blocks or more"),
            None => "needs more than a thousand blocks like these".to_owned(),
        },
        Reason::NotComparable => {
            "not comparable: submitters were stalled for different times, see Stalls".to_owned()
        }
        Reason::WorkDiffers => {
            "no result: the rounds did not do the same work, or run for a fixed time; name a metric, such as iops".to_owned()
        }
        Reason::CarryOver { bias: Some(_) } => {
            "what an arm leaves behind could explain it: run longer ramps, or --washout".to_owned()
        }
        Reason::CarryOver { bias: None } => {
            "the order so far cannot tell it from what an arm leaves behind".to_owned()
        }
        Reason::MeanDisagrees => "the mean says the opposite".to_owned(),
        Reason::Censored { blocks: censored } => {
            no_ratio::words(*censored, blocks, &[])
        }
        Reason::NothingHappened => "0 in every round of both arms".to_owned(),
        Reason::Stopped => "stopped by --stop-if".to_owned(),
        Reason::ReferenceSilent => "the reference reported it in no round".to_owned(),
        Reason::CensoredAfterOthers => {
            "rounds without a value come after the other arm only, which may have caused them: run longer ramps, or --washout"
                .to_owned()
        }
        Reason::Earlier { blocks } => format!("since block {blocks}; what came later would not decide it"),
        Reason::Contradicted { verdict, blocks } => {
            let was = plain(*verdict);
            format!("{was} after block {blocks}, which later blocks contradict")
        }
        Reason::Moved => "all blocks together contradict the first ones".to_owned(),
        Reason::TruthChanged => "what is measured changed during the run".to_owned(),
        Reason::Skewed => "skewed: the mean and the typical round differ".to_owned(),
        Reason::InsufficientTail => "too few I/Os beyond the percentile".to_owned(),
        Reason::FragilePercentile => "percentile at a cliff".to_owned(),
        Reason::StalledRounds { arm, reference } => match (arm, reference) {
            (arm, 0) => format!("{arm} of {blocks} rounds stall"),
            (0, reference) => format!(
                "{reference} of {blocks} blocks in which the reference stalls, or the arm has 0"
            ),
            _ => format!(
                "{arm} of {blocks} rounds stall, and in {reference} blocks the reference does, or the arm has 0"
            ),
        },
    }
}

/// A row of a table: metric, arm, its value, reference, its value, change, interval, verdict.
pub fn cells(row: &ArmComparison) -> [String; 8] {
    let unit = &row.metric.unit;
    [
        row.metric.name.clone(),
        row.arm.clone(),
        units::value(row.arm_median, unit),
        row.reference.clone(),
        units::value(row.reference_median, unit),
        change(&row.comparison),
        interval(&row.comparison),
        verdict(row),
    ]
}

fn wrote(device: &DeviceNumbers) -> bool {
    Op::WRITES.iter().any(|op| device.ops[*op as usize].ios > 0)
}

/// Warns if a scheduler's expiry time is longer than half a round, so that its effect is hardly measured.
pub fn unseen_expiries(result: &ResultFile) -> String {
    // Expiry times of writes in ms, of mq-deadline and of bfq.
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
            if result.workload.fixed == Fixed::Time && round_ms < expire_ms {
                let _ = writeln!(
                    text,
                    "Rounds are shorter than the {name} of {} ({expire_ms} ms): rounds hardly \
                     show how it treats expired writes.",
                    arm.label
                );
            }
        }
    }
    text
}

/// Caches that are written back and dropped before each round.
pub fn cold(result: &ResultFile) -> Option<String> {
    let place = result.workload.scratch_file.as_ref();
    let is_file = place.is_some_and(|place| place.size_bytes.is_some());
    let what = result.design.cold?.in_words(is_file);
    Some(format!(
        "before each round {what} were written back and dropped"
    ))
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
