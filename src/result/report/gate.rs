//! The findings of a gate: as a text table, and the words of its other formats. Pure.

pub mod formats; // all formats, one row each
mod json; // for programs
mod markdown; // for code hosts
pub mod several; // of several results at once
pub mod study; // the same for all cells of a study

use std::fmt::Write;

use super::findings::{self, Finding};
use super::units::{self, RatioForm};
use super::{decision, escape, limits, words};
use crate::gate::{
    self, ASSUMED_RUN_SD, Basis, Check, Decision, GateOutcome, Judgement, LevelChange, Selection,
};
use crate::statistics::estimate::ConfidenceInterval;
use crate::statistics::scale::Scale;
use crate::statistics::verdict::{Reason, Verdict};
use crate::types::result::{ArmComparison, ResultFile};

pub use json::{GateRecord, SCHEMA, SCHEMA_VERSION, json};
pub use markdown::markdown;

const COLUMNS: [&str; 7] = [
    "GATE", "METRIC", "ARM", "CHANGE", "INTERVAL", "VERDICT", "VALUE",
];

/// For people: what the run alone decides, then the findings; if nothing was held to the rules, why.
pub fn text(result: &ResultFile, judgement: &Judgement, width: Option<usize>) -> String {
    if judgement.checks.is_empty() {
        return format!(
            "Nothing was judged: {}\n",
            escape::line(&headline(judgement))
        );
    }
    let decision = escape::line(&decision::in_words(result));
    let selected = escape::message(&selected(judgement));
    format!("{decision}\n{}{selected}", render(&judgement.checks, width))
}

/// `width`: of the terminal; without one, each finding is one line.
pub fn render(checks: &[Check], width: Option<usize>) -> String {
    let findings = checks.iter().map(|check| {
        let [outcome, metric, _, change, interval, _, value] = cells(check);
        let (verdict, reasons) = verdict_and_reasons(check);
        Finding {
            outcome: Some(outcome),
            metric,
            arm: check.comparison.arm.clone(),
            reference: check.comparison.reference.clone(),
            value,
            change,
            interval,
            verdict,
            reasons,
        }
    });
    let table = findings::table(&findings.collect::<Vec<_>>(), width.unwrap_or(usize::MAX));
    escape::message(&format!("{table}{}", remarks(checks)))
}

/// One line on all comparisons together.
pub fn headline(judgement: &Judgement) -> String {
    let all = judgement.checks.len();
    let count = |outcome| judgement.count(outcome);
    match &judgement.decision {
        Decision::Passed if all == 1 => "the comparison passed the gate".to_owned(),
        Decision::Passed => format!("all {all} comparisons passed the gate"),
        Decision::Failed => {
            let failed = count(GateOutcome::Failed);
            format!("{failed} of {all} comparisons failed the gate")
        }
        Decision::Undecided if all == 0 => "the run has no comparison to decide on".to_owned(),
        Decision::Undecided if let Some(why) = lasting(&judgement.checks) => {
            format!("no comparison can be decided: {why}")
        }
        Decision::Undecided if could_not_fail(&judgement.checks) => {
            "this run could not have failed: it has no verdict, and too few blocks to show a difference of the margin".to_owned()
        }
        Decision::Undecided => {
            let open = count(GateOutcome::Undecided);
            format!("{open} of {all} comparisons are not decided")
        }
        Decision::Incomparable(why) => {
            format!("the results cannot be compared: {}", why.join("; "))
        }
        Decision::Invalid(why) => why.clone(),
    }
}

/// Where a file says otherwise than its rounds: it is of another version, or was edited.
pub fn contradictions(stored: &ResultFile, redrawn: &ResultFile) -> Vec<String> {
    let differing = redrawn.primary().filter_map(|row| {
        let name = words::name(row);
        let of_file = stored.primary().find(|it| words::name(it) == name);
        let verdict = |row: &ArmComparison| (row.comparison.verdict, row.comparison.beyond_margin);
        if of_file.map(verdict) == Some(verdict(row)) {
            return None;
        }
        let by_file = of_file.map_or_else(|| "nothing".to_owned(), words::verdict);
        let by_rounds = words::verdict(row);
        Some(format!(
            "{name}: the file says {by_file}, its rounds say {by_rounds}; a gate goes by the rounds"
        ))
    });
    differing.map(|it| escape::line(&it)).collect()
}

