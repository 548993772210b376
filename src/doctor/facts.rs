//! What this machine says, asked with what the real work uses: the probe is loaded and attached, a switch is checked as
//! `iosched set` checks it. Changes nothing.

use std::fs;
use std::path::Path;

use rustix::fs::Access;

pub use super::rivals::Rival;
pub use super::writers::Writer;
use super::{rivals, writers};
use crate::device::{Device, mounts};
use crate::failure::Failure;
use crate::input;
use crate::journal;
use crate::preflight::{self, Intent, Severity};
use crate::probe::{self, Probe, Tracepoint};
use crate::scheduler;
use crate::workload::cgroup_mounts::Mounts;
use crate::workload::fio::Fio;

/// What does not work, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub what: String,
    pub hint: String,
}

impl Trouble {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Trouble {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Failure>() {
            Ok(failure) => Trouble::new(
                failure.what.replace('\n', "; "),
                failure.hint.replace("\n  ", "; "),
            ),
            Err(error) => Trouble::new(format!("{error:#}"), ""),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Disk {
    pub name: String,
    pub active: String,
    pub available: Vec<String>,
    /// Warnings, or why its scheduler cannot be switched.
    pub switch: Result<Vec<String>, Trouble>,
}

#[derive(Clone, Debug)]
pub struct Facts {
    pub kernel: String,
    pub tracepoints: Result<Vec<Tracepoint>, Trouble>,
    /// What it says that it cannot tell here.
    pub probe: Result<Vec<String>, Trouble>,
    /// The effective ones, by bit.
    pub capabilities: Option<u64>,
    pub lockdown: Option<String>,
    /// Only where the kernel counts the probe's maps against it.
    pub memlock_bytes: Option<u64>,
    pub disks: Vec<Disk>,
    /// Files of modules that the running kernel could load.
    pub modules: Option<Vec<String>>,
    pub fio: Result<String, Trouble>,
    pub io_controller: Result<String, Trouble>,
    pub scratch: Result<String, Trouble>,
    pub journal: Result<String, Trouble>,
    pub rivals: Vec<Rival>,
    pub writers: Vec<Writer>,
}

/// Of these disks.
pub fn read(devices: &[Device]) -> Facts {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy().into_owned();
    let text = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned())
    };
    Facts {
        tracepoints: probe::tracepoints().map_err(|error| {
            Trouble::new(
                format!("{error:#}"),
                "boot a kernel with CONFIG_DEBUG_INFO_BTF=y",
            )
        }),
        probe: attach(devices),
        capabilities: text("/proc/self/status").as_deref().and_then(effective),
        lockdown: text("/sys/kernel/security/lockdown"),
        memlock_bytes: probe::memlock_bytes(),
        disks: devices.iter().map(disk).collect(),
        modules: modules(&release),
        fio: Fio::new("version", Vec::new())
            .version()
            .map_err(Trouble::from),
        io_controller: io_controller(),
        scratch: scratch(),
        journal: journal_state(),
        rivals: rivals::find(Path::new("/")),
        writers: writers::find(Path::new("/proc")),
        kernel: format!("Linux {release} on {}", name.machine().to_string_lossy()),
    }
}

fn attach(devices: &[Device]) -> Result<Vec<String>, Trouble> {
    if devices.is_empty() {
        return Err(Trouble::new(
            "there is no disk to look at",
            "name one; `lsblk` lists them",
        ));
    }
    let probe = Probe::attach(devices, 0, probe::Detail::default())?;
    Ok(probe.notes())
}

fn disk(device: &Device) -> Disk {
    let choice = scheduler::choice(device).ok();
    let intent = Intent {
        arms: &[],
        writes_raw_device: false,
        allow_mounted: true,
        destroy_data: false,
    };
    let switch = preflight::check(device, &intent)
        .and_then(preflight::Report::into_result)
        // Taken for a moment: nothing else tells whether another holds it.
        .and_then(|findings| preflight::lock(device).map(|_lock| findings));
    Disk {
        name: device.name.clone(),
        active: choice
            .as_ref()
            .map_or("-".to_owned(), |choice| choice.active.clone()),
        available: choice.map(|choice| choice.available).unwrap_or_default(),
        switch: switch.map_err(Trouble::from).map(|findings| {
            let warnings = findings.into_iter();
            warnings
                .filter(|finding| finding.severity == Severity::Warning)
                .map(|finding| finding.what)
                .collect()
        }),
    }
}

/// Of `/proc/self/status`: `CapEff:` and 16 hexadecimal digits.
pub(super) fn effective(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// `kernel/block/bfq.ko.zst: kernel/...`
fn modules(release: &str) -> Option<Vec<String>> {
    let file = Path::new("/lib/modules").join(release).join("modules.dep");
    let bytes = input::read(&file, input::SETTINGS_LIMIT).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let names = text.lines().filter_map(|line| line.split_once(':'));
    Some(names.map(|(name, _)| name.to_owned()).collect())
}

fn io_controller() -> Result<String, Trouble> {
    let mounts = Mounts::among(&mounts::read()?);
    if let Some(root) = &mounts.unified {
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        if controllers.split_whitespace().any(|name| name == "io") {
            return Ok(format!("version 2 at {}", root.display()));
        }
    }
    match mounts.blkio {
        Some(root) => Ok(format!("version 1 at {}", root.display())),
        None => Err(Trouble::new(
            "no io controller: a workload's I/O is told from others' by process, not by control group",
            "mount cgroup2 on /sys/fs/cgroup, or boot a kernel with CONFIG_BLK_CGROUP",
        )),
    }
}

fn scratch() -> Result<String, Trouble> {
    if !rustix::process::geteuid().is_root() {
        return Err(Trouble::new("only root can mount", "run it with sudo"));
    }
    for (node, module) in [("/dev/loop-control", "loop"), ("/dev/fuse", "fuse")] {
        if let Err(error) = rustix::fs::access(node, Access::READ_OK | Access::WRITE_OK) {
            let hint = format!("modprobe {module}, as root");
            return Err(Trouble::new(
                format!("{node} cannot be used: {error}"),
                hint,
            ));
        }
    }
    Ok("loop devices over FUSE".to_owned())
}

/// Nothing is changed before it stands in a journal.
fn journal_state() -> Result<String, Trouble> {
    let directory = journal::directory();
    let existing = directory.ancestors().find(|path| path.exists());
    let may = existing.is_some_and(|path| rustix::fs::access(path, Access::WRITE_OK).is_ok());
    if !may {
        return Err(Trouble::new(
            format!("{} cannot be written", directory.display()),
            "run it with sudo, or name another place in IOSCHED_STATE_DIR",
        ));
    }
    match journal::notes().as_slice() {
        [] => Ok(format!("{}: nothing was left behind", directory.display())),
        notes => Err(Trouble::new(notes.join("; "), "iosched restore")),
    }
}
