//! Whether the device can take these arms, and whether the arms can stand side by side.

use anyhow::Result;

use super::{Report, Severity};
use crate::arm::Arm;
use crate::device::Device;
use crate::failure::Failure;
use crate::scheduler::{self, WBT_LAT_USEC};

pub(super) fn check(device: &Device, arms: &[Arm], report: &mut Report) -> Result<()> {
    let choice = if device.sysfs("queue/scheduler").exists() {
        Some(scheduler::choice(device)?)
    } else {
        None
    };
    let slaves = device.slaves();
    let Some(choice) = choice.filter(|choice| choice.available.len() > 1 || slaves.is_empty())
    else {
        let below = if slaves.is_empty() {
            "name a disk that has one".to_owned()
        } else {
            format!("it stands on {}: name one of those", slaves.join(", "))
        };
        report.add(
            Severity::Refuse,
            format!("{} has no scheduler of its own", device.name),
            below,
        );
        return Ok(());
    };
    for arm in arms {
        if !choice.available.contains(&arm.scheduler) {
            let error = scheduler::unknown_scheduler(device, &arm.scheduler, &choice);
            if let Some(failure) = error.downcast_ref::<Failure>() {
                report.add(Severity::Usage, &failure.what, &failure.hint);
            }
        }
        for note in &arm.notes {
            report.add(Severity::Note, note, "");
        }
    }
    check_wbt(arms, report);
    check_discard(arms, report);
    check_resize(device, arms, report);
    Ok(())
}

/// A written `wbt_lat_usec` stays under every scheduler, so it cannot belong to one arm alone.
fn check_wbt(arms: &[Arm], report: &mut Report) {
    let (with, without): (Vec<&Arm>, Vec<&Arm>) = arms
        .iter()
        .partition(|arm| arm.setting(WBT_LAT_USEC).is_some());
    if with.is_empty() {
        return;
    }
    let labels = |arms: &[&Arm]| {
        let labels: Vec<&str> = arms.iter().map(|arm| &*arm.label).collect();
        labels.join(", ")
    };
    if !without.is_empty() {
        report.add(
            Severity::Refuse,
            format!(
                "{WBT_LAT_USEC} is set by {} and left to the kernel by {}: once written the kernel no longer adapts it, and the others would be measured with it",
                labels(&with),
                labels(&without)
            ),
            format!("give every arm its {WBT_LAT_USEC} (0 is off)"),
        );
    }
    report.add(
        Severity::Warning,
        format!(
            "{WBT_LAT_USEC} will be written: its value is put back, but the kernel no longer adapts it to the scheduler until the disk is removed or the machine restarts"
        ),
        "",
    );
}

/// The kernel refuses the old value after a 0.
fn check_discard(arms: &[Arm], report: &mut Report) {
    const DISCARD_MAX_BYTES: &str = "discard_max_bytes";
    let is_zero = |arm: &&Arm| {
        let value = arm.setting(DISCARD_MAX_BYTES);
        value.is_some_and(|value| value.trim().trim_start_matches('0').is_empty())
    };
    if let Some(arm) = arms.iter().find(is_zero) {
        report.add(
            Severity::Refuse,
            format!(
                "{} sets {DISCARD_MAX_BYTES} to 0, which the kernel does not take back until the disk is removed",
                arm.label
            ),
            "take the smallest value instead: the disk's discard_granularity",
        );
    }
}

fn check_resize(device: &Device, arms: &[Arm], report: &mut Report) {
    if arms
        .iter()
        .any(|arm| arm.scheduler == "none" && arm.setting("nr_requests").is_some())
    {
        report.add(
            Severity::Note,
            format!(
                "nr_requests under none resizes the driver's own queue of {}; it is put back at the end",
                device.name
            ),
            "",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(texts: &[&str]) -> Vec<Arm> {
        texts.iter().map(|text| text.parse().expect(text)).collect()
    }

    #[test]
    fn what_cannot_be_put_back_is_refused() {
        let findings = |text: &str| {
            let mut report = Report::default();
            check_discard(&arms(&[text]), &mut report);
            report.findings.len()
        };
        assert_eq!(findings("none,discard_max_bytes=0"), 1);
        assert_eq!(findings("none,discard_max_bytes=00"), 1);
        assert_eq!(findings("none,discard_max_bytes=4096"), 0);
        assert_eq!(findings("none"), 0);
    }

    #[test]
    fn wbt_belongs_to_all_arms_or_to_none() {
        let severities = |texts: &[&str]| {
            let mut report = Report::default();
            check_wbt(&arms(texts), &mut report);
            report
                .findings
                .iter()
                .map(|f| f.severity)
                .collect::<Vec<_>>()
        };
        assert_eq!(severities(&["none", "bfq"]), []);
        assert_eq!(
            severities(&["none,wbt_lat_usec=0", "bfq,wbt_lat_usec=0"]),
            [Severity::Warning]
        );
        assert_eq!(
            severities(&["none,wbt_lat_usec=0", "bfq"]),
            [Severity::Refuse, Severity::Warning]
        );
    }
}
