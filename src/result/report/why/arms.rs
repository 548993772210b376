//! Who waits behind whom under each arm of a run, side by side. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::sentences::{notable_missing, percent};
use crate::analysis::table;
use crate::report::units;
use crate::types::result::{ResultFile, Round};
use crate::why::{ArmWhy, Does, FEWEST_ROUNDS, REST, RoundWhy, WhyBehind, WhyOwner, of_arm};

/// Owners that are shown, and others that they wait behind.
const MOST_WAITERS: usize = 5;
const MOST_PARTS: usize = 4;
/// A mean wait below this part of the mean device time does not matter under any arm.
const MATTERS: f64 = 0.1;
/// Parts of a wait that are smaller under each arm are not shown.
const SHOWN: f64 = 0.05;

/// The numbers of an arm.
pub struct OfArm<'a> {
    pub label: &'a str,
    pub why: ArmWhy,
    /// How much of the windows it is about, from 0 to 1.
    pub covered: f64,
}

/// In the order of the arms: those with a round that counts and has values.
pub fn of_arms(result: &ResultFile) -> Vec<OfArm<'_>> {
    let counted = table::Table::new(result).counted_rounds();
    let arms = result.design.arms.iter();
    arms.filter_map(|arm| {
        let rounds = counted.iter();
        let own = rounds.filter(|round| round.arm == arm.label && round.censored.is_none());
        let whys: Vec<(&RoundWhy, f64)> = own
            .filter_map(|round| Some((round.evidence.why.as_ref()?, round.window_s)))
            .collect();
        let windows_s: f64 = whys.iter().map(|(_, window_s)| window_s).sum();
        let whys: Vec<&RoundWhy> = whys.into_iter().map(|(why, _)| why).collect();
        let why = of_arm(&whys)?;
        Some(OfArm {
            label: &arm.label,
            covered: if windows_s > 0.0 {
                (why.time_s / windows_s).min(1.0)
            } else {
                1.0
            },
            why,
        })
    })
    .collect()
}

/// How many rounds of an arm count, and how many of these have numbers. A stalled round has none.
pub fn rounds_of(result: &ResultFile, label: &str) -> (usize, usize) {
    let counted = table::Table::new(result).counted_rounds();
    let own = || counted.iter().filter(|round| round.arm == label);
    let has_numbers = |round: &&&Round| round.censored.is_none() && round.evidence.why.is_some();
    (own().count(), own().filter(has_numbers).count())
}

/// Whether some round has numbers. In a rotation of the terminal UI that depends on the screen.
pub fn is_recorded(result: &ResultFile) -> bool {
    let mut rounds = result.rounds.iter();
    rounds.any(|round| round.evidence.why.is_some())
}

/// The rounds without numbers in words, so that no arm looks better by its worst rounds; empty if there are none.
pub fn left_out(result: &ResultFile) -> String {
    let is_told = result.design.why || is_recorded(result);
    let arms = result.design.arms.iter().filter(|_| is_told);
    let lacking: Vec<String> = arms
        .filter_map(|arm| {
            let (all, known) = rounds_of(result, &arm.label);
            (known < all).then(|| format!("{} {} of {all}", arm.label, all - known))
        })
        .collect();
    if lacking.is_empty() {
        return String::new();
    }
    let lacking = lacking.join(", ");
    if !result.design.why {
        return format!("Who waits behind whom was not recorded in all rounds: {lacking} lack it.");
    }
    format!(
        "Rounds without values are not in who waits behind whom, and may be the worst: {lacking}."
    )
}

/// The arms of whose windows only the first part is known, in words; empty if there are none.
pub fn uncovered(arms: &[OfArm<'_>]) -> String {
    const NEARLY_ALL: f64 = 0.95;
    let short = arms.iter().filter(|arm| arm.covered < NEARLY_ALL);
    let short: Vec<String> = short
        .map(|arm| format!("{} {:.0} %", arm.label, arm.covered * 100.0))
        .collect();
    if short.is_empty() {
        return String::new();
    }
    let short = short.join(", ");
    format!(
        "More requests came than are kept. This is about the first part of the windows: {short}."
    )
}

impl OfArm<'_> {
    fn has_few_rounds(&self) -> bool {
        let mut rounds = self.why.devices.iter().filter_map(|device| device.rounds);
        rounds.any(|rounds| rounds < FEWEST_ROUNDS)
    }
}

