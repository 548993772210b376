//! The result for people: verdicts first, then what they rest on. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::result::{ArmComparison, ResultFile, Status};
use super::units;
use crate::ab::stopping::Stopping;
use crate::ab::verdict::{Reason, Verdict};
use crate::workload::Fixed;

/// `all`: the exploratory metrics too.
pub fn render(result: &ResultFile, all: bool) -> String {
    let mut text = String::new();
    heading(&mut text, result);
    let (primary, exploratory): (Vec<_>, Vec<_>) =
        result.comparisons.iter().partition(|c| c.primary);
    if !primary.is_empty() {
        let _ = write!(text, "\n{}\n", table(&primary));
    }
    levels(&mut text, &primary);
    if all && !exploratory.is_empty() {
        text += "\nExploratory: each row at its own 95 %, some will be wrong by chance.\n";
        let _ = writeln!(text, "{}", table(&exploratory));
    }
    waiting(&mut text, result);
    quality(&mut text, result);
    if !all && !exploratory.is_empty() {
        text += "More metrics: `iosched-ab report FILE --all`.\n";
    }
    text
}

fn heading(text: &mut String, result: &ResultFile) {
    let device = &result.device;
    let _ = writeln!(
        text,
        "{}{} · {} · {} arms x {} · seed {}",
        device.device.name,
        device
            .model
            .as_ref()
            .map_or(String::new(), |model| format!(" ({model})")),
        result.workload.name,
        result.design.arms.len(),
        blocks(result),
        result.plan.seed,
    );
    if let Some(truth) = &device.scratch {
        let _ = writeln!(text, "scratch device: {}", truth.text);
    }
    if result.workload.fixed == Fixed::Time {
        let _ = writeln!(
            text,
            "each round {} s after a ramp of {} s; Linux {}",
            result.design.round_time_s, result.design.ramp_s, result.environment.kernel_release
        );
    } else {
        let _ = writeln!(
            text,
            "each round one execution; Linux {}",
            result.environment.kernel_release
        );
    }
    match result.status {
        Status::Complete => {}
        Status::Running => *text += "NOT COMPLETE: the run has not ended, or was killed\n",
        Status::Interrupted => *text += "NOT COMPLETE: interrupted\n",
        Status::Failed => *text += "NOT COMPLETE: ended by an error\n",
    }
    if let Some(error) = &result.error {
        let _ = writeln!(text, "  {error}");
    }
}

fn blocks(result: &ResultFile) -> String {
    let begun = result.blocks_begun();
    match result.design.stopping {
        Stopping::Fixed { blocks } => format!("{blocks} blocks"),
        Stopping::Looks => format!("{begun} of at most {} blocks", result.plan.blocks()),
        Stopping::Open => format!("{begun} blocks, open-ended"),
    }
}

fn table(rows: &[&ArmComparison]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "METRIC",
        "ARM",
        "REFERENCE",
        "VALUE",
        "CHANGE",
        "INTERVAL",
        "VERDICT",
    ]);
    let mut last = "";
    for row in rows {
        let comparison = &row.comparison;
        let interval = comparison
            .ratio_interval
            .as_ref()
            .map_or("-".to_owned(), |interval| {
                format!(
                    "{} .. {}",
                    units::change(interval.lower),
                    units::change(interval.upper)
                )
            });
        let is_new = last != row.metric.name;
        last = &row.metric.name;
        table.add_row([
            if is_new {
                row.metric.name.clone()
            } else {
                String::new()
            },
            row.arm.clone(),
            if is_new {
                format!(
                    "{} {}",
                    row.reference,
                    value(row.reference_median, &row.metric.unit)
                )
            } else {
                String::new()
            },
            value(row.arm_median, &row.metric.unit),
            comparison.ratio.map_or("-".to_owned(), units::change),
            interval,
            verdict(row),
        ]);
    }
    for index in [3, 4] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

fn value(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else {
        return "-".to_owned();
    };
    match unit {
        "ns" => units::time(Some(value)),
        "s" => units::time(Some(value * 1e9)),
        "bytes/s" => units::throughput(value),
        _ => format!("{}/s", units::count(value)),
    }
}

