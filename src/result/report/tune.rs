//! A search and its referee as text: the answer first, then what was tried. Pure.

use std::fmt::Write;

use comfy_table::{Table, presets};

use super::text::Look;
use super::{decision, escape, markdown as of_run, text, units, words};
use crate::statistics::scale::Scale;
use crate::statistics::verdict::Verdict;
use crate::tune::score::{Standing, standings_after};
use crate::tune::{DEFAULT, From, Space, TuneResult, score};
use crate::types::result::{ResultFile, Status};

/// Rows of the ledger unless all are asked for.
const SHOWN: usize = 20;

/// `look`: at the referee's run.
pub fn render(tune: &TuneResult, look: Look) -> String {
    let all = look.all;
    let mut text = format!("{}\n", answer(tune));
    for line in heading(tune) {
        let _ = writeln!(text, "{line}");
    }
    let ledger = ledger(tune);
    let shown = if all {
        ledger.len()
    } else {
        SHOWN.min(ledger.len())
    };
    if shown > 0 {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(HEAD);
        for row in &ledger[..shown] {
            table.add_row(row.cells());
        }
        let _ = write!(
            text,
            "\n{CLAIMS_NOTHING}\n{}\n",
            trimmed(&table.to_string())
        );
        let more = ledger.len() - shown;
        if more > 0 {
            let _ = writeln!(text, "{more} more: `iosched-ab report FILE --all`.");
        }
    }
    if all {
        for line in &tune.skipped {
            let _ = writeln!(text, "not tried: {line}");
        }
    }
    let mut text = escape::message(&text);
    if let Some(referee) = ended(tune) {
        let _ = write!(text, "\nThe referee:\n{}", text::render(referee, look));
    }
    text
}

/// Without blanks at the ends of lines.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

pub fn markdown(tune: &TuneResult) -> String {
    let mut page = format!(
        "### {}\n\n**{}**\n\n",
        escape::markdown(&title(tune)),
        escape::markdown(&answer(tune))
    );
    for line in heading(tune) {
        let _ = writeln!(page, "{}\n", escape::markdown(&line));
    }
    let _ = writeln!(page, "{}\n", escape::markdown(CLAIMS_NOTHING));
    let _ = writeln!(
        page,
        "| {} |\n|{}",
        HEAD.join(" | "),
        "---|".repeat(HEAD.len())
    );
    for row in ledger(tune).iter().take(SHOWN) {
        let cells = row.cells().map(|cell| escape::markdown(&cell));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    if let Some(referee) = ended(tune) {
        let _ = write!(page, "\n{}", of_run::render(referee));
    }
    page
}

pub const HEAD: [&str; 6] = ["ARM", "NAMED BY", "ROUNDS", "SEARCH", "KEPT", "END"];
pub const CLAIMS_NOTHING: &str = "The search, which claims nothing: the best of many looks better than it is. Changes are those of the \
    preferred metric against what the disk had, better upwards.";

pub fn title(tune: &TuneResult) -> String {
    let first = tune
        .referee
        .as_ref()
        .or(tune.stages.first().map(|stage| &stage.result));
    match first {
        Some(result) => format!("tune: {} on {}", result.workload.name, result.device.name()),
        None => "tune".to_owned(),
    }
}

/// The referee, if all of its rounds are there: before that it says nothing.
pub fn ended(tune: &TuneResult) -> Option<&ResultFile> {
    let referee = tune.referee.as_ref();
    referee.filter(|referee| referee.status == Status::Complete)
}

/// The referee's decision: nothing else is one.
pub fn answer(tune: &TuneResult) -> String {
    match (&tune.referee, tune.status) {
        (Some(referee), _) if referee.status == Status::Complete => decision::in_words(referee),
        (None, Status::Complete) => {
            let default = &tune.candidates[DEFAULT].arm.label;
            format!("Keep {default}: no arm had a value that could be compared with it.")
        }
        _ => "No answer yet: the search has not ended its fresh rounds, and what it found so far claims nothing.".to_owned(),
    }
}

pub fn heading(tune: &TuneResult) -> Vec<String> {
    let tried = tune
        .candidates
        .iter()
        .filter(|it| it.left_out.is_none())
        .count();
    let of =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let rounds = |count: usize| of(count, "round");
    let mut lines = vec![format!(
        "{} · {} in {}, {}{}; took {}",
        title(tune),
        of(tried, "arm"),
        of(tune.stages.len(), "stage"),
        rounds(tune.search_rounds()),
        match &tune.referee {
            Some(referee) => format!(", and {} of the referee", rounds(referee.rounds.len())),
            None => String::new(),
        },
        units::duration(tune.took_s())
    )];
    lines.extend(
        tune.budget_s
            .map(|s| format!("budget: {}", units::duration(s))),
    );
    match &tune.space {
        Space::Ladder => {}
        Space::File { path } => lines.push(format!("arms of {path}")),
        Space::Proposals { argv, .. } => lines.push(format!("arms named by {}", argv.join(" "))),
    }
    match tune.status {
        Status::Complete => {}
        Status::Running => lines.push("NOT COMPLETE: still going on, or killed".to_owned()),
        Status::Interrupted => lines.push("NOT COMPLETE: interrupted".to_owned()),
        Status::Failed => lines.push("NOT COMPLETE: an error ended it".to_owned()),
    }
    lines.extend(tune.error.as_ref().map(|error| format!("  {error}")));
    lines
}

/// What became of one arm.
pub struct Row {
    pub arm: String,
    pub named_by: &'static str,
    pub rounds: usize,
    /// None without a block.
    pub search: Option<f64>,
    pub violation: f64,
    pub end: String,
    scale: Scale,
}

impl Row {
    pub fn cells(&self) -> [String; 6] {
        let kept = match self.search {
            None => "-".to_owned(),
            Some(_) if self.violation.is_infinite() => "stalled or failed".to_owned(),
            Some(_) if self.violation > 0.0 => {
                format!("worse by {} margins", units::short(self.violation + 1.0))
            }
            Some(_) => "yes".to_owned(),
        };
        [
            self.arm.clone(),
            self.named_by.to_owned(),
            self.rounds.to_string(),
            self.search
                .map_or("-".to_owned(), |score| change(score, self.scale)),
            kept,
            self.end.clone(),
        ]
    }
}

/// A score for people.
pub fn change(score: f64, scale: Scale) -> String {
    match scale {
        _ if score == f64::NEG_INFINITY => "stalled or failed".to_owned(),
        Scale::Log => format!("{:+.1} %", score.exp_m1() * 100.0),
        Scale::Identity => units::signed(score),
    }
}

fn named_by(from: From) -> &'static str {
    match from {
        From::Disk => "the disk",
        From::Scheduler => "scheduler",
        From::Ladder => "ladder",
        From::File => "file",
        From::Combination => "combination",
        From::Proposal => "proposal",
    }
}

