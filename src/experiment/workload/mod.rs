//! Runs a workload under each arm and reports its outcome.
//!
//! Guarantees: a workload's processes are in their own control group before their first I/O, none of them outlives its
//! [`Running`], and an [`Outcome`] without a `problem` means that the requested work was done.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use self::application::Application;
use self::cgroup::Group;
use self::properties::Properties;
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::file::ScratchFile;
use iosched_host::system::device::Device;
use iosched_result::types::arm::Arm;
use iosched_result::types::outcome::{CgroupRef, Outcome};

pub mod application; // metrics of the application, read at both ends of a live window
pub mod catalogue; // the built-in workloads, by name
pub mod cgroup; // control groups, their CPU time and their end
pub mod command; // any command
pub mod description; // what it runs, as a result file has it
#[cfg(test)]
pub mod fake; // a fake for tests
pub mod fio; // one or more fio processes, checked
mod fio_options; // the options that a job file may use. Pure
mod fio_process; // one fio process: arguments, files, result
pub mod fio_result; // fio's JSON, and whether it counts. Pure
mod fio_target; // what fio runs on
mod fio_values; // checks of their values. Pure
mod fio_version; // asks fio for its version
pub mod group_settings; // shares and limits of a control group. Pure
pub mod job_file; // parses, checks and writes fio job files. Pure
pub mod launch; // starts a program inside its control group
pub mod live; // whatever runs anyway
pub(crate) mod names; // valid names of files and groups. Pure
pub mod offer; // which metrics a run of it can have
pub mod own_groups; // processes in whose control groups arms set something. Pure
pub mod participants; // processes that ran before, whose I/O is the workload's
pub mod places; // names of places in the words of a command
pub mod properties; // what a workload is like
pub mod recorded; // restores a workload from a result file
pub mod reported; // metrics that a command reports itself
pub mod rights; // what a started program may do
pub mod with_background; // a command while fio loads the disk

pub trait Workload {
    fn name(&self) -> &str;
    /// Exactly what is run, for the result file.
    fn description(&self) -> serde_json::Value;
    /// Its properties, as far as they are known before it runs.
    fn properties(&self) -> Properties;

    /// Checks before the first round: programs are present and new enough.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// The same for the target that it will run on; notes say what is not as the user wrote it.
    fn check_on(&self, _target: &Target) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Metrics of the application whose load it is.
    fn application(&self) -> Option<&Application> {
        None
    }
    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>>;
}

/// The file or the disks that a workload runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The size of the scratch file, or of the first disk.
    pub bytes: u64,
    /// A scratch file instead of the device.
    pub is_file: bool,
    pub disks: usize,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_file, self.disks) {
            (true, _) => "the scratch file",
            (false, 2..) => "the devices",
            (false, _) => "the device",
        })
    }
}

/// One execution under one arm.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// The devices that the workload uses; at least one.
    pub device_nodes: &'a [PathBuf],
    /// None: commands that make what the rounds need.
    pub arm: Option<&'a Arm>,
    /// The disks that hold the devices, whose limits are set.
    pub disks: &'a [Device],
    pub index: usize,
    pub block: usize,
    pub seed: u64,
    pub ramp: Duration,
    pub time: Duration,
    /// An existing empty directory for the round's output files.
    pub directory: &'a Path,
    /// Used instead of the device.
    pub scratch_file: Option<&'a ScratchFile>,
    pub journal: &'a Journal,
    /// A binary whose `main` calls [`launch::run_if_asked`].
    pub launcher: &'a Path,
}

impl Execution<'_> {
    /// The control group of one of its processes, with the settings that the arm has for it.
    fn group(&self, label: &str) -> Result<Group> {
        let group = Group::create(self.journal, label)?;
        group.set_as(label, self.arm, self.disks)?;
        Ok(group)
    }
}

/// A running workload. Dropping it kills all of its processes.
///
/// The thread that called `start` must live as long: the kernel kills the processes when that thread ends.
pub trait Running {
    /// The outcome, once it has ended by itself; later calls return the same.
    fn poll(&mut self) -> Result<Option<Outcome>>;
    fn cgroups(&self) -> Vec<CgroupRef>;
    /// At the beginning of the measured time, and at its end. `now`: the machine's clock. Err: this program was interrupted.
    fn window_edge(&mut self, _now: &dyn Fn() -> Duration) -> Result<()> {
        Ok(())
    }
    /// Kills it now, through its control groups.
    fn stop(&mut self);
}
