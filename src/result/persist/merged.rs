//! Whether a group of a merged file supports an arm: the rule goes to hosts that were not measured, too. Pure.

use std::collections::BTreeSet;

use super::evidence::Evidence;
use super::several::Candidate;
use super::support::{self, Basis, Refusal, Wanted, refusal};
use super::{Decision, Disk, Reason, quote, recognised};
use crate::merge::{Group, Host, Merged, Row};
use crate::report::{merge as words, words as of_rows};
use crate::statistics::scale::Direction;
use crate::statistics::verdict::Verdict;

/// A candidate for each group. `name` is the file's, `sha256` that of its bytes.
pub fn candidates(merged: &Merged, name: &str, sha256: &str, wanted: Wanted<'_>) -> Vec<Candidate> {
    let groups = merged.groups.iter();
    let each = groups.map(|group| Candidate {
        from: words::kind(&group.kind),
        disk: disk(group).ok(),
        decision: decide(merged, group, name, sha256, wanted),
    });
    each.collect()
}

fn disk(group: &Group) -> Result<Disk, Refusal> {
    let kind = &group.kind;
    if kind.is_nameless {
        return Err(refusal(
            "its disks have no model by which a rule could know them",
            "persist the result of each host with --serial or --alike",
        ));
    }
    if kind.models.is_empty() && !kind.is_simulated {
        return Err(refusal(
            "the merged file does not name the models of the disks",
            "merge the results again with this version",
        ));
    }
    recognised::of_models(&kind.models)
}

fn decide(
    merged: &Merged,
    group: &Group,
    name: &str,
    sha256: &str,
    wanted: Wanted<'_>,
) -> Result<Decision, Refusal> {
    const MORE: &str = "measure on more hosts, and merge again";
    if group.kind.is_simulated {
        return Err(support::simulated());
    }
    if group.hosts.len() < 2 {
        return Err(refusal("one host says nothing of others", MORE));
    }
    let runs = || group.hosts.iter().flat_map(|host| &host.runs);
    let is_idle = |host: &&Host| host.runs.iter().all(|run| run.hardly_any_waited);
    if let Some(idle) = group.hosts.iter().find(is_idle)
        && !wanted.accepts_idle
    {
        let Refusal { what, hint } = support::idle();
        return Err(refusal(format!("{}: {what}", idle.name), hint));
    }
    let view = merged.as_result(group);
    let basis = Basis {
        disk: Some(disk(group)?),
        shown: view.primary().cloned().collect(),
        holds: None,
        workload: merged.question.workload.clone(),
        beyond: &|_, row| support::not_better(&row.arm),
        results: vec![view],
    };
    let wanted_here = Wanted {
        accepts_idle: true,
        ..wanted
    };
    let mut decision = support::decide_all(&basis, wanted_here)?;
    let reference = &merged.question.arms[merged.question.reference].label;
    if decision.arm == *reference {
        ensure_kept_elsewhere(group, reference, wanted)?;
    } else {
        ensure_holds_elsewhere(group, &decision.arm, wanted)?;
    }
    let oldest = runs().min_by(|a, b| a.started.cmp(&b.started));
    let oldest = oldest.ok_or_else(|| refusal("no run is named", MORE))?;
    let firmware = (group.kind.firmware != "none").then(|| quote::comment(&group.kind.firmware));
    let reason = Reason {
        found: found(merged, group, name, sha256, &decision.arm),
        block: None,
        evidence: Evidence {
            measured: quote::comment(&oldest.started),
            seed: oldest.seed,
            kernel: quote::comment(&oldest.kernel),
            firmware,
            ..decision.reasons[0].evidence.clone()
        },
    };
    decision.reasons = vec![reason];
    // Names of disks mean nothing on another host.
    decision.devices = Vec::new();
    Ok(decision)
}

/// A host that was not measured may lie anywhere in the prediction interval.
fn ensure_holds_elsewhere(group: &Group, arm: &str, wanted: Wanted<'_>) -> Result<(), Refusal> {
    let is_about = |row: &&Row| {
        row.arm == arm
            && row.metric.direction != Direction::Neutral
            && !wanted.accepted.contains(&row.metric.name)
    };
    for row in group.rows.iter().filter(is_about) {
        let metric = &row.metric.name;
        if row.may_be_worse_elsewhere() {
            return Err(refusal(
                format!(
                    "{arm} may be worse in {metric} on a further host of this kind, by more than {}: {}",
                    of_rows::margin(&row.metric),
                    of_rows::interval(&words::of_new_host(row)),
                ),
                format!("measure on more hosts; if that does not matter to you, --accept {metric}"),
            ));
        }
        if row.verdict == Verdict::Better && row.prediction.is_none() {
            return Err(refusal(
                format!("two hosts do not tell what a further one may expect of {arm} in {metric}"),
                "measure on a third host, and merge again",
            ));
        }
    }
    Ok(())
}

/// The reference is kept where each other arm loses something on a further host, too, or makes no difference there; in no
/// metric that is accepted.
fn ensure_kept_elsewhere(
    group: &Group,
    reference: &str,
    wanted: Wanted<'_>,
) -> Result<(), Refusal> {
    if let Some(row) = group.rows.iter().find(|row| !row.unjudged.is_empty()) {
        return Err(refusal(
            format!(
                "{reference} and {} cannot be compared in {} on {}",
                row.arm,
                row.metric.name,
                row.unjudged.join(", ")
            ),
            "measure again there, or merge without that host's results",
        ));
    }
    let arms: BTreeSet<&str> = group.rows.iter().map(|row| row.arm.as_str()).collect();
    for arm in arms {
        let counts = |row: &&Row| row.arm == arm && !wanted.accepted.contains(&row.metric.name);
        let mut of_arm = group.rows.iter().filter(counts).peekable();
        let is_same = of_arm.peek().is_some()
            && of_arm
                .clone()
                .all(|row| row.verdict == Verdict::Equivalent && row.is_the_same_elsewhere());
        let loses =
            of_arm.any(|row| row.verdict == Verdict::Worse && row.is_not_better_elsewhere());
        if !is_same && !loses {
            return Err(refusal(
                format!(
                    "{reference} is the reference, and {arm} may be better on a further host of this kind"
                ),
                "measure on more hosts, and merge again",
            ));
        }
    }
    Ok(())
}

fn found(merged: &Merged, group: &Group, name: &str, sha256: &str, arm: &str) -> Vec<String> {
    let reference = &merged.question.arms[merged.question.reference].label;
    let is_about = |row: &&Row| row.arm == arm || reference == arm;
    let rows = group.rows.iter().filter(is_about).map(words::sentence);
    let heading = words::heading(group).replace(" · ", ": ");
    [heading, words::decided(merged, group)]
        .into_iter()
        .chain(rows)
        .chain([format!("Result {name}, SHA-256 {sha256}")])
        .collect()
}
