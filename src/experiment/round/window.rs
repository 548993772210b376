//! The measured time of a workload that runs for a time: its beginning, its parts and its end.

use std::time::Duration;

use anyhow::Result;
use iosched_result::analysis::exclusion::Gap;
use iosched_result::measured::snapshot::{Interval, Snapshot};
use iosched_result::types::level::WindowPart;
use iosched_result::types::outcome::CgroupRef;
use iosched_result::why::RoundWhy;

use super::laps::Laps;
use super::live::{Watch, is_stuck};
use super::waiting::{has_begun, sleep_beside};
use super::{POLL, RoundSetup};
use crate::clock_watch::ClockWatch;
use crate::workload::Running;

/// The first I/O is noticed up to one poll late. The window ends earlier by this much, so that it lies within fio's
/// own.
pub(super) const GUARD: Duration = Duration::from_millis(40);
/// Timeout for the first I/O of a workload.
const FIRST_IO_TIMEOUT: Duration = Duration::from_secs(30);
/// As many as SNIA's window has rounds.
const PARTS: u32 = 5;
/// Parts of a shorter window would say little.
const SHORTEST_IN_PARTS: Duration = Duration::from_secs(1);

/// What was measured.
pub(super) struct Window {
    pub interval: Interval,
    pub parts: Vec<WindowPart>,
    /// Who waited behind whom in it, if that was asked for.
    pub why: Option<RoundWhy>,
}

impl Window {
    /// The window of a round that was not measured.
    pub fn nothing(device: &str) -> Window {
        Window {
            interval: Interval::nothing(device),
            parts: Vec::new(),
            why: None,
        }
    }
}

/// `ends`: of the parts, in their order.
fn parts_of(begin: Snapshot, ends: Vec<Snapshot>) -> Result<Vec<WindowPart>> {
    let mut since = begin;
    let parts = ends.into_iter().map(|end| {
        let part = WindowPart::of(&Interval::between(&since, &end)?);
        since = end;
        Ok(part)
    });
    parts.collect()
}

impl RoundSetup<'_> {
    /// The window: from the end of the ramp, for the round's time less [`GUARD`]. The clock starts when every control
    /// group of the workload has completed its first I/O, like fio's own.
    pub(super) fn timed_window(
        &mut self,
        before: &Snapshot,
        cgroups: &[CgroupRef],
        running: &mut dyn Running,
        clock_watch: &mut ClockWatch,
        stopped: &mut Option<String>,
        laps: &mut Laps,
    ) -> Result<Result<Window, Gap>> {
        let gap = self.wait_until_begun(before, cgroups, running, clock_watch)?;
        laps.times.start_s = laps.lap(self.machine);
        if let Some(gap) = gap {
            return Ok(Err(gap));
        }
        let is_live = self.live.is_some();
        let machine = &mut *self.machine;
        let reference = &self.arms[self.live.as_ref().map_or(0, |live| live.reference)];
        let mut watch = Watch {
            guard: self.live.as_mut().and_then(|live| live.stop_if.as_mut()),
            reference,
            stopped,
        };
        if let Some(guard) = &mut watch.guard {
            guard.begin();
        }
        let mut start = machine.now() + self.ramp;
        if let Some(gap) = sleep_beside(machine, running, start, clock_watch, &mut watch)? {
            return Ok(Err(gap));
        }
        if is_live {
            // It may take its time.
            running.window_edge(&|| machine.now())?;
            clock_watch.attend(machine);
            start = machine.now();
        }
        let earlier = machine.snapshot()?;
        laps.times.ramp_s = laps.lap(machine);
        machine.begin_window();
        if self.why {
            machine.begin_stretch();
        }
        let length = self.time.saturating_sub(GUARD);
        let is_divided = !is_live && length >= SHORTEST_IN_PARTS;
        let count = if is_divided { PARTS } else { 1 };
        let mut edges = Vec::new();
        for part in 1..=count {
            let end = start + length * part / count;
            if let Some(gap) = sleep_beside(machine, running, end, clock_watch, &mut watch)? {
                // Nothing is kept beyond the round.
                self.end_blame(cgroups)?;
                return Ok(Err(gap));
            }
            if part < count {
                edges.push(machine.snapshot_of_counters()?);
            } else {
                clock_watch.window_ends(machine, end);
            }
        }
        let last = machine.snapshot()?;
        laps.lap(machine);
        if is_live {
            running.window_edge(&|| machine.now())?;
            clock_watch.attend(machine);
        }
        let interval = Interval::between(&earlier, &last)?;
        let parts = if is_divided {
            edges.push(last);
            parts_of(earlier, edges)?
        } else {
            Vec::new()
        };
        let why = self.end_blame(cgroups)?;
        // A live load whose requests wait while none completes has no values because of the arm.
        if is_live && is_stuck(&interval) {
            return Ok(Err(Gap::Starved));
        }
        Ok(Ok(Window {
            interval,
            parts,
            why,
        }))
    }

    /// Until every control group of the workload has completed its first I/O.
    pub(super) fn wait_until_begun(
        &mut self,
        before: &Snapshot,
        cgroups: &[CgroupRef],
        running: &mut dyn Running,
        clock_watch: &mut ClockWatch,
    ) -> Result<Option<Gap>> {
        let machine = &mut *self.machine;
        let lead = machine.now() + self.workload.properties().lead;
        let deadline = lead + FIRST_IO_TIMEOUT;
        // A live load is already running, or absent.
        while self.live.is_none() {
            let so_far = Interval::between(before, &machine.snapshot()?)?;
            if machine.now() >= lead && has_begun(&so_far, cgroups) {
                break;
            }
            if running.poll()?.is_some() {
                return Ok(Some(Gap::Ended));
            }
            if machine.now() > deadline {
                return Ok(Some(Gap::Starved));
            }
            machine.ensure_uninterrupted()?;
            clock_watch.sleep(machine, POLL);
        }
        Ok(None)
    }
}
