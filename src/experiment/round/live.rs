//! Additional steps of live rounds: wait for load, check `--stop-if`, and record the load.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use super::RoundSetup;
use super::waiting::idle_until;
use crate::live::condition::Condition;
use crate::live::guard::Guard;
use crate::live::load;
use crate::machine::Machine;
use iosched_host::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::measured::snapshot::Interval;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::Applied;

/// State of the additional steps of live rounds.
#[derive(Default)]
pub struct LiveRounds {
    pub reference: usize,
    pub stop_if: Option<Guard>,
    pub only_when: Option<Condition>,
    /// Rate in the preceding window.
    pub iops: Option<f64>,
    /// The reference is in force since the last round.
    pub reference_waits: bool,
}

/// Checks the condition of `--stop-if` while a round runs.
pub(super) struct Watch<'a> {
    pub(super) guard: Option<&'a mut Guard>,
    pub(super) reference: &'a Arm,
    pub(super) stopped: &'a mut Option<String>,
}

impl Watch<'_> {
    /// Whether the condition held; the reference is then in force again.
    pub(super) fn stops(&mut self, machine: &mut dyn Machine) -> Result<bool> {
        let Some(guard) = &mut self.guard else {
            return Ok(false);
        };
        *self.stopped = guard.check(machine)?;
        if self.stopped.is_some() {
            machine.apply(self.reference)?;
        }
        Ok(self.stopped.is_some())
    }
}

impl RoundSetup<'_> {
    /// Before the switch, waits until `--only-when` holds for the last seconds.
    pub(super) fn wait_for_load(&mut self) -> Result<()> {
        const STRETCH: Duration = Duration::from_secs(2);
        let condition = self.live.as_ref().and_then(|live| live.only_when.clone());
        let Some(condition) = condition else {
            return Ok(());
        };
        loop {
            let earlier = self.machine.snapshot()?;
            let until = self.machine.now() + STRETCH;
            idle_until(self.machine, until)?;
            let stretch = Interval::between(&earlier, &self.machine.snapshot()?)?;
            if condition.holds(&stretch.together(&self.disks.name())).0 {
                return Ok(());
            }
            self.put_reference_in_force()?;
        }
    }

    /// While no round can begin for long.
    pub fn put_reference_in_force(&mut self) -> Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        if !live.reference_waits {
            self.machine.apply(&self.arms[live.reference])?;
            live.reference_waits = true;
        }
        Ok(())
    }

    /// I/O that arrived in the window, by metric.
    pub(super) fn arrivals(&self, window: Option<&Interval>) -> BTreeMap<String, f64> {
        match (&self.live, window) {
            (Some(_), Some(window)) => load::arrivals(window),
            _ => BTreeMap::new(),
        }
    }

    /// The load before this round. Stores that of its window for the next round.
    pub(super) fn remember_load(&mut self, window: Option<&Interval>) -> Option<f64> {
        let live = self.live.as_mut()?;
        live.reference_waits = false;
        std::mem::replace(&mut live.iops, window.and_then(load::iops))
    }
}

/// Ends the run when a switch blocked production I/O for too long.
pub fn refuse_a_long_stop(applied: &[Applied], disks: &[Device]) -> Result<()> {
    const LONGEST_NS: u64 = 1_000_000_000;
    let mut all = disks.iter().zip(applied);
    let long = all.find(|(_, applied)| applied.switch_ns.is_some_and(|ns| ns > LONGEST_NS));
    let Some((disk, applied)) = long else {
        return Ok(());
    };
    Err(Failure::runtime(
        format!(
            "{} was frozen for {:.1} s by a switch, so the run has ended",
            disk.name,
            applied.switch_ns.unwrap_or_default() as f64 / 1e9
        ),
        "compare on a disk whose requests complete faster, or use another --workload",
    ))
}

/// Whether requests were in flight at the end of a window in which none completed.
pub(crate) fn is_stuck(window: &Interval) -> bool {
    let completed = window
        .devices
        .iter()
        .flat_map(|device| &device.ops)
        .any(|op| op.ios > 0);
    let in_flight = window
        .devices
        .iter()
        .filter_map(|device| device.in_flight.as_ref());
    let waiting: u64 = in_flight.map(|of| of.queued + of.issued).sum();
    !completed && waiting > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::snapshot::InFlight;

    #[test]
    fn a_load_that_waits_while_nothing_completes_is_stuck() {
        let mut window = Interval::nothing("sda");
        assert!(!is_stuck(&window), "nothing was asked for");
        window.devices[0].in_flight = Some(InFlight {
            issued: 2,
            blocked: None,
            ..InFlight::default()
        });
        assert!(is_stuck(&window));
        window.devices[0].ops[0].ios = 1;
        assert!(!is_stuck(&window));
    }
}
