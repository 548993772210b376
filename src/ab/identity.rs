//! Whether two measurements were made on the same thing. Pure.

use crate::environment::Environment;
use crate::report::result::{DeviceInfo, ResultFile};

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

#[derive(Default)]
pub(super) struct Changes(pub(super) Vec<String>);

impl Changes {
    pub(super) fn see<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, then: &T, now: &T) {
        if then != now {
            self.0.push(format!("{what}: {then:?} -> {now:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::stopping::Stopping;
    use crate::report::fixture::empty;

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
