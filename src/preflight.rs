//! What must hold before anything is touched. Every check runs and every finding is shown at once; nothing here changes
//! the machine. The rules for data: a raw device is written only on its owner's word, and never while anything uses it.

mod arms; // whether the device takes them, and they stand side by side
mod hold; // a disk that may be overwritten
mod in_use; // who uses a disk
mod lock; // one comparison on a disk at a time
mod machine; // clock, frequency, heat, load
mod signatures; // what lies on a disk
mod zoned; // disks that must be written in order

use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhow::Result;
use rustix::fs::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::device::{Device, Disks, mounts};
use crate::doctor::{rivals, writers};
use crate::failure::{Failure, Kind};

pub use hold::Hold;
pub use lock::lock;

/// What is going to be done to a device. Reads through the raw node and files on a mounted file system are not raw writes.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    pub arms: &'a [Arm],
    pub writes_raw_device: bool,
    /// The owner agrees to a change of scheduler under a mounted file system.
    pub allow_mounted: bool,
    /// The owner agrees to lose what is on the device.
    pub destroy_data: bool,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Note,
    Warning,
    /// Must not be done.
    Refuse,
    /// Cannot be done: the command line names what does not exist.
    Usage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub severity: Severity,
    /// What was found, and on what.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.hint.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.hint)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub findings: Vec<Finding>,
}

impl Report {
    /// What is true of several disks alike is said once.
    fn add(&mut self, severity: Severity, what: impl Into<String>, hint: impl Into<String>) {
        let finding = Finding {
            severity,
            what: what.into(),
            hint: hint.into(),
        };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// A check made elsewhere joins the others; an error that names no remedy is one of ours.
    pub fn add_failure_of(&mut self, checked: Result<()>) -> Result<()> {
        let Err(error) = checked else {
            return Ok(());
        };
        let failure = error.downcast::<Failure>()?;
        let severity = match failure.kind {
            Kind::Usage => Severity::Usage,
            _ => Severity::Refuse,
        };
        self.add(severity, failure.what, failure.hint);
        Ok(())
    }

    fn stops(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity >= Severity::Refuse)
    }

    /// The findings that do not stop anything, or one failure with all that do: a usage failure if the command line is
    /// wrong in any of them.
    pub fn into_result(self) -> Result<Vec<Finding>> {
        let stops: Vec<&Finding> = self.stops().collect();
        let Some(worst) = stops.iter().map(|finding| finding.severity).max() else {
            return Ok(self.findings);
        };
        let join = |lines: Vec<&str>, separator| {
            let mut kept: Vec<&str> = Vec::new();
            for line in lines {
                if !line.is_empty() && !kept.contains(&line) {
                    kept.push(line);
                }
            }
            kept.join(separator)
        };
        let what = join(stops.iter().map(|finding| &*finding.what).collect(), "\n");
        let hint = join(stops.iter().map(|finding| &*finding.hint).collect(), "\n  ");
        Err(if worst == Severity::Usage {
            Failure::usage(what, hint)
        } else {
            Failure::refused(what, hint)
        })
    }
}

/// Everything that speaks against carrying out the intent on this device.
pub fn check(device: &Device, intent: &Intent) -> Result<Report> {
    check_all(&Disks::from(device.clone()), intent)
}

/// The same of disks that are switched together.
pub fn check_all(disks: &Disks, intent: &Intent) -> Result<Report> {
    let mut report = Report::default();
    // Of each device the writes that go to itself.
    let intent_on = |device: &Device| Intent {
        writes_raw_device: intent.writes_raw_device && disks.targets.contains(device),
        ..*intent
    };
    for device in &disks.stack {
        check_node(device, &intent_on(device), &mut report);
    }
    for member in &disks.members {
        arms::check(member, intent.arms, &mut report)?;
        zoned::check(member, &intent_on(member), &mut report);
    }
    let mounts = mounts::read()?;
    for device in &disks.stack {
        let uses = in_use::all(device, &disks.stack, &mounts);
        check_use(device, uses, &intent_on(device), &mut report);
    }
    if intent.writes_raw_device && disks.targets.len() > 1 {
        report.add(
            Severity::Refuse,
            format!(
                "the workload would overwrite several disks: {}",
                disks.name()
            ),
            "name one, or the array over them",
        );
    }
    check_rivals(&mut report);
    machine::check(&mut report);
    Ok(report)
}

