//! What the numbers say, for people: the worst first. Pure.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::causes::{Told, is_background};
use crate::measured::blame::{FEWEST_PERIODS, FEWEST_WAITS};
use crate::report::units;
use crate::why::{DiskFacts, Does, FEWEST_ROUNDS, WhyBehind, WhyDevice, WhyOwner};

pub const MOST_SENTENCES: usize = 8;
/// The sentences are about so many owners.
const MOST_OWNERS: usize = 3;
/// A mean wait below this part of the mean device time does not matter.
const MATTERS: f64 = 0.1;
/// Nor do waits with fewer requests waiting on average.
const FEWEST_WAITING: f64 = 0.01;
/// Parts of a wait below this are not named.
const NAMED: f64 = 0.1;
/// Fewer than one of so many requests that are missing change nothing; the table has their number.
const FEW_OF: u64 = 1000;
/// A part of a wait that explains more than all others.
const MOST: f64 = 0.5;
/// So many parts are named.
const MOST_PARTS: usize = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sentence {
    /// The disk that it is about; null if it is about all.
    pub device: Option<String>,
    /// The sentence.
    pub text: String,
    /// A command that would show more, or prove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Sentence {
    pub fn new(device: Option<&str>, text: String) -> Sentence {
        Sentence {
            device: device.map(str::to_owned),
            text,
            command: None,
        }
    }
}

/// An owner on a disk.
#[derive(Clone, Copy)]
struct Row<'a> {
    device: &'a WhyDevice,
    owner: &'a WhyOwner,
}

impl Row<'_> {
    fn mean_wait_ns(&self) -> f64 {
        self.owner.wait_ns as f64 / self.owner.waits.max(1) as f64
    }

    fn mean_service_ns(&self) -> f64 {
        self.owner.service_ns as f64 / self.owner.ios.max(1) as f64
    }

    fn is_own(&self, of: &WhyBehind) -> bool {
        let owner = self.owner;
        (of.pid, &of.part, &of.name) == (owner.pid, &owner.part, &owner.name)
    }

    /// What it waits behind itself.
    fn own_ns(&self) -> u64 {
        let own = self.owner.behind.iter().filter(|of| self.is_own(of));
        own.map(|of| of.ns).fold(0, u64::saturating_add)
    }

    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.owner.wait_ns.max(1) as f64
    }

    fn matters(&self, time_s: f64) -> bool {
        let waiting = self.owner.wait_ns as f64 / (time_s * 1e9);
        waiting >= FEWEST_WAITING && self.mean_wait_ns() >= MATTERS * self.mean_service_ns()
    }
}

/// What was found beside who waits behind whom.
#[derive(Default)]
pub struct Found {
    pub hangs: Vec<Sentence>,
    pub told: Vec<Told>,
}

impl Found {
    /// The part of a row's queue wait that these explain.
    fn explained_ns(&self, row: &Row) -> u64 {
        let its = self.of(row).filter(|told| told.is_queue_wait);
        its.map(|told| told.ns).fold(0, u64::saturating_add)
    }

    fn of(&self, row: &Row) -> impl Iterator<Item = &Told> {
        let (owner, device) = (row.owner, &row.device.device);
        self.told.iter().filter(move |told| {
            (told.pid, told.cgroup_id) == (owner.pid, owner.cgroup_id) && told.device == *device
        })
    }

    /// Nobody waits for this row.
    fn is_background(&self, row: &Row) -> bool {
        let owner = row.owner;
        is_background(owner.kind, &owner.name) || self.of(row).any(|told| told.is_background)
    }
}

/// What nobody waits for comes last, and the longest waits first.
type Rank = (bool, Reverse<u64>);

