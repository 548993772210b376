//! Other agents that set the schedulers of the disks: the last to act first, and where was searched. Pure.

use std::collections::BTreeMap;

use super::facts::{DiskFacts, Facts};
use super::{Item, ItemState, is_of, item};
use iosched_host::preflight::rivals::engine::Source;
use iosched_host::preflight::rivals::{Agent, Rival, Survey};

const NAME: &str = "other agents";
const SEARCHED: &str = "searched";
/// So many lines are enough to act upon.
const MOST: usize = 20;
const PAUSE: &str = "disable it while an experiment runs";

pub fn items(facts: &Facts) -> Vec<Item> {
    let mut items: Vec<Item> = match &facts.survey {
        Err(trouble) => vec![item(NAME, ItemState::Unknown, &trouble.what, &trouble.hint)],
        Ok(survey) => surveyed(facts, survey),
    };
    items.extend(facts.writers.iter().map(|writer| {
        let found = format!("process {} {}: {}", writer.pid, writer.name, writer.why);
        item(
            NAME,
            ItemState::Conflict,
            found,
            "stop it while an experiment runs",
        )
    }));
    items
}

fn surveyed(facts: &Facts, survey: &Survey) -> Vec<Item> {
    let mut lines = by_line(survey);
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    let mut items: Vec<Item> = lines
        .iter()
        .map(|same| of_line(facts, survey, same))
        .collect();
    if more > 0 {
        let found = format!("{more} more lines set a scheduler, and act before these");
        items.push(item(NAME, ItemState::Conflict, found, PAUSE));
    }
    if items.is_empty() && facts.writers.is_empty() {
        let found = "found no rule, profile, unit or script that sets the scheduler of these disks";
        let missed = survey.unread.len();
        items.push(if missed == 0 {
            item(NAME, ItemState::Ok, found, "")
        } else {
            let found = format!("{found}, but could not read {missed} of the files");
            item(NAME, ItemState::Unknown, found, "")
        });
    }
    items.extend(searched(survey));
    items.extend(survey.unread.iter().take(MOST).map(|unread| {
        let found = format!("{} was not read: {}", unread.file, unread.why);
        item(
            SEARCHED,
            ItemState::Unknown,
            found,
            "look yourself whether it sets a scheduler",
        )
    }));
    items
}

fn searched(survey: &Survey) -> Vec<Item> {
    let mut items: Vec<Item> = survey
        .sources
        .iter()
        .map(|(what, source)| {
            let found = match source {
                Source::Asked(program) => format!("{what}, as {program} says"),
                Source::Reading(why) => format!("{what}, by iosched's own reading: {why}"),
            };
            item(SEARCHED, ItemState::Ok, found, "")
        })
        .collect();
    let others = "TLP, sysfs.conf, cron and boot scripts, by iosched's own reading";
    let left_out = "programs that are no scripts; scripts that units below /usr start; hosts that manage this one";
    items.push(item(SEARCHED, ItemState::Ok, others, ""));
    items.push(item("not searched", ItemState::Ok, left_out, ""));
    items
}

/// The rivals of one line and value, for all of its disks; the last to act first.
fn by_line(survey: &Survey) -> Vec<Vec<&Rival>> {
    let mut lines: Vec<Vec<&Rival>> = Vec::new();
    let mut places = BTreeMap::new();
    for rival in survey.rivals.iter().rev() {
        let key = (&rival.file, rival.line, &rival.value, rival.is_certain);
        let place = *places.entry(key).or_insert(lines.len());
        if place == lines.len() {
            lines.push(Vec::new());
        }
        lines[place].push(rival);
    }
    lines
}

fn of_line(facts: &Facts, survey: &Survey, same: &[&Rival]) -> Item {
    let rival = same[0];
    let mut names: Vec<&str> = same.iter().map(|rival| &*rival.disk).collect();
    names.sort_unstable();
    names.dedup();
    let names = names.join(", ");
    let place = format!("{}:{}", rival.file, rival.line);
    let disk = facts.disks.iter().find(|disk| disk.name == rival.disk);
    if let Some(value) = rival
        .value
        .as_ref()
        .filter(|_| is_refused(facts, disk, rival))
    {
        let found = format!("{place}: does nothing, this kernel has no {value} for {names}");
        return item(NAME, ItemState::Ok, found, "");
    }
    let what = match (&rival.value, rival.is_certain) {
        (Some(value), true) => format!("sets {value} on {names}"),
        (Some(value), false) => format!("may set {value} on {names}"),
        (None, true) => format!("sets the scheduler of {names}: {}", rival.text),
        (None, false) => format!("may set the scheduler of {names}: {}", rival.text),
    };
    let after = overriding(facts, survey, rival)
        .map(|last| format!("; {}:{} overrides it", last.file, last.line))
        .unwrap_or_default();
    let is_own = facts.kept.iter().any(|kept| kept.file == rival.file);
    if is_own {
        let found = format!("{place}: {what}, a setting of iosched-ab persist{after}");
        return item(NAME, ItemState::Ok, found, "");
    }
    let by = match rival.agent {
        Agent::Tuned => "TuneD ",
        Agent::Tlp => "TLP ",
        _ => "",
    };
    item(
        NAME,
        ItemState::Conflict,
        format!("{place}: {by}{what}{after}"),
        PAUSE,
    )
}

/// The last to set the disk's scheduler, if it acts after this one.
pub fn overriding<'a>(facts: &Facts, survey: &'a Survey, rival: &Rival) -> Option<&'a Rival> {
    let disk = facts.disks.iter().find(|disk| disk.name == rival.disk);
    let sets = |other: &&Rival| {
        other.disk == rival.disk && other.is_certain && !is_refused(facts, disk, other)
    };
    let last = survey.rivals.iter().rev().find(sets)?;
    let place = |wanted: &Rival| {
        survey
            .rivals
            .iter()
            .position(|other| std::ptr::eq(other, wanted) || other == wanted)
    };
    (place(last) > place(rival)).then_some(last)
}

/// Neither in the kernel nor a module that it could load.
pub fn is_refused(facts: &Facts, disk: Option<&DiskFacts>, rival: &Rival) -> bool {
    // Before multi-queue; and what the kernel still takes for mq-deadline.
    const GONE: [&str; 3] = ["noop", "cfq", "anticipatory"];
    const ALIAS: &str = "deadline";
    let (Some(value), Some(disk)) = (&rival.value, disk) else {
        return false;
    };
    let value = value.trim();
    if disk.available.is_empty()
        || disk.available.iter().any(|name| name == value)
        || value == ALIAS
    {
        return false;
    }
    match &facts.modules {
        Some(modules) => !modules.iter().any(|module| is_of(module, value)),
        None => GONE.contains(&value),
    }
}