/// The remedy where the run decides too little.
pub fn remedy(judgement: &Judgement) -> &'static str {
    match lasting(&judgement.checks) {
        Some(_) => "more rounds of this run would not decide it either: gate on another metric",
        None => "run more rounds, or use a larger margin",
    }
}

/// Why no comparison can be decided, however many rounds there are; None where one can.
fn lasting(checks: &[Check]) -> Option<String> {
    let mut first = None;
    for check in checks {
        let own = &check.comparison.comparison;
        let lasts = |reason: &&Reason| {
            matches!(
                reason,
                Reason::NotComparable
                    | Reason::WorkDiffers
                    | Reason::ReferenceSilent
                    | Reason::NothingHappened
                    | Reason::TruthChanged
            )
        };
        let reason = own.reasons.iter().find(lasts)?;
        if check.verdict != Verdict::Inconclusive {
            return None;
        }
        first.get_or_insert_with(|| words::in_words(reason, own.blocks));
    }
    first
}

fn could_not_fail(checks: &[Check]) -> bool {
    checks.iter().all(|check| {
        let own = &check.comparison.comparison;
        check.verdict == Verdict::Inconclusive && !gate::had_power(own) && !own.question.is_stopped
    })
}

/// `total_p99: bfq against none changed by +8.1 %, +5.2 % .. +11.0 %: worse; now 1.08 ms (was 1.00 ms)`, of a comparison
/// with earlier runs.
pub fn sentence(check: &Check) -> String {
    let name = words::name(&check.comparison);
    let [_, _, _, change, interval, verdict, values] = cells(check);
    let level = level_change(check).unwrap_or_default();
    format!("{name} changed by {change}, {interval}: {verdict}; now {values}. {level}")
        .trim_end()
        .to_owned()
}

/// The columns, a row for each comparison, and what belongs below.
pub(super) fn of_judgement(judgement: &Judgement) -> ([&'static str; 7], Vec<[String; 7]>, String) {
    let below = remarks(&judgement.checks) + &selected(judgement);
    let below = if judgement.checks.is_empty() {
        String::new()
    } else {
        below
    };
    (COLUMNS, judgement.checks.iter().map(cells).collect(), below)
}

fn cells(check: &Check) -> [String; 7] {
    let row = &check.comparison;
    let (change, interval) = sizes(row.metric.scale, check.change, check.interval);
    [
        outcome(check).to_owned(),
        row.metric.name.clone(),
        format!("{} against {}", row.arm, row.reference),
        change,
        interval,
        verdict(check),
        values(check),
    ]
}

fn outcome(check: &Check) -> &'static str {
    match check.outcome {
        // It does not fail the gate, and nothing was shown.
        GateOutcome::Passed if check.limit.is_none() && check.verdict == Verdict::Inconclusive => {
            "open"
        }
        GateOutcome::Passed => "pass",
        GateOutcome::Failed => "FAIL",
        GateOutcome::Undecided => "no decision",
    }
}

/// Where the intervals come from, and since when a level is another.
fn remarks(checks: &[Check]) -> String {
    let levels: String = checks.iter().filter_map(level_change).collect();
    basis(checks) + &levels
}

/// A line on what a selection leaves as it was.
fn selected(judgement: &Judgement) -> String {
    let (judged, family) = (judgement.checks.len(), judgement.family);
    if judgement.selection == Selection::default() {
        return String::new();
    }
    format!(
        "{judged} of {family} primary comparisons were selected; the intervals are those for all {family} together.\n"
    )
}