/// Each arm but the default: what came to the referee first, then the best of the search, then what was left out.
pub fn ledger(tune: &TuneResult) -> Vec<Row> {
    let scale = score::preferred(tune).map_or(Scale::Log, |metric| metric.scale);
    let all: Vec<usize> = (DEFAULT + 1..tune.candidates.len()).collect();
    let standings = standings_after(tune, tune.stages.len(), &all);
    let in_referee = |index: usize| {
        let label = &tune.candidates[index].arm.label;
        let referee = ended(tune)?;
        referee
            .design
            .arms
            .iter()
            .any(|arm| arm.label == *label)
            .then_some(referee)
    };
    let mut order: Vec<(usize, Option<&Standing>)> =
        standings.iter().map(|it| (it.index, Some(it))).collect();
    order.sort_by_key(|(index, _)| in_referee(*index).is_none());
    let has_none = |index: &usize| standings.iter().all(|it| it.index != *index);
    order.extend(
        all.iter()
            .copied()
            .filter(has_none)
            .map(|index| (index, None)),
    );
    let row = |(index, standing): (usize, Option<&Standing>)| {
        let candidate = &tune.candidates[index];
        let label = &candidate.arm.label;
        let stages = tune.stages.iter().map(|stage| &stage.result);
        let rounds = stages
            .flat_map(|it| &it.rounds)
            .filter(|round| round.arm == *label);
        let end = match (&candidate.left_out, in_referee(index)) {
            (Some(why), _) => format!("left out: {}", why.lines().next().unwrap_or_default()),
            (None, Some(referee)) => format!("referee: {}", judged(referee, label)),
            (None, None) => last_stage(tune, label),
        };
        Row {
            arm: label.clone(),
            named_by: named_by(candidate.from),
            rounds: rounds.count(),
            search: standing.map(|it| it.score),
            violation: standing.map_or(0.0, |it| it.violation),
            end,
            scale,
        }
    };
    order.into_iter().map(row).collect()
}

/// The verdict of the referee on what should get better.
fn judged(referee: &ResultFile, arm: &str) -> String {
    let goals = referee.design.goals.clone().unwrap_or_default();
    let mut rows = referee.primary();
    let row = rows.find(|row| row.arm == arm && goals.is_preferred(&row.metric.name));
    let Some(row) = row else {
        return "not decided".to_owned();
    };
    let word = match row.comparison.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "the same",
        Verdict::Differs => "differs",
        Verdict::Inconclusive => return "not decided".to_owned(),
    };
    match words::sure_change(&row.comparison) {
        Some(sure) => format!("{word} ({sure})"),
        None => word.to_owned(),
    }
}

fn last_stage(tune: &TuneResult, label: &str) -> String {
    let has = |result: &ResultFile| result.design.arms.iter().any(|arm| arm.label == *label);
    match tune.stages.iter().rposition(|stage| has(&stage.result)) {
        Some(stage) => format!("stage {}", stage + 1),
        None => "not tried".to_owned(),
    }
}

#[cfg(test)]
#[path = "tune_tests.rs"]
pub mod tests;
