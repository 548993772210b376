//! Checks that the device supports these arms, and that the arms do not affect each other.

use anyhow::Result;

use super::{Findings, Severity};
use crate::scheduler::{self, WBT_LAT_USEC};
use crate::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;

pub(super) fn check(device: &Device, arms: &[Arm], findings: &mut Findings) -> Result<()> {
    let choice = if device.sysfs("queue/scheduler").exists() {
        Some(scheduler::choice(device)?)
    } else {
        None
    };
    let slaves = device.slaves();
    let Some(choice) = choice.filter(|choice| choice.available.len() > 1 || slaves.is_empty())
    else {
        let below = if slaves.is_empty() {
            "name a disk with a scheduler".to_owned()
        } else {
            format!("it is built on {}: name one of those", slaves.join(", "))
        };
        findings.add(
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
                findings.add(Severity::Usage, &failure.what, &failure.hint);
            }
        }
        if choice.available.contains(&arm.scheduler) {
            check_settings(device, arm, findings)?;
        }
        for note in &arm.notes {
            findings.add(Severity::Note, note, "");
        }
    }
    check_wbt(arms, findings);
    check_discard(arms, findings);
    check_resize(device, arms, findings);
    Ok(())
}

fn check_settings(device: &Device, arm: &Arm, findings: &mut Findings) -> Result<()> {
    for doubt in scheduler::doubts(device, arm)? {
        let severity = if doubt.is_certain {
            Severity::Usage
        } else {
            Severity::Warning
        };
        findings.add(severity, doubt.what, doubt.hint);
    }
    Ok(())
}

/// A written `wbt_lat_usec` stays in force under every scheduler, so it cannot belong to one arm alone.
fn check_wbt(arms: &[Arm], findings: &mut Findings) {
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
        findings.add(
            Severity::Refuse,
            format!(
                "{WBT_LAT_USEC} is set by {} and left to the kernel by {}: once it is written, the kernel no longer adapts it, and the other arms would be measured with it too",
                labels(&with),
                labels(&without)
            ),
            format!("set {WBT_LAT_USEC} in every arm (0 disables it)"),
        );
    }
    findings.add(
        Severity::Warning,
        format!(
            "{WBT_LAT_USEC} will be written: its value is restored, but the kernel no longer adapts it to the scheduler until the disk is removed or the machine restarts"
        ),
        "",
    );
}

/// After a 0 the kernel rejects the old value.
fn check_discard(arms: &[Arm], findings: &mut Findings) {
    const DISCARD_MAX_BYTES: &str = "discard_max_bytes";
    let is_zero = |arm: &&Arm| {
        let value = arm.setting(DISCARD_MAX_BYTES);
        value.is_some_and(|value| value.trim().trim_start_matches('0').is_empty())
    };
    if let Some(arm) = arms.iter().find(is_zero) {
        findings.add(
            Severity::Refuse,
            format!(
                "{} sets {DISCARD_MAX_BYTES} to 0, which cannot be undone until the disk is removed",
                arm.label
            ),
            "use the smallest other value: the disk's discard_granularity",
        );
    }
}

fn check_resize(device: &Device, arms: &[Arm], findings: &mut Findings) {
    if arms
        .iter()
        .any(|arm| arm.scheduler == "none" && arm.setting("nr_requests").is_some())
    {
        findings.add(
            Severity::Note,
            format!(
                "nr_requests under none limits the driver tags of {}; it is restored at the end",
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
            let mut findings = Findings::default();
            check_discard(&arms(&[text]), &mut findings);
            findings.findings.len()
        };
        assert_eq!(findings("none,discard_max_bytes=0"), 1);
        assert_eq!(findings("none,discard_max_bytes=00"), 1);
        assert_eq!(findings("none,discard_max_bytes=4096"), 0);
        assert_eq!(findings("none"), 0);
    }

    #[test]
    fn wbt_belongs_to_all_arms_or_to_none() {
        let severities = |texts: &[&str]| {
            let mut findings = Findings::default();
            check_wbt(&arms(texts), &mut findings);
            findings
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
