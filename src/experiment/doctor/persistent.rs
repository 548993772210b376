//! Settings that `iosched-ab persist` wrote, and whether what they are based on still holds. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::facts::{DiskFacts, Facts};
use super::{Item, ItemState, agents, item};
use iosched_host::preflight::rivals::{Agent, Rival, Survey};
use iosched_host::scheduler;
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

/// A setting that `iosched-ab persist` wrote, and one disk that it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PersistentSetting {
    pub file: String,
    /// The disk that it is about, by its kernel name; null: no disk of this machine is.
    pub device: Option<String>,
    pub scheduler: String,
    /// Attributes below `queue/` and their values, which it sets with the scheduler; empty also where the version that wrote the
    /// file did not say so.
    pub settings: BTreeMap<String, String>,
    /// Whether all of that is in force now; null without a disk.
    pub is_in_force: Option<bool>,
    /// The scheduler in force; null without a disk.
    pub active: Option<String>,
    /// Whether that is the file's, whatever its settings are; null without a disk.
    pub is_scheduler_active: Option<bool>,
    /// Those of the settings that have another value now, which is null if it cannot be read.
    pub differing: BTreeMap<String, Option<String>>,
    /// Whether what was measured is still about this disk and this kernel, and no older than a year; null without a disk.
    pub does_evidence_hold: Option<bool>,
    /// Why it is not in force, and why the evidence does not hold.
    pub doubts: Vec<String>,
    /// What helps.
    pub remedies: Vec<String>,
}

/// One for each setting and disk; nothing where nothing is persistent.
pub fn settings(facts: &Facts) -> Vec<PersistentSetting> {
    let mut all: Vec<PersistentSetting> = Vec::new();
    let each = facts.kept.iter().flat_map(|kept| {
        let meant = facts
            .disks
            .iter()
            .filter(|disk| is_for(&kept.evidence, disk));
        let (meant, mut found) = (meant.collect::<Vec<_>>(), Vec::new());
        if meant.is_empty() {
            found.push(without_disk(kept));
        }
        let meant = meant.into_iter();
        found.extend(
            meant
                .filter(|disk| !has_better(facts, kept, disk))
                .map(|disk| of_disk(facts, kept, disk)),
        );
        found
    });
    // Several lines of a file may say of one disk that it is not here.
    for setting in each {
        if !all.contains(&setting) {
            all.push(setting);
        }
    }
    all
}

/// One line each.
pub fn items(settings: &[PersistentSetting]) -> Vec<Item> {
    settings.iter().map(line).collect()
}

