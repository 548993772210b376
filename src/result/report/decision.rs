//! The decision in words: the sentence at the head of every format. Pure.

use std::fmt::Write;

use super::limits;
use super::units;
use super::{waiting, words};
use crate::analysis::budget;
use crate::decision::{Decision, Rank, Standing, decide, more_blocks_to_decide, reference_beyond};
use crate::merge::view;
use crate::statistics::scale::Scale;
use crate::statistics::stopping::Stopping;
use crate::types::limit::ArmLimit;
use crate::types::result::{ArmComparison, ResultFile, Status};

/// Rows and arms that a sentence names; more would not be read.
const MOST: usize = 3;

/// What to do, in one or two sentences; of a run that may go on, with the command.
pub fn in_words(result: &ResultFile) -> String {
    // The load of a rotation cannot be started again.
    let is_rotation = result.workload.description["kind"] == "live" && result.design.live.is_none();
    sentence_of(result, !is_rotation && !view::is_view(result))
}

/// The same without the command: for a cell of a study, which does not go on alone.
pub fn sentence(result: &ResultFile) -> String {
    sentence_of(result, false)
}

fn sentence_of(result: &ResultFile, with_command: bool) -> String {
    let (decision, standings) = decide(result);
    let reference = &result.design.arms[result.design.reference].label;
    let text = match &decision {
        Decision::Invalid(why) => format!("No decision: {why}."),
        Decision::Incomplete(status) => format!("No decision: {}.", unended(*status)),
        Decision::Placebo => return format!("Nothing to decide: {reference} against itself."),
        Decision::Nothing => "No decision: no metric was compared.".to_owned(),
        Decision::Alarmed(row) => format!(
            "No decision: {} differs between {} and {}, and no scheduler changes it, so something else differs, too.",
            row.metric.name, row.arm, row.reference
        ),
        Decision::Use(best) => used(best, &standings),
        Decision::Keep
            if reference_beyond(result).next().is_none()
                && standings.iter().all(|of| of.rank() == Rank::Alike) =>
        {
            alike(result, reference)
        }
        Decision::Keep if reference_beyond(result).next().is_some() => {
            format!("No arm has all that is wanted: {}.", reasons(&standings))
        }
        Decision::Keep => format!("Keep {reference}: {}.", reasons(&standings)),
        Decision::Trades => format!(
            "No arm wins: {}. Say what counts with --prefer.",
            reasons(&standings)
        ),
        Decision::Open => open(result, &standings, with_command),
    };
    let is_about_arms = matches!(
        decision,
        Decision::Use(_) | Decision::Keep | Decision::Trades | Decision::Open
    );
    if !is_about_arms {
        return text;
    }
    let notes = [
        unsure_load(&standings),
        beyond(result, reference, &standings),
        waiting::idle(result),
        waiting::without_io(result),
    ];
    let notes = notes.into_iter().flatten();
    notes.fold(text, |text, note| format!("{text} {note}"))
}

/// Arms of a live run that are judged although nothing shows that the same I/O arrived under them.
fn unsure_load(standings: &[Standing]) -> Option<String> {
    let judged = standings.iter().filter(|of| !of.is_of_other_work);
    let unsure = judged.filter(|of| of.is_load_unsure && of.rank() != Rank::Open);
    let arms: Vec<String> = unsure.map(|of| of.arm.to_owned()).collect();
    (!arms.is_empty()).then(|| {
        let arms = listed(arms, ", ");
        format!("It is not shown that the same load arrived under {arms}.")
    })
}

/// The reference itself, which the user may go on with.
fn beyond(result: &ResultFile, reference: &str, standings: &[Standing]) -> Option<String> {
    let beyond: Vec<&ArmLimit> = reference_beyond(result).collect();
    if beyond.is_empty() {
        return None;
    }
    let is_within = |of: &&Standing| of.beyond.is_empty() && of.unsure.is_empty();
    let within = standings.iter().filter(is_within);
    let within: Vec<String> = within
        .filter(|of| !of.within.is_empty())
        .map(|of| of.arm.to_owned())
        .collect();
    let others = match within.len() {
        0 => String::new(),
        1 => format!("; {} stays within", within[0]),
        _ => format!("; {} stay within", listed(within, ", ")),
    };
    let what = listed(
        beyond.iter().map(|row| limits::is_beyond(row)).collect(),
        ", ",
    );
    Some(format!("With {reference}, {what}{others}."))
}

fn unended(status: Status) -> &'static str {
    match status {
        Status::Failed => "an error ended the run",
        Status::Interrupted => "the run was interrupted",
        Status::Running | Status::Complete => "the run is still going on, or was killed",
    }
}

