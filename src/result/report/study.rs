//! A study as text: the matrix of verdicts, the arms that no other beats, and what was expected. Pure.

mod claims; // what may be said of the study as a whole
pub mod detectable; // what a budget can show
mod markdown;
mod wanted; // what each cell with goals decides

use std::fmt::Write;

use comfy_table::{Table, presets};

use super::{escape, level, units, waiting, why, words};
use crate::statistics::verdict::{Comparison, Reason, Verdict};
use crate::study::result::{CellResult, StudyResult};
use crate::types::result::{ArmComparison, Status};

pub(super) use claims::choice;
pub use markdown::markdown;
pub(super) use wanted::decisions;

pub fn render(study: &StudyResult) -> String {
    let mut text = String::new();
    heading(&mut text, study);
    let decisions = decisions(study);
    if !decisions.is_empty() {
        let _ = write!(text, "\n{decisions}");
    }
    let _ = write!(text, "\n{}\n", matrix(study));
    text += "\nbetter, worse: shown at 95 % for all rows of a cell together; same: shown to differ by less than the margin; \
             differs: of a metric without a better direction; ?: not decided, with the reason if the interval alone would decide it; \
             -: no value.\n";
    exact(&mut text, study);
    level(&mut text, study);
    without_waiting(&mut text, study);
    unsteady(&mut text, study);
    choice(&mut text, study);
    expected(&mut text, study);
    causes(&mut text, study);
    escape::message(&text)
}

/// Cells whose values are of no one level, each with the first reason.
fn unsteady(text: &mut String, study: &StudyResult) {
    for cell in study.compared() {
        let remarks = level::remarks(&cell.result);
        if let Some(first) = remarks.first() {
            let _ = writeln!(text, "{}: {first}", cell.name);
        }
    }
}

/// What the workloads of the cells waited for, if the study asks.
fn causes(text: &mut String, study: &StudyResult) {
    let asked = study.compared().filter(|cell| cell.result.design.why);
    for cell in asked.filter(|cell| cell.why_invalid().is_none()) {
        let _ = writeln!(text, "\n{}:", cell.name);
        waiting::add(text, &cell.result);
        *text += &why::arms::section(&cell.result);
    }
}

