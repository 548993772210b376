//! Whether a round counts. The decision depends on what happened around the round, never on its metrics. If the arm may
//! be the cause, the round stays, without values, and counts as worse than every other. Pure.

use std::collections::BTreeMap;

use super::early;
use crate::measured::snapshot::{Interval, OwnerKind, OwnerNumbers};
use crate::statistics::estimate;
use crate::types::outcome::{CgroupRef, Outcome};
use crate::types::participant::Participant;
use crate::types::result::{
    Censored, ExcludedBlock, Exclusion, Foreign, ForeignProcess, ResultFile, Round, Spoilt,
};

/// Foreign processes with a larger share of the bytes share the device.
const TOLERATED_FOREIGN_SHARE: f64 = 0.01;

/// Number of foreign processes that a round names.
const NAMED: usize = 3;

/// Why a round has no measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The workload ended before the window.
    Ended,
    /// Parts of the workload had not completed an I/O at the timeout.
    Starved,
    /// The condition of `--stop-if` held.
    Stopped,
}

/// Why the round has no values or does not count, with a message. `whole` is the time of all of the workload, with its ramp.
/// [`exclude_foreign`] needs other rounds as well.
pub fn spoilt(
    outcome: &Outcome,
    drifted: &[String],
    window: &Interval,
    whole: &Interval,
    gap: Option<Gap>,
) -> Option<(Spoilt, String)> {
    if gap == Some(Gap::Stopped) {
        let text = "stopped by --stop-if";
        return Some((Spoilt::Censored(Censored::Stopped), text.to_owned()));
    }
    if !drifted.is_empty() {
        let text = format!("settings changed: {}", drifted.join(", "));
        return Some((Spoilt::Excluded(Exclusion::DriftedSettings), text));
    }
    // The workload may have failed for that.
    if let Some(errors) = device_errors(whole) {
        return Some((Spoilt::Excluded(Exclusion::DeviceErrors), errors));
    }
    if let Some(problem) = &outcome.problem {
        let spoilt = if outcome.overran {
            Spoilt::Censored(Censored::Overrun)
        } else if outcome.ended_by_others {
            Spoilt::Excluded(Exclusion::Workload)
        } else {
            Spoilt::Censored(Censored::Failed)
        };
        return Some((spoilt, problem.clone()));
    }
    match gap {
        Some(Gap::Ended) => {
            let text = "the workload ended before its window";
            return Some((Spoilt::Excluded(Exclusion::Workload), text.to_owned()));
        }
        Some(Gap::Starved) => {
            let text = "a part of the workload completed no I/O";
            return Some((Spoilt::Censored(Censored::Starved), text.to_owned()));
        }
        Some(Gap::Stopped) | None => {}
    }
    if window.end_ns == window.start_ns {
        let text = "the probe recorded nothing";
        return Some((
            Spoilt::Excluded(Exclusion::NothingMeasured),
            text.to_owned(),
        ));
    }
    None
}

/// What the kernel asks for and a device need not be able to do, or asks for again.
const HARMLESS: [&str; 3] = ["notsupp", "EOPNOTSUPP", "again"];

/// Says how many requests the devices ended with which error; None if there were none.
fn device_errors(window: &Interval) -> Option<String> {
    let statuses = window.devices.iter().flat_map(|device| &device.statuses);
    let harmful = statuses.filter(|of| of.count > 0 && !HARMLESS.contains(&of.status.as_str()));
    let said: Vec<String> = harmful
        .map(|of| format!("{} with {}", of.count, of.status))
        .collect();
    (!said.is_empty()).then(|| {
        format!(
            "the device ended requests with an error: {}",
            said.join(", ")
        )
    })
}

