//! Reads an untrusted merged file and checks what reports rely on. Pure.

use std::collections::BTreeSet;

use super::pooled::from_votes;
use super::{Group, HostVote, Kind, Merged, Row, SCHEMA_VERSION};
use crate::head::Head;
use crate::statistics::verdict::bonferroni;
use crate::types::result::Design;

/// Why the bytes cannot be read as a merged file.
#[derive(Debug)]
pub enum UnreadableMerge {
    /// Another version of the format.
    Version(u64),
    Json(serde_json::Error),
    /// Parts of the file contradict each other.
    Inconsistent(String),
}

/// None: it is something else.
pub fn parse(bytes: &[u8]) -> Result<Option<Merged>, UnreadableMerge> {
    let Some(head) = Head::of(bytes).ok().filter(|head| head.is_of("merge-")) else {
        return Ok(None);
    };
    if let Some(other) = head
        .schema_version
        .filter(|it| *it != u64::from(SCHEMA_VERSION))
    {
        return Err(UnreadableMerge::Version(other));
    }
    let mut merged: Merged = serde_json::from_slice(bytes).map_err(UnreadableMerge::Json)?;
    check(&merged).map_err(UnreadableMerge::Inconsistent)?;
    draw_again(&mut merged).map_err(UnreadableMerge::Inconsistent)?;
    Ok(Some(merged))
}

/// The rows are those that their votes make. Err: one that says otherwise.
fn draw_again(merged: &mut Merged) -> Result<(), String> {
    for (index, group) in merged.groups.iter_mut().enumerate() {
        for row in &mut group.rows {
            let names = (&row.metric, row.arm.as_str(), row.reference.as_str());
            let made = from_votes(names, row.alpha, row.unjudged.clone(), row.votes.clone());
            let said = |row: &Row| (row.verdict, row.hosts, row.beyond_margin);
            if said(row) != said(&made) {
                return Err(format!(
                    "groups[{index}]: the row {} of {} is not what its votes say",
                    row.metric.name, row.arm
                ));
            }
            *row = made;
        }
    }
    Ok(())
}

fn check(merged: &Merged) -> Result<(), String> {
    let asked = &merged.question;
    let labels: BTreeSet<&str> = asked.arms.iter().map(|arm| arm.label.as_str()).collect();
    let is_part = |alpha: f64| alpha > 0.0 && alpha < 1.0;
    if labels.len() != asked.arms.len() || asked.reference >= asked.arms.len() {
        return Err("question: its arms are not arms, or have no reference".to_owned());
    }
    if !is_part(asked.alpha) || asked.alpha > Design::ALPHA {
        return Err(format!("question: alpha {} is out of range", asked.alpha));
    }
    if asked.arms.len() < 2 || asked.primary.is_empty() {
        return Err("question: nothing is compared".to_owned());
    }
    let kinds: BTreeSet<&Kind> = merged.groups.iter().map(|group| &group.kind).collect();
    if kinds.len() != merged.groups.len() {
        return Err("groups: two are of the same kind".to_owned());
    }
    let reference = &asked.arms[asked.reference].label;
    let others = asked.arms.iter().filter(|arm| arm.label != *reference);
    let wanted: BTreeSet<(&str, &str)> = others
        .flat_map(|arm| {
            asked
                .primary
                .iter()
                .map(|metric| (&*metric.name, &*arm.label))
        })
        .collect();
    let alpha = bonferroni(asked.alpha, wanted.len());
    for (index, group) in merged.groups.iter().enumerate() {
        if let Some(what) = odd_hosts(group) {
            return Err(format!("groups[{index}]: {what}"));
        }
        let rows: BTreeSet<(&str, &str)> = group
            .rows
            .iter()
            .map(|row| (&*row.metric.name, &*row.arm))
            .collect();
        if rows != wanted || rows.len() != group.rows.len() {
            return Err(format!(
                "groups[{index}]: its rows are not those of the question"
            ));
        }
        for row in &group.rows {
            let known = asked.primary.contains(&row.metric) && row.reference == *reference;
            let is_sound = (row.alpha - alpha).abs() < 1e-12
                && row.metric.margin > 0.0
                && row.votes.iter().all(is_vote)
                && row.hosts <= row.votes.len()
                && row.votes.len() == group.hosts.len()
                && are_intervals(row);
            if !known || !is_sound {
                return Err(format!(
                    "groups[{index}]: the row {} of {}",
                    row.metric.name, row.arm
                ));
            }
        }
    }
    Ok(())
}

/// Each host is there once, has a vote in each row in the order of the hosts, and is named where it has no number.
fn odd_hosts(group: &Group) -> Option<&'static str> {
    let names: Vec<&str> = group.hosts.iter().map(|host| host.name.as_str()).collect();
    let known: BTreeSet<&str> = names.iter().copied().collect();
    if known.len() != names.len() {
        return Some("a host is there twice");
    }
    let kind = &group.kind;
    let fits = |model: &String| kind.model.contains(model.as_str());
    if !kind.models.iter().all(fits) || (kind.is_simulated && !kind.models.is_empty()) {
        return Some("its models are not those of its kind");
    }
    for row in &group.rows {
        if !row
            .votes
            .iter()
            .map(|vote| vote.host.as_str())
            .eq(names.iter().copied())
        {
            return Some("the votes of a row are not those of its hosts");
        }
        let has_number = |vote: &HostVote| vote.estimate.is_some() && vote.standard_error.is_some();
        let mut silent = row.votes.iter().filter(|vote| !has_number(vote));
        if !silent.all(|vote| row.unjudged.contains(&vote.host)) {
            return Some("a host without a number is not named among those that cannot be judged");
        }
        if !row
            .unjudged
            .iter()
            .all(|host| known.contains(host.as_str()))
        {
            return Some("a host that cannot be judged is none of its hosts");
        }
    }
    None
}

/// Squares of numbers below it can be added up.
const LARGEST: f64 = 1e100;

fn is_vote(vote: &HostVote) -> bool {
    let is_estimate = |it: f64| it.abs() < LARGEST;
    let is_error = |it: f64| it > 0.0 && it < LARGEST;
    vote.estimate.is_none_or(is_estimate) && vote.standard_error.is_none_or(is_error)
}

fn are_intervals(row: &Row) -> bool {
    let all = [
        row.interval,
        row.ratio_interval,
        row.prediction,
        row.prediction_ratio,
    ];
    all.iter()
        .flatten()
        .all(|interval| interval.lower <= interval.upper)
}
