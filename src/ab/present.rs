//! The arm `present`: replaced by the scheduler and the settings in force.

use anyhow::Result;
use iosched_host::scheduler;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::State;

/// The arm's name on the command line.
const PRESENT: &str = "present";

/// Replaces the arm in place and returns its index.
pub fn write_out(arms: &mut [Arm], disks: &Disks) -> Result<Option<usize>> {
    let is_present = |arm: &Arm| arm.scheduler == PRESENT;
    let Some(index) = arms.iter().position(is_present) else {
        return Ok(None);
    };
    let states = disks.members.iter().map(scheduler::read);
    let states: Vec<State> = states.collect::<Result<_>>()?;
    let found: Vec<Arm> = states
        .iter()
        .map(|state| scheduler::present(&arms[index].label, state))
        .collect::<Result<_>>()?;
    let Some((first, others)) = found.split_first() else {
        return Ok(None);
    };
    if others.iter().any(|other| other != first) {
        return Err(Failure::usage(
            "the disks have different schedulers or settings, so `present` is not one arm",
            "set them alike first, or name the arms",
        ));
    }
    arms[index] = first.clone();
    Ok(Some(index))
}