/// An owner on a disk, under each arm.
pub struct Waiter<'a> {
    /// `probe reads`
    pub name: String,
    pub by_arm: Vec<Option<&'a WhyOwner>>,
    /// What it waits behind under any arm, the largest first.
    pub behind: Vec<String>,
    has_parts: bool,
}

/// What an owner on a disk waits for under an arm, each as a share of its waiting with its standard error.
pub struct Part {
    pub share: f64,
    pub error: Option<f64>,
}

/// Marks processes that are no part of a workload that has parts.
fn name_of(part: Option<&str>, name: &str, does: Does, has_parts: bool) -> String {
    let is_process = !name.starts_with('[') && name != REST && name != "other";
    match part {
        Some(part) => format!("{part} {}", does.name()),
        None if has_parts && is_process => format!("{name} (outside) {}", does.name()),
        None => format!("{name} {}", does.name()),
    }
}

fn name_of_other(of: &WhyBehind, has_parts: bool) -> String {
    name_of(of.part.as_deref(), &of.name, of.does, has_parts)
}

pub fn mean_wait_ns(owner: &WhyOwner) -> Option<f64> {
    (owner.waits > 0).then(|| owner.wait_ns as f64 / owner.waits as f64)
}

fn matters(owner: &WhyOwner) -> bool {
    let service_ns = owner.service_ns as f64 / owner.ios.max(1) as f64;
    mean_wait_ns(owner).is_some_and(|ns| ns > 0.0 && ns >= MATTERS * service_ns)
}

fn part(owner: &WhyOwner, ns: u64, error: Option<f64>) -> Option<Part> {
    let share = (owner.wait_ns > 0).then(|| ns as f64 / owner.wait_ns as f64)?;
    Some(Part { share, error })
}

impl Waiter<'_> {
    /// Its part behind another under an arm.
    pub fn behind(&self, arm: usize, name: &str) -> Option<Part> {
        let owner = self.by_arm[arm]?;
        let mut others = owner.behind.iter();
        let of = others.find(|of| name_of_other(of, self.has_parts) == name);
        match of {
            Some(of) => part(owner, of.ns, of.error),
            // It may be one of those that are not apart.
            None if owner.behind.iter().any(|of| of.name == REST) => None,
            None => part(owner, 0, None),
        }
    }

    pub fn device_idle(&self, arm: usize) -> Option<Part> {
        let owner = self.by_arm[arm]?;
        part(owner, owner.device_idle_ns, owner.device_idle_error)
    }

    pub fn slot_free(&self, arm: usize) -> Option<Part> {
        let owner = self.by_arm[arm]?;
        part(owner, owner.slot_free_ns?, None)
    }
}

/// Whether a process that is no part of the workload is outside of it. With `--unit`, `--pid` or `--cgroup` it may belong to it.
pub fn marks(result: &ResultFile) -> bool {
    result.workload.participants.is_empty()
}

/// Kernel names of the disks, in their order.
pub fn disks<'a>(arms: &'a [OfArm<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for device in arms.iter().flat_map(|arm| &arm.why.devices) {
        if !names.contains(&device.device.as_str()) {
            names.push(&device.device);
        }
    }
    names
}

