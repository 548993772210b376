//! The facts of this machine, determined by the code that measures and switches: the probe is loaded and attached, and
//! a switch passes the same checks as `iosched set`. Changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::Access;

use super::persistent::{Lasting, Place};
use crate::workload::fio::Fio;
use iosched_files::{input, output};
pub use iosched_host::preflight::rivals::{Agent, Rival, Rule, Source, Survey, Unread};
pub use iosched_host::preflight::writers::Writer;
use iosched_host::preflight::{self, Intent, Loss, Severity, rivals, writers};
use iosched_host::safety::journal;
use iosched_host::scheduler;
use iosched_host::system::cgroup::mounts::Mounts;
use iosched_host::system::cgroup::requests::{self, Requests};
use iosched_host::system::cgroup::weights::{self, Weights};
use iosched_host::system::device::{Device, mounts};
use iosched_measure::probe::{self, Probe, Tracepoint};
use iosched_result::failure::Failure;
use iosched_result::persist::Evidence;

/// A problem, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub what: String,
    pub hint: String,
}

const ON_THE_HOST: &str = "run it as root on the host; a container needs the device node, writable /sys, and the device in \
                           its device control group";

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
                match failure.hint.as_str() {
                    "" => ON_THE_HOST.to_owned(),
                    hint => hint.replace("\n  ", "; "),
                },
            ),
            Err(error) => Trouble::new(format!("{error:#}"), ON_THE_HOST),
        }
    }
}

#[derive(Clone, Debug)]
pub struct DiskFacts {
    pub name: String,
    /// `8:0`
    pub number: String,
    pub model: Option<String>,
    pub driver: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub firmware: Option<String>,
    /// udev's `ID_SERIAL`.
    pub serial: Option<String>,
    pub active: String,
    pub available: Vec<String>,
    /// Attributes below `queue/` and their values now.
    pub settings: BTreeMap<String, String>,
    /// Warnings, or the reason why its scheduler cannot be switched.
    pub switch: Result<Vec<String>, Trouble>,
}

#[derive(Clone, Debug)]
pub struct Facts {
    pub kernel: String,
    /// `uname -r`
    pub release: String,
    pub now: Timestamp,
    pub tracepoints: Result<Vec<Tracepoint>, Trouble>,
    /// Notes on what the probe cannot measure on this kernel.
    pub probe: Result<Vec<String>, Trouble>,
    /// The effective capabilities, as a bit mask.
    pub capabilities: Option<u64>,
    pub lockdown: Option<String>,
    /// Set only where the kernel charges the probe's maps against RLIMIT_MEMLOCK.
    pub memlock_bytes: Option<u64>,
    pub disks: Vec<DiskFacts>,
    /// Paths of the modules that the running kernel could load.
    pub modules: Option<Vec<String>>,
    pub fio: Result<String, Trouble>,
    pub io_controller: Result<String, Trouble>,
    pub scratch: Result<String, Trouble>,
    pub journal: Result<String, Trouble>,
    /// Changes can be recorded, whatever was left behind.
    pub can_record: bool,
    /// Agents that set schedulers, and who said so.
    pub survey: Result<Survey, Trouble>,
    pub writers: Vec<Writer>,
    pub weights: Weights,
    pub requests: Requests,
    /// Settings of `iosched-ab persist`.
    pub kept: Vec<Lasting>,
}

/// The facts of the machine and of these disks.
pub fn read(devices: &[Device]) -> Facts {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy().into_owned();
    let recording = recording();
    let text = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned())
    };
    let groups = mounts::read().ok().map(|mounts| Mounts::among(&mounts));
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
        journal: recording.clone().and_then(|at| left_behind(&at)),
        can_record: recording.is_ok(),
        survey: survey(devices),
        writers: writers::find(Path::new("/proc"), devices),
        weights: groups.as_ref().map(weights::set).unwrap_or_default(),
        requests: groups.as_ref().map(requests::found).unwrap_or_default(),
        kept: kept(Path::new("/")),
        now: Timestamp::now(),
        release: release.clone(),
        kernel: format!("Linux {release} on {}", name.machine().to_string_lossy()),
    }
}

fn survey(devices: &[Device]) -> Result<Survey, Trouble> {
    let mut survey = rivals::ask(Path::new("/"), devices)?;
    rivals::asked::ask(&mut survey, devices)?;
    Ok(survey)
}