/// The sentences about the owners that `keeps` accepts.
pub fn of(
    devices: &[WhyDevice],
    disks: &[DiskFacts],
    time_s: f64,
    keeps: &dyn Fn(&WhyOwner) -> bool,
    found: Found,
) -> Vec<Sentence> {
    let rows = devices
        .iter()
        .flat_map(|device| device.owners.iter().map(move |owner| Row { device, owner }));
    let mut rows: Vec<Row> = rows
        .filter(|row| keeps(row.owner) && row.matters(time_s))
        .collect();
    let behind_others_ns = |row: &Row| {
        let others_ns = row.owner.wait_ns - row.own_ns();
        others_ns.saturating_sub(found.explained_ns(row))
    };
    let is_last = |row: &Row| found.is_background(row);
    rows.sort_by_cached_key(|row| (is_last(row), Reverse(behind_others_ns(row))));
    let mut groups: Vec<(Rank, Vec<Sentence>)> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for row in rows.iter().take(MOST_OWNERS) {
        // What explains a small part of the wait does not stand for the rest.
        let is_explained = found.explained_ns(row) > row.owner.wait_ns / 2;
        let held_back = of_held_back(*row).filter(|_| !is_explained);
        let mut group = vec![of_wait(*row)];
        // An idle device that explains most of the wait is told first.
        let is_most = row.share(row.owner.device_idle_ns) >= MOST;
        group.splice(if is_most { 0..0 } else { 1..1 }, held_back);
        if !told.contains(&row.device.device.as_str()) {
            told.push(&row.device.device);
            group.extend(of_device(*row));
        }
        groups.push(((is_last(row), Reverse(behind_others_ns(row))), group));
    }
    let has_found = !found.hangs.is_empty() || !found.told.is_empty();
    let causes = found.told.into_iter();
    groups.extend(causes.map(|told| {
        let rank = (told.is_background, Reverse(told.ns));
        (rank, vec![told.sentence])
    }));
    groups.sort_by_key(|(rank, _)| *rank);
    let mut sentences = found.hangs;
    sentences.extend(missing(devices));
    sentences.extend(groups.into_iter().flat_map(|(_, group)| group));
    if rows.len() > MOST_OWNERS {
        let more = rows.len() - MOST_OWNERS;
        let text = format!("{more} more wait; the table and `--json` have them.");
        sentences.push(Sentence::new(None, text));
    }
    if rows.is_empty() && !has_found {
        sentences.push(nothing_waits(devices, time_s, keeps));
    }
    let worst = rows.first().and_then(|row| {
        let disk = disks.iter().find(|disk| disk.name == row.device.device)?;
        experiment(disk)
    });
    sentences.truncate(MOST_SENTENCES - usize::from(worst.is_some()));
    sentences.extend(worst);
    sentences
}

fn who(name: &str, pid: u32) -> String {
    match pid {
        0 => name.to_owned(),
        pid => format!("{name} ({pid})"),
    }
}

/// A share, with its standard error if it has one.
pub fn percent(share: f64, error: Option<f64>) -> String {
    let share = format!("{:.0} %", share * 100.0);
    match error {
        Some(error) if error >= 0.005 => format!("{share} (+-{:.0})", error * 100.0),
        _ => share,
    }
}

fn of_wait(row: Row) -> Sentence {
    let owner = row.owner;
    let wait = units::time(Some(row.mean_wait_ns()));
    let all = units::time(Some(row.mean_wait_ns() + row.mean_service_ns()));
    let large = owner.behind.iter().filter(|of| row.share(of.ns) >= NAMED);
    let parts: Vec<String> = large.take(MOST_PARTS).map(|of| part(row, of)).collect();
    let parts = match parts.split_first() {
        None => String::new(),
        Some((first, rest)) => {
            let rest: Vec<String> = rest.iter().map(|part| format!(", {part}")).collect();
            format!(" They wait behind {first}{}.", rest.concat())
        }
    };
    let few = if owner.waits < FEWEST_WAITS {
        format!(" Only {} waited: too few to be sure.", owner.waits)
    } else if row.share(row.own_ns()) >= 0.9 {
        " It has more in flight than the device takes.".to_owned()
    } else {
        String::new()
    };
    let text = format!(
        "{}: its {} on {} wait {wait} of {all} each before the device gets them.{parts}{few}",
        who(owner.label(), owner.pid),
        owner.does.name(),
        row.device.device,
    );
    Sentence::new(Some(&row.device.device), text)
}

fn part(row: Row, of: &WhyBehind) -> String {
    let share = format!("{} of the time", percent(row.share(of.ns), of.error));
    match of.does {
        Does::Flushes => format!("flush commands for {share}"),
        does if row.is_own(of) => format!("its own {} for {share}", does.name()),
        does => format!("{} of {} for {share}", does.name(), who(of.label(), of.pid)),
    }
}

/// The part of the wait that was not for want of a device.
fn of_held_back(row: Row) -> Option<Sentence> {
    let (owner, device) = (row.owner, row.device);
    let idle = row.share(owner.device_idle_ns);
    let free = owner.slot_free_ns.map(|ns| row.share(ns));
    let scheduler = device.scheduler.as_deref().unwrap_or("the scheduler");
    let held = match scheduler {
        "none" => "a throttle or a plug".to_owned(),
        "bfq" => "bfq, which keeps the device for the next request of another (slice_idle), or a throttle".to_owned(),
        other => format!("{other} or a throttle"),
    };
    let name = who(owner.label(), owner.pid);
    let text = if idle >= NAMED {
        format!(
            "While {name}'s {} waited, {} was idle {} of the time: {held} held them back, not other requests.",
            owner.does.name(),
            device.device,
            percent(idle, owner.device_idle_error),
        )
    } else if free.is_some_and(|free| free >= 0.5) {
        format!(
            "{} of that time {} could have taken another request ({} at once): {held} held them back.",
            percent(free.unwrap_or(0.0), None),
            device.device,
            device.hardware_depth.unwrap_or(0),
        )
    } else {
        return None;
    };
    Some(Sentence::new(Some(&device.device), text))
}

