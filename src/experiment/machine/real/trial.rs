//! What arms set in the control groups that rounds make for the processes of their workload: tried before the first round.

use std::collections::BTreeSet;

use anyhow::Result;
use iosched_host::safety::journal::Journal;
use iosched_host::system::device::Device;
use iosched_result::types::arm::Arm;

use crate::workload::cgroup::Group;

/// Arms that were tried.
#[derive(Default)]
pub(super) struct OwnGroups(BTreeSet<String>);

impl OwnGroups {
    /// Under the arm's scheduler, which some of the settings need.
    pub fn try_out(&mut self, arm: &Arm, disks: &[Device], journal: &Journal) -> Result<()> {
        let processes: BTreeSet<&str> = arm.of_own_groups().map(|(process, ..)| process).collect();
        if processes.is_empty() || self.0.contains(&arm.label) {
            return Ok(());
        }
        for process in processes {
            let group = Group::create(journal, "trial")?;
            group.set_as(process, Some(arm), disks)?;
            group.end()?;
        }
        self.0.insert(arm.label.clone());
        Ok(())
    }
}
