//! Whether results support an arm: what was measured on a real disk, completely, and is shown to be better in something
//! and worse in nothing that the user has not accepted. The verdicts are drawn from the rounds again. Pure.

use super::evidence::Evidence;
use super::writable::{ensure_are_disks, ensure_writable};
use super::{Decision, Disk, Reason, recognised};
use crate::analysis::{conclude, exclusion, turn};
use crate::gate;
use crate::report::words;
use crate::statistics::verdict::Verdict;
use crate::study::joint;
use crate::types::arm::Arm;
use crate::types::result::{ArmComparison, DeviceInfo, ResultFile};

/// Why nothing is written, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub hint: String,
}

/// The user's request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The label of an arm; without it, the only one that is supported.
    pub arm: Option<&'a str>,
    /// Metrics in which the arm may be worse.
    pub accepted: &'a [String],
    /// `ID_SERIAL`: for this disk only.
    pub serial: Option<&'a str>,
    /// For all disks that are like it, if it has no model.
    pub alike: bool,
    /// Although hardly any request waited.
    pub accepts_idle: bool,
}

pub(super) fn refusal(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal {
        what: what.into(),
        hint: hint.into(),
    }
}

pub(super) const AGAIN: &str = "measure again, without what disturbed it";

/// The basis of a decision.
pub(super) struct Basis<'a> {
    /// How the disk is recognised, if that is not by the first result.
    pub disk: Option<Disk>,
    /// In none of them may the arm be worse.
    pub results: Vec<ResultFile>,
    /// The rows that may speak for an arm: they hold together for all that it could be chosen from.
    pub shown: Vec<ArmComparison>,
    /// The scope of `shown`, if that is not each result for itself.
    pub holds: Option<String>,
    pub workload: String,
    /// Why an arm has no such row although it has one in this result, and what to do.
    pub beyond: &'a dyn Fn(usize, &ArmComparison) -> Refusal,
}

/// The rows of a run share one level.
pub fn decide(result: &ResultFile, wanted: Wanted<'_>) -> Result<Decision, Refusal> {
    let result = concluded(result);
    let basis = Basis {
        disk: None,
        shown: result.primary().cloned().collect(),
        holds: None,
        workload: result.workload.name.clone(),
        beyond: &|_, row| not_better(&row.arm),
        results: vec![result],
    };
    decide_all(&basis, wanted)
}

pub(super) fn concluded(result: &ResultFile) -> ResultFile {
    let mut result = result.clone();
    result.excluded = exclusion::excluded_blocks(&result);
    conclude::conclude(&mut result);
    result
}

pub(super) fn decide_all(basis: &Basis<'_>, wanted: Wanted<'_>) -> Result<Decision, Refusal> {
    let results = &basis.results;
    let first = results
        .first()
        .ok_or_else(|| refusal("there is no result", "run a comparison first"))?;
    for result in results {
        ensure_usable(result)?;
        ensure_alike(first, result)?;
    }
    let is_idle = |result: &ResultFile| result.can_tell_schedulers_apart() == Some(false);
    if results.iter().all(is_idle) && !wanted.accepts_idle {
        return Err(idle());
    }
    let is_known = |metric: &&String| rows(results).any(|row| row.metric.name == **metric);
    if let Some(unknown) = wanted.accepted.iter().find(|metric| !is_known(metric)) {
        return Err(refusal(
            format!("the result has no primary metric {unknown}"),
            "--accept takes the name of one",
        ));
    }
    let arm = match wanted.arm {
        Some(label) => of_label(first, label)?,
        None => only_supported(basis, wanted.accepted)?,
    };
    ensure_supported(basis, &basis.shown, arm, wanted.accepted)?;
    let disk = if let Some(disk) = &basis.disk {
        disk.clone()
    } else {
        ensure_are_disks(&first.device)?;
        recognised::disk(&first.device, wanted)?
    };
    ensure_writable(arm)?;
    let is_reference = is_reference(first, &arm.label);
    let is_about = |row: &&ArmComparison| row.arm == arm.label || is_reference;
    let claims = basis.holds.iter().flat_map(|over| {
        let shown = basis.shown.iter().filter(is_about);
        let shown = shown.filter(|row| joint::is_difference(row));
        shown.map(move |row| format!("{over}: {}", words::sentence(row)))
    });
    let about = rows(results).filter(is_about).map(words::sentence);
    let reason = Reason {
        found: claims.chain(about).collect(),
        block: None,
        evidence: Evidence::new(first, &basis.workload, &disk, arm),
    };
    Ok(Decision {
        arm: arm.label.clone(),
        scheduler: arm.scheduler.clone(),
        settings: arm.settings.clone(),
        reasons: vec![reason],
        disk,
        devices: members(&first.device)
            .iter()
            .map(|disk| disk.device.name.clone())
            .collect(),
    })
}

