//! Decisions after the first rounds: the metrics that a command reports, and reasons to end a run that cannot decide
//! anything. Pure.

use super::{fixed_work, limits, one_answer};
use crate::failure::Failure;
use crate::measured::snapshot::OwnerNumbers;
use crate::metric::Metric;
use crate::metric::reported::Reported;
use crate::statistics::scale::{Direction, Scale};
use crate::types::outcome::CgroupRef;
use crate::types::result::{Censored, Exclusion, Foreign, ResultFile, Round};

/// Largest share of foreign bytes at which the run still compares the workload.
const DOMINATED: f64 = 0.5;
pub(super) const ELAPSED: &str = "elapsed";
/// So many rounds that do not count, and none that does, end a run: the others would not count either.
const GIVEN_UP_AFTER: usize = 3;

/// The last problem, where no round counts so far and these are enough to say so. A pause says nothing about the next
/// round.
pub fn why_none_counts(result: &ResultFile) -> Option<String> {
    let rounds = &result.rounds;
    let counts = |round: &Round| matches!(round.exclusion, None | Some(Exclusion::Paused));
    if rounds.len() < GIVEN_UP_AFTER || rounds.iter().any(counts) {
        return None;
    }
    rounds.last()?.problem.clone()
}

fn is_counted(round: &Round) -> bool {
    round.exclusion.is_none() && round.censored.is_none()
}

/// Called after each round. An error ends the run; its message says what would help.
pub fn look(result: &mut ResultFile) -> anyhow::Result<()> {
    one_answer::ensure(result)?;
    if let Some(problem) = why_none_counts(result) {
        return Err(Failure::invalid(
            format!("none of the first {GIVEN_UP_AFTER} rounds counts: {problem}"),
            "remove the cause, and start again",
        ));
    }
    let blocks = result.plan.rounds_of(0);
    if result.rounds.iter().any(is_counted) {
        ensure_some_works_here(result)?;
        // Every arm was asked: which metric decides does not depend on which one happened to run first.
        if result.rounds.len() >= blocks {
            declare(result)?;
        }
    }
    if result.rounds.len() >= blocks {
        ensure_some_round_ended(result)?;
        ensure_elapsed_is_a_result(result)?;
    }
    if result.rounds.len() == blocks {
        ensure_values(result)?;
        ensure_something_happened(result)?;
    }
    Ok(())
}

/// Metrics that are shown of a round while none is declared: those that would be, if every round were like this one.
pub fn likely_primary(round: &Round) -> Vec<Metric> {
    let headlines = headlines(&round.evidence.outcome.reported);
    if headlines.is_empty() {
        return Metric::named(ELAPSED).into_iter().collect();
    }
    headlines
}

fn headlines(reported: &[Reported]) -> Vec<Metric> {
    let headlines = reported.iter().filter(|metric| metric.is_headline);
    headlines.map(Metric::reported).collect()
}

/// Names, units and directions of the primary metrics that the workload itself reports, from all rounds so far that
/// count.
fn declare(result: &mut ResultFile) -> anyhow::Result<()> {
    let mut reported: Vec<Reported> = Vec::new();
    for metric in result
        .rounds
        .iter()
        .filter(|round| is_counted(round))
        .flat_map(|round| &round.evidence.outcome.reported)
    {
        if reported.iter().all(|known| known.name != metric.name) {
            reported.push(metric.clone());
        }
    }
    let mut rounds = result.rounds.iter().filter(|round| is_counted(round));
    let has_elapsed = rounds.any(|round| round.metrics.contains_key(ELAPSED));
    let primary = &mut result.design.primary;
    if primary.is_empty() {
        *primary = headlines(&reported);
        if primary.is_empty() && has_elapsed {
            for round in result.rounds.iter().filter(|round| is_counted(round)) {
                one_answer::ensure_read(&result.workload.name, &round.evidence.outcome)?;
            }
            primary.extend(Metric::named(ELAPSED));
            if result.workload.description.get("parser").is_none() {
                result.notes.push(format!(
                    "{} is compared by its elapsed time, which is a result only if it does the same work in every round; if it \
                     runs for a fixed time, name a metric",
                    result.workload.name
                ));
            }
        }
        if primary.is_empty() {
            return Err(Failure::invalid(
                format!(
                    "{} runs for a fixed time and reports no metric, so there is nothing to compare",
                    result.workload.name
                ),
                "name a metric: --metric iops, --parse NAME, --metric-regex NAME=REGEX, or write to $IOSCHED_METRICS",
            ));
        }
    }
    for metric in primary.iter_mut().filter(|metric| metric.is_open()) {
        let found = reported
            .iter()
            .find(|reported| reported.name == metric.plain_name());
        let Some(found) = found else {
            let names: Vec<String> = reported
                .iter()
                .map(|it| Metric::reported(it).name)
                .collect();
            let names = if names.is_empty() {
                "it reported none".to_owned()
            } else {
                format!("it reported {}", names.join(", "))
            };
            return Err(Failure::invalid(
                format!(
                    "{} did not report {} in any round of the first block: {names}",
                    result.workload.name, metric.name
                ),
                "choose one of these, or a metric of the kernel; `iosched-ab run --help` lists them",
            ));
        };
        let known = Metric::reported(found);
        *metric = Metric {
            margin: if metric.margin > 0.0 {
                metric.margin
            } else {
                known.margin
            },
            ..known
        };
    }
    let notes = primary.iter().filter_map(|it| it.namesake_in(&reported));
    let new = notes.filter(|note| !result.notes.contains(note));
    let new: Vec<String> = new.collect();
    result.notes.extend(new);
    limits::ensure_fit(result)
}