/// Files below `etc` that `iosched-ab persist` made, as its output says where they go.
fn kept(root: &Path) -> Vec<Lasting> {
    const LIMIT: u64 = 1 << 20;
    let directories =
        ["udev/rules.d", "udev/hwdb.d", "tmpfiles.d"].map(|name| root.join("etc").join(name));
    let files = directories.iter().flat_map(|directory| entries(directory));
    let files = files.map(|file| (file, Place::Other));
    let profiles = ["etc/tuned", "etc/tuned/profiles"].map(|name| root.join(name));
    let profiles = profiles
        .iter()
        .flat_map(|directory| entries(directory))
        .map(|profile| {
            let file = profile.join("tuned.conf");
            let is_read = rivals::tuned_looks_at(root, &file);
            (
                file,
                if is_read {
                    Place::Tuned
                } else {
                    Place::NotRead
                },
            )
        });
    let mut found = Vec::new();
    for (file, place) in files.chain(profiles).filter(|(file, _)| file.is_file()) {
        let text = input::read(&file, LIMIT).unwrap_or_default();
        let evidence = Evidence::all_in(&String::from_utf8_lossy(&text));
        found.extend(evidence.into_iter().map(|evidence| Lasting {
            file: file.display().to_string(),
            place,
            evidence,
        }));
    }
    found
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn attach(devices: &[Device]) -> Result<Vec<String>, Trouble> {
    if devices.is_empty() {
        return Err(Trouble::new(
            "no disk found",
            "name a disk; `lsblk` lists them",
        ));
    }
    let probe = Probe::attach(devices, 0, probe::Detail::default())?;
    Ok(probe.notes())
}

fn disk(device: &Device) -> DiskFacts {
    let state = scheduler::read(device).ok();
    let intent = Intent {
        arms: &[],
        writes_raw_device: false,
        allow_mounted: true,
        loss: Loss::Refused,
    };
    let switch = preflight::check(device, &intent)
        .and_then(preflight::Findings::into_result)
        // The lock is taken for a moment: nothing else shows whether another process holds it.
        .and_then(|findings| preflight::lock(device).map(|_lock| findings));
    DiskFacts {
        name: device.name.clone(),
        number: format!("{}:{}", device.major, device.minor),
        model: device.model(),
        driver: device.driver(),
        size_bytes: device.size_bytes().ok(),
        rotational: device.rotational().ok(),
        firmware: device.firmware(),
        serial: rivals::properties(Path::new("/"), device)
            .and_then(|mut properties| properties.remove("ID_SERIAL")),
        active: state
            .as_ref()
            .map_or("-".to_owned(), |state| state.active.clone()),
        available: state
            .as_ref()
            .map(|state| state.available.clone())
            .unwrap_or_default(),
        settings: state.map(|state| state.settings).unwrap_or_default(),
        switch: switch.map_err(Trouble::from).map(|findings| {
            let warnings = findings.into_iter();
            warnings
                .filter(|finding| finding.severity == Severity::Warning)
                .map(|finding| finding.what)
                .collect()
        }),
    }
}

/// Effective capabilities from `/proc/self/status`: `CapEff:` and 16 hexadecimal digits.
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
            "no io controller: a workload's I/O is identified by process instead of control group",
            "mount cgroup2 on /sys/fs/cgroup, or boot a kernel with CONFIG_BLK_CGROUP",
        )),
    }
}

fn scratch() -> Result<String, Trouble> {
    if !rustix::process::geteuid().is_root() {
        return Err(Trouble::new(
            "only root can create scratch devices",
            "run it with sudo",
        ));
    }
    for (node, module) in [("/dev/loop-control", "loop"), ("/dev/fuse", "fuse")] {
        if let Err(error) = rustix::fs::access(node, Access::READ_OK | Access::WRITE_OK) {
            let hint = format!("as root, run `modprobe {module}`");
            return Err(Trouble::new(
                format!("{node} cannot be used: {error}"),
                hint,
            ));
        }
    }
    Ok("loop devices over FUSE".to_owned())
}

/// Changes to the machine require a journal that can be written and trusted; where it is.
fn recording() -> Result<PathBuf, Trouble> {
    let directory = journal::directory();
    output::refuse_replaceable(&directory)?;
    let existing = directory.ancestors().find(|path| path.exists());
    let may = existing.is_some_and(|path| rustix::fs::access(path, Access::WRITE_OK).is_ok());
    if !may {
        return Err(Trouble::new(
            format!("{} is not writable", directory.display()),
            "run it with sudo, or set IOSCHED_STATE_DIR to a writable directory",
        ));
    }
    // doctor makes no state directory, so it writes only into one that exists.
    if directory.parent().is_some_and(Path::exists) {
        journal::try_out()?;
    }
    Ok(directory)
}

fn left_behind(directory: &Path) -> Result<String, Trouble> {
    match journal::notes().as_slice() {
        [] => Ok(format!("{}: nothing was left behind", directory.display())),
        notes => Err(Trouble::new(notes.join("; "), "run `iosched restore`")),
    }
}
