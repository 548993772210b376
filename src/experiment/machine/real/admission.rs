//! An arm that comes after the disks were taken.

use anyhow::Result;
use iosched_host::safety::restorable::ensure_restorable;
use iosched_measure::probe::Probe;
use iosched_result::types::arm::{self, Arm};

use super::RealMachine;

/// 0: the arm does not set it.
pub(super) fn nr_requests(arm: &Arm) -> u32 {
    let value = arm
        .setting("nr_requests")
        .and_then(|text| text.parse().ok());
    value.unwrap_or(0)
}

impl RealMachine<'_> {
    pub(super) fn admit_arm(&mut self, arm: &Arm) -> Result<()> {
        arm::ensure_of_the_disk(arm)?;
        for (disk, baseline) in self.disks.members.iter().zip(&mut self.baselines) {
            let mut wider = baseline.clone();
            wider.admit(arm);
            ensure_restorable(self.resources.journal, disk, &wider)?;
            *baseline = wider;
        }
        let depth = nr_requests(arm);
        if depth > self.deepest {
            self.deepest = depth;
            self.probe = Probe::attach(&self.disks.members, depth, self.detail)?;
        }
        Ok(())
    }
}
