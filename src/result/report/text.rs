//! The result as text: verdicts first, then the evidence for them. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::characters::{self, Form};
use super::findings::{self, Finding};
use super::{
    checks, decision, escape, level, levels, limits, live, noise, shift, times, units, waiting,
    why, words,
};
use crate::analysis::{load, turn};
use crate::measured::snapshot::Quality;
use crate::metric::CONTROL_CPU;
use crate::statistics::verdict::Verdict;
use crate::types::controls::Sight;
use crate::types::outcome::Fixed;
use crate::types::result::{ArmComparison, Class, ResultFile, Round, Status};

/// What a reader wants to see of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// The exploratory metrics and the shift functions, too.
    pub all: bool,
    /// Pictures in characters, in the form that the terminal can show.
    pub pictures: Option<Form>,
    /// The width of the terminal, which tables of findings must fit; None has room for all.
    pub width: Option<usize>,
}

pub fn render(result: &ResultFile, look: Look) -> String {
    let Look {
        all,
        pictures,
        width,
    } = look;
    let mut text = format!("{}\n", escape::line(&decision::in_words(result)));
    heading(&mut text, result);
    text += &live::section(result);
    let width = width.unwrap_or(usize::MAX);
    let primary: Vec<_> = result.primary().collect();
    let of_class = |class: Class| -> Vec<&ArmComparison> {
        let rows = result.comparisons.iter();
        rows.filter(|row| row.class() == class).collect()
    };
    let controlled = of_class(Class::Control);
    let exploratory = of_class(Class::Exploratory);
    if !primary.is_empty() {
        let _ = write!(text, "\n{}", table(&primary, width));
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
    text += &limits::in_words(result);
    text += &levels::in_words(&primary);
    if all && !primary.is_empty() {
        text += &checks::table(result);
        if let Some(levels) = &result.levels {
            text += &checks::levels(levels);
        }
    }
    if all && !controlled.is_empty() {
        text += "\nNegative controls, which no arm should change: a fixed loop on a CPU, and reads of a disk of no arm (--control), \
                 before and after each round.\n";
        let _ = write!(text, "{}", table(&controlled, width));
    }
    if all && !exploratory.is_empty() {
        text += "\nExploratory: each row has 95 % confidence on its own, so some rows will be wrong by chance.\n";
        let _ = write!(text, "{}", table(&exploratory, width));
    }
    if all {
        text += &shift::section(result);
    }
    controls(&mut text, result);
    text += &noise::section(result);
    waiting::add(&mut text, result);
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
            "each round {}; Linux {}",
            times::rounds(result),
            escape::line(&result.environment.kernel_release)
        );
    } else {
        let _ = writeln!(
            text,
            "each round one execution; Linux {}",
            escape::line(&result.environment.kernel_release)
        );
    }
    for line in [words::arms(result), words::cold(result)]
        .into_iter()
        .flatten()
    {
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
        _ if result.has_ended() => "",
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
    waiting::add(&mut text, result);
    quality(&mut text, result);
    text
}

pub(super) fn table(rows: &[&ArmComparison], width: usize) -> String {
    let findings = rows
        .iter()
        .map(|row| (row, words::verdict_and_reasons(row)));
    let findings = findings.map(|(row, (verdict, reasons))| Finding {
        outcome: None,
        metric: row.metric.name.clone(),
        arm: row.arm.clone(),
        reference: format!(
            "{} {}",
            row.reference,
            units::value(row.reference_median, &row.metric.unit)
        ),
        value: units::value(row.arm_median, &row.metric.unit),
        change: words::change(&row.comparison),
        interval: words::interval(&row.comparison),
        verdict,
        reasons,
    });
    findings::table(&findings.collect::<Vec<_>>(), width)
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
        let _ = writeln!(text, "CONTROL TOO NOISY: {}", blind(name, sight));
    }
}

/// What a control cannot tell that varies by itself.
fn blind(name: &str, sight: Sight) -> String {
    let what = if name == CONTROL_CPU {
        "a fixed loop on a CPU"
    } else {
        "reads of a disk of no arm"
    };
    let varies = sight.spread.map_or_else(String::new, |spread| {
        let percent = spread.exp_m1() * 100.0;
        format!("On this machine it differs by {percent:.1} % between two rounds of one arm. ")
    });
    let shows = match sight.detectable {
        Some(least) => format!(
            "It would have noticed only a difference of {:.0} % or more",
            least * 100.0
        ),
        None => "So few blocks can show no difference in it".to_owned(),
    };
    format!(
        "{name} ({what} beside each round) checks whether something else than the scheduler differs between the arms, such as the speed \
         of the CPUs. {varies}{shows}, so it neither supports nor contradicts the verdicts."
    )
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
    if let Some(line) = times::line(result) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(line) = times::beyond_budget(result) {
        let _ = writeln!(text, "{line}");
    }
    let is_open = |row: &ArmComparison| row.comparison.verdict == Verdict::Inconclusive;
    if let Some(line) = times::too_few_blocks(result).filter(|_| result.primary().any(is_open)) {
        let _ = writeln!(text, "Times: {line}.");
    }
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
    for line in level::remarks(result) {
        let _ = writeln!(text, "{line}");
    }
    for warning in load::warnings(&result.rounds) {
        let _ = writeln!(text, "Load: {warning}.");
    }
    *text += &words::unseen_expiries(result);
    for note in result.probe.notes.iter().chain(&result.notes) {
        let _ = writeln!(text, "Note: {}", escape::line(note));
    }
}
