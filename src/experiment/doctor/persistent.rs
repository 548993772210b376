//! Settings that `iosched-ab persist` wrote, and whether what they are based on still holds. Pure.

use std::path::Path;

use jiff::Timestamp;

use super::facts::{DiskFacts, Facts};
use super::{Item, ItemState, agents, item};
use iosched_host::preflight::rivals::{Agent, Rival};
use iosched_result::persist::Evidence;

const NAME: &str = "persistent setting";
/// A drive ages, and software around it changes.
const OLD_DAYS: i64 = 365;

/// A file with the comment of `iosched-ab persist`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    pub file: String,
    pub place: Place,
    pub evidence: Evidence,
}

/// Which program reads the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Tuned,
    /// A profile where this version of TuneD does not look.
    NotRead,
    Other,
}

/// One line for each setting and disk; nothing where nothing is persistent.
pub fn items(facts: &Facts) -> Vec<Item> {
    let mut all: Vec<Item> = Vec::new();
    let each = facts.kept.iter().flat_map(|kept| {
        let disks = facts.disks.iter();
        let disks = disks.filter(|disk| is_for(&kept.evidence, disk));
        let disks = disks.filter(|disk| !has_better(facts, kept, disk));
        let found: Vec<Item> = disks.map(|disk| of_disk(facts, kept, disk)).collect();
        if found.is_empty() && !facts.disks.iter().any(|disk| is_for(&kept.evidence, disk)) {
            vec![without_disk(kept)]
        } else {
            found
        }
    });
    // Several lines of a file may say of one disk that it is not here.
    for item in each {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

fn is_for(evidence: &Evidence, disk: &DiskFacts) -> bool {
    if evidence.serial.is_some() {
        return Evidence::is_same(&evidence.serial, &disk.serial);
    }
    if evidence.driver.is_some() {
        return Evidence::is_same(&evidence.driver, &disk.driver)
            && evidence.size_bytes == disk.size_bytes
            && evidence.rotational == disk.rotational;
    }
    evidence.model.is_some() && Evidence::is_same(&evidence.model, &disk.model)
}

/// A file may have evidence from several kernels or firmwares for one rule: then that counts which fits this disk best.
fn has_better(facts: &Facts, kept: &Lasting, disk: &DiskFacts) -> bool {
    let doubts = |of: &Lasting| outdated(facts, &of.evidence, disk).len();
    let same = facts
        .kept
        .iter()
        .filter(|other| other.file == kept.file && is_for(&other.evidence, disk));
    let best = same.min_by_key(|other| doubts(other));
    best.is_some_and(|best| !std::ptr::eq(best, kept))
}

fn without_disk(kept: &Lasting) -> Item {
    let evidence = &kept.evidence;
    let which = match (&evidence.serial, &evidence.driver, &evidence.model) {
        (Some(serial), ..) => format!("has the serial {serial}"),
        (None, Some(driver), _) => format!("of the driver {driver} has that size"),
        (None, None, Some(model)) => format!("is of the model {model}"),
        (None, None, None) => "is meant".to_owned(),
    };
    let found = format!("{}: no disk here {which}", kept.file);
    item(NAME, ItemState::Ok, found, "")
}

fn of_disk(facts: &Facts, kept: &Lasting, disk: &DiskFacts) -> Item {
    let evidence = &kept.evidence;
    let mut doubts = Vec::new();
    let mut remedies = Vec::new();
    if disk.active != evidence.scheduler {
        let (doubt, remedy) = not_in_force(facts, kept, disk);
        doubts.push(doubt);
        remedies.push(remedy);
    }
    let old = outdated(facts, evidence, disk);
    if !old.is_empty() {
        doubts.extend(old);
        remedies.push("measure again with iosched-ab run, then iosched-ab persist".to_owned());
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
    let found = format!("{what}: {}", doubts.join("; "));
    item(NAME, ItemState::Conflict, found, remedies.join("; "))
}

/// Why the setting is not in force, and what helps.
fn not_in_force(facts: &Facts, kept: &Lasting, disk: &DiskFacts) -> (String, String) {
    let in_force = format!("{} is in force", disk.active);
    let unknown = (
        in_force.clone(),
        "look for what sets it: see the lines `other agents`".to_owned(),
    );
    let Ok(survey) = &facts.survey else {
        return unknown;
    };
    if let Place::NotRead = kept.place {
        let remedy = format!("move it to /etc/tuned/profiles/{}", profile(&kept.file));
        return (
            format!("{in_force}; this TuneD does not look for profiles there"),
            remedy,
        );
    }
    // The rule that reads an entry of the hardware database is another file.
    if Path::new(&kept.file)
        .extension()
        .is_some_and(|extension| extension == "hwdb")
    {
        return unknown;
    }
    let of_disk = |rival: &&Rival| rival.disk == disk.name;
    let Some(own) = survey
        .rivals
        .iter()
        .filter(of_disk)
        .find(|rival| rival.file == kept.file)
    else {
        let remedy = match kept.place {
            Place::Tuned => format!(
                "run tuned-adm profile {}",
                profile(&kept.file).trim_end_matches("/tuned.conf")
            ),
            _ => {
                "check it with `udevadm test`, and measure again if the disk is another".to_owned()
            }
        };
        return (
            format!("{in_force}; no line of the file applies to this disk now"),
            remedy,
        );
    };
    if let Some(last) = agents::overriding(facts, survey, own) {
        let value = last.value.as_deref().unwrap_or("the scheduler");
        let doubt = format!("overridden by {}:{} ({value})", last.file, last.line);
        return (doubt, against(&kept.file, last));
    }
    let remedy = match own.agent {
        Agent::Udev => format!(
            "apply it: udevadm control --reload && udevadm trigger --action=change --sysname-match={}",
            disk.name
        ),
        Agent::Tmpfiles => format!("apply it: systemd-tmpfiles --create {}", kept.file),
        _ => "apply it: tuned-adm verify says what differs".to_owned(),
    };
    (
        format!("{in_force}; nothing was found that sets it after this file"),
        remedy,
    )
}

/// The name of the profile, and its file.
fn profile(file: &str) -> String {
    let parts: Vec<&str> = file.rsplit('/').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// The remedy that makes the setting in the file `own` the last to act.
pub fn against(own: &str, last: &Rival) -> String {
    let extension = Path::new(own).extension();
    let is_rule = extension.is_some_and(|extension| extension == "rules");
    match (last.agent, &last.rule) {
        (Agent::Udev, Some(rule)) if is_rule && !rule.is_run => {
            let name = later_name(base(own), base(&rule.file));
            format!(
                "give it a name that sorts after {}: mv {own} /etc/udev/rules.d/{name}",
                base(&rule.file),
            )
        }
        (Agent::Udev, _) => format!(
            "udev starts {} after all rules: remove that line",
            last.file
        ),
        (Agent::Tuned, _) => format!(
            "TuneD acts after udev: remove the setting in {}, or use iosched-ab persist --format tuned",
            last.file
        ),
        (Agent::Tlp, _) => format!(
            "TLP acts last: set DISK_IOSCHED to keep for this disk in {}",
            last.file
        ),
        _ => format!("remove line {} of {}: it acts later", last.line, last.file),
    }
}

pub fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// A file name like `own` that udev takes after `other`.
fn later_name(own: &str, other: &str) -> String {
    let digits = |name: &str| {
        name.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(name.len())
    };
    let rest = own[digits(own)..].trim_start_matches('-');
    let number = other[..digits(other)].parse::<u32>().ok();
    let candidates = [
        number
            .filter(|number| *number < 99)
            .map(|number| format!("{:02}-{rest}", number + 1)),
        Some(format!("99-zz-{rest}")),
        Some(format!("zz-{rest}")),
        Some(format!("{other}-{rest}")),
    ];
    let mut later = candidates
        .into_iter()
        .flatten()
        .filter(|name| &**name > other);
    later.next().unwrap_or_else(|| format!("zzzz-{rest}"))
}

/// Doubts that the measurement still holds.
fn outdated(facts: &Facts, evidence: &Evidence, disk: &DiskFacts) -> Vec<String> {
    let mut doubts = Vec::new();
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
    doubts
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
