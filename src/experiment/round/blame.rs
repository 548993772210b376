//! Who waited behind whom in the window of a round, from the records of its requests.

use anyhow::Result;
use iosched_result::measured::trace::TracedOwner;
use iosched_result::types::outcome::CgroupRef;
use iosched_result::why::{RoundWhy, of_round};

use super::RoundSetup;
use crate::machine::Kept;

impl RoundSetup<'_> {
    /// Does nothing if it was not asked for.
    pub(super) fn begin_blame(&mut self) {
        if self.why {
            self.machine.begin_stretch();
        }
    }

    pub(super) fn end_blame(&mut self, cgroups: &[CgroupRef]) -> Result<Option<RoundWhy>> {
        if !self.why {
            return Ok(None);
        }
        let Kept {
            stretch,
            disks,
            mut owners,
        } = self.machine.end_stretch()?;
        name_parts(owners.values_mut(), cgroups);
        let owner = |row: u32| owners[&row].clone();
        Ok(Some(of_round(stretch, &disks, &owner)))
    }
}

/// Control groups are made for each run of the workload: later nobody knows whose they were.
pub(super) fn name_parts<'a>(
    owners: impl IntoIterator<Item = &'a mut TracedOwner>,
    cgroups: &[CgroupRef],
) {
    for owner in owners {
        let mut own = cgroups.iter().filter(|group| group.on_bios);
        let group = own.find(|group| group.id == owner.cgroup_id);
        owner.part = group.map(|group| group.label.clone());
    }
}
