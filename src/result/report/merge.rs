//! What many hosts say together, as text. Pure.

mod markdown;

use std::fmt::Write;

use super::page::{Column, Page};
use super::text::Look;
use super::{decision, escape, units, words};
use crate::merge::{Group, Kind, Merged, Row};
use crate::statistics::scale::Scale;
use crate::statistics::verdict::{Comparison, Verdict};

pub use markdown::markdown;

/// Hosts and files that a line names.
const MOST_NAMES: usize = 6;
const MOST_LEFT_OUT: usize = 10;

pub(super) const HEAD: [&str; 8] = [
    "METRIC", "ARM", "HOSTS", "CHANGE", "INTERVAL", "NEW HOST", "SPREAD", "VERDICT",
];

pub fn render(merged: &Merged, look: Look) -> String {
    let mut page = Page::new(look.width);
    page.sentence("", &title(merged));
    for group in &merged.groups {
        page.text.push('\n');
        page.sentence("", &heading(group));
        page.sentence("", &decided(merged, group));
        let columns = [
            Column::name(HEAD[0], 0),
            Column::name(HEAD[1], 0),
            Column::count(HEAD[2], 1),
            Column::quantity(HEAD[3], 0),
            Column::name(HEAD[4], 2),
            Column::name(HEAD[5], 3),
            Column::quantity(HEAD[6], 4),
            Column::name(HEAD[7], 0),
        ];
        let rows: Vec<Vec<String>> = group.rows.iter().map(|row| cells(row).to_vec()).collect();
        page.table(&columns, &rows);
        for line in remarks(group) {
            page.sentence("  ", &line);
        }
    }
    page.text.push('\n');
    page.sentence("", KEY);
    for line in left_out(merged) {
        page.sentence("", &line);
    }
    escape::message(&page.text)
}

pub(super) const KEY: &str = "CHANGE: mean over hosts, one vote each. INTERVAL: of that mean; all rows of a group hold together with 95 %. NEW HOST: where \
                   the true difference of a further host of this kind lies, in 95 % of cases. SPREAD: standard deviation of the true \
                   differences between hosts.";

