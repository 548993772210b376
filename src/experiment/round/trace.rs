//! One more run of the workload under an arm, which is not measured: each request is recorded for a short time.

use std::time::Duration;

use anyhow::Result;

use super::blame::name_parts;
use super::laps::Laps;
use super::live::Watch;
use super::waiting::{sleep_beside, wait_for_end};
use super::window::GUARD;
use super::{RoundSetup, Started};
use crate::machine::Task;
use iosched_result::analysis::drift;
use iosched_result::analysis::exclusion::{self, Gap};
use iosched_result::measured::snapshot::Interval;
use iosched_result::measured::trace::Trace;
use iosched_result::types::outcome::{Fixed, Outcome};
use iosched_result::types::plan::PlannedRound;
use iosched_result::types::result::ArmTrace;

/// A trace, and the reason to end the run after it.
pub struct Traced {
    pub trace: ArmTrace,
    /// Another program switched the scheduler meanwhile.
    pub rival: Option<String>,
}

struct Recording {
    trace: Option<Trace>,
    gap: Option<Gap>,
    /// The condition of `--stop-if` held.
    stopped: Option<String>,
    outcome: Outcome,
    /// From before the start of the workload until after its end.
    whole: Interval,
}

impl RoundSetup<'_> {
    /// A failed workload only spoils the trace.
    pub fn trace(&mut self, planned: &PlannedRound, time: Duration) -> Result<Traced> {
        let started = humantime::format_rfc3339_millis(self.machine.time_of_day()).to_string();
        let applied = self.switch(planned, &mut Laps::begin(self.machine))?;
        if let Some(live) = &mut self.live {
            live.reference_waits = false;
        }
        if let Some(cold) = self.cold {
            self.machine.drop_pages(cold)?;
        }
        let recording = self.record(planned, time)?;
        let now = self.machine.read_back()?;
        let names = self.disks.member_names();
        let drifted = match self.first.get(&planned.arm) {
            Some(first) if recording.stopped.is_none() => {
                drift::drifted(&names, first, &applied, &now)
            }
            _ => Vec::new(),
        };
        let rival = drift::rival(&names, &applied, &now, &recording.whole)
            .filter(|_| recording.stopped.is_none());
        let whole = recording.whole.together(&self.disks.name());
        let spoilt = exclusion::spoilt(&recording.outcome, &drifted, &whole, &whole, recording.gap);
        let problem = recording.stopped.or(spoilt.map(|(_, problem)| problem));
        let trace = ArmTrace {
            arm: self.arms[planned.arm].label.clone(),
            started,
            trace: recording.trace.filter(|_| problem.is_none()),
            problem,
        };
        Ok(Traced { trace, rival })
    }

    /// From the end of the ramp, like a round; of a command from its first I/O.
    fn record(&mut self, planned: &PlannedRound, time: Duration) -> Result<Recording> {
        let task = Task {
            planned,
            arm: &self.arms[planned.arm],
            ramp: self.ramp,
            time,
        };
        let mut started = self.start(&task)?;
        let Started {
            running,
            before,
            clock_watch,
            cgroups,
            ..
        } = &mut started;
        let mut gap = self.wait_until_begun(before, cgroups, &mut **running, clock_watch)?;
        let mut stopped = None;
        let reference = &self.arms[self.live.as_ref().map_or(0, |live| live.reference)];
        let mut watch = Watch {
            guard: self.live.as_mut().and_then(|live| live.stop_if.as_mut()),
            reference,
            stopped: &mut stopped,
        };
        if let Some(guard) = &mut watch.guard {
            guard.begin();
        }
        let machine = &mut *self.machine;
        let is_timed = self.workload.properties().fixed == Fixed::Time;
        if gap.is_none() && is_timed {
            let start = machine.now() + self.ramp;
            gap = sleep_beside(machine, &mut **running, start, clock_watch, &mut watch)?;
        }
        let mut trace = None;
        if gap.is_none() {
            let begin_ns = machine.begin_trace()?;
            let end = machine.now() + time.saturating_sub(GUARD);
            let ended = sleep_beside(machine, &mut **running, end, clock_watch, &mut watch)?;
            let mut taken = machine.end_trace(begin_ns)?;
            name_parts(&mut taken.owners, cgroups);
            trace = Some(taken);
            gap = ended.filter(|gap| is_timed || *gap == Gap::Stopped);
        }
        if stopped.is_some() {
            running.stop();
        }
        let outcome = wait_for_end(machine, &mut **running, clock_watch)?;
        Ok(Recording {
            trace,
            gap,
            stopped,
            outcome,
            whole: Interval::between(before, &machine.snapshot()?)?,
        })
    }
}