/// When the last round completes a block: excludes rounds in which foreign processes moved more than a hundredth of
/// what the reference typically moves in that time. The limit is the same for all arms, so a slow arm is not excluded
/// sooner.
pub fn exclude_foreign(result: &mut ResultFile) {
    let Some(last) = result.rounds.last() else {
        return;
    };
    let place = (last.block, last.attempt);
    let is_of_block = |round: &Round| (round.block, round.attempt) == place;
    let there = result
        .rounds
        .iter()
        .filter(|round| is_of_block(round))
        .count();
    let reference = &result.design.arms[result.design.reference].label;
    let rounds = result.rounds.iter();
    let of_reference = rounds.filter(|round| round.arm == *reference && round.exclusion.is_none());
    let rates: Vec<f64> = of_reference.filter_map(own_bytes_per_s).collect();
    let typical = estimate::median(&rates);
    let (Some(typical), true) = (typical, there >= result.plan.rounds_of(place.0)) else {
        return;
    };
    for round in result.rounds.iter_mut().filter(|round| is_of_block(round)) {
        let foreign = round
            .evidence
            .foreign
            .as_ref()
            .filter(|foreign| foreign.bytes > 0);
        let (Some(foreign), None) = (foreign, round.exclusion) else {
            continue;
        };
        let share = foreign.bytes as f64 / (typical * round.window_s);
        if share > TOLERATED_FOREIGN_SHARE {
            round.exclusion = Some(Exclusion::ForeignIo);
            round.problem = Some(format!(
                "other processes moved {:.1} % of the bytes that the reference moves in that time: {}",
                share * 100.0,
                early::in_words(foreign)
            ));
        }
    }
}

fn own_bytes_per_s(round: &Round) -> Option<f64> {
    let foreign = round.evidence.foreign.as_ref()?;
    let all: u64 = round.evidence.device.ops.iter().map(|op| op.bytes).sum();
    let own = all.saturating_sub(foreign.bytes) as f64 / round.window_s;
    own.is_finite().then_some(own)
}

/// I/O that does not belong to the workload. None when bios carry no control group.
pub fn foreign(
    window: &Interval,
    cgroups: &[CgroupRef],
    participants: &[Participant],
) -> Option<Foreign> {
    if cgroups.is_empty() || cgroups.iter().any(|cgroup| !cgroup.on_bios) {
        return None;
    }
    let is_ours = |owner: &OwnerNumbers| {
        let mut groups = cgroups.iter().map(|group| group.id);
        groups.any(|id| id == owner.key.cgroup_id)
            || participants.iter().any(|it| it.owns(&owner.key))
    };
    let mut others: BTreeMap<(u32, u64, &str), u64> = BTreeMap::new();
    let (mut ios, mut bytes, mut unattributed_bytes, mut all) = (0, 0, 0, 0);
    for owner in &window.owners {
        all += owner.bytes();
        if is_unattributed(owner) {
            unattributed_bytes += owner.bytes();
        } else if !is_ours(owner) {
            ios += owner.ios();
            bytes += owner.bytes();
            let key = (owner.key.tgid, owner.key.start_ms, owner.comm.as_str());
            *others.entry(key).or_default() += owner.bytes();
        }
    }
    Some(Foreign {
        largest: largest(others),
        ios,
        bytes,
        share_of_bytes: if all == 0 {
            0.0
        } else {
            bytes as f64 / all as f64
        },
        unattributed_bytes,
    })
}

fn largest(others: BTreeMap<(u32, u64, &str), u64>) -> Vec<ForeignProcess> {
    let mut others: Vec<ForeignProcess> = others
        .into_iter()
        .map(|((pid, _, name), bytes)| ForeignProcess {
            pid,
            name: name.to_owned(),
            bytes,
        })
        .collect();
    others.sort_by_key(|process| std::cmp::Reverse(process.bytes));
    others.truncate(NAMED);
    others
}

/// A file system's own threads write for all processes; the last row of a full table stands for all others.
fn is_unattributed(owner: &OwnerNumbers) -> bool {
    const ROOT: u64 = 1;
    match owner.key.kind {
        OwnerKind::Other => true,
        OwnerKind::KernelThread | OwnerKind::Workqueue => owner.key.cgroup_id <= ROOT,
        OwnerKind::Process | OwnerKind::Writeback => false,
    }
}

/// Blocks and repetitions with at least one excluded round.
pub fn excluded_blocks(result: &ResultFile) -> Vec<ExcludedBlock> {
    let mut blocks: Vec<ExcludedBlock> = Vec::new();
    for round in &result.rounds {
        let Some(exclusion) = round.exclusion else {
            continue;
        };
        let is_known =
            |known: &ExcludedBlock| (known.block, known.attempt) == (round.block, round.attempt);
        if !blocks.iter().any(is_known) {
            blocks.push(ExcludedBlock {
                block: round.block,
                attempt: round.attempt,
                exclusion,
                arm: round.arm.clone(),
                problem: round.problem.clone().unwrap_or_default(),
            });
        }
    }
    blocks
}

#[cfg(test)]
#[path = "exclusion_tests.rs"]
mod tests;
