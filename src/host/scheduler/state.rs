//! Reads the state of a device's queue. Lists the writable attributes, so no attribute name is hard-coded here.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::value::selected;
use crate::system::device::{Device, names_in};
use iosched_result::failure::Failure;
use iosched_result::types::queue::State;

/// The active scheduler and what the kernel offers for this device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub active: String,
    pub available: Vec<String>,
}

impl Choice {
    /// Another scheduler to switch through; preferably `none`, which costs least.
    pub(super) fn other_than(&self, target: &str) -> Option<&str> {
        let mut others = self.available.iter().filter(|name| *name != target);
        let first = others.clone().next();
        others
            .find(|name| *name == super::NONE)
            .or(first)
            .map(String::as_str)
    }
}

/// The current state of a device's queue.
pub fn read(device: &Device) -> Result<State> {
    let Choice { active, available } = choice(device)?;
    Ok(State {
        active,
        available,
        settings: settings(device)?,
        hardware_depth: device.hardware_depth(),
    })
}

/// Parses `queue/scheduler`. Fails for a device without that file.
pub fn choice(device: &Device) -> Result<Choice> {
    let path = device.sysfs("queue/scheduler");
    if !path.exists() && device.is_present() {
        return Err(Failure::refused(
            format!("{} has no scheduler", device.name),
            "it passes its I/O to other devices: name a disk below it",
        ));
    }
    let text = device.attribute("queue/scheduler")?;
    parse_choice(&text).with_context(|| format!("{} holds {text:?}", path.display()))
}

/// Parses `none [mq-deadline] kyber`. A queue without a choice may print only `none`.
pub(crate) fn parse_choice(text: &str) -> Option<Choice> {
    let available: Vec<String> = text
        .split_whitespace()
        .map(|name| name.trim_matches(['[', ']']).to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let active = match (selected(text), available.as_slice()) {
        (Some(active), _) => active.to_owned(),
        (None, [only]) => only.clone(),
        (None, _) => return None,
    };
    // Rejects brackets that are empty or do not contain a name.
    available
        .contains(&active)
        .then_some(Choice { active, available })
}

/// Values by path below `queue/`. Unreadable attributes have none, for example writeback throttling that was never set
/// up.
pub(super) fn settings(device: &Device) -> Result<BTreeMap<String, String>> {
    let queue = device.sysfs("queue");
    Ok(attributes(device)?
        .into_iter()
        .filter_map(|name| {
            let value = fs::read_to_string(queue.join(&name)).ok()?;
            Some((name, value.trim().to_owned()))
        })
        .collect())
}

/// Paths below `queue/` of all readable and writable attributes, except the scheduler itself. A write-only file (reset,
/// flush) triggers an action and is not a setting.
pub(super) fn attributes(device: &Device) -> Result<Vec<String>> {
    let queue = device.sysfs("queue");
    let mut found = settable_in(&queue, "")?;
    found.extend(settable_in(&queue.join("iosched"), "iosched/")?);
    found.retain(|name| name != "scheduler");
    Ok(found)
}

fn settable_in(directory: &Path, prefix: &str) -> Result<Vec<String>> {
    let is_settable = |name: &String| {
        fs::symlink_metadata(directory.join(name)).is_ok_and(|metadata| {
            let mode = metadata.permissions().mode();
            metadata.is_file() && mode & 0o222 != 0 && mode & 0o444 != 0
        })
    };
    Ok(names_in(directory)?
        .into_iter()
        .filter(is_settable)
        .map(|name| format!("{prefix}{name}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice_of(text: &str) -> Option<(String, Vec<String>)> {
        parse_choice(text).map(|choice| (choice.active, choice.available))
    }

    #[test]
    fn the_brackets_decide_not_the_order() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            choice_of("[mq-deadline] bfq kyber none\n"),
            Some((
                "mq-deadline".into(),
                names(&["mq-deadline", "bfq", "kyber", "none"])
            ))
        );
        assert_eq!(
            choice_of("none mq-deadline [adios] "),
            Some(("adios".into(), names(&["none", "mq-deadline", "adios"])))
        );
        assert_eq!(choice_of("none\n"), Some(("none".into(), names(&["none"]))));
        for text in ["none kyber", "[]", "[[", "none [ky ber]"] {
            assert_eq!(choice_of(text), None, "{text}");
        }
        assert_eq!(choice_of(""), None);
    }

    #[test]
    fn the_way_round_goes_through_none_where_it_can() {
        let choice = |text| parse_choice(text).expect(text);
        let three = choice("[mq-deadline] kyber none");
        assert_eq!(three.other_than("mq-deadline"), Some("none"));
        assert_eq!(three.other_than("none"), Some("mq-deadline"));
        assert_eq!(choice("[none]").other_than("none"), None);
    }
}
