//! Checks that two measurements were made on the same machine and disks. Pure.

use serde::Serialize;
use serde_json::Value;

use crate::analysis::drift::differences;
use crate::types::environment::Environment;
use crate::types::queue::State;
use crate::types::result::{Design, DeviceInfo, ResultFile};

/// Changes since the run began, each with both values. Empty: the run may be resumed.
pub fn changes(then: &ResultFile, environment: &Environment, device: &DeviceInfo) -> Vec<String> {
    let mut changes = Changes::default();
    let (a, b) = (&then.environment, environment);
    changes.see("iosched", &a.iosched_version, &b.iosched_version);
    changes.see("kernel", &a.kernel_release, &b.kernel_release);
    changes.see("kernel build", &a.kernel_version, &b.kernel_version);
    changes.see("CPU", &a.cpu_model, &b.cpu_model);
    changes.see("CPUs", &a.cpus, &b.cpus);
    changes.see("memory", &a.memory_bytes, &b.memory_bytes);
    changes.see("CPU governor", &a.cpu_governor, &b.cpu_governor);
    changes.see("fio", &a.fio_version, &b.fio_version);
    let (a, b) = (by_name(&then.device), by_name(device));
    if a.len() != b.len() {
        changes.see("disks", &names(&a), &names(&b));
        return changes.0;
    }
    for (a, b) in a.iter().zip(&b) {
        changes.of_disk(a, b);
        changes.see("rotational", &a.rotational, &b.rotational);
        changes.see("hardware queues", &a.hardware_queues, &b.hardware_queues);
        // A scratch device is created again for each run, under the next free name.
        if device.scratch.is_none() {
            changes.see("disk", &a.device.name, &b.device.name);
            changes.see("disk number", &a.device.diskseq, &b.device.diskseq);
        }
    }
    changes.see(
        "scratch device",
        &simulated(&then.device),
        &simulated(device),
    );
    changes.0
}

/// Why the ratios of two results cannot be compared. Load and speed of the machine cancel out in a ratio, because both
/// of its parts contain them; the setup itself must be the same.
pub fn incomparable(a: &ResultFile, b: &ResultFile, other_kernel: bool) -> Vec<String> {
    let mut changes = Changes::default();
    let (then, now) = (by_facts(&b.device), by_facts(&a.device));
    changes.see("disks", &then.len(), &now.len());
    if then.len() == now.len() {
        let pairs = then.iter().zip(&now);
        pairs.for_each(|(then, now)| changes.of_disk(then, now));
    }
    changes.see(
        "scratch device",
        &simulated(&b.device),
        &simulated(&a.device),
    );
    if !other_kernel {
        changes.see("kernel", &series(b), &series(a));
    }
    let (then, now) = (&b.environment, &a.environment);
    changes.see("architecture", &then.architecture, &now.architecture);
    changes.see("CPU", &then.cpu_model, &now.cpu_model);
    changes.see("CPUs", &then.cpus, &now.cpus);
    changes.see("fio", &then.fio_version, &now.fio_version);
    changes.of_question(a, b);
    for (then, now) in reference_states(b).into_iter().zip(reference_states(a)) {
        for difference in differences(then, now) {
            changes.put(format!("reference's {difference}"));
        }
    }
    changes.0
}

/// Why two results do not answer the same question, on whatever machine and disk they were measured.
pub fn other_question(a: &ResultFile, b: &ResultFile) -> Vec<String> {
    let mut changes = Changes::default();
    changes.of_question(a, b);
    changes.0
}

/// The state in force under the reference, one per disk.
fn reference_states(result: &ResultFile) -> Vec<&State> {
    let label = &result.design.arms[result.design.reference].label;
    let round = result.rounds.iter().find(|round| round.arm == *label);
    let mut states = round.map_or_else(Vec::new, |round| round.evidence.states());
    states.sort_by_key(|state| (&state.active, &state.settings));
    states
}

/// Sorted by name: neither the order on the command line nor the kernel's order of discovery matters.
fn by_name(device: &DeviceInfo) -> Vec<&DeviceInfo> {
    let mut disks: Vec<&DeviceInfo> = device.disks().iter().collect();
    disks.sort_by_key(|disk| &disk.device.name);
    disks
}