/// A change and its interval in the same form.
fn sizes(
    scale: Scale,
    change: Option<f64>,
    interval: Option<ConfidenceInterval>,
) -> (String, String) {
    let ends = interval.map(|i| [i.lower, i.upper]);
    let all = change.into_iter().chain(ends.into_iter().flatten());
    // An end without a bound has no ratio, and is 0 as one.
    let form = RatioForm::of(all.filter(|x| x.is_finite()).map(f64::exp));
    let shown = |x: f64| match scale {
        Scale::Log => form.change(x.exp()),
        Scale::Identity => units::difference(x),
    };
    let range = |i: ConfidenceInterval| units::range(i.lower, i.upper, shown);
    let none = || "-".to_owned();
    (
        change.map_or_else(none, shown),
        interval.map_or_else(none, range),
    )
}

/// `throughput: bfq against none changed by -4.1 % (-5.9 % .. -2.2 %) with nightly-13.json, started ...`
fn level_change(check: &Check) -> Option<String> {
    let level = check.level_change.as_ref()?;
    let scale = check.comparison.metric.scale;
    let (change, interval) = sizes(scale, Some(level.change), Some(level.interval));
    let mut text = format!(
        "{} changed by {change} ({interval}) with {}, started {}: {} runs before, {} since.",
        escape::line(&words::name(&check.comparison)),
        escape::line(&level.since),
        escape::line(&level.started),
        level.runs_before,
        level.runs_since,
    );
    if !level.is_of_this_run {
        text.push_str(" This run is back near the level before.");
    } else if level.verdict == Verdict::Worse {
        text.push_str(
            " If that level is accepted, leave out the baselines before it; else look for what changed.",
        );
    }
    Some(text + "\n")
}

fn basis(checks: &[Check]) -> String {
    match checks.first().map(|check| check.basis) {
        Some(Basis::Prediction(n)) => format!(
            "Each change is that of the ratio to the reference, compared with {n} earlier runs; the intervals \
             predict the result of another run like those.\n"
        ),
        Some(Basis::Assumed(n)) => format!(
            "Each change is that of the ratio to the reference, compared with {n} earlier run{}. ASSUMED: it varies by {:.0} % \
             from run to run; five earlier runs would show how much. Better or worse is only what also lies apart from the \
             interval of each earlier run.\n",
            if n == 1 { "" } else { "s" },
            ASSUMED_RUN_SD * 100.0
        ),
        Some(Basis::Own) | None => String::new(),
    }
}

fn verdict(check: &Check) -> String {
    let (word, reasons) = verdict_and_reasons(check);
    words::with_reasons(word, &reasons)
}

fn verdict_and_reasons(check: &Check) -> (String, String) {
    if let Some(limit) = &check.limit {
        let found = format!("{} {}", limits::found(limit), limits::bound(limit));
        return (found, String::new());
    }
    if check.basis == Basis::Own {
        return words::verdict_and_reasons(&check.comparison);
    }
    let margin = words::margin(&check.comparison.metric);
    let mut text = match check.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::Differs => "differs".to_owned(),
        Verdict::Equivalent => format!("equivalent within {margin}"),
        Verdict::Inconclusive => "not decided".to_owned(),
    };
    let is_worse = |level: &&LevelChange| level.is_of_this_run && level.verdict == Verdict::Worse;
    if let Some(level) = check.level_change.as_ref().filter(is_worse) {
        let beyond = if level.worse_beyond_margin {
            format!(" by more than {margin}")
        } else {
            String::new()
        };
        let since = escape::line(&level.since);
        let _ = write!(text, "; worse{beyond} since {since}");
    }
    let warnings = words::warnings(&check.comparison);
    (text, warnings.join("; "))
}

/// Shows absolute values; the gate does not use them.
fn values(check: &Check) -> String {
    let row = &check.comparison;
    let now = units::value(row.arm_median, &row.metric.unit);
    match check.earlier_median {
        Some(earlier) => format!(
            "{now} (was {})",
            units::value(Some(earlier), &row.metric.unit)
        ),
        None => now,
    }
}