fn verdict(row: &ArmComparison) -> String {
    let comparison = &row.comparison;
    let margin = row.metric.margin * 100.0;
    let word = match comparison.verdict {
        Verdict::Better if comparison.beyond_margin => format!("better by more than {margin:.0} %"),
        Verdict::Better => "better".to_owned(),
        Verdict::Worse if comparison.beyond_margin => format!("worse by more than {margin:.0} %"),
        Verdict::Worse => "worse".to_owned(),
        Verdict::Equivalent => format!("equivalent within {margin:.0} %"),
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
        Reason::Skewed => "skewed".to_owned(),
        Reason::InsufficientTail => "too few I/Os beyond the percentile".to_owned(),
        Reason::FragilePercentile => "percentile at a cliff".to_owned(),
        Reason::StalledRounds { arm, reference } if arm + reference > 0 => {
            format!("{} stalled rounds", arm + reference)
        }
        Reason::StalledRounds { .. } => return None,
    })
}

fn levels(text: &mut String, primary: &[&ArmComparison]) {
    let Some(first) = primary.first() else { return };
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
    let mde = primary
        .iter()
        .filter_map(|row| row.comparison.mde)
        .fold(f64::NEG_INFINITY, f64::max);
    let blocks = first.comparison.blocks;
    if mde.is_finite() {
        let smallest = match mde {
            _ if mde < 1.0 => format!("differences from {:.0} % on", (mde * 100.0).ceil()),
            _ if mde < 99.0 => format!("only differences from a factor of {:.1} on", 1.0 + mde),
            _ => "hardly any difference: there are too few blocks".to_owned(),
        };
        let _ = writeln!(
            text,
            "With {blocks} blocks this run could have seen, in every row, {smallest}."
        );
    } else {
        *text += "There are too few blocks to say what this run could have seen.\n";
    }
}

fn waiting(text: &mut String, result: &ResultFile) {
    let shares: Vec<String> = result
        .waiting
        .iter()
        .filter_map(|arm| {
            let depth = arm
                .hardware_depth
                .map_or(String::new(), |depth| format!(" at hardware depth {depth}"));
            Some(format!("{} {:.1} %{depth}", arm.arm, arm.share? * 100.0))
        })
        .collect();
    if shares.is_empty() {
        return;
    }
    let threshold = result
        .waiting
        .iter()
        .map(|arm| arm.threshold_ns)
        .max()
        .unwrap_or(0);
    let _ = writeln!(
        text,
        "Requests that waited longer than {} before their issue: {}.",
        units::time(Some(threshold as f64)),
        shares.join(", ")
    );
    if result.can_tell_schedulers_apart() == Some(false) {
        *text += "HARDLY ANY REQUEST WAITED: this workload on this device cannot tell schedulers apart. \
                  Take more requests in flight than the hardware depth, or a slower device.\n";
    }
}

fn quality(text: &mut String, result: &ResultFile) {
    let (mut lost, mut ios, mut foreign_bytes, mut bytes) = (0, 0, 0, 0);
    for round in &result.rounds {
        let evidence = &round.evidence;
        lost += round.lost_events;
        ios += evidence.device.ops.iter().map(|op| op.ios).sum::<u64>();
        bytes += evidence.device.ops.iter().map(|op| op.bytes).sum::<u64>();
        foreign_bytes += evidence.foreign.map_or(0, |foreign| foreign.bytes);
    }
    let _ = writeln!(
        text,
        "Measured {} I/Os, lost {lost} events.",
        units::count(ios as f64)
    );
    if foreign_bytes * 100 > bytes {
        let share = foreign_bytes as f64 / bytes as f64 * 100.0;
        let _ = writeln!(
            text,
            "Others used the device too: {share:.1} % of all bytes were not the workload's."
        );
    }
    if !result.excluded.is_empty() {
        let again = result.rounds.iter().filter(|round| round.attempt > 0);
        let blocks: BTreeSet<(usize, usize)> = again.map(|r| (r.block, r.attempt)).collect();
        let _ = writeln!(
            text,
            "{} of {} blocks did not count, whatever they showed; {} run again:",
            result.excluded.len(),
            result.blocks_begun(),
            match blocks.len() {
                0 => "none was".to_owned(),
                1 => "1 was".to_owned(),
                n => format!("{n} were"),
            }
        );
        for excluded in &result.excluded {
            let (block, arm, problem) = (excluded.block + 1, &excluded.arm, &excluded.problem);
            let _ = writeln!(text, "  block {block} {arm}: {problem}");
        }
    }
    for note in result.probe.notes.iter().chain(&result.notes) {
        let _ = writeln!(text, "Note: {note}");
    }
}
