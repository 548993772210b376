//! Settings that `iosched-ab persist` wrote, and whether what they are based on still holds. Pure.

use jiff::Timestamp;

use super::facts::{DiskFacts, Facts};
use super::{Item, ItemState, item};
use crate::persist::Evidence;

const NAME: &str = "persistent setting";
/// A drive ages, and software around it changes.
const OLD_DAYS: i64 = 365;

/// A file with the comment of `iosched-ab persist`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub file: String,
    pub evidence: Evidence,
}

/// One line for each setting and disk; nothing where nothing is persistent.
pub fn items(facts: &Facts) -> Vec<Item> {
    let items = facts.kept.iter().flat_map(|kept| {
        let disks = facts
            .disks
            .iter()
            .filter(|disk| is_for(&kept.evidence, disk));
        let found: Vec<Item> = disks.map(|disk| of_disk(facts, kept, disk)).collect();
        if found.is_empty() {
            vec![without_disk(kept)]
        } else {
            found
        }
    });
    items.collect()
}

fn is_for(evidence: &Evidence, disk: &DiskFacts) -> bool {
    match &evidence.serial {
        Some(_) => Evidence::is_same(&evidence.serial, &disk.serial),
        None => evidence.model.is_some() && Evidence::is_same(&evidence.model, &disk.model),
    }
}

fn without_disk(kept: &Kept) -> Item {
    let evidence = &kept.evidence;
    let which = match (&evidence.serial, &evidence.model) {
        (Some(serial), _) => format!("has the serial {serial}"),
        (None, Some(model)) => format!("is of the model {model}"),
        (None, None) => "is meant".to_owned(),
    };
    let found = format!("{}: no disk here {which}", kept.file);
    item(NAME, ItemState::Ok, found, "")
}

fn of_disk(facts: &Facts, kept: &Kept, disk: &DiskFacts) -> Item {
    let evidence = &kept.evidence;
    let mut doubts = Vec::new();
    if disk.active != evidence.scheduler {
        doubts.push(format!("{} is in force", disk.active));
    }
    if series(&evidence.kernel) != series(&facts.release) {
        doubts.push(format!(
            "measured on Linux {}, this is {}",
            evidence.kernel, facts.release
        ));
    }
    if !Evidence::is_same(&evidence.firmware, &disk.firmware) {
        let name =
            |firmware: &Option<String>| firmware.clone().unwrap_or_else(|| "unknown".to_owned());
        doubts.push(format!(
            "measured with firmware {}, the disk has {}",
            name(&evidence.firmware),
            name(&disk.firmware)
        ));
    }
    match age_days(&evidence.measured, facts.now) {
        Some(days) if days > OLD_DAYS => doubts.push(format!("measured {days} days ago")),
        Some(_) => {}
        None => doubts.push("the date of the measurement cannot be read".to_owned()),
    }
    let what = format!("{} on {} by {}", evidence.scheduler, disk.name, kept.file);
    if doubts.is_empty() {
        return item(
            NAME,
            ItemState::Ok,
            format!("{what}: its evidence still holds"),
            "",
        );
    }
    item(
        NAME,
        ItemState::Conflict,
        format!("{what}: {}", doubts.join("; ")),
        "measure again with iosched-ab run, then iosched-ab persist",
    )
}

/// `6.12` of `6.12.43+deb13-amd64`: schedulers change between these, hardly within one.
fn series(release: &str) -> Option<(&str, &str)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?, parts.next()?))
}

fn age_days(measured: &str, now: Timestamp) -> Option<i64> {
    let measured: Timestamp = measured.parse().ok()?;
    Some((now.as_second() - measured.as_second()) / 86_400)
}
