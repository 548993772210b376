//! The result as text: verdicts first, then the evidence for them. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::characters::{self, Form};
use super::{checks, escape, levels, live, noise, shift, units, why, words};
use crate::analysis::{load, turn};
use crate::measured::snapshot::Quality;
use crate::statistics::verdict::Reason;
use crate::types::controls::Sight;
use crate::types::outcome::Fixed;
use crate::types::result::{ArmComparison, Class, ResultFile, Round, Status};

/// `all`: include the exploratory metrics and the shift functions. `pictures`: in characters, if they are wanted.
pub fn render(result: &ResultFile, all: bool, pictures: Option<Form>) -> String {
    let mut text = String::new();
    heading(&mut text, result);
    text += &live::section(result);
    let primary: Vec<_> = result.primary().collect();
    let of_class = |class: Class| -> Vec<&ArmComparison> {
        let rows = result.comparisons.iter();
        rows.filter(|row| row.class() == class).collect()
    };
    let controlled = of_class(Class::Control);
    let exploratory = of_class(Class::Exploratory);
    if !primary.is_empty() {
        let _ = write!(text, "\n{}\n", table(&primary));
    }
    if let Some(form) = pictures {
        let drawn = [
            characters::forest(&primary, form),
            characters::latencies(result, form),
        ];
        for picture in drawn.iter().filter(|picture| !picture.is_empty()) {
            let _ = write!(text, "\n{picture}");
        }
        text.push('\n');
    }
    text += &levels::in_words(&primary);
    if all && !primary.is_empty() {
        text += &checks::table(result);
    }
    if all && !controlled.is_empty() {
        text += "\nNegative controls, which no arm should change: a fixed loop on a CPU, and reads of a disk of no arm (--control), \
                 before and after each round.\n";
        let _ = writeln!(text, "{}", table(&controlled));
    }
    if all && !exploratory.is_empty() {
        text += "\nExploratory: each row has 95 % confidence on its own, so some rows will be wrong by chance.\n";
        let _ = writeln!(text, "{}", table(&exploratory));
    }
    if all {
        text += &shift::section(result);
    }
    controls(&mut text, result);
    text += &noise::section(result);
    waiting(&mut text, result);
    text += &why::arms::section(result);
    quality(&mut text, result);
    if !all && !exploratory.is_empty() {
        text += "More metrics: `iosched-ab report FILE --all`.\n";
    }
    escape::message(&text)
}

fn heading(text: &mut String, result: &ResultFile) {
    let device = &result.device;
    let _ = writeln!(text, "{} · seed {}", words::title(result), result.plan.seed);
    if let Some(group) = &device.group {
        let _ = writeln!(text, "{}", escape::line(&group.layers));
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
            result.design.round_time_s,
            result.design.ramp_s,
            escape::line(&result.environment.kernel_release)
        );
    } else {
        let _ = writeln!(
            text,
            "each round one execution; Linux {}",
            escape::line(&result.environment.kernel_release)
        );
    }
    if let Some(line) = words::cold(result) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(why) = turn::why_invalid(result) {
        let _ = writeln!(text, "INVALID: {why}; the verdicts below mean nothing");
    }
    *text += &status(result);
}

/// Empty for a complete run.
pub(super) fn status(result: &ResultFile) -> String {
    let mut text = match result.status {
        Status::Complete => "",
        Status::Running => "NOT COMPLETE: the run is still going on or was killed\n",
        Status::Interrupted => "NOT COMPLETE: interrupted\n",
        Status::Failed => "NOT COMPLETE: an error ended the run\n",
    }
    .to_owned();
    if let Some(error) = &result.error {
        // Its second line says what to do.
        let _ = writeln!(text, "  {}", escape::message(error));
    }
    text
}

/// Remarks that a reader must know before he believes the verdicts.
pub(super) fn remarks(result: &ResultFile) -> String {
    let mut text = String::new();
    controls(&mut text, result);
    waiting(&mut text, result);
    quality(&mut text, result);
    text
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

fn controls(text: &mut String, result: &ResultFile) {
    for row in result.alarming_controls() {
        let _ = writeln!(
            text,
            "NEGATIVE CONTROL: {}; something other than the scheduler differs between these arms, so distrust their rows.",
            words::sentence(row)
        );
    }
    for (name, sight) in result.blind_controls() {
        let _ = writeln!(text, "BLIND CONTROL: {}", blind(name, sight));
    }
}

/// Differences that a control that shows none does not rule out.
fn blind(name: &str, sight: Sight) -> String {
    let varies = sight.spread.map_or_else(String::new, |spread| {
        let percent = spread.exp_m1() * 100.0;
        format!(" differs by {percent:.1} % between two rounds of one arm, so it")
    });
    let sees = match sight.detectable {
        Some(least) => format!("would show only differences from {:.0} % on", least * 100.0),
        None => "can show no difference in so few blocks".to_owned(),
    };
    format!("{name}{varies} {sees}: what else may differ between the arms goes unseen.")
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
        "Requests with a queue wait above {}: {}.",
        units::time(Some(threshold as f64)),
        shares.join(", ")
    );
    let longest = result.waiting.iter().filter_map(|arm| {
        let ns = arm.longest_ns?;
        Some(format!("{} {}", arm.arm, units::time(Some(ns))))
    });
    let longest: Vec<String> = longest.collect();
    if !longest.is_empty() {
        let _ = writeln!(text, "Longest queue wait: {}.", longest.join(", "));
    }
    let stalls = result.waiting.iter().filter_map(|arm| {
        let share = arm.stalled_share.filter(|share| *share >= 0.001)?;
        let readers = match arm.readers_stalled_share {
            Some(readers) if readers < share / 2.0 => {
                format!(" (readers {})", units::share(Some(readers)))
            }
            _ => String::new(),
        };
        Some(format!(
            "{} {}{readers}",
            arm.arm,
            units::share(Some(share))
        ))
    });
    let stalls: Vec<String> = stalls.collect();
    if !stalls.is_empty() {
        let _ = writeln!(
            text,
            "Stalls: threads with I/O in flight were blocked waiting for another request for {} of the time. The I/O that \
             they could not submit meanwhile appears in no queue wait and no total.",
            stalls.join(", ")
        );
    }
    let is_left_out = |row: &ArmComparison| row.comparison.reasons.contains(&Reason::NotComparable);
    if result.comparisons.iter().any(is_left_out) {
        *text += "The queue waits and totals of stalled threads are therefore not comparable and get no verdict: use throughput and \
                  the program's own latency (program_p99).\n";
    }
    if result.can_tell_schedulers_apart() == Some(false) {
        *text += "HARDLY ANY REQUEST WAITED: this workload cannot show a difference between schedulers on this device. \
                  Keep more requests in flight than the hardware depth, or use a slower device.\n";
    }
}

