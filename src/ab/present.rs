//! The arm `present`: replaced by the scheduler and the settings in force.

use anyhow::Result;
use iosched_host::scheduler;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::types::arm::{Arm, PRESENT};
use iosched_result::types::queue::State;

/// Replaces such arms in place. Returns the index of the first without settings of its own: that is what is in force.
pub fn write_out(arms: &mut [Arm], disks: &Disks) -> Result<Option<usize>> {
    let is_present = |arm: &Arm| arm.scheduler == PRESENT;
    if !arms.iter().any(is_present) {
        return Ok(None);
    }
    let in_force = arms
        .iter()
        .position(|arm| is_present(arm) && arm.settings.is_empty());
    let states = disks.members.iter().map(scheduler::read);
    let states: Vec<State> = states.collect::<Result<_>>()?;
    let found: Vec<Arm> = states
        .iter()
        .map(|state| scheduler::present(PRESENT, state))
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
    for arm in arms.iter_mut().filter(|arm| is_present(arm)) {
        *arm = with_own(first, arm)?;
    }
    Ok(in_force)
}

/// What is in force, with the settings of the arm in place of their own.
fn with_own(in_force: &Arm, arm: &Arm) -> Result<Arm> {
    let mut written = in_force.clone();
    written
        .settings
        .retain(|(name, _)| arm.setting(name).is_none());
    written.settings.extend(arm.settings.iter().cloned());
    // Whether the settings go with the scheduler.
    let checked: Arm = written.to_string().parse()?;
    Ok(Arm {
        label: arm.label.clone(),
        ..checked
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_arm_replace_those_in_force() {
        let arm = |text: &str| text.parse::<Arm>().expect(text);
        let in_force = arm("mq-deadline,iosched/read_expire=77,nr_requests=64");
        let own = with_own(&in_force, &arm("present,nr_requests=8,vm.swappiness=5"));
        let own = own.expect("an arm");
        assert_eq!(own.label, "present,nr_requests=8,vm.swappiness=5");
        assert_eq!(
            own.to_string(),
            "mq-deadline,iosched/read_expire=77,nr_requests=8,vm.swappiness=5"
        );
    }
}
