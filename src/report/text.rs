//! The result for people: verdicts first, then what they rest on. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::result::{ArmComparison, ResultFile, Status};
use super::{escape, units, words};
use crate::ab::load;
use crate::ab::verdict::{Scale, Verdict};
use crate::snapshot::Quality;
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
    text += &words::levels(&primary);
    if all && !exploratory.is_empty() {
        text += "\nExploratory: each row at its own 95 %, some will be wrong by chance.\n";
        let _ = writeln!(text, "{}", table(&exploratory));
    }
    placebo(&mut text, result, &primary);
    waiting(&mut text, result);
    quality(&mut text, result);
    if !all && !exploratory.is_empty() {
        text += "More metrics: `iosched-ab report FILE --all`.\n";
    }
    escape::page(&text)
}

fn heading(text: &mut String, result: &ResultFile) {
    let device = &result.device;
    let _ = writeln!(text, "{} · seed {}", words::title(result), result.plan.seed);
    if let Some(group) = &device.group {
        let _ = writeln!(text, "{}", group.layers);
    }
    if let Some(truth) = &device.scratch {
        let _ = writeln!(text, "scratch device: {}", truth.text);
    }
    if let Some(place) = &result.workload.scratch_file {
        let _ = writeln!(text, "in {place}");
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
                    units::value(row.reference_median, &row.metric.unit)
                )
            } else {
                String::new()
            },
            units::value(row.arm_median, &row.metric.unit),
            words::change(comparison),
            words::interval(comparison),
            words::verdict(row),
        ]);
    }
    for index in [3, 4] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Of an arm against itself.
fn placebo(text: &mut String, result: &ResultFile, primary: &[&ArmComparison]) {
    if !result.design.is_placebo {
        return;
    }
    let is_alarm =
        |row: &&&ArmComparison| matches!(row.comparison.verdict, Verdict::Better | Verdict::Worse);
    *text += match primary.iter().filter(is_alarm).count() {
        0 => "Both arms are the same, and neither was found better or worse.\n",
        _ => {
            "FALSE ALARM: both arms are the same, and yet they were found to differ. One such run in twenty does so \
             by chance; if more do, the rounds are not independent of what runs before them: take a longer ramp.\n"
        }
    };
    let Some(noise) = &result.noise else { return };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let names = noise.metrics.iter().map(|noise| noise.metric.clone());
    let header = ["ROUNDS PER ARM", "TIME"].map(str::to_owned);
    table.set_header(header.into_iter().chain(names));
    for (index, first) in noise.metrics[0].detectable.iter().enumerate() {
        let effects = noise.metrics.iter().map(|metric| {
            let effect = metric.detectable.get(index).map(|d| d.effect);
            let scale = primary.iter().find(|row| row.metric.name == metric.metric);
            match (effect, scale.map(|row| row.metric.scale)) {
                (Some(effect), Some(Scale::Identity)) => format!("{effect:.3}"),
                (Some(effect), _) => format!("{:.1} %", effect * 100.0),
                (None, _) => "-".to_owned(),
            }
        });
        let time = units::duration(first.seconds);
        let row = [first.blocks.to_string(), time].into_iter().chain(effects);
        table.add_row(row);
    }
    let _ = writeln!(
        text,
        "What a run of two arms can show here in four of five cases:\n{}",
        table.trim_fmt()
    );
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
    let longest = result.waiting.iter().filter_map(|arm| {
        let ns = arm.longest_ns?;
        Some(format!("{} {}", arm.arm, units::time(Some(ns))))
    });
    let longest: Vec<String> = longest.collect();
    if !longest.is_empty() {
        let _ = writeln!(text, "Longest wait seen: {}.", longest.join(", "));
    }
    let stalls = result.waiting.iter().filter_map(|arm| {
        let share = arm.stalled_share.filter(|share| *share >= 0.001)?;
        Some(format!("{} {}", arm.arm, units::share(Some(share))))
    });
    let stalls: Vec<String> = stalls.collect();
    if !stalls.is_empty() {
        let _ = writeln!(
            text,
            "Stalls: threads with I/O under way stood still for a request of the next for {} of the time. What they would \
             have asked for meanwhile is in no queue wait and in no total.",
            stalls.join(", ")
        );
    }
    let is_left_out = |row: &ArmComparison| row.comparison.question.not_comparable;
    if result.comparisons.iter().any(is_left_out) {
        *text += "So queue waits and totals of these arms do not compare and get no verdict: take throughput and the \
                  program's own latency (program_p99).\n";
    }
    if result.can_tell_schedulers_apart() == Some(false) {
        *text += "HARDLY ANY REQUEST WAITED: this workload on this device cannot tell schedulers apart. \
                  Take more requests in flight than the hardware depth, or a slower device.\n";
    }
}

fn quality(text: &mut String, result: &ResultFile) {
    let (mut lost, mut ios, mut foreign_bytes, mut bytes) = (0, 0, 0, 0);
    let mut losses = Quality::default();
    for round in &result.rounds {
        let evidence = &round.evidence;
        lost += round.lost_events;
        losses += evidence.device.quality;
        ios += evidence.device.ops.iter().map(|op| op.ios).sum::<u64>();
        bytes += evidence.device.ops.iter().map(|op| op.bytes).sum::<u64>();
        foreign_bytes += evidence.foreign.map_or(0, |foreign| foreign.bytes);
    }
    let measured = units::count(ios as f64);
    let _ = match losses.losses_in_words() {
        causes if causes.is_empty() => {
            writeln!(text, "Measured {measured} I/Os, lost {lost} requests.")
        }
        causes => writeln!(
            text,
            "Measured {measured} I/Os, lost {lost} requests: {causes}."
        ),
    };
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
    for diagnostics in &result.diagnostics {
        for carry_over in diagnostics.carry_over.iter().filter(|c| c.is_warning) {
            let _ = writeln!(
                text,
                "Carry-over: rounds after {} are off by {:+.3} in {} (p = {:.4}): take a longer ramp.",
                carry_over.after,
                carry_over.effect.estimate,
                diagnostics.metric,
                carry_over.effect.p
            );
        }
    }
    for warning in load::warnings(&result.rounds) {
        let _ = writeln!(text, "Load: {warning}.");
    }
    *text += &words::unseen_expiries(result);
    for note in result.probe.notes.iter().chain(&result.notes) {
        let _ = writeln!(text, "Note: {note}");
    }
}