/// At most some, the others counted.
fn listed(mut items: Vec<String>, separator: &str) -> String {
    let more = items.len().saturating_sub(MOST);
    items.truncate(MOST);
    let text = items.join(separator);
    match more {
        0 => text,
        more => format!("{text}{separator}and {more} more"),
    }
}

/// Why none of these.
fn reasons(standings: &[Standing]) -> String {
    listed(standings.iter().map(Standing::why_not).collect(), "; ")
}

/// `read_iops +44.1 % (at least +38.0 %)`.
fn row(row: &ArmComparison) -> String {
    let comparison = &row.comparison;
    let name = &row.metric.name;
    if comparison.estimate.is_none() || words::change(comparison) == "-" {
        return format!("{name} ({})", without_ratio(row));
    }
    let bound = words::sure_change(comparison).into_iter();
    let notes: Vec<String> = bound.chain(words::warnings(row)).collect();
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join("; "))
    };
    format!("{name} {}{notes}", words::change(comparison))
}

/// Why a row has no ratio.
fn without_ratio(row: &ArmComparison) -> String {
    let comparison = &row.comparison;
    let blocks = comparison.blocks;
    let stalled = comparison.stalled;
    let of = |who: &str, count: usize| {
        format!("{who} stalled, failed or did too little in {count} of {blocks} blocks")
    };
    match (stalled.arm, stalled.reference) {
        (0, 0) => words::verdict(row),
        (count, 0) => of(&row.arm, count),
        (0, count) => of(&row.reference, count),
        (arm, reference) => format!("{}; {}", of(&row.arm, arm), of(&row.reference, reference)),
    }
}

fn rows(of: &[&ArmComparison]) -> String {
    listed(of.iter().map(|of| row(of)).collect(), ", ")
}

/// No arm differs in what counts.
fn alike(result: &ResultFile, reference: &str) -> String {
    let goals = result.design.goals.as_ref();
    let in_what = goals.and_then(|goals| goals.prefer.as_ref());
    let in_what = in_what.map_or_else(String::new, |name| format!(" in {name}"));
    format!("Keep {reference}: nothing is shown to be better{in_what}.")
}

fn used(best: &Standing, standings: &[Standing]) -> String {
    let within = best.within.iter().map(|row| limits::is_within(row));
    let mut what: Vec<String> = within.collect();
    if !best.gains.is_empty() {
        what.insert(0, rows(&best.gains));
    }
    let mut text = format!("Use {}: {}", best.arm, what.join(", "));
    let gained = |kept: &&&ArmComparison| !best.gains.iter().any(|of| of.metric == kept.metric);
    let kept: Vec<&&ArmComparison> = best.kept.iter().filter(gained).collect();
    if let Some(first) = kept.first() {
        let margin = words::margin(&first.metric);
        let is_ratio = first.metric.scale == Scale::Log;
        let is_same = is_ratio && kept.iter().all(|of| words::margin(&of.metric) == margin);
        let beyond = if is_same { &margin } else { "its margin" };
        let _ = write!(text, ", no kept metric worse beyond {beyond}");
    }
    text.push('.');
    if !best.uncounted.is_empty() {
        let _ = write!(text, " Not counted: {}.", rows(&best.uncounted));
    }
    if !best.undecided.is_empty() {
        let names = best.undecided.iter().map(|row| row.metric.name.clone());
        let _ = write!(
            text,
            " Not decided of it: {}.",
            listed(names.collect(), ", ")
        );
    }
    let others = || standings.iter().filter(|of| of.arm != best.arm);
    let of = |rank: Rank| others().filter(move |of| of.rank() == rank);
    let too: Vec<String> = of(Rank::Wins)
        .map(|of| format!("{} ({})", of.arm, rows(&of.gains)))
        .collect();
    if !too.is_empty() {
        let _ = write!(
            text,
            " Better, too, and not compared with {}: {}.",
            best.arm,
            listed(too, "; ")
        );
    }
    let open: Vec<String> = of(Rank::Open).map(|of| of.arm.to_owned()).collect();
    if !open.is_empty() {
        let _ = write!(text, " Not decided: {}.", listed(open, ", "));
    }
    text
}

