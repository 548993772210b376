//! Selects the devices that count an I/O, among devices that are built on each other.

use std::collections::BTreeSet;

use super::{Device, Level, resolve};

/// The lowest ones: a device that is built on others of them (a loop device's file) passes its I/O to those. Device
/// mapper that queues requests itself is the exception: the scheduler is there, and what is below only has clones.
pub(super) fn choose(all: Vec<Device>) -> Level {
    let facts: Vec<Facts> = all
        .iter()
        .map(|device| Facts {
            name: device.name.clone(),
            below: resolve::stands_on(&device.name),
            clones_requests: device.clones_requests(),
            head: device.head(),
        })
        .collect();
    let mut level = Level::default();
    for (device, its) in all.into_iter().zip(&facts) {
        if let Some(why) = why_not(its, &facts) {
            level.notes.push(why);
            continue;
        }
        let path = its.head.as_ref();
        let note = path.map(|head| format!("{} is a path of {head}", its.name));
        level.notes.extend(note);
        level.devices.push(device);
    }
    level
}

struct Facts {
    name: String,
    /// All that it is built on, and itself.
    below: BTreeSet<String>,
    clones_requests: bool,
    /// The multipath disk that this device is a path of.
    head: Option<String>,
}

/// Why the I/O of this device is counted elsewhere.
fn why_not(its: &Facts, all: &[Facts]) -> Option<String> {
    let is_above = |other: &&Facts| other.name != its.name && other.below.contains(&its.name);
    let is_below = |other: &&Facts| other.name != its.name && its.below.contains(&other.name);
    let above = all
        .iter()
        .filter(is_above)
        .find(|other| other.clones_requests);
    if let Some(above) = above {
        return Some(format!(
            "{} is a path of {}, where its requests are scheduled and counted",
            its.name, above.name
        ));
    }
    let below = all.iter().find(is_below).filter(|_| !its.clones_requests)?;
    Some(format!(
        "{} is built on {}, which is shown instead; to see {} itself, name it",
        its.name, below.name, its.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, below: &[&str], clones_requests: bool) -> Facts {
        let names = below.iter().chain([&name]);
        Facts {
            name: name.to_owned(),
            below: names.map(|name| (*name).to_owned()).collect(),
            clones_requests,
            head: None,
        }
    }

    fn chosen(all: &[Facts]) -> Vec<&str> {
        let names = all.iter().filter(|its| why_not(its, all).is_none());
        names.map(|its| &*its.name).collect()
    }

    #[test]
    fn a_file_on_a_disk_is_counted_on_the_disk() {
        let all = [facts("loop0", &["sda"], false), facts("sda", &[], false)];
        assert_eq!(chosen(&all), ["sda"]);
    }

    #[test]
    fn paths_are_counted_where_their_requests_are_scheduled() {
        let all = [
            facts("dm-0", &["sda", "sdb"], true),
            facts("loop0", &["dm-0", "sda", "sdb"], false),
            facts("sda", &[], false),
            facts("sdb", &[], false),
            facts("sdc", &[], false),
        ];
        assert_eq!(chosen(&all), ["dm-0", "sdc"]);
        let why = why_not(&all[2], &all).expect("a reason");
        assert_eq!(
            why,
            "sda is a path of dm-0, where its requests are scheduled and counted"
        );
        assert!(why_not(&all[1], &all).is_some_and(|why| why.contains("is built on dm-0")));
    }
}