/// Sorted by model, firmware and size, where names mean nothing: on another machine, or after a reboot.
fn by_facts(device: &DeviceInfo) -> Vec<&DeviceInfo> {
    let mut disks: Vec<&DeviceInfo> = device.disks().iter().collect();
    disks.sort_by_key(|disk| (&disk.model, &disk.firmware, disk.size_bytes));
    disks
}

fn names<'a>(disks: &[&'a DeviceInfo]) -> Vec<&'a str> {
    let names = disks.iter().map(|disk| disk.device.name.as_str());
    names.collect()
}

/// `ssd*4+btrfs` for a scratch device.
pub fn simulated(device: &DeviceInfo) -> Option<String> {
    let truth = device.scratch.as_ref()?;
    Some(truth.spec().to_string())
}

/// File system and size of the scratch file; its path does not matter.
fn scratch_file(result: &ResultFile) -> Option<(&str, Option<u64>)> {
    let place = result.workload.scratch_file.as_ref()?;
    Some((&place.file_system, place.size_bytes))
}

/// `6.12` of `6.12.1-arch`.
pub fn series(result: &ResultFile) -> String {
    let release = &result.environment.kernel_release;
    let parts: Vec<&str> = release.splitn(3, ['.', '-']).take(2).collect();
    parts.join(".")
}

/// A value for people.
fn shown(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::Null) | Err(_) => "none".to_owned(),
        Ok(Value::String(text)) => text,
        Ok(Value::Array(values)) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Ok(other) => other.to_string(),
    }
}

#[derive(Default)]
struct Changes(Vec<String>);

impl Changes {
    fn see<T: PartialEq + Serialize>(&mut self, what: &str, then: &T, now: &T) {
        if then != now {
            self.put(format!("{what}: {} -> {}", shown(then), shown(now)));
        }
    }

    fn of_disk(&mut self, then: &DeviceInfo, now: &DeviceInfo) {
        self.see("model", &then.model, &now.model);
        self.see("firmware", &then.firmware, &now.firmware);
        self.see("size", &then.size_bytes, &now.size_bytes);
    }

    /// What was asked of `b`, and of `a`.
    fn of_question(&mut self, a: &ResultFile, b: &ResultFile) {
        self.see("scratch file", &scratch_file(b), &scratch_file(a));
        if a.workload.description != b.workload.description {
            self.put("another workload".to_owned());
        }
        let (then, now) = (&b.design, &a.design);
        let auto = |design: &Design| design.auto_times.unwrap_or_default();
        if !(auto(then).ramp && auto(now).ramp) {
            self.see("ramp", &then.ramp_s, &now.ramp_s);
        }
        // A pilot may choose otherwise each time; what is rare shows in much longer rounds only.
        let is_near = (0.5..=2.0).contains(&(now.round_time_s / then.round_time_s));
        if !(auto(then).round_time && auto(now).round_time && is_near) {
            self.see("round time", &then.round_time_s, &now.round_time_s);
        }
        self.see("dropped caches", &then.cold, &now.cold);
        let reference = |design: &Design| {
            let arm = &design.arms[design.reference];
            let settings = arm
                .settings
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            [arm.scheduler.clone()]
                .into_iter()
                .chain(settings)
                .collect::<Vec<String>>()
        };
        self.see("reference", &reference(then), &reference(now));
        self.see(
            "probe measures Q2G",
            &b.probe.measures_q2g,
            &a.probe.measures_q2g,
        );
    }