pub(super) fn heading(text: &mut String, study: &StudyResult) {
    let _ = writeln!(text, "{}: {}", study.study, study.title);
    let Some(cell) = study.cells.first() else {
        return;
    };
    let (device, environment) = (&cell.result.device, &cell.result.environment);
    let _ = writeln!(
        text,
        "{} · {} arms x {} cells · rounds of {} s after a ramp of {} s · seed {} · Linux {}",
        device.name(),
        study.arms.len(),
        study.compared().count(),
        study.times.round_s,
        study.times.ramp_s,
        study.seed,
        environment.kernel_release
    );
    for cell in &study.cells {
        let ramp_s = cell.result.design.ramp_s;
        if (ramp_s - study.times.ramp_s).abs() > 1e-9 {
            let _ = writeln!(text, "{} has a ramp of {ramp_s} s", cell.name);
        }
    }
    if let Some(truth) = &device.scratch {
        let _ = writeln!(text, "SIMULATED: {}", truth.text);
    }
    if let Some(place) = &cell.result.workload.scratch_file {
        let _ = writeln!(text, "in {place}");
    }
    for arm in &study.left_out {
        let _ = writeln!(text, "left out: {}: {}", arm.arm, arm.why);
    }
    if !study.stages.is_empty() {
        let _ = writeln!(
            text,
            "stages {}, one after the other: compare arms within a stage; between stages other things may differ too",
            study.stages.join(", ")
        );
    }
    if study.quick {
        *text +=
            "--quick: short rounds, in which a scheduler's first seconds weigh more than later\n";
    }
    if let Some(budget) = &study.budget {
        let _ = writeln!(
            text,
            "fitted into {}, of which pilot blocks took {}; with rounds as noisy as those it could show:",
            units::duration(budget.limit_s),
            units::duration(budget.pilot_s)
        );
        for line in detectable::lines(budget) {
            let _ = writeln!(text, "  {line}");
        }
        for cut in &budget.cut {
            let (cell, blocks) = (&cut.cell, cut.blocks);
            let _ = writeln!(text, "the time was over after {blocks} blocks of {cell}");
        }
    }
    match study.status {
        Status::Complete => {}
        Status::Running => *text += "NOT COMPLETE: the study is still going on or was killed\n",
        Status::Interrupted => *text += "NOT COMPLETE: interrupted\n",
        Status::Failed => *text += "NOT COMPLETE: an error ended the study\n",
    }
    if let Some(error) = &study.error {
        let _ = writeln!(text, "  {error}");
    }
    for cell in &study.cells {
        if let Some(why) = cell.why_invalid() {
            let _ = writeln!(
                text,
                "INVALID: {}: {}; it has no verdicts",
                cell.name,
                first_line(&why)
            );
        }
        if let Some(why) = &cell.hopeless {
            let _ = writeln!(text, "{} was given up: {}", cell.name, first_line(why));
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A header, then one row for each metric of each cell, and one column for each arm.
fn rows(study: &StudyResult) -> Vec<Vec<String>> {
    let (reference, arms) = study
        .arms
        .split_first()
        .map_or(("", &[][..]), |(first, others)| (first, others));
    let head = ["CELL", "METRIC", reference].into_iter().map(str::to_owned);
    let mut rows = vec![head.chain(arms.iter().cloned()).collect()];
    for cell in study.compared() {
        let mut name = cell.name.clone();
        for metric in &cell.result.design.primary {
            let of = |arm: &String| {
                cell.primary()
                    .find(|row| row.arm == *arm && row.metric.name == metric.name)
            };
            let reference_median = arms
                .iter()
                .find_map(&of)
                .and_then(|row| row.reference_median);
            let mut row = vec![
                std::mem::take(&mut name),
                metric.name.clone(),
                units::value(reference_median, &metric.unit),
            ];
            let is_valid = cell.why_invalid().is_none();
            row.extend(arms.iter().map(|arm| match of(arm) {
                Some(_) if !is_valid => "invalid".to_owned(),
                Some(row) => said(row),
                None => "-".to_owned(),
            }));
            rows.push(row);
        }
    }
    rows
}

fn matrix(study: &StudyResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut rows = rows(study).into_iter();
    table.set_header(rows.next().unwrap_or_default());
    table.add_rows(rows);
    table.trim_fmt()
}

/// `-54.1 % better`
fn said(row: &ArmComparison) -> String {
    let word = match row.comparison.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Differs => "differs",
        Verdict::Equivalent => "same",
        Verdict::Inconclusive => "?",
    };
    let why = withheld(&row.comparison).map_or_else(String::new, |why| format!(" ({why})"));
    match words::change(&row.comparison).as_str() {
        "-" => {
            let word = if word == "?" {
                String::new()
            } else {
                format!(" {word}")
            };
            let why = absent(&row.comparison).map_or_else(String::new, |why| format!(" ({why})"));
            format!("-{word}{why}")
        }
        change => format!("{change} {word}{why}"),
    }
}

/// Why there is no verdict although the interval is on one side.
fn withheld(comparison: &Comparison) -> Option<&'static str> {
    let by_interval = comparison.question.judge(comparison.interval?);
    if comparison.verdict != Verdict::Inconclusive || by_interval == Verdict::Inconclusive {
        return None;
    }
    comparison.reasons.iter().find_map(|reason| match reason {
        Reason::CarryOver { .. } => Some("carry-over"),
        Reason::MeanDisagrees => Some("the mean disagrees"),
        Reason::Skewed => Some("skewed"),
        _ => None,
    })
}

/// Counts that had to be exact: those that were not, and how many were.
pub(super) fn exact(text: &mut String, study: &StudyResult) {
    let all = || {
        study
            .compared()
            .flat_map(|cell| cell.exact.iter().map(move |it| (cell, it)))
    };
    for (cell, counted) in all().filter(|(_, it)| it.is_broken()) {
        let _ = writeln!(text, "NOT EXACT: {}: {}.", cell.name, counted.sentence());
    }
    let measured = || all().map(|(_, it)| it).filter(|it| it.rounds > 0);
    let kept = measured().filter(|it| !it.is_broken()).count();
    if kept > 0 {
        let (rounds, exact): (usize, usize) = measured()
            .map(|it| (it.rounds, it.exact))
            .fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let incomplete: usize = measured().map(|it| it.incomplete).sum();
        let others = match incomplete {
            0 => String::new(),
            some => format!("; {some} lack no more than the events that the probe lost"),
        };
        let _ = writeln!(
            text,
            "Counts that the study asserts: {kept} of {} hold, exactly in {exact} of {rounds} rounds{others}.",
            measured().count()
        );
    }
}

/// Why a row has no value although rounds were measured. The gravest that an arm can do must not look like a gap.
fn absent(comparison: &Comparison) -> Option<String> {
    comparison.reasons.iter().find_map(|reason| match reason {
        Reason::Censored { blocks } => Some(format!("in {blocks} blocks an arm did too little")),
        Reason::InsufficientTail => Some("too few I/Os".to_owned()),
        _ => None,
    })
}

/// How many false verdicts to expect, and what the cell without a difference says.
pub(super) fn level(text: &mut String, study: &StudyResult) {
    let cells = study.compared().count();
    let _ = writeln!(text, "{}", false_verdicts(cells));
    if cells > 1 {
        let _ = writeln!(text, "{}", claims::holding(study, cells));
    }
    for cell in study.cells.iter().filter(|cell| cell.is_placebo) {
        let _ = writeln!(text, "{}", placebo(cell));
    }
}

/// The meaning of the cells' level for the study.
fn false_verdicts(cells: usize) -> String {
    let any = 1.0 - 0.95f64.powi(i32::try_from(cells).unwrap_or(i32::MAX));
    let share = units::share(Some(any));
    if cells == 1 {
        return format!(
            "The rows of the cell share an error rate: if no arm differed, one of them or more would be false in {share} of such studies."
        );
    }
    format!(
        "The rows of one cell share an error rate of 5 %; the {cells} cells do not share theirs: if no arm differed, {:.2} cells with \
         a false verdict would be expected, and one or more in {share} of such studies (of independent cells).",
        cells as f64 * 0.05
    )
}

fn placebo(cell: &CellResult) -> String {
    let of = match &cell.placebo_of {
        Some(name) => format!("{}, the reference against itself in {name}", cell.name),
        None => format!("{}, the reference against itself", cell.name),
    };
    let is_found = |row: &&ArmComparison| {
        matches!(
            row.comparison.verdict,
            Verdict::Better | Verdict::Worse | Verdict::Differs
        )
    };
    let found: Vec<String> = cell
        .primary()
        .filter(is_found)
        .map(words::sentence)
        .collect();
    if cell.primary().all(|row| row.comparison.interval.is_none()) {
        return format!("{of}, has no result yet: nothing shows what noise alone would.");
    }
    if found.is_empty() {
        let is_open = |row: &&ArmComparison| row.comparison.verdict == Verdict::Inconclusive;
        let (rows, open) = (
            cell.primary().count(),
            cell.primary().filter(is_open).count(),
        );
        return match open {
            0 => format!("{of}: no difference was found."),
            open => {
                format!("{of}: no difference was found; {open} of {rows} rows are not decided.")
            }
        };
    }
    format!(
        "NEGATIVE CONTROL: {of}, differs, so distrust the other rows: {}.",
        found.join("; ")
    )
}

/// The cells in which a scheduler has nothing to decide.
pub(super) fn without_waiting(text: &mut String, study: &StudyResult) {
    let idle = study
        .compared()
        .filter(|cell| cell.result.can_tell_schedulers_apart() == Some(false));
    let names: Vec<&str> = idle.map(|cell| &*cell.name).collect();
    if !names.is_empty() {
        let _ = writeln!(
            text,
            "Hardly any request waited, so a scheduler could make no difference, in: {}.",
            names.join(", ")
        );
    }
}

/// Cells that expect the same stand together.
pub(super) fn expected(text: &mut String, study: &StudyResult) {
    let mut by_text: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in study.compared() {
        match by_text
            .iter_mut()
            .find(|(expect, _)| *expect == cell.expect)
        {
            Some((_, cells)) => cells.push(&cell.name),
            None => by_text.push((&cell.expect, vec![&cell.name])),
        }
    }
    by_text.retain(|(expect, _)| !expect.is_empty());
    if by_text.is_empty() {
        return;
    }
    *text += "\nExpected before the study:\n";
    for (expect, cells) in by_text {
        let _ = writeln!(text, "  {}: {expect}", cells.join(", "));
    }
}