pub(super) fn idle() -> Refusal {
    refusal(
        "hardly any request waited, so what differs is not how requests are ordered",
        "measure a load that keeps more in flight; if what a scheduler costs by itself is enough for you, --accept-idle",
    )
}

pub(super) fn simulated() -> Refusal {
    refusal(
        "it was measured on a simulated disk, which says nothing about yours",
        "measure on the disk itself",
    )
}

fn rows(results: &[ResultFile]) -> impl Iterator<Item = &ArmComparison> {
    results.iter().flat_map(ResultFile::primary)
}

fn is_reference(result: &ResultFile, label: &str) -> bool {
    result.design.arms[result.design.reference].label == label
}

pub(super) fn members(device: &DeviceInfo) -> Vec<&DeviceInfo> {
    match &device.group {
        Some(group) => group.members.iter().collect(),
        None => vec![device],
    }
}

fn ensure_usable(result: &ResultFile) -> Result<(), Refusal> {
    if let Some(why) = turn::why_invalid(result) {
        return Err(refusal(why, AGAIN));
    }
    if !result.has_ended() {
        return Err(refusal(
            "the run is not complete",
            "continue it with `iosched-ab run --resume FILE`",
        ));
    }
    if result.design.is_placebo {
        return Err(refusal(
            "it compares an arm with itself",
            "compare arms with `iosched-ab run`",
        ));
    }
    let is_simulated = |disk: &&DeviceInfo| disk.scratch.is_some();
    if result.device.scratch.is_some() || members(&result.device).iter().any(is_simulated) {
        return Err(simulated());
    }
    if let Some(row) = result.alarming_controls().next() {
        return Err(refusal(
            format!("a negative control differs: {}", words::sentence(row)),
            AGAIN,
        ));
    }
    Ok(())
}

/// One rule can only stand for cells that measured the same arms on the same disk and kernel.
fn ensure_alike(first: &ResultFile, other: &ResultFile) -> Result<(), Refusal> {
    let identity = |result: &ResultFile| {
        let disks = members(&result.device)
            .iter()
            .map(|disk| (disk.model.clone(), disk.firmware.clone()))
            .collect::<Vec<_>>();
        (disks, result.environment.kernel_release.clone())
    };
    if identity(first) != identity(other) {
        return Err(refusal(
            "its cells were measured on different disks or kernels",
            "run the study on one",
        ));
    }
    let design = |result: &ResultFile| (result.design.arms.clone(), result.design.reference);
    if design(first) != design(other) {
        return Err(refusal(
            "its cells compared different arms",
            "use the file exactly as `iosched-ab study` wrote it",
        ));
    }
    Ok(())
}

fn of_label<'a>(result: &'a ResultFile, label: &str) -> Result<&'a Arm, Refusal> {
    let arms = &result.design.arms;
    arms.iter().find(|arm| arm.label == label).ok_or_else(|| {
        let labels: Vec<&str> = arms.iter().map(|arm| arm.label.as_str()).collect();
        refusal(
            format!("the result has no arm {label}"),
            format!("name one of: {}", labels.join(", ")),
        )
    })
}

fn only_supported<'a>(basis: &'a Basis<'_>, accepted: &[String]) -> Result<&'a Arm, Refusal> {
    let arms = &basis.results[0].design.arms;
    let supported = |shown: &[ArmComparison]| -> Vec<&'a Arm> {
        let ok = |arm: &&Arm| ensure_supported(basis, shown, arm, accepted).is_ok();
        arms.iter().filter(ok).collect()
    };
    match supported(&basis.shown)[..] {
        [arm] => Ok(arm),
        [] => {
            // An arm that single results support lacks the least.
            let in_results: Vec<ArmComparison> = rows(&basis.results).cloned().collect();
            if let Some(arm) = supported(&in_results).first() {
                ensure_supported(basis, &basis.shown, arm, accepted)?;
            }
            Err(refusal(
                "the result supports no arm: there is not one that is better in something and worse in nothing",
                "`--arm LABEL` says what is missing for it; `--accept METRIC` accepts a loss",
            ))
        }
        ref several => {
            let labels: Vec<&str> = several.iter().map(|arm| arm.label.as_str()).collect();
            Err(refusal(
                format!("the result supports several arms: {}", labels.join(", ")),
                "choose one with --arm LABEL",
            ))
        }
    }
}