/// One line: what was asked, of how many.
pub fn title(merged: &Merged) -> String {
    let asked = &merged.question;
    let reference = &asked.arms[asked.reference].label;
    let arms = asked.arms.iter().map(|arm| arm.label.as_str());
    let arms: Vec<&str> = arms.filter(|label| label != reference).collect();
    let hosts: usize = merged.groups.iter().map(|group| group.hosts.len()).sum();
    let runs: usize = merged.groups.iter().map(runs).sum();
    let text = format!(
        "{} · {} against {reference} · {} of {}, {}",
        asked.workload,
        arms.join(", "),
        counted(hosts, "host"),
        counted(merged.groups.len(), "kind"),
        counted(runs, "run"),
    );
    escape::line(&text)
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

fn runs(group: &Group) -> usize {
    group.hosts.iter().map(|host| host.runs.len()).sum()
}

pub fn heading(group: &Group) -> String {
    let text = format!(
        "{} · {}, {}",
        kind(&group.kind),
        counted(group.hosts.len(), "host"),
        counted(runs(group), "run")
    );
    escape::line(&text)
}

/// `PM9A3, firmware GDC5, Linux 6.12`.
pub fn kind(kind: &Kind) -> String {
    let firmware = match kind.firmware.as_str() {
        "none" => String::new(),
        firmware => format!(", firmware {firmware}"),
    };
    escape::line(&format!("{}{firmware}, Linux {}", kind.model, kind.kernel))
}

/// The decision of a group, from its verdicts alone.
pub fn decided(merged: &Merged, group: &Group) -> String {
    if group.hosts.len() < 2 {
        return "Not decided: one host says nothing of others.".to_owned();
    }
    decision::sentence(&merged.as_result(group))
}

pub(super) fn cells(row: &Row) -> [String; 8] {
    let comparison = row.comparison();
    [
        escape::line(&row.metric.name),
        escape::line(&row.arm),
        row.hosts.to_string(),
        words::change(&comparison),
        words::interval(&comparison),
        words::interval(&of_new_host(row)),
        spread(row),
        verdict(row),
    ]
}

/// A row in a sentence, as [`words::sentence`] says a comparison.
pub fn sentence(row: &Row) -> String {
    let as_one = row.as_comparison();
    let said = words::said(&as_one.comparison, &row.metric.unit);
    escape::line(&format!(
        "{}: {said}: {}; {}; a further host: {}",
        words::name(&as_one),
        verdict(row),
        counted(row.hosts, "host"),
        words::interval(&of_new_host(row))
    ))
}

/// The row as a comparison whose interval is that for a further host.
pub fn of_new_host(row: &Row) -> Comparison {
    let mean = row.comparison();
    let verdict = row.prediction.map_or(Verdict::Inconclusive, |interval| {
        mean.question.judge(interval)
    });
    Comparison {
        interval: row.prediction,
        ratio_interval: row.prediction_ratio,
        verdict,
        ..mean
    }
}

fn spread(row: &Row) -> String {
    let text = row.tau.map(|tau| match row.metric.scale {
        Scale::Log => format!("{:.1} %", tau.exp_m1() * 100.0),
        Scale::Identity => units::short(tau),
    });
    text.unwrap_or_else(|| "-".to_owned())
}

fn verdict(row: &Row) -> String {
    let word = words::verdict(&row.as_comparison());
    match row.withheld {
        Some(withheld) => format!("{word} ({} where it can be judged)", words::plain(withheld)),
        None => word,
    }
}

/// What a reader must know of the rows of a group.
pub(super) fn remarks(group: &Group) -> Vec<String> {
    let mut remarks = Vec::new();
    if group.kind.is_simulated {
        remarks.push("Simulated disks: they say nothing about real ones.".to_owned());
    }
    for row in &group.rows {
        let of = format!("{}, {}", row.metric.name, row.arm);
        let differs = matches!(row.verdict, Verdict::Better | Verdict::Worse);
        if !row.unjudged.is_empty() {
            remarks.push(format!(
                "{of}: cannot be judged on {}: one of the two arms has no number there, or there are too few blocks; the other hosts are no \
                 evidence of it.",
                listed(&row.unjudged)
            ));
        }
        if !row.outliers.is_empty() {
            let each = row.outliers.iter().map(|host| with_change(row, host));
            remarks.push(format!(
                "{of}: unlike all others on {}.",
                listed(&each.collect::<Vec<_>>())
            ));
        }
        if row.verdict == Verdict::Better && row.may_be_worse_elsewhere() {
            remarks.push(format!(
                "{of}: better on the mean, and a further host may be worse by more than {}.",
                words::margin(&row.metric)
            ));
        }
        if differs && row.prediction.is_none() {
            remarks.push(format!(
                "{of}: two hosts do not tell what a further one may expect."
            ));
        }
    }
    remarks.iter().map(|line| escape::line(line)).collect()
}

fn with_change(row: &Row, host: &str) -> String {
    let mut votes = row.votes.iter();
    let own = votes.find(|vote| vote.host == host);
    let change = own.map(|vote| words::change(&vote.comparison(&row.metric)));
    format!("{host} ({})", change.unwrap_or_default())
}

/// Whether the interval for a further host reaches beyond the margin on the worse side.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let shown = names[..names.len() - more].join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Files that say nothing.
pub(super) fn left_out(merged: &Merged) -> Vec<String> {
    let count = merged.left_out.len();
    if count == 0 {
        return Vec::new();
    }
    let mut lines = vec![format!("Left out: {count} of {} files.", merged.files)];
    let shown = merged.left_out.iter().take(MOST_LEFT_OUT);
    lines.extend(shown.map(|it| escape::line(&format!("  {}: {}", it.file, it.why))));
    if count > MOST_LEFT_OUT {
        let mut more = String::new();
        let _ = write!(more, "  and {} more, in the JSON", count - MOST_LEFT_OUT);
        lines.push(more);
    }
    lines
}

#[cfg(test)]
#[path = "merge_tests.rs"]
pub(crate) mod tests;