/// What holds for all who wait on the device of this row.
fn of_device(row: Row) -> Option<Sentence> {
    let device = row.device;
    let name = &device.device;
    let mut text = Vec::new();
    let free = row.owner.slot_free_ns.map(|ns| row.share(ns));
    if let Some(depth) = device
        .hardware_depth
        .filter(|_| free.is_some_and(|free| free <= 0.1))
    {
        let (slots, were) = match depth {
            1 => ("The only slot".to_owned(), "was"),
            depth => (format!("All {depth} slots"), "were"),
        };
        text.push(format!(
            "{slots} of {name} {were} taken then: more is asked for than it takes at once."
        ));
    }
    let few = match device.rounds {
        Some(rounds) if rounds < FEWEST_ROUNDS => {
            Some(format!("there are {rounds} rounds, and {FEWEST_ROUNDS}"))
        }
        None if device.busy_periods < FEWEST_PERIODS && device.batches.is_none() => Some(format!(
            "the number of times that {name} was without requests is {}, and {FEWEST_PERIODS}",
            device.busy_periods
        )),
        _ => None,
    };
    if let Some(few) = few {
        text.push(format!(
            "How sure these shares are cannot be told: {few} are needed."
        ));
    } else if device.batches.is_some() && has_no_error(row.owner) {
        text.push(
            "How sure these shares are cannot be told: the time has too few parts that do not depend on each other."
                .to_owned(),
        );
    }
    (!text.is_empty()).then(|| Sentence::new(Some(name), text.join(" ")))
}

/// Though it waited often enough.
fn has_no_error(owner: &WhyOwner) -> bool {
    let errors = owner.behind.iter().map(|of| of.error);
    let mut errors = errors.chain([owner.device_idle_error]);
    owner.waits >= FEWEST_WAITS && errors.all(|error| error.is_none())
}

fn nothing_waits(
    devices: &[WhyDevice],
    time_s: f64,
    keeps: &dyn Fn(&WhyOwner) -> bool,
) -> Sentence {
    let all = || devices.iter().flat_map(|device| &device.owners);
    let kept = || all().filter(|owner| keeps(owner));
    let sum = |of: fn(&WhyOwner) -> u64| kept().map(of).fold(0, u64::saturating_add);
    let names: Vec<&str> = devices.iter().map(|of| of.device.as_str()).collect();
    let names = match names.as_slice() {
        [] => "no disk".to_owned(),
        [one] => (*one).to_owned(),
        many => format!("{} disks", many.len()),
    };
    let is_whole = all().all(keeps);
    let time = units::time(Some(time_s * 1e9));
    let ios = sum(|owner| owner.ios);
    let text = match (ios, is_whole) {
        (0, true) if devices.iter().any(|device| device.missing > 0) => {
            format!("Of no request to {names} in these {time} the wait is known.")
        }
        (0, true) => format!("Nobody used {names} in these {time}."),
        (0, false) => format!("Whoever was asked for did not use {names} in these {time}."),
        _ => format!(
            "Hardly anything waits: of {} requests to {names} in {time} each was issued after {} on average, and took {} at the device.{}",
            units::count(ios as f64),
            units::time(Some(
                sum(|of| of.wait_ns) as f64 / sum(|of| of.waits).max(1) as f64
            )),
            units::time(Some(sum(|of| of.service_ns) as f64 / ios as f64)),
            if is_whole {
                " A scheduler has nothing to decide here."
            } else {
                ""
            },
        ),
    };
    Sentence::new(None, text)
}

fn missing(devices: &[WhyDevice]) -> Option<Sentence> {
    let missing = notable_missing(devices)?;
    let text = format!(
        "{missing} requests are missing from this: who waited for them seems to wait for others, or for nobody."
    );
    Some(Sentence::new(None, text))
}

/// How many requests are missing, if that matters. Each disk has the number of all.
pub fn notable_missing(devices: &[WhyDevice]) -> Option<u64> {
    let missing = devices.iter().map(|device| device.missing).max()?;
    let owners = devices.iter().flat_map(|device| &device.owners);
    let ios = owners.map(|owner| owner.ios).fold(0, u64::saturating_add);
    (missing.saturating_mul(FEW_OF) > ios).then_some(missing)
}

/// What would prove it.
fn experiment(disk: &DiskFacts) -> Option<Sentence> {
    let others = disk.others.iter().take(2);
    let arms: Vec<String> = others.map(|other| format!(" --arm {other}")).collect();
    let arms = arms.concat();
    if arms.is_empty() {
        return None;
    }
    Some(Sentence {
        command: Some(format!(
            "iosched-ab run {} --allow-mounted --workload live --arm present{arms}",
            disk.name
        )),
        ..Sentence::new(
            Some(&disk.name),
            "This load under other schedulers, in turns, restored afterwards:".to_owned(),
        )
    })
}