/// Refuses a run whose primary metrics are all zero under every arm: a workload that does nothing is equal to itself. Fewer
/// errors than none are not possible, so a count of what should be low may be zero.
fn ensure_something_happened(result: &mut ResultFile) -> anyhow::Result<()> {
    let is_zero = |metric: &&Metric| {
        let rounds = result.rounds.iter();
        let mut values = rounds.filter_map(|round| round.value(metric)).peekable();
        metric.scale == Scale::Log && values.peek().is_some() && values.all(|value| value == 0.0)
    };
    let is_low_good = |metric: &Metric| metric.direction == Direction::LowerIsBetter;
    let primary = &result.design.primary;
    let zero: Vec<&Metric> = primary.iter().filter(is_zero).collect();
    let Some(first) = zero.iter().find(|metric| !is_low_good(metric)) else {
        return Ok(());
    };
    let what = format!(
        "{} is 0 in every round of the first block, under every arm",
        first.name
    );
    let cure = "check that the workload does such I/O on this device, or name another metric with --metric";
    if zero.len() == primary.len() {
        return Err(Failure::invalid(what, cure));
    }
    result.notes.push(format!("{what}; {cure}"));
    Ok(())
}

/// Each round that counts is asked until one works: a run that was ended by this and is continued is not better for it.
fn ensure_some_works_here(result: &ResultFile) -> anyhow::Result<()> {
    let device = result.device.name();
    let counted = result.rounds.iter().filter(|round| is_counted(round));
    let mut last = Ok(());
    for round in counted {
        last = ensure_it_works_here(round, &device);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Refuses a workload that does not use the device, or that is not the largest user of it.
fn ensure_it_works_here(round: &Round, device: &str) -> anyhow::Result<()> {
    let evidence = &round.evidence;
    let foreign = evidence.foreign.clone().unwrap_or_default();
    if foreign.share_of_bytes > DOMINATED {
        return Err(Failure::invalid(
            format!(
                "other processes moved {:.0} % of the bytes on {device}: {}",
                foreign.share_of_bytes * 100.0,
                in_words(&foreign)
            ),
            "if they belong to the workload (such as a database server), name them with --unit, --cgroup or --pid; \
             else stop them",
        ));
    }
    if own_ios(round) == Some(0) {
        return Err(Failure::invalid(
            format!(
                "the workload did no I/O on {device}; {}",
                elsewhere(round, device)
            ),
            "check that it uses this device, and that its I/O bypasses the page cache (direct I/O, or --cold)",
        ));
    }
    Ok(())
}

/// Rounds that count in which the workload did no I/O on the disk, of those of which that is known.
pub fn rounds_without_io(result: &ResultFile) -> (usize, usize) {
    let counted = result.rounds.iter().filter(|round| is_counted(round));
    let known: Vec<u64> = counted.filter_map(own_ios).collect();
    let without = known.iter().filter(|ios| **ios == 0).count();
    (without, known.len())
}

/// None when the probe cannot attribute I/O.
fn own_ios(round: &Round) -> Option<u64> {
    let evidence = &round.evidence;
    let groups: &[CgroupRef] = &evidence.cgroups;
    if groups.is_empty() {
        return None;
    }
    if groups.iter().any(|group| !group.on_bios) {
        let all: u64 = evidence.device.ios();
        return (all == 0).then_some(0);
    }
    let own = evidence
        .owners
        .iter()
        .filter(|owner| evidence.is_of_workload(owner));
    Some(own.map(OwnerNumbers::ios).sum())
}

fn elsewhere(round: &Round, device: &str) -> String {
    let io = &round.evidence.outcome.disks;
    let others = io
        .iter()
        .filter(|disk| disk.device != device && disk.read_bytes + disk.write_bytes > 0);
    let others: Vec<String> = others
        .map(|disk| {
            format!(
                "{} bytes read and {} bytes written on {}",
                disk.read_bytes, disk.write_bytes, disk.device
            )
        })
        .collect();
    if others.is_empty() {
        "it did none on any disk: the page cache served its reads, its writes are still in memory, or it does no I/O".to_owned()
    } else {
        format!("it did {}", others.join(", "))
    }
}

/// The largest foreign processes, for messages.
pub fn in_words(foreign: &Foreign) -> String {
    let total = foreign.bytes.max(1) as f64;
    let largest = foreign.largest.iter().map(|process| {
        let who = match process.pid {
            0 => process.name.clone(),
            pid => format!("{} ({pid})", process.name),
        };
        format!(
            "{who} {:.0} % of that",
            process.bytes as f64 / total * 100.0
        )
    });
    let largest: Vec<String> = largest.collect();
    if largest.is_empty() {
        "unknown processes".to_owned()
    } else {
        largest.join(", ")
    }
}

/// Refuses a run without a value in any round of the first block.
fn ensure_some_round_ended(result: &ResultFile) -> anyhow::Result<()> {
    if result.rounds.iter().any(|round| round.censored.is_none()) {
        return Ok(());
    }
    let last = result.rounds.last();
    let problem = last
        .and_then(|round| round.problem.clone())
        .unwrap_or_default();
    if result
        .rounds
        .iter()
        .all(|round| round.censored == Some(Censored::Failed))
    {
        return Err(Failure::runtime(
            format!("the workload failed in every round of the first block: {problem}"),
            "run it by hand on this device, fix it, and try again",
        ));
    }
    Err(Failure::invalid(
        format!("no round of the first block has a value: {problem}"),
        "give it more time, for a command with --limit, or less work",
    ))
}

fn ensure_elapsed_is_a_result(result: &ResultFile) -> anyhow::Result<()> {
    let is_elapsed = |metric: &Metric| metric.name == ELAPSED;
    let rounds = result.rounds.iter();
    let counted = rounds.filter(|round| round.exclusion.is_none());
    let primary = &result.design.primary;
    let is_alone = !primary.is_empty() && primary.iter().all(is_elapsed);
    let Some(doubt) = is_alone
        .then(|| fixed_work::doubt_in(result, counted))
        .flatten()
    else {
        return Ok(());
    };
    let cached = match result.design.cold {
        Some(_) => "",
        None => "; --cold drops what earlier rounds left in the page cache",
    };
    Err(Failure::invalid(
        format!(
            "{} {doubt}, so its elapsed time cannot be compared",
            result.workload.name
        ),
        format!(
            "name another metric: --metric iops, --parse NAME, --metric-regex NAME=REGEX, or write to $IOSCHED_METRICS; \
             --metric elapsed says that its work is the same in every round{cached}"
        ),
    ))
}

/// A primary metric without a value in the whole first block will not get one later.
fn ensure_values(result: &mut ResultFile) -> anyhow::Result<()> {
    let rounds = || {
        result
            .rounds
            .iter()
            .filter(|round| round.exclusion.is_none())
    };
    let has_value = |metric: &Metric| {
        let mut rounds = rounds();
        rounds.any(|round| round.value(metric).is_some() || round.censored.is_some())
    };
    let lacks_tail = |metric: &Metric| {
        rounds().any(|round| round.evidence.insufficient_tail.contains(&metric.name))
    };
    let primary = &result.design.primary;
    let empty: Vec<&Metric> = primary.iter().filter(|metric| !has_value(metric)).collect();
    let Some(first) = empty.first().filter(|_| rounds().next().is_some()) else {
        return Ok(());
    };
    let most = rounds().map(super::difference::ios_of).max().unwrap_or(0);
    let (what, cure) = if lacks_tail(first) {
        (
            format!(
                "{} cannot be reported: a round has at most {most} I/Os, too few beyond this percentile (100 are needed)",
                first.name
            ),
            "make the rounds longer with --round-time, or choose a lower percentile",
        )
    } else {
        (
            format!(
                "{} has no value in any round of the first block: this workload does no such I/O",
                first.name
            ),
            "choose a metric that `report --all` shows for this run",
        )
    };
    if empty.len() == primary.len() {
        return Err(Failure::invalid(what, cure));
    }
    result.notes.push(format!("{what}; {cure}"));
    Ok(())
}

#[cfg(test)]
#[path = "early_tests.rs"]
mod tests;
