//! A switch of a disk: which arm is meant, and what is told of it.

use std::time::Duration;

use anyhow::Result;
use iosched_host::scheduler;
use iosched_result::types::arm::Arm;

use super::Work;
use crate::ui::sampling::read;
use crate::ui::sampling::request::present_label;
use crate::ui::sampling::sample::{Flip, SamplerReport};

impl Work {
    /// The settings in force, as an arm.
    pub(super) fn present(&self, device: usize, label: &str) -> Result<Arm> {
        scheduler::present(label, &scheduler::read(self.reader.device(device))?)
    }

    /// The arm of that label: one of those for this disk, the settings in force, or one that is written out.
    pub(super) fn arm(&self, device: usize, label: &str) -> Result<Arm> {
        let mut named = self.arms.get(device).into_iter().flatten();
        if let Some(arm) = named.find(|arm| arm.label == label) {
            return Ok(arm.clone());
        }
        let now = scheduler::read(self.reader.device(device))?;
        if label == present_label(&now.active) {
            return scheduler::present(label, &now);
        }
        label.parse()
    }

    /// A sample ends the old side before the switch; the new side starts after `settle`.
    pub(super) fn flip(
        &mut self,
        device: usize,
        arm: &Arm,
        put_back: bool,
        settle: Duration,
    ) -> Result<scheduler::Applied> {
        let disk = self.reader.device(device).clone();
        let from = self.reader.label(device).to_owned();
        let switched = self
            .control
            .switch(&disk, arm, &self.arms[device], put_back);
        let applied = match switched {
            Ok(applied) => applied,
            Err(error) => {
                // The failed switch was undone: the old scheduler is active, but started anew.
                self.reader.expect(device, &from, settle);
                return Err(error);
            }
        };
        (self.report)(SamplerReport::Modified { device, put_back });
        self.reader.expect(device, &arm.label, settle);
        let flip = Flip {
            device,
            time: read::time_of_day(),
            from,
            to: arm.label.clone(),
            by_us: true,
            switch_ns: applied.switch_ns,
            changes: applied.notes.clone(),
        };
        self.flips.push(flip.clone());
        (self.report)(SamplerReport::Flipped(flip));
        Ok(applied)
    }
}