fn line(setting: &PersistentSetting) -> Item {
    let (file, scheduler) = (&setting.file, &setting.scheduler);
    let Some(device) = &setting.device else {
        let found = format!("{file}: {}", setting.doubts.join("; "));
        return item(NAME, ItemState::Ok, found, "");
    };
    let (state, rest) = if setting.doubts.is_empty() {
        (ItemState::Ok, "its evidence still holds".to_owned())
    } else {
        (ItemState::Conflict, setting.doubts.join("; "))
    };
    let found = format!("{scheduler} on {device} by {file}: {rest}");
    item(NAME, state, found, setting.remedies.join("; "))
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

/// A file may have several lines of evidence for one disk. One of its serial is for it alone; beyond that the one that fits it best
/// counts, from several kernels or firmwares, and the later of two that fit alike, as udev takes rules.
fn has_better(facts: &Facts, kept: &Lasting, disk: &DiskFacts) -> bool {
    let rank = |of: &Lasting| {
        let doubts = outdated(facts, &of.evidence, disk).len();
        (of.evidence.serial.is_none(), doubts)
    };
    let same = facts
        .kept
        .iter()
        .filter(|other| other.file == kept.file && is_for(&other.evidence, disk));
    let best = same.rev().min_by_key(|other| rank(other));
    best.is_some_and(|best| !std::ptr::eq(best, kept))
}

fn without_disk(kept: &Lasting) -> PersistentSetting {
    let evidence = &kept.evidence;
    let which = match (&evidence.serial, &evidence.driver, &evidence.model) {
        (Some(serial), ..) => format!("has the serial {serial}"),
        (None, Some(driver), _) => format!("of the driver {driver} has that size"),
        (None, None, Some(model)) => format!("is of the model {model}"),
        (None, None, None) => "is meant".to_owned(),
    };
    PersistentSetting {
        file: kept.file.clone(),
        device: None,
        scheduler: evidence.scheduler.clone(),
        settings: evidence.settings.clone(),
        is_in_force: None,
        active: None,
        is_scheduler_active: None,
        differing: BTreeMap::new(),
        does_evidence_hold: None,
        doubts: vec![format!("no disk here {which}")],
        remedies: Vec::new(),
    }
}

fn of_disk(facts: &Facts, kept: &Lasting, disk: &DiskFacts) -> PersistentSetting {
    let evidence = &kept.evidence;
    let (mut doubts, mut remedies) = (Vec::new(), Vec::new());
    let is_active = disk.active == evidence.scheduler;
    let differing = if is_active {
        differing(evidence, disk)
    } else {
        BTreeMap::new()
    };
    if !is_active {
        let (doubt, remedy) = not_in_force(facts, kept, disk);
        doubts.push(doubt);
        remedies.push(remedy);
    } else if !differing.is_empty() {
        doubts.extend(differing.iter().map(|(name, found)| {
            let found = found.as_deref().unwrap_or("unknown");
            format!("{name} is {found}, not {}", evidence.settings[name])
        }));
        remedies.push(again(facts, kept, disk));
    }
    let old = outdated(facts, evidence, disk);
    let does_evidence_hold = old.is_empty();
    if !does_evidence_hold {
        doubts.extend(old);
        remedies.push("measure again with iosched-ab run, then iosched-ab persist".to_owned());
    }
    PersistentSetting {
        file: kept.file.clone(),
        device: Some(disk.name.clone()),
        scheduler: evidence.scheduler.clone(),
        settings: evidence.settings.clone(),
        is_in_force: Some(is_active && differing.is_empty()),
        active: Some(disk.active.clone()),
        is_scheduler_active: Some(is_active),
        differing,
        does_evidence_hold: Some(does_evidence_hold),
        doubts,
        remedies,
    }
}

/// The settings that have another value now.
fn differing(evidence: &Evidence, disk: &DiskFacts) -> BTreeMap<String, Option<String>> {
    let now = evidence.settings.iter().map(|(name, wanted)| {
        let found = disk.settings.get(name);
        let is_so = found.is_some_and(|found| scheduler::is_in_force(name, wanted, found));
        (!is_so).then(|| (name.clone(), found.cloned()))
    });
    now.flatten().collect()
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
    let Some(own) = own_line(survey, kept, disk) else {
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
    (
        format!("{in_force}; nothing was found that sets it after this file"),
        apply(own, kept, disk),
    )
}

/// The line of the file that sets this disk's scheduler.
fn own_line<'a>(survey: &'a Survey, kept: &Lasting, disk: &DiskFacts) -> Option<&'a Rival> {
    let mut own = survey
        .rivals
        .iter()
        .filter(|rival| rival.disk == disk.name && rival.file == kept.file);
    own.next()
}

/// What applies the file to the disk once more.
fn again(facts: &Facts, kept: &Lasting, disk: &DiskFacts) -> String {
    let survey = facts.survey.as_ref().ok();
    match survey.and_then(|survey| own_line(survey, kept, disk)) {
        Some(own) => apply(own, kept, disk),
        None => "look for what sets it, and apply the file again".to_owned(),
    }
}

fn apply(own: &Rival, kept: &Lasting, disk: &DiskFacts) -> String {
    match own.agent {
        Agent::Udev => format!(
            "apply it: udevadm control --reload && udevadm trigger --action=change --sysname-match={}",
            disk.name
        ),
        Agent::Tmpfiles => format!("apply it: systemd-tmpfiles --create {}", kept.file),
        _ => "apply it: tuned-adm verify says what differs".to_owned(),
    }
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