impl Standing<'_> {
    /// Why not this arm.
    fn why_not(&self) -> String {
        let arm = self.arm;
        if self.is_stopped {
            return format!("{arm} was stopped by --stop-if");
        }
        match self.rank() {
            Rank::Trades if self.costs.is_empty() => {
                format!(
                    "{arm} gives {}, but {}",
                    rows(&self.gains),
                    self.what_is_beyond()
                )
            }
            Rank::Trades => format!(
                "{arm} gives {} and costs {}",
                rows(&self.gains),
                self.all_costs()
            ),
            Rank::Loses if self.costs.is_empty() => {
                format!("{arm} is refused: {}", self.what_is_beyond())
            }
            Rank::Loses => format!("{arm} is worse: {}", self.all_costs()),
            Rank::Alike => format!("{arm} is not better"),
            Rank::Wins => format!("{arm} is better: {}", rows(&self.gains)),
            Rank::Open => format!("{arm} is not decided"),
        }
    }

    fn what_is_beyond(&self) -> String {
        listed(
            self.beyond
                .iter()
                .map(|row| limits::is_beyond(row))
                .collect(),
            ", ",
        )
    }

    fn all_costs(&self) -> String {
        let costs = rows(&self.costs);
        if self.beyond.is_empty() {
            costs
        } else {
            format!("{costs}; {}", self.what_is_beyond())
        }
    }

    fn what_is_open(&self) -> String {
        let arm = self.arm;
        let gives = if self.gains.is_empty() {
            String::new()
        } else {
            format!("{arm} gives {}, but ", rows(&self.gains))
        };
        if self.is_of_other_work {
            return format!("the load differs under {arm}, so its metrics are of different work");
        }
        if let Some(name) = self.missing.first() {
            return format!("{gives}{name} was not compared");
        }
        if let Some(row) = self.withheld.first() {
            return format!("{gives}{arm}: {} {}", row.metric.name, words::verdict(row));
        }
        let unsafe_row = self.unsafe_rows.first().filter(|_| !gives.is_empty());
        if let Some(row) = unsafe_row {
            let margin = words::margin(&row.metric);
            return format!(
                "{gives}{} is not shown to be no worse beyond {margin}: {}",
                row.metric.name,
                so_far(row)
            );
        }
        if let Some(row) = self.unsure.first().filter(|_| !gives.is_empty()) {
            return format!("{gives}{}", limits::is_unsure(row));
        }
        let open = self.undecided.iter().chain(&self.unsafe_rows);
        let mut seen: Vec<String> = Vec::new();
        for row in open {
            let of = format!("{} {}", row.metric.name, so_far(row));
            if !seen.contains(&of) {
                seen.push(of);
            }
        }
        let unsure = listed(
            self.unsure
                .iter()
                .map(|row| limits::is_unsure(row))
                .collect(),
            ", ",
        );
        match (seen.is_empty(), unsure.is_empty()) {
            (true, _) => format!("{arm}: {unsure}"),
            (_, true) => format!("{arm} against {}: {}", self.reference(), listed(seen, ", ")),
            _ => format!(
                "{arm} against {}: {}; {unsure}",
                self.reference(),
                listed(seen, ", ")
            ),
        }
    }

    fn reference(&self) -> &str {
        let mut rows = self.undecided.iter().chain(&self.unsafe_rows);
        rows.next().map_or("the reference", |row| &row.reference)
    }
}

/// `+2.1 % (-3.0 % .. +7.4 %)`, and what else speaks against a verdict.
fn so_far(row: &ArmComparison) -> String {
    let comparison = &row.comparison;
    if comparison.interval.is_none() || comparison.estimate.is_none() {
        return without_ratio(row);
    }
    let (change, interval) = (words::change(comparison), words::interval(comparison));
    let warnings = words::warnings(row);
    if warnings.is_empty() {
        format!("{change} ({interval})")
    } else {
        format!("{change} ({interval}; {})", warnings.join("; "))
    }
}

fn open(result: &ResultFile, standings: &[Standing], with_command: bool) -> String {
    let is_open = |of: &&Standing| of.rank() == Rank::Open;
    let still: Vec<&Standing> = standings.iter().filter(is_open).collect();
    let what = listed(still.iter().map(|of| of.what_is_open()).collect(), "; ");
    let text = format!("Not decided: {what}.");
    let others = standings.iter().filter(|of| !is_open(of));
    let others: Vec<String> = others.map(Standing::why_not).collect();
    let decided = if others.is_empty() {
        String::new()
    } else {
        format!(" Decided: {}.", listed(others, "; "))
    };
    let cost = match more_blocks_to_decide(result, standings) {
        Some(blocks) => {
            let command = if with_command {
                format!(": `iosched-ab run --resume FILE --rounds +{blocks}`.")
            } else {
                ".".to_owned()
            };
            let time = block_s(result, standings).map_or_else(String::new, |s| {
                format!(" ({})", units::duration(s * blocks as f64))
            });
            format!(" About {blocks} more blocks{time} would likely show it{command}")
        }
        None => String::new(),
    };
    format!("{text}{decided}{cost}")
}

/// The time of one more block: the arms of a run with looks that are decided take no part in it.
fn block_s(result: &ResultFile, standings: &[Standing]) -> Option<f64> {
    let open = standings.iter().filter(|of| of.rank() == Rank::Open);
    let arms = match result.design.stopping {
        Stopping::Looks { .. } => open.count() + 1,
        Stopping::Fixed { .. } | Stopping::Open => result.design.arms.len(),
    };
    budget::block_s(result, arms)
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
