//! Whether two measurements were made on the same thing. Pure.

use super::round::differences;
use crate::environment::Environment;
use crate::report::result::{Design, DeviceInfo, ResultFile};
use crate::scheduler::State;

/// What has changed since a run began, each with both values. Empty: it may go on.
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
    let (a, b) = (&then.device, device);
    changes.see("model", &a.model, &b.model);
    changes.see("firmware", &a.firmware, &b.firmware);
    changes.see("size", &a.size_bytes, &b.size_bytes);
    changes.see("rotational", &a.rotational, &b.rotational);
    changes.see("hardware queues", &a.hardware_queues, &b.hardware_queues);
    let model = |device: &DeviceInfo| device.scratch.as_ref().map(|truth| truth.model);
    changes.see("scratch device", &model(a), &model(b));
    // A scratch device is made anew, under the next name that is free.
    if b.scratch.is_none() {
        changes.see("disk", &a.device.name, &b.device.name);
        changes.see("disk number", &a.device.diskseq, &b.device.diskseq);
    }
    changes.0
}

/// Why the ratios of two results cannot be compared. How busy or fast the machine was is in both parts of a ratio;
/// what the parts are must be the same.
pub fn incomparable(a: &ResultFile, b: &ResultFile, other_kernel: bool) -> Vec<String> {
    let mut changes = Changes::default();
    changes.see("model", &b.device.model, &a.device.model);
    changes.see("firmware", &b.device.firmware, &a.device.firmware);
    changes.see("size", &b.device.size_bytes, &a.device.size_bytes);
    let scratch = |result: &ResultFile| result.device.scratch.as_ref().map(|truth| truth.model);
    changes.see("scratch device", &scratch(b), &scratch(a));
    changes.see("scratch file", &scratch_file(b), &scratch_file(a));
    if !other_kernel {
        changes.see("kernel", &series(b), &series(a));
    }
    let (then, now) = (&b.environment, &a.environment);
    changes.see("architecture", &then.architecture, &now.architecture);
    changes.see("CPU", &then.cpu_model, &now.cpu_model);
    changes.see("CPUs", &then.cpus, &now.cpus);
    changes.see("fio", &then.fio_version, &now.fio_version);
    if a.workload.description != b.workload.description {
        changes.0.push("another workload".to_owned());
    }
    let (then, now) = (&b.design, &a.design);
    changes.see("ramp", &then.ramp_s, &now.ramp_s);
    changes.see("round time", &then.round_time_s, &now.round_time_s);
    let reference = |design: &Design| {
        let arm = &design.arms[design.reference];
        (arm.scheduler.clone(), arm.settings.clone())
    };
    changes.see("reference", &reference(then), &reference(now));
    if let (Some(then), Some(now)) = (reference_state(b), reference_state(a)) {
        let settings = differences(then, now).into_iter();
        changes
            .0
            .extend(settings.map(|text| format!("reference's {text}")));
    }
    changes.see(
        "probe measures Q2G",
        &b.probe.measures_q2g,
        &a.probe.measures_q2g,
    );
    changes.0
}

/// What was in force for the reference.
fn reference_state(result: &ResultFile) -> Option<&State> {
    let label = &result.design.arms[result.design.reference].label;
    let round = result.rounds.iter().find(|round| round.arm == *label)?;
    Some(&round.evidence.applied.effective)
}

/// What it is; where it lies is the user's affair.
fn scratch_file(result: &ResultFile) -> Option<(&str, Option<u64>)> {
    let place = result.workload.scratch_file.as_ref()?;
    Some((&place.file_system, place.size_bytes))
}

/// `6.12` of `6.12.1-arch`.
fn series(result: &ResultFile) -> String {
    let release = &result.environment.kernel_release;
    let parts: Vec<&str> = release.splitn(3, ['.', '-']).take(2).collect();
    parts.join(".")
}

#[derive(Default)]
struct Changes(Vec<String>);

impl Changes {
    fn see<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, then: &T, now: &T) {
        if then != now {
            self.0.push(format!("{what}: {then:?} -> {now:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::stopping::Stopping;
    use crate::report::fixture::{carry_out, empty, values};
    use crate::scratch_file::Place;

    #[test]
    fn ratios_are_compared_of_the_same_parts() {
        let a = empty(&["none", "bfq"], Stopping::Looks, &["throughput"]);
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
        let place = |directory: &str, file_system: &str| Place {
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
            carry_out(result, |turn| Ok(values(turn, &[("throughput", 1.0)])));
        }
        for round in &mut b.rounds {
            let settings = &mut round.evidence.applied.effective.settings;
            settings.insert("nr_requests".into(), "2".into());
        }
        let found = incomparable(&a, &b, false).join("; ");
        for what in [
            r#"kernel: "6.11" -> "6.12""#,
            "another workload",
            r#"scratch file: Some(("xfs""#,
            "reference: ",
        ] {
            assert!(found.contains(what), "{what}: {found}");
        }
    }

    #[test]
    fn any_change_is_named_with_both_values() {
        let then = empty(&["none", "bfq"], Stopping::Looks, &["throughput"]);
        let (mut environment, mut device) = (then.environment.clone(), then.device.clone());
        assert_eq!(changes(&then, &environment, &device), [""; 0]);
        environment.kernel_release = "6.13.0".into();
        device.size_bytes = Some(5);
        device.device.diskseq = Some(10);
        assert_eq!(
            changes(&then, &environment, &device),
            [
                r#"kernel: "6.12.1-test" -> "6.13.0""#,
                "size: Some(1099511627776) -> Some(5)",
                "disk number: Some(9) -> Some(10)"
            ]
        );
    }
}