/// `shown`: the rows that may speak for it.
fn ensure_supported(
    basis: &Basis<'_>,
    shown: &[ArmComparison],
    arm: &Arm,
    accepted: &[String],
) -> Result<(), Refusal> {
    let results = &basis.results;
    if is_reference(&results[0], &arm.label) {
        return ensure_reference_supported(basis, shown, arm, accepted);
    }
    if results.iter().any(|result| result.is_stopped(&arm.label)) {
        return Err(refusal(
            format!("{} was stopped by --stop-if", arm.label),
            "choose another arm",
        ));
    }
    if let Some(row) = rows(results).find(|row| row.arm == arm.label && is_loss(row, accepted)) {
        return Err(refusal(
            format!("{} is worse: {}", arm.label, words::sentence(row)),
            format!(
                "if that does not matter to you, --accept {}",
                row.metric.name
            ),
        ));
    }
    let is_unjudged = |row: &&ArmComparison| {
        row.arm == arm.label
            && gate::cannot_be_judged(&row.comparison)
            && !accepted.contains(&row.metric.name)
    };
    if let Some(row) = rows(results).find(is_unjudged) {
        return Err(refusal(
            format!("{} cannot be judged: {}", arm.label, words::sentence(row)),
            format!(
                "run more blocks; if that does not matter to you, --accept {}",
                row.metric.name
            ),
        ));
    }
    let is_better =
        |row: &ArmComparison| row.arm == arm.label && row.comparison.verdict == Verdict::Better;
    if shown.iter().any(is_better) {
        return Ok(());
    }
    Err(match most_telling(results, is_better) {
        Some((result, row)) => (basis.beyond)(result, row),
        None => not_better(&arm.label),
    })
}

fn is_loss(row: &ArmComparison, accepted: &[String]) -> bool {
    row.comparison.verdict == Verdict::Worse && !accepted.contains(&row.metric.name)
}

pub(super) fn not_better(arm: &str) -> Refusal {
    refusal(
        format!("{arm} is not shown to be better in anything"),
        "run more blocks, or keep what is in force",
    )
}

/// The row with the smallest p of those, and the result that it is in.
fn most_telling(
    results: &[ResultFile],
    is_meant: impl Fn(&ArmComparison) -> bool,
) -> Option<(usize, &ArmComparison)> {
    let all = results.iter().enumerate();
    let all = all.flat_map(|(index, result)| result.primary().map(move |row| (index, row)));
    let p = |row: &ArmComparison| row.comparison.p.unwrap_or(1.0);
    all.filter(|(_, row)| is_meant(row))
        .min_by(|(_, a), (_, b)| p(a).total_cmp(&p(b)))
}

/// The reference is kept if every other arm is worse in something, or makes no difference.
fn ensure_reference_supported(
    basis: &Basis<'_>,
    shown: &[ArmComparison],
    arm: &Arm,
    accepted: &[String],
) -> Result<(), Refusal> {
    let results = &basis.results;
    let arms = results[0].design.arms.iter();
    for other in arms.filter(|other| other.label != arm.label) {
        let is_of_other = |row: &&ArmComparison| row.arm == other.label;
        let is_lost = |row: &ArmComparison| is_of_other(&row) && is_loss(row, accepted);
        let mut of_other = rows(results).filter(is_of_other).peekable();
        let is_same = of_other.peek().is_some()
            && of_other.all(|row| row.comparison.verdict == Verdict::Equivalent);
        if is_same || shown.iter().any(is_lost) {
            continue;
        }
        return Err(match most_telling(results, is_lost) {
            Some((result, row)) => (basis.beyond)(result, row),
            None => refusal(
                format!(
                    "{} is the reference, and {} is not shown to be worse in something, or the same in everything",
                    arm.label, other.label
                ),
                "run more blocks",
            ),
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "support_tests.rs"]
pub(super) mod tests;