/// Those who wait on a disk under any arm, the longest mean wait first. `is_marked`: processes that are no part are outside of the workload.
pub fn waiters<'a>(arms: &'a [OfArm<'_>], disk: &str, is_marked: bool) -> Vec<Waiter<'a>> {
    let mut all: BTreeMap<String, Vec<Option<&WhyOwner>>> = BTreeMap::new();
    let devices = || arms.iter().flat_map(|arm| &arm.why.devices);
    let mut owners = devices().flat_map(|device| &device.owners);
    let has_parts = is_marked && owners.any(|owner| owner.part.is_some());
    for (place, arm) in arms.iter().enumerate() {
        let devices = arm.why.devices.iter().filter(|of| of.device == disk);
        for owner in devices.flat_map(|device| &device.owners) {
            let part = owner.part.as_deref();
            let name = name_of(part, &owner.name, owner.does, has_parts);
            all.entry(name).or_insert_with(|| vec![None; arms.len()])[place] = Some(owner);
        }
    }
    let mut waiters: Vec<Waiter> = all
        .into_iter()
        .filter(|(_, by_arm)| by_arm.iter().flatten().any(|owner| matters(owner)))
        .map(|(name, by_arm)| Waiter {
            behind: behind(&by_arm, has_parts),
            name,
            by_arm,
            has_parts,
        })
        .collect();
    let longest = |of: &Waiter| {
        let waits = of.by_arm.iter().flatten();
        waits.filter_map(|of| mean_wait_ns(of)).fold(0.0, f64::max)
    };
    waiters.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    waiters.truncate(MOST_WAITERS);
    waiters
}

/// Whom an owner waits behind for more than a little under any arm.
fn behind(by_arm: &[Option<&WhyOwner>], has_parts: bool) -> Vec<String> {
    let mut largest: BTreeMap<String, f64> = BTreeMap::new();
    for owner in by_arm.iter().flatten() {
        for of in &owner.behind {
            let share = part(owner, of.ns, None).map_or(0.0, |part| part.share);
            let so_far = largest.entry(name_of_other(of, has_parts)).or_default();
            *so_far = so_far.max(share);
        }
    }
    let mut shown: Vec<(String, f64)> = largest
        .into_iter()
        .filter(|(_, share)| *share >= SHOWN)
        .collect();
    shown.sort_by(|a, b| b.1.total_cmp(&a.1));
    shown
        .into_iter()
        .take(MOST_PARTS)
        .map(|(name, _)| name)
        .collect()
}

/// Empty without `--why`.
pub fn section(result: &ResultFile) -> String {
    let arms = of_arms(result);
    let mut text = String::new();
    for disk in disks(&arms) {
        let waiters = waiters(&arms, disk, marks(result));
        let found = if waiters.is_empty() {
            "nobody waits for long.".to_owned()
        } else {
            let table = table(&arms, &waiters);
            let few = arms.iter().any(OfArm::has_few_rounds);
            let errors = if few {
                format!("standard errors from {FEWEST_ROUNDS} rounds on")
            } else {
                "+- standard error".to_owned()
            };
            format!("mean wait, and shares of it ({errors}).\n{table}")
        };
        let _ = writeln!(
            text,
            "\nWho waits behind whom on {disk}, before the device gets a request: {found}"
        );
    }
    for note in [left_out(result), uncovered(&arms)] {
        if !note.is_empty() {
            let _ = writeln!(text, "{note}");
        }
    }
    let missing: Vec<String> = arms
        .iter()
        .filter_map(|arm| {
            let missing = notable_missing(&arm.why.devices)?;
            Some(format!("{} {missing}", arm.label))
        })
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        let _ = writeln!(text, "Requests that are missing in this: {missing}.");
    }
    text
}

fn table(arms: &[OfArm<'_>], waiters: &[Waiter]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let labels = arms.iter().map(|arm| arm.label.to_owned());
    let head = ["WHO".to_owned(), "WAITS".to_owned()];
    table.set_header(head.into_iter().chain(labels));
    let cells = |first: String, what: String, of_arm: &dyn Fn(usize) -> String| {
        let rest = (0..arms.len()).map(of_arm);
        [first, what]
            .into_iter()
            .chain(rest)
            .collect::<Vec<String>>()
    };
    for waiter in waiters {
        table.add_row(cells(waiter.name.clone(), "mean".to_owned(), &|arm| {
            units::time(waiter.by_arm[arm].and_then(mean_wait_ns))
        }));
        for name in &waiter.behind {
            let whose = if *name == waiter.name {
                "behind its own".to_owned()
            } else {
                format!("behind {name}")
            };
            table.add_row(cells(String::new(), whose, &|arm| {
                shown(waiter.behind(arm, name))
            }));
        }
        let idle = |arm| shown(waiter.device_idle(arm));
        table.add_row(cells(String::new(), "device idle".to_owned(), &idle));
        if (0..arms.len()).any(|arm| waiter.slot_free(arm).is_some()) {
            let free = |arm| shown(waiter.slot_free(arm));
            table.add_row(cells(String::new(), "a slot was free".to_owned(), &free));
        }
    }
    for index in 0..arms.len() {
        if let Some(column) = table.column_mut(index + 2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// A share with its error; `-` where the owner did not wait.
pub fn shown(part: Option<Part>) -> String {
    part.map_or("-".to_owned(), |part| percent(part.share, part.error))
}

#[cfg(test)]
#[path = "arms_tests.rs"]
mod tests;
