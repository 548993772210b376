//! Decisions after the first rounds: the metrics that a command reports, and reasons to end a run that cannot decide
//! anything. Pure.

use super::metric::Metric;
use super::statistics::estimate;
use crate::ab::result::{Foreign, ResultFile, Round};
use crate::failure::Failure;
use crate::measure::snapshot::OwnerNumbers;
use crate::workload::CgroupRef;

/// Largest share of foreign bytes at which the run still compares the workload.
const DOMINATED: f64 = 0.5;
/// Elapsed times of a command with a fixed duration differ by less than this share.
const SAME_TIME: f64 = 0.005;
/// Two or three rounds may take the same time by chance.
const FEWEST_TIMES: usize = 4;
/// The command's work differs by more than this share, and by this factor more than its time.
const OTHER_WORK: f64 = 0.02;
const MORE_THAN_TIME: f64 = 5.0;
pub(super) const ELAPSED: &str = "elapsed";

/// Called after each round. An error ends the run; its message says what would help.
pub fn look(result: &mut ResultFile) -> anyhow::Result<()> {
    let counted = |round: &&Round| round.exclusion.is_none() && round.censored.is_none();
    if let Some(first) = result.rounds.iter().find(counted).cloned() {
        // The first round that counts, also after rounds that do not.
        if result.rounds.iter().filter(counted).count() == 1 {
            ensure_it_works_here(&first, &result.device.name())?;
        }
        declare(result, &first)?;
    }
    let blocks = result.plan.rounds_of(0);
    if result.rounds.len() >= blocks {
        ensure_some_round_ended(result)?;
        ensure_elapsed_is_a_result(result)?;
    }
    if result.rounds.len() == blocks {
        ensure_values(result)?;
    }
    Ok(())
}

/// Names, units and directions of the primary metrics that the workload itself reports.
fn declare(result: &mut ResultFile, round: &Round) -> anyhow::Result<()> {
    let reported = &round.evidence.outcome.reported;
    let primary = &mut result.design.primary;
    if primary.is_empty() {
        let headlines = reported.iter().filter(|metric| metric.is_headline);
        *primary = headlines.map(Metric::reported).collect();
        if primary.is_empty() && round.metrics.contains_key(ELAPSED) {
            primary.extend(Metric::named(ELAPSED));
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
                    "{} did not report {} in its first round: {names}",
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
    let notes = primary.iter().filter_map(|it| it.namesake_in(reported));
    let new = notes.filter(|note| !result.notes.contains(note));
    let new: Vec<String> = new.collect();
    result.notes.extend(new);
    Ok(())
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

/// None when the probe cannot attribute I/O.
fn own_ios(round: &Round) -> Option<u64> {
    let evidence = &round.evidence;
    let groups: &[CgroupRef] = &evidence.cgroups;
    if groups.is_empty() {
        return None;
    }
    if groups.iter().any(|group| !group.on_bios) {
        let all: u64 = evidence.device.ops.iter().map(|op| op.ios).sum();
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
    let problem = result.rounds.last().and_then(|round| round.problem.clone());
    Err(Failure::invalid(
        format!(
            "no round of the first block has a value: {}",
            problem.unwrap_or_default()
        ),
        "give it more time, for a command with --limit, or less work",
    ))
}

/// Whether the command runs for a fixed time: the elapsed time is the same in all rounds while the work differs.
pub fn ends_by_the_clock<'a>(rounds: impl Iterator<Item = &'a Round>) -> bool {
    let (times, works): (Vec<f64>, Vec<f64>) = rounds
        .filter_map(|round| Some((*round.metrics.get(ELAPSED)?, work(round))))
        .unzip();
    if times.len() < FEWEST_TIMES {
        return false;
    }
    let (Some(of_times), Some(of_works)) = (spread(&times), spread(&works)) else {
        return false;
    };
    of_times < SAME_TIME && of_works > OTHER_WORK.max(MORE_THAN_TIME * of_times)
}

fn work(round: &Round) -> f64 {
    let ops = &round.evidence.device.ops;
    ops.iter().map(|op| op.bytes).sum::<u64>() as f64
}

/// Range divided by median; None with fewer than two values.
fn spread(values: &[f64]) -> Option<f64> {
    let middle = estimate::median(values).filter(|middle| values.len() > 1 && *middle > 0.0)?;
    let highest = values.iter().copied().reduce(f64::max)?;
    let lowest = values.iter().copied().reduce(f64::min)?;
    Some((highest - lowest) / middle)
}

fn ensure_elapsed_is_a_result(result: &mut ResultFile) -> anyhow::Result<()> {
    let is_elapsed = |metric: &Metric| metric.name == ELAPSED;
    let counted = result
        .rounds
        .iter()
        .filter(|round| round.exclusion.is_none());
    if !result.design.primary.iter().any(is_elapsed) || !ends_by_the_clock(counted) {
        return Ok(());
    }
    Err(Failure::invalid(
        format!(
            "{} takes the same time in every round, however much work it does, so its elapsed time cannot be compared",
            result.workload.name
        ),
        "name another metric: --metric iops, --parse NAME, --metric-regex NAME=REGEX, or write to \
         $IOSCHED_METRICS",
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
    let most = rounds().map(super::table::ios_of).max().unwrap_or(0);
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
