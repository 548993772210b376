//! Rights are needed to begin; what is not needed to go on is given up. Each function is for the calling thread and those
//! that it starts. For good: no program that it starts gets more, not even root's guardian.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

use crate::device::hardware_depth;

/// Root's sysfs, journal and disks need none. Kernels before 5.19 take no map operation without CAP_BPF (places of
/// owners that have ended go to new ones); the guardian asks with CAP_SYS_RESOURCE to be spared when memory runs out;
/// and who calls us through sudo stands in a directory of his own, where results are to be written.
const SWITCHING: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::DAC_OVERRIDE);
/// Mounts and loop devices, and threads that are on time and wait for no writeback.
const SCRATCH: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE);

/// For a process that has attached its probe and changes nothing.
pub fn keep_those_of_a_watch() -> Result<()> {
    hardware_depth::keep_readable();
    keep(CapabilitySet::BPF)
}

/// For a process that attaches a probe, and switches schedulers; on a scratch device of its own if `has_scratch`.
pub fn keep_those_of_the_ui(has_scratch: bool) -> Result<()> {
    keep(SWITCHING | CapabilitySet::PERFMON | of_the_hardware_depth() | of_scratch(has_scratch))
}

/// For its thread that draws, exports, and removes the scratch device at the end.
pub fn keep_those_of_drawing(has_scratch: bool) -> Result<()> {
    keep(CapabilitySet::DAC_OVERRIDE | of_scratch(has_scratch))
}

/// For its thread that has attached the probe, and switches.
pub fn keep_those_of_switching() -> Result<()> {
    keep(SWITCHING | of_the_hardware_depth())
}

/// Where debugfs is not mounted it takes a mount of our own, which the guardian that is started later has to make itself.
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
    set_no_new_privs(true).context("giving up new privileges")?;
    set_capabilities(None, kept).context("giving up capabilities")
}
