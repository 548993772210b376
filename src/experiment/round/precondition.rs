//! `--precondition`: the workload under the reference, discarded, until the disk keeps its level.

use anyhow::Result;
use iosched_result::statistics::trend::is_level;
use iosched_result::types::level::{Precondition, WindowPart};
use iosched_result::types::plan::PlannedRound;

use super::laps::Laps;
use super::waiting::wait_until_idle;
use super::{MeasuredRound, RoundSetup};
use crate::machine::Task;

/// As SNIA's test of solid state storage allows.
const MOST: usize = 25;

impl RoundSetup<'_> {
    /// Each execution is that of a round: with its ramp, its window, and the caches that are dropped before. `done` gets what came
    /// out, also if this fails; `tells` gets it after each execution.
    pub fn precondition(
        &mut self,
        reference: usize,
        workload_seed: u64,
        done: &mut Precondition,
        tells: &mut dyn FnMut(&Precondition),
    ) -> Result<()> {
        let begin = self.machine.now();
        while !done.is_level && done.iops.len() < MOST && done.problem.is_none() {
            // As in a round, other data each time.
            let seed = workload_seed.wrapping_add(done.iops.len() as u64) % (1 << 32);
            let ran = self.execute(reference, seed);
            done.seconds = self.machine.now().saturating_sub(begin).as_secs_f64();
            match ran? {
                Ok(iops) => done.iops.push(iops),
                Err(problem) => done.problem = Some(problem),
            }
            done.is_level = is_level(&done.iops).unwrap_or(false);
            tells(done);
        }
        Ok(())
    }

    /// The I/Os per second of one execution, or why there are none.
    fn execute(&mut self, reference: usize, workload_seed: u64) -> Result<Result<f64, String>> {
        let arm = &self.arms[reference];
        if let Some(cold) = self.cold {
            self.machine.write_back(cold)?;
        }
        self.machine.apply(arm)?;
        wait_until_idle(self.machine, &self.disks.members)?;
        if let Some(cold) = self.cold {
            self.machine.drop_pages(cold)?;
        }
        let task = Task {
            planned: &PlannedRound {
                index: 0,
                block: 0,
                position: 0,
                arm: reference,
                workload_seed,
                phase_ns: 0,
            },
            arm,
            ramp: self.ramp,
            time: self.time,
        };
        let MeasuredRound {
            window,
            outcome,
            pause,
            ..
        } = self.measure(&task, &mut Laps::begin(self.machine))?;
        if let Some(problem) = outcome.problem.or(pause) {
            return Ok(Err(problem));
        }
        Ok(match window {
            Err(_) => Err("the workload completed nothing in its time".to_owned()),
            Ok(window) => {
                let part = WindowPart::of(&window.interval);
                if part.ios == 0 {
                    Err(
                        "the workload did no I/O: the page cache had all that it needs, see --cold"
                            .to_owned(),
                    )
                } else {
                    Ok(part.iops())
                }
            }
        })
    }
}