fn check_node(device: &Device, intent: &Intent, report: &mut Report) {
    let node = device.node();
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        report.add(
            Severity::Refuse,
            "only root can change a scheduler",
            "run it with sudo",
        );
    }
    let is_block = fs::metadata(&node).is_ok_and(|metadata| {
        metadata.file_type().is_block_device()
            && metadata.rdev() == rustix::fs::makedev(device.major, device.minor)
    });
    if !is_block {
        report.add(
            Severity::Refuse,
            format!(
                "{} is not the block device {}:{}",
                node.display(),
                device.major,
                device.minor
            ),
            "mount devtmpfs on /dev, or name a disk that has its node there",
        );
    }
    let scheduler = device.sysfs("queue/scheduler");
    if is_root && scheduler.exists() && rustix::fs::access(&scheduler, Access::WRITE_OK).is_err() {
        report.add(
            Severity::Refuse,
            format!("{} cannot be written", scheduler.display()),
            "sysfs is mounted read-only here, as in most containers: run it on the host",
        );
    }
    let read_only = device.optional_attribute("ro").as_deref() == Some("1");
    if read_only && intent.writes_raw_device {
        report.add(
            Severity::Refuse,
            format!("{} is read-only", device.name),
            "take a workload that only reads",
        );
    }
    if device.size_bytes().unwrap_or(0) == 0 {
        report.add(
            Severity::Refuse,
            format!("{} has no medium", device.name),
            "name a disk with a size",
        );
    }
}

fn check_use(device: &Device, uses: Vec<String>, intent: &Intent, report: &mut Report) {
    if intent.writes_raw_device {
        for used in uses {
            report.add(
                Severity::Refuse,
                format!("{used}: it must not be written"),
                "name a disk that nothing uses",
            );
        }
        check_destruction(device, intent, report);
    } else if intent.allow_mounted {
        for used in uses {
            report.add(
                Severity::Warning,
                used,
                "what runs on it feels each change of scheduler, and disturbs the measurement",
            );
        }
    } else {
        for used in uses {
            report.add(Severity::Refuse, used, "name a disk that nothing uses, or say --allow-mounted: all that runs on it feels each change of scheduler");
        }
    }
}

fn check_destruction(device: &Device, intent: &Intent, report: &mut Report) {
    if !intent.destroy_data {
        report.add(
            Severity::Refuse,
            format!("the workload overwrites {}", device.name),
            "run it in a file: --scratch DIR on a file system of the disk, or its mount point as the device; or on a device \
             of our own, scratch:ssd; or say --destroy-data if all data on the disk may be lost",
        );
        return;
    }
    let partitions: Vec<String> = device
        .partitions()
        .into_iter()
        .map(|part| part.name)
        .collect();
    match signatures::found(device) {
        Ok(found) => {
            for what in found {
                report.add(Severity::Warning, what, "it will be lost");
            }
        }
        // Nothing found and nothing known are two things.
        Err(error) => report.add(
            Severity::Warning,
            format!(
                "nothing is known of what lies on {}: {error:#}",
                device.name
            ),
            "look for yourself, it will be lost; `wipefs` comes with util-linux",
        ),
    }
    if !partitions.is_empty() {
        report.add(
            Severity::Warning,
            format!("{} has partitions: {}", device.name, partitions.join(", ")),
            "all of them will be lost",
        );
    }
}

fn check_rivals(report: &mut Report) {
    for rival in rivals::find(Path::new("/")) {
        report.add(
            Severity::Note,
            format!("{}:{} sets schedulers", rival.file, rival.line),
            "udev is held off while a run lasts; another program that sets a scheduler meanwhile ends it",
        );
    }
    for writer in writers::find(Path::new("/proc")) {
        report.add(
            Severity::Warning,
            format!("process {} {}: {}", writer.pid, writer.name, writer.why),
            "stop it while this lasts: two that switch a disk at the same moment can crash the kernel",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::kind_of;

    #[test]
    fn all_refusals_are_joined_and_warnings_pass() {
        let mut report = Report::default();
        report.add(Severity::Warning, "w", "");
        assert_eq!(
            report.clone().into_result().expect("only a warning").len(),
            1
        );
        report.add(Severity::Refuse, "sda1 is mounted on /a", "name another");
        report.add(Severity::Refuse, "sda2 is mounted on /b", "name another");
        let error = report.clone().into_result().expect_err("refused");
        assert_eq!(kind_of(&error), Kind::Refused);
        assert_eq!(
            error.to_string(),
            "sda1 is mounted on /a\nsda2 is mounted on /b\n  name another"
        );
        report.add(Severity::Usage, "no scheduler x", "");
        let error = report.into_result().expect_err("usage");
        assert_eq!(kind_of(&error), Kind::Usage);
    }
}