    /// A change that several disks share is listed once.
    fn put(&mut self, change: String) {
        if !self.0.contains(&change) {
            self.0.push(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{empty, play, values};
    use crate::statistics::stopping::Stopping;
    use crate::types::result::GroupInfo;
    use crate::types::scratch_place::ScratchPlace;

    #[test]
    fn ratios_are_compared_of_the_same_parts() {
        let a = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
        let mut b = a.clone();
        b.environment.kernel_release = "6.12.77-other".into();
        b.environment.memory_bytes = None;
        b.design.arms[1].settings = vec![("nr_requests".into(), "2".into())];
        assert_eq!(
            incomparable(&a, &b, false),
            [""; 0],
            "the treatment may differ"
        );
        b.environment.kernel_release = "6.11.9".into();
        assert_eq!(incomparable(&a, &b, true), [""; 0]);
        let place = |directory: &str, file_system: &str| ScratchPlace {
            directory: directory.into(),
            file_system: file_system.into(),
            size_bytes: Some(1 << 30),
        };
        let mut a = a;
        a.workload.scratch_file = Some(place("/srv/a", "ext4"));
        b.workload.scratch_file = Some(place("/srv/b", "ext4"));
        assert_eq!(incomparable(&a, &b, true), [""; 0]);
        b.workload.scratch_file = Some(place("/srv/a", "xfs"));
        b.design.arms[0].settings = vec![("nr_requests".into(), "2".into())];
        b.workload.description = serde_json::Value::Null;
        let (mut a, mut b) = (a, b);
        for result in [&mut a, &mut b] {
            play(result, |turn| Ok(values(turn, &[("throughput", 1.0)])));
        }
        for round in &mut b.rounds {
            let settings = &mut round.evidence.applied.effective.settings;
            settings.insert("nr_requests".into(), "2".into());
        }
        let found = incomparable(&a, &b, false).join("; ");
        for what in [
            "kernel: 6.11 -> 6.12",
            "another workload",
            "scratch file: xfs, 1073741824 -> ext4, 1073741824",
            "reference: none, nr_requests=2 -> none",
        ] {
            assert!(found.contains(what), "{what}: {found}");
        }
    }

    /// One disk per letter: all are of the same model, except `c`.
    fn group(letters: &str) -> DeviceInfo {
        let one = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]).device;
        let member = |letter: char| {
            let mut member = one.clone();
            member.device.name = format!("sd{letter}");
            member.device.diskseq = Some(u64::from(letter));
            if letter == 'c' {
                member.model = Some("Another disk".into());
            }
            member
        };
        let group = GroupInfo {
            named: vec!["md0".into()],
            layers: "one above the other".into(),
            members: letters.chars().map(member).collect(),
        };
        DeviceInfo {
            group: Some(group),
            ..member('a')
        }
    }

    #[test]
    fn a_group_is_the_same_in_any_order_and_another_with_any_other_disk() {
        let mut then = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
        then.device = group("abc");
        let changes = |now: &DeviceInfo| changes(&then, &then.environment, now);
        assert_eq!(changes(&group("cab")), [""; 0]);
        let found = changes(&group("abd")).join("; ");
        for what in ["Another disk", "disk: sdc -> sdd", "disk number"] {
            assert!(found.contains(what), "{what}: {found}");
        }
        let found = changes(&group("ab"));
        assert_eq!(found, ["disks: sda, sdb, sdc -> sda, sdb"]);
        let mut changed = group("abc");
        let last = changed.group.as_mut().unwrap().members.last_mut().unwrap();
        last.device.diskseq = Some(1);
        assert_eq!(changes(&changed), ["disk number: 99 -> 1"]);

        // On another machine or at another time names mean nothing.
        let incomparable = |letters| {
            let mut now = then.clone();
            now.device = group(letters);
            super::incomparable(&now, &then, false)
        };
        assert_eq!(incomparable("cba"), [""; 0]);
        assert_eq!(incomparable("cxy"), [""; 0]);
        assert_eq!(incomparable("abd").len(), 1, "another model");
        assert_eq!(incomparable("ac"), ["disks: 3 -> 2"]);
    }

    #[test]
    fn any_change_is_named_with_both_values() {
        let then = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
        let (mut environment, mut device) = (then.environment.clone(), then.device.clone());
        assert_eq!(changes(&then, &environment, &device), [""; 0]);
        environment.kernel_release = "6.13.0".into();
        device.size_bytes = Some(5);
        device.device.diskseq = Some(10);
        assert_eq!(
            changes(&then, &environment, &device),
            [
                "kernel: 6.12.1-test -> 6.13.0",
                "size: 1099511627776 -> 5",
                "disk number: 9 -> 10"
            ]
        );
    }
}
