//! `--precondition`: the workload under the reference, discarded, until the disk keeps its level.

use anyhow::Result;
use iosched_result::measured::snapshot::Interval;
use iosched_result::statistics::trend::is_level;
use iosched_result::types::level::{Precondition, WindowPart};
use iosched_result::types::plan::PlannedRound;

use super::RoundSetup;
use super::waiting::wait_until_idle;

/// As SNIA's test of solid state storage allows.
const MOST: usize = 25;

impl RoundSetup<'_> {
    /// Each time as long as the window of a round; a command as long as it takes. `tells` gets what it is so far.
    pub fn precondition(
        &mut self,
        reference: usize,
        workload_seed: u64,
        tells: &mut dyn FnMut(&Precondition),
    ) -> Result<Precondition> {
        let begin = self.machine.now();
        let arm = &self.arms[reference];
        let mut so_far = Precondition {
            iops: Vec::new(),
            is_level: false,
            seconds: 0.0,
        };
        while !so_far.is_level && so_far.iops.len() < MOST {
            self.machine.apply(arm)?;
            wait_until_idle(self.machine, &self.disks.members)?;
            let planned = PlannedRound {
                index: 0,
                block: 0,
                position: 0,
                arm: reference,
                // As in a round, other data each time.
                workload_seed: workload_seed.wrapping_add(so_far.iops.len() as u64) % (1 << 32),
                phase_ns: 0,
            };
            let before = self.machine.snapshot()?;
            if !self.run_once(&planned, arm, self.time)? {
                // The first round says what fails.
                break;
            }
            let ran = Interval::between(&before, &self.machine.snapshot()?)?;
            so_far.iops.push(WindowPart::of(&ran).iops());
            so_far.is_level = is_level(&so_far.iops).unwrap_or(false);
            so_far.seconds = (self.machine.now().saturating_sub(begin)).as_secs_f64();
            tells(&so_far);
        }
        Ok(so_far)
    }
}
