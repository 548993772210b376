//! Drops the capabilities that are needed only at the start. Each function applies to the calling thread and the
//! threads that it starts. Permanently: programs that it starts cannot regain them, not even root's guardian.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

use crate::system::device::hardware_depth;

/// Root's sysfs, journal and disks need no capability. Kernels before 5.19 require CAP_BPF for every map operation
/// (rows of owners that have ended are reused). The guardian needs CAP_SYS_RESOURCE to be spared by the OOM killer.
/// With CAP_DAC_OVERRIDE results can be written to the directory of a user who called sudo.
const SWITCHING: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::DAC_OVERRIDE);
/// For mounts and loop devices, and for threads with real-time priority that skip writeback throttling.
const SCRATCH: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE);

/// For a process that has attached its probe and changes nothing on the machine.
pub fn keep_those_of_a_watch() -> Result<()> {
    hardware_depth::keep_readable();
    keep(CapabilitySet::BPF)
}

/// The same for one that writes a file at the end, perhaps to the directory of a user who called sudo.
pub fn keep_those_of_a_snapshot() -> Result<()> {
    hardware_depth::keep_readable();
    keep(CapabilitySet::BPF | CapabilitySet::DAC_OVERRIDE)
}

/// For a process that attaches a probe and switches schedulers, with `has_scratch` on a scratch device.
pub fn keep_those_of_the_ui(has_scratch: bool) -> Result<()> {
    keep(SWITCHING | CapabilitySet::PERFMON | of_the_hardware_depth() | of_scratch(has_scratch))
}

/// For the thread that draws, exports, and removes the scratch device at the end.
pub fn keep_those_of_drawing(has_scratch: bool) -> Result<()> {
    keep(CapabilitySet::DAC_OVERRIDE | of_scratch(has_scratch))
}

/// For the thread that has attached the probe and switches schedulers.
pub fn keep_those_of_switching() -> Result<()> {
    keep(SWITCHING | of_the_hardware_depth())
}

/// For a thread that only reads and writes memory.
pub fn keep_none() -> Result<()> {
    keep(CapabilitySet::empty())
}

/// Where debugfs is not mounted, reading the depth needs a private mount, and a guardian started later must make its
/// own.
fn of_the_hardware_depth() -> CapabilitySet {
    if Path::new("/sys/kernel/debug/block").exists() {
        CapabilitySet::empty()
    } else {
        CapabilitySet::SYS_ADMIN
    }
}

fn of_scratch(has_scratch: bool) -> CapabilitySet {
    if has_scratch {
        SCRATCH
    } else {
        CapabilitySet::empty()
    }
}

fn keep(needed: CapabilitySet) -> Result<()> {
    let now = capabilities(None).context("reading the capabilities")?;
    let kept = CapabilitySets {
        effective: now.effective & needed,
        permitted: now.permitted & needed,
        inheritable: CapabilitySet::empty(),
    };
    set_no_new_privs(true).context("setting no_new_privs")?;
    set_capabilities(None, kept).context("dropping capabilities")
}
