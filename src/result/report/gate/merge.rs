//! The findings of a gate on a merged file, in its formats. Pure.

use std::fmt::Write;

use super::json::GateRecord;
use crate::gate::{Decision, GateOutcome, Judgement};
use crate::merge::Merged;
use crate::report::escape::{self, markdown as escaped};
use crate::report::markdown::ROOM;
use crate::report::{junit, merge};
use crate::types::result::ResultFile;

type Judged = [(ResultFile, Judgement)];

/// The worst of all groups; without one, nothing is decided.
pub fn overall(judged: &Judged) -> Decision {
    let any = |is: fn(&Decision) -> bool| judged.iter().find(|(_, it)| is(&it.decision));
    let worst = any(|it| matches!(it, Decision::Failed))
        .or_else(|| any(|it| matches!(it, Decision::Invalid(_) | Decision::Incomparable(_))))
        .or_else(|| any(|it| *it == Decision::Undecided))
        .or_else(|| judged.first());
    worst.map_or(Decision::Undecided, |(_, it)| it.decision.clone())
}

/// One line on all groups together.
pub fn headline(merged: &Merged, judged: &Judged) -> String {
    let checks = || judged.iter().flat_map(|(_, it)| &it.checks);
    let all = checks().count();
    let count = |outcome| checks().filter(|check| check.outcome == outcome).count();
    let of = match merged.groups.len() {
        1 => "of 1 kind of disk".to_owned(),
        kinds => format!("of {kinds} kinds of disk"),
    };
    match overall(judged) {
        Decision::Passed => format!("all {all} comparisons {of} passed the gate"),
        Decision::Failed => format!(
            "{} of {all} comparisons {of} failed the gate",
            count(GateOutcome::Failed)
        ),
        Decision::Undecided => format!(
            "{} of {all} comparisons {of} are not decided",
            count(GateOutcome::Undecided)
        ),
        Decision::Incomparable(why) => format!("cannot be judged: {}", why.join("; ")),
        Decision::Invalid(why) => why,
    }
}

pub fn text(merged: &Merged, judged: &Judged, width: Option<usize>) -> String {
    let mut text = String::new();
    for (group, (view, judgement)) in merged.groups.iter().zip(judged) {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", merge::heading(group));
        text += &super::text(view, judgement, width);
    }
    text
}

pub fn markdown(merged: &Merged, judged: &Judged) -> String {
    let mut page = format!(
        "### {}\n\n**Gate**: {}.\n",
        escaped(&merge::title(merged)),
        escaped(&headline(merged, judged))
    );
    for (done, (view, judgement)) in judged.iter().enumerate() {
        let part = super::markdown(view, judgement);
        if page.len() + part.len() > ROOM {
            let left = judged.len() - done;
            let _ = writeln!(page, "\nThere is no room for {left} more kinds of disk.");
            break;
        }
        let _ = write!(page, "\n{part}");
    }
    page
}

/// A list with an object for each group, as of a run.
pub fn json(judged: &Judged) -> serde_json::Result<String> {
    let records = judged.iter();
    let records = records.map(|(view, judgement)| GateRecord::new(view, judgement));
    let text = serde_json::to_string_pretty(&records.collect::<Vec<_>>())?;
    Ok(escape::json(&text) + "\n")
}

/// A suite for each group.
pub fn junit(judged: &Judged) -> String {
    let suites = judged.iter().map(|(view, judgement)| (view, judgement));
    junit::gate(&suites.collect::<Vec<_>>(), &[])
}
