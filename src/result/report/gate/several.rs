//! The findings of a gate on several results at once, files or groups of a merged one, in its formats. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::json::GateRecord;
use crate::gate::{Decision, GateOutcome, Judgement};
use crate::merge::Merged;
use crate::report::escape::{self, markdown as escaped};
use crate::report::markdown::ROOM;
use crate::report::{junit, merge};
use crate::types::result::ResultFile;

/// Results that pass together or not at all.
pub struct Together<'a> {
    pub judged: &'a [(ResultFile, Judgement)],
    title: String,
    /// What each of them is.
    heads: Vec<String>,
    /// One of them, and many.
    what: [&'static str; 2],
    /// Whether they are called by their heads in one line.
    has_short_heads: bool,
    /// Whether they share the level of the verdicts, so that all of these hold together.
    sharing: bool,
}

impl<'a> Together<'a> {
    /// Each group as a result.
    pub fn of_groups(
        merged: &Merged,
        judged: &'a [(ResultFile, Judgement)],
        sharing: bool,
    ) -> Together<'a> {
        Together {
            judged,
            title: merge::title(merged),
            heads: merged.groups.iter().map(merge::heading).collect(),
            what: ["kind of disk", "kinds of disk"],
            has_short_heads: false,
            sharing,
        }
    }

    pub fn of_files(
        files: &[String],
        judged: &'a [(ResultFile, Judgement)],
        sharing: bool,
    ) -> Together<'a> {
        Together {
            judged,
            title: format!("{} results", files.len()),
            heads: files.iter().map(|file| escape::line(file)).collect(),
            what: ["file", "files"],
            has_short_heads: true,
            sharing,
        }
    }

    /// The worst of all; without one, nothing is decided.
    pub fn decision(&self) -> Decision {
        let any = |is: fn(&Decision) -> bool| self.judged.iter().find(|(_, it)| is(&it.decision));
        let worst = any(|it| matches!(it, Decision::Failed))
            .or_else(|| any(|it| matches!(it, Decision::Invalid(_))))
            .or_else(|| any(|it| matches!(it, Decision::Incomparable(_))))
            .or_else(|| any(|it| *it == Decision::Undecided))
            .or_else(|| self.judged.first());
        worst.map_or(Decision::Undecided, |(_, it)| it.decision.clone())
    }

    /// One line on all of them together.
    pub fn headline(&self) -> String {
        let checks = || self.judged.iter().flat_map(|(_, it)| &it.checks);
        let all = checks().count();
        let count = |outcome| checks().filter(|check| check.outcome == outcome).count();
        let of = format!("of {}", self.counted());
        let decision = self.decision();
        // The files that this decision is about.
        let names = self.heads.iter().zip(self.judged);
        let names = names.filter(|(_, (_, it))| it.decision == decision);
        let names: Vec<&str> = names.map(|(head, _)| head.as_str()).collect();
        let names = match &names[..] {
            _ if !self.has_short_heads => String::new(),
            [first, rest @ ..] if rest.len() > 2 => format!(": {first} and {} more", rest.len()),
            names => format!(": {}", names.join(", ")),
        };
        match decision {
            Decision::Passed => format!("all {all} comparisons {of} passed the gate"),
            Decision::Failed => format!(
                "{} of {all} comparisons {of} failed the gate{names}",
                count(GateOutcome::Failed)
            ),
            Decision::Undecided => match count(GateOutcome::Undecided) {
                0 => format!("nothing to decide on{names}"),
                open => format!("{open} of {all} comparisons {of} are not decided{names}"),
            },
            Decision::Incomparable(why) => format!("cannot be judged{names}: {}", why.join("; ")),
            Decision::Invalid(why) => format!("{why}{names}"),
        }
    }

    fn counted(&self) -> String {
        let [one, many] = self.what;
        match self.judged.len() {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        }
    }

    fn level(&self) -> Option<String> {
        (self.sharing && self.judged.len() > 1).then(|| {
            format!(
                "The {} share the level, so that all verdicts hold together.",
                self.counted()
            )
        })
    }
}

pub fn text(of: &Together<'_>, width: Option<usize>) -> String {
    let mut text = String::new();
    for (head, (result, judgement)) in of.heads.iter().zip(of.judged) {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{head}");
        text += &super::text(result, judgement, width);
    }
    if let Some(level) = of.level() {
        let _ = write!(text, "\n{level}\n");
    }
    text
}

pub fn markdown(of: &Together<'_>) -> String {
    let mut page = format!(
        "### {}\n\n**Gate**: {}.\n",
        escaped(&of.title),
        escaped(&of.headline())
    );
    for (done, (result, judgement)) in of.judged.iter().enumerate() {
        let mut part = super::markdown(result, judgement);
        if of.has_short_heads {
            part = format!("#### {}\n\n{part}", escaped(&of.heads[done]));
        }
        if page.len() + part.len() > ROOM {
            let left = of.judged.len() - done;
            let _ = writeln!(page, "\nThere is no room for {left} more.");
            break;
        }
        let _ = write!(page, "\n{part}");
    }
    if let Some(level) = of.level() {
        let _ = write!(page, "\n{level}\n");
    }
    page
}

/// A list with an object for each.
pub fn json(of: &Together<'_>) -> serde_json::Result<String> {
    let records = of.heads.iter().zip(of.judged);
    let records = records.map(|(head, (result, judgement))| {
        let file = of.has_short_heads.then_some(head.as_str());
        GateRecord::new(result, judgement).of_file(file)
    });
    let text = serde_json::to_string_pretty(&records.collect::<Vec<_>>())?;
    Ok(escape::json(&text) + "\n")
}

/// A suite for each.
pub fn junit(of: &Together<'_>) -> String {
    let suites = of
        .judged
        .iter()
        .map(|(result, judgement)| (result, judgement));
    let files: &[String] = if of.has_short_heads { &of.heads } else { &[] };
    junit::gate(&suites.collect::<Vec<_>>(), files, &[])
}

/// What helps where groups of a merged file are not decided: hosts that keep an arm back, or more of them.
pub fn remedy(merged: &Merged) -> String {
    const MOST: usize = 6;
    let rows = merged.groups.iter().flat_map(|group| &group.rows);
    let hosts: BTreeSet<&str> = rows
        .flat_map(|row| row.unjudged.iter().map(String::as_str))
        .collect();
    if hosts.is_empty() {
        return "measure on more hosts, or use a larger margin".to_owned();
    }
    let more = hosts.len().saturating_sub(MOST);
    let names: Vec<&str> = hosts.into_iter().take(MOST).collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "more hosts would not decide it: an arm cannot be judged on {}{more}; `iosched-ab report` of a result from there says why",
        names.join(", ")
    )
}
