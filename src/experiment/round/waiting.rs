//! Waits for idle devices, for the workload to begin, and for the end of the window.

use std::time::Duration;

use anyhow::Result;

use super::live::Watch;
use super::{DRAIN_TIMEOUT, POLL};
use crate::clock_watch::ClockWatch;
use crate::machine::Machine;
use crate::workload::Running;
use iosched_host::system::device::Device;
use iosched_result::analysis::exclusion::Gap;
use iosched_result::measured::snapshot::Interval;
use iosched_result::types::outcome::{CgroupRef, Outcome};

/// Sleeps while the workload runs. Returns why there is no window, if there is none; a fio that ends just before its
/// time is not early.
pub(super) fn sleep_beside(
    machine: &mut dyn Machine,
    running: &mut dyn Running,
    deadline: Duration,
    clock_watch: &mut ClockWatch,
    watch: &mut Watch<'_>,
) -> Result<Option<Gap>> {
    const TOLERANCE: Duration = Duration::from_millis(250);
    while machine.now() < deadline {
        machine.ensure_uninterrupted()?;
        if running.poll()?.is_some() {
            let is_early = deadline.saturating_sub(machine.now()) >= TOLERANCE;
            return Ok(is_early.then_some(Gap::Ended));
        }
        if watch.stops(machine)? {
            return Ok(Some(Gap::Stopped));
        }
        let left = deadline.saturating_sub(machine.now());
        clock_watch.sleep(machine, POLL.min(left));
    }
    Ok(None)
}

pub(super) fn has_begun(so_far: &Interval, cgroups: &[CgroupRef]) -> bool {
    let seen = |cgroup: &CgroupRef| {
        so_far
            .owners
            .iter()
            .any(|owner| owner.ios() > 0 && (!cgroup.on_bios || owner.key.cgroup_id == cgroup.id))
    };
    if cgroups.is_empty() {
        so_far.owners.iter().any(|owner| owner.ios() > 0)
    } else {
        cgroups.iter().all(seen)
    }
}

pub(super) fn wait_for_end(
    machine: &mut dyn Machine,
    running: &mut dyn Running,
    clock_watch: &mut ClockWatch,
) -> Result<Outcome> {
    loop {
        if let Some(outcome) = running.poll()? {
            return Ok(outcome);
        }
        machine.ensure_uninterrupted()?;
        clock_watch.sleep(machine, POLL);
    }
}

/// Requests of the preceding round must not be measured in this one.
pub(super) fn wait_until_idle(machine: &mut dyn Machine, disks: &[Device]) -> Result<()> {
    for (index, disk) in disks.iter().enumerate() {
        let deadline = machine.now() + DRAIN_TIMEOUT;
        loop {
            let inflight = machine.in_flight(index)?;
            if inflight.split_whitespace().all(|count| count == "0") {
                break;
            }
            anyhow::ensure!(
                machine.now() < deadline,
                "{} has requests in flight ({}) {} s after the scheduler was switched; something else is using it",
                disk.name,
                inflight.trim(),
                DRAIN_TIMEOUT.as_secs()
            );
            machine.ensure_uninterrupted()?;
            machine.sleep(POLL);
        }
    }
    Ok(())
}

pub(crate) fn idle_until(machine: &mut dyn Machine, deadline: Duration) -> Result<()> {
    const SLICE: Duration = Duration::from_millis(50);
    loop {
        machine.ensure_uninterrupted()?;
        let left = deadline.saturating_sub(machine.now());
        if left.is_zero() {
            return Ok(());
        }
        machine.sleep(SLICE.min(left));
    }
}
