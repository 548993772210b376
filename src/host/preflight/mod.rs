//! Checks before anything is changed. Every check runs and all findings are reported together; nothing here changes the
//! machine. A raw device is written only with its owner's consent, and never while anything uses it.

mod arms; // whether the device supports the arms, and they do not affect each other
mod conditions; // clock, frequency, heat, load
mod elsewhere; // settings of arms that are not in a disk's queue
mod hold; // keeps open a disk that may be overwritten
mod in_use; // users of a disk
mod lock; // one comparison on a disk at a time
pub mod rivals; // configuration files that set schedulers
mod signatures; // file systems and partition tables on a disk
pub mod writers; // running programs that set schedulers
mod zoned; // zoned disks

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhow::Result;
use rustix::fs::Access;
use serde::{Deserialize, Serialize};

use crate::system::device::{Device, Disks, RawTarget, mounts};
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::types::arm::Arm;

pub use hold::Hold;
pub use lock::{lock, lock_elsewhere};

/// Intended changes to a device. Reads through the raw node, and files on a mounted file system, are not raw writes.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    pub arms: &'a [Arm],
    pub writes_raw_device: bool,
    /// The owner consents to a change of scheduler under a mounted file system.
    pub allow_mounted: bool,
    pub loss: Loss,
}

/// The owner's answer to the loss of all data on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Refused,
    Accepted,
    /// iosched made the devices for this run: they may even be overwritten together.
    OfNothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Note,
    Warning,
    /// Not allowed.
    Refuse,
    /// Impossible: the command line names something that does not exist.
    Usage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    pub severity: Severity,
    /// The fact that was found, and its object.
    pub what: String,
    /// Advice on what to do about it.
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    pub findings: Vec<Finding>,
}

impl Findings {
    /// A finding that several disks share is reported once.
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