/// Rounds that count as worse than every other, by arm, so that it is seen beside the verdict under which arm they are.
fn without_value(text: &mut String, result: &ResultFile) {
    let censored = |label: &str| {
        let rounds = result.rounds.iter().filter(|round| round.arm == label);
        let (all, bad): (Vec<&Round>, Vec<&Round>) =
            rounds.partition(|round| round.censored.is_none());
        (bad.len(), all.len() + bad.len(), bad.first().copied())
    };
    let arms: Vec<_> = result
        .design
        .arms
        .iter()
        .map(|arm| (&arm.label, censored(&arm.label)))
        .collect();
    if arms.iter().all(|(_, (bad, ..))| *bad == 0) {
        return;
    }
    let counts: Vec<String> = arms
        .iter()
        .map(|(label, (bad, all, _))| format!("{label} in {bad} of {all} rounds"))
        .collect();
    let _ = writeln!(
        text,
        "No value, which counts as worse than every other: {}.",
        counts.join(", ")
    );
    for (label, (_, _, first)) in arms {
        if let Some(problem) = first.and_then(|round| round.problem.as_ref()) {
            let _ = writeln!(text, "  {label}, first: {problem}");
        }
    }
}

/// Rounds of which only some values are certain.
fn left_out(text: &mut String, result: &ResultFile) {
    let is_partial =
        |round: &&Round| round.exclusion.is_none() && !round.evidence.doubtful.is_empty();
    let rounds = result.rounds.iter().filter(is_partial).count();
    if rounds > 0 {
        let _ = writeln!(
            text,
            "In {rounds} of the rounds some values could change by more than 1 % by the requests that they lack; those values are left out."
        );
    }
}

fn excluded(text: &mut String, result: &ResultFile) {
    if result.excluded.is_empty() {
        return;
    }
    let again = result.rounds.iter().filter(|round| round.attempt > 0);
    let blocks: BTreeSet<(usize, usize)> = again.map(|r| (r.block, r.attempt)).collect();
    let _ = writeln!(
        text,
        "{} of {} blocks were excluded, regardless of their results; {} run again:",
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

fn quality(text: &mut String, result: &ResultFile) {
    let (mut lost, mut ios, mut foreign_bytes, mut bytes) = (0, 0, 0, 0);
    let mut losses = Quality::default();
    for round in &result.rounds {
        let evidence = &round.evidence;
        lost += round.lost_events;
        losses += evidence.device.quality;
        ios += evidence.device.ops.iter().map(|op| op.ios).sum::<u64>();
        bytes += evidence.device.ops.iter().map(|op| op.bytes).sum::<u64>();
        foreign_bytes += evidence.foreign.as_ref().map_or(0, |foreign| foreign.bytes);
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
    left_out(text, result);
    if foreign_bytes * 100 > bytes {
        let share = foreign_bytes as f64 / bytes as f64 * 100.0;
        let _ = writeln!(
            text,
            "Other processes used the device too: {share:.1} % of all bytes did not belong to the workload."
        );
    }
    excluded(text, result);
    without_value(text, result);
    for diagnostics in &result.diagnostics {
        for carry_over in diagnostics.carry_over.iter().filter(|c| c.is_warning) {
            let _ = writeln!(
                text,
                "Carry-over: rounds after {} are shifted by {:+.3} in {} (p = {:.4}){}: use a longer ramp, or --washout.",
                carry_over.after,
                carry_over.effect.estimate,
                diagnostics.metric,
                carry_over.effect.p,
                match carry_over.lasts_rounds {
                    0 | 1 => String::new(),
                    rounds => format!(", for about {rounds} rounds"),
                }
            );
        }
    }
    for warning in load::warnings(&result.rounds) {
        let _ = writeln!(text, "Load: {warning}.");
    }
    *text += &words::unseen_expiries(result);
    for note in result.probe.notes.iter().chain(&result.notes) {
        let _ = writeln!(text, "Note: {}", escape::line(note));
    }
}