    /// Adds the failure of another check; an error without a remedy is passed on.
    pub fn add_failure_of(&mut self, checked: Result<()>) -> Result<()> {
        let Err(error) = checked else {
            return Ok(());
        };
        if let Kind::Interrupted(_) = kind_of(&error) {
            return Err(error);
        }
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

    /// The findings that allow the run, or one failure that joins those that forbid it: a usage failure if the command
    /// line is wrong in any of them.
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

/// Checks whether the intent may be carried out on this device.
pub fn check(device: &Device, intent: &Intent) -> Result<Findings> {
    check_all(&Disks::from(device.clone()), intent)
}

/// The same for disks that are switched together.
pub fn check_all(disks: &Disks, intent: &Intent) -> Result<Findings> {
    let mut findings = Findings::default();
    // Targets on this device that are written raw.
    let written_on = |device: &Device| {
        let its = move |target: &&RawTarget| intent.writes_raw_device && target.disk == *device;
        disks.targets.iter().filter(its).collect::<Vec<_>>()
    };
    for device in &disks.stack {
        check_node(device, &mut findings);
        for target in written_on(device) {
            check_writable(target, &mut findings);
        }
    }
    for member in &disks.members {
        arms::check(member, intent.arms, &mut findings)?;
        let is_written = !written_on(member).is_empty();
        zoned::check(member, intent.arms, is_written, &mut findings);
    }
    elsewhere::check(&disks.members, intent.arms, &mut findings)?;
    let mounts = mounts::read()?;
    for device in &disks.stack {
        let uses = in_use::all(device, &disks.stack, &mounts);
        let targets = written_on(device);
        let of_written: Vec<String> = targets
            .iter()
            .flat_map(|target| in_use::uses(target, &disks.stack, &mounts))
            .collect();
        check_use(uses, &of_written, intent, &mut findings);
        for target in targets {
            check_destruction(target, intent, &mut findings);
        }
    }
    if intent.writes_raw_device && disks.targets.len() > 1 && intent.loss != Loss::OfNothing {
        findings.add(
            Severity::Refuse,
            format!(
                "the workload would overwrite several disks: {}",
                disks.name()
            ),
            "name one disk, or the array built on them",
        );
    }
    check_rivals(disks, &mut findings)?;
    conditions::check(&mut findings);
    Ok(findings)
}

fn check_node(device: &Device, findings: &mut Findings) {
    let node = device.node();
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        findings.add(
            Severity::Refuse,
            "only root can change a scheduler",
            "run it with sudo",
        );
    }
    let is_block = fs::metadata(&node).is_ok_and(|metadata| {
        metadata.file_type().is_block_device()
            && metadata.rdev() == rustix::fs::makedev(device.major, device.minor)
    });
    // A path of a multipath disk has none; I/O goes to the disk.
    if !is_block && device.head().is_none() {
        findings.add(
            Severity::Refuse,
            format!(
                "{} is not the block device {}:{}",
                node.display(),
                device.major,
                device.minor
            ),
            "mount devtmpfs on /dev, or name a disk with a device node there",
        );
    }
    let scheduler = device.sysfs("queue/scheduler");
    if is_root && scheduler.exists() && rustix::fs::access(&scheduler, Access::WRITE_OK).is_err() {
        findings.add(
            Severity::Refuse,
            format!("{} is not writable", scheduler.display()),
            "sysfs is mounted read-only here, as in most containers: run iosched on the host",
        );
    }
    if device.size_bytes().unwrap_or(0) == 0 {
        findings.add(
            Severity::Refuse,
            format!("{} has no medium", device.name),
            "name another disk",
        );
    }
}

fn check_writable(target: &RawTarget, findings: &mut Findings) {
    if target.is_read_only() {
        findings.add(
            Severity::Refuse,
            format!("{} is read-only", target.name()),
            "use a workload that only reads",
        );
    }
}

/// `uses`: of a disk that is switched. `of_written`: of what is overwritten, which may be a partition of it.
fn check_use(
    mut uses: Vec<String>,
    of_written: &[String],
    intent: &Intent,
    findings: &mut Findings,
) {
    for used in of_written {
        findings.add(
            Severity::Refuse,
            format!("{used}: it must not be written"),
            "name a disk that nothing uses",
        );
    }
    uses.retain(|used| !of_written.contains(used));
    if intent.loss == Loss::OfNothing {
        // iosched mounted it itself.
    } else if intent.allow_mounted {
        for used in uses {
            findings.add(
                Severity::Warning,
                used,
                "programs that use it are affected by each change of scheduler, and their I/O disturbs the measurement",
            );
        }
    } else {
        for used in uses {
            findings.add(Severity::Refuse, used, "name a disk that nothing uses, or add --allow-mounted: every program that uses it is affected by each change of scheduler");
        }
    }
}

fn check_destruction(target: &RawTarget, intent: &Intent, findings: &mut Findings) {
    if intent.loss == Loss::Refused {
        findings.add(
            Severity::Refuse,
            format!("the workload overwrites {}", target.name()),
            "run it in a file: --scratch DIR on a file system of the disk, or its mount point as the device; or on a \
             simulated device, scratch:ssd; or add --destroy-data if all data on the disk may be lost",
        );
        return;
    }
    let name = target.name();
    let partitions: Vec<String> = target.inside().into_iter().map(|part| part.name).collect();
    match signatures::found(target) {
        Ok(found) => {
            for what in found {
                findings.add(Severity::Warning, what, "it will be lost");
            }
        }
        // An empty disk and an unknown one are different findings.
        Err(error) => findings.add(
            Severity::Warning,
            format!("the contents of {name} are unknown: {error:#}"),
            "check it yourself, everything on it will be lost; `wipefs` is part of util-linux",
        ),
    }
    if !partitions.is_empty() {
        findings.add(
            Severity::Warning,
            format!("{name} has partitions: {}", partitions.join(", ")),
            "all partitions will be lost",
        );
    }
}

/// `iosched doctor` lists them in the order in which they act.
const MOST_RIVALS: usize = 20;

fn check_rivals(disks: &Disks, findings: &mut Findings) -> Result<()> {
    let mut seen = BTreeSet::new();
    for rival in rivals::find(Path::new("/"), &disks.members)?.rivals {
        // One line may be about several disks.
        if seen.len() == MOST_RIVALS || !seen.insert((rival.file.clone(), rival.line)) {
            continue;
        }
        findings.add(
            Severity::Note,
            format!(
                "{}:{} can set the scheduler of this disk",
                rival.file, rival.line
            ),
            "udev cannot change the disk during a run; if another program sets a scheduler, the run ends",
        );
    }
    for writer in writers::find(Path::new("/proc"), &disks.members) {
        findings.add(
            Severity::Warning,
            format!("process {} {}: {}", writer.pid, writer.name, writer.why),
            "stop it for the duration of the run: two processes that switch the same disk at the same time can crash the kernel",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_refusals_are_joined_and_warnings_pass() {
        let mut findings = Findings::default();
        findings.add(Severity::Warning, "w", "");
        assert_eq!(
            findings
                .clone()
                .into_result()
                .expect("only a warning")
                .len(),
            1
        );
        findings.add(Severity::Refuse, "sda1 is mounted on /a", "name another");
        findings.add(Severity::Refuse, "sda2 is mounted on /b", "name another");
        let error = findings.clone().into_result().expect_err("refused");
        assert_eq!(kind_of(&error), Kind::Refused);
        assert_eq!(
            error.to_string(),
            "sda1 is mounted on /a\nsda2 is mounted on /b\n  name another"
        );
        findings.add(Severity::Usage, "no scheduler x", "");
        let error = findings.into_result().expect_err("usage");
        assert_eq!(kind_of(&error), Kind::Usage);
    }
}
