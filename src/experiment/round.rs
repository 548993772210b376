//! One round: switch and verify, idle, start the workload, skip the ramp, measure over its window, let it end,
//! verify again.

mod blame; // who waited behind whom in the window
mod finished; // what the result file says of a round
mod laps; // what the time of a round was spent on
mod live; // rounds on the existing load
mod pilot; // one execution under each arm, from which the times are chosen
mod precondition; // what runs before the first round
mod trace; // one more run, which is recorded request by request
pub(super) mod waiting; // waits for idle disks, for the first I/O and for the end
mod window; // the measured time of a workload that runs for a time

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use self::laps::Laps;
pub(super) use self::live::is_stuck;
use self::waiting::{idle_until, wait_for_end, wait_until_idle};
use self::window::Window;
use super::clock_watch::ClockWatch;
use super::machine::{Machine, OutputDirectory, Task};
use crate::workload::{Running, Workload};
use iosched_host::system::device::Disks;
use iosched_host::system::device::uevents::{HeardUevents, Uevent};
use iosched_result::analysis::exclusion::Gap;
use iosched_result::analysis::{controls, drift};
use iosched_result::measured::snapshot::{Interval, OwnerKey, Snapshot};
use iosched_result::types::arm::Arm;
use iosched_result::types::cold::Cold;
use iosched_result::types::outcome::{CgroupRef, Fixed, Outcome};
use iosched_result::types::participant::Participant;
use iosched_result::types::plan::{PlannedRound, Turn};
use iosched_result::types::queue::{Applied, State};
use iosched_result::types::result::{Exclusion, Member, Round};

/// The setup that all rounds share.
pub struct RoundSetup<'a> {
    pub disks: &'a Disks,
    pub arms: &'a [Arm],
    pub machine: &'a mut dyn Machine,
    pub workload: &'a mut dyn Workload,
    pub ramp: Duration,
    /// The reference, and how long it runs before each round.
    pub washout: Option<(usize, Duration)>,
    /// Caches that are dropped before each round.
    pub cold: Option<Cold>,
    pub time: Duration,
    /// Whether each round says who waited behind whom.
    pub why: bool,
    pub live: Option<LiveRounds>,
    /// By arm, the settings of each disk at the beginning of the arm's first round. A setting that another program
    /// changes and no switch resets would otherwise make later rounds those of another arm.
    pub first: BTreeMap<usize, Vec<State>>,
}

pub use self::finished::Finished;
pub use self::live::{LiveRounds, refuse_a_long_stop};
pub use self::trace::Traced;

const POLL: Duration = Duration::from_millis(20);
/// Timeout for earlier requests to drain.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// A workload that runs; its fields drop in this order.
struct Started {
    running: Box<dyn Running>,
    /// The counts before its start.
    before: Snapshot,
    clock_watch: ClockWatch,
    cgroups: Vec<CgroupRef>,
    _output: OutputDirectory,
}

/// The measured part of a round.
struct MeasuredRound {
    window: Result<Window, Gap>,
    /// From before the start of the workload until after its end.
    whole: Interval,
    outcome: Outcome,
    cgroups: Vec<CgroupRef>,
    /// The machine was suspended, or this process was stopped.
    pause: Option<String>,
    /// The condition of `--stop-if` held.
    stopped: Option<String>,
    /// Kernel events of the disks.
    told: HeardUevents,
}

/// A round, and the reason to end the run after it.
pub struct RoundOutcome {
    pub round: Round,
    /// Another program switched the scheduler during the round.
    pub rival: Option<String>,
}

impl RoundSetup<'_> {
    /// An error ends the whole run; a failed workload only spoils its round.
    pub fn run_round(&mut self, turn: &Turn) -> Result<RoundOutcome> {
        let planned = &turn.planned;
        let arm = &self.arms[planned.arm];
        let mut laps = Laps::begin(self.machine);
        let applied = self.switch(planned, &mut laps)?;
        let before = self.machine.measure_controls(2 * planned.index)?;
        // As late as possible: what is dropped is clean, so this does no I/O.
        let cached_bytes = match self.cold {
            Some(cold) => self.machine.drop_pages(cold)?,
            None => None,
        };
        let started = humantime::format_rfc3339_millis(self.machine.time_of_day()).to_string();
        let cpu = self.machine.cpu_times();
        let task = Task {
            planned,
            arm,
            ramp: self.ramp,
            time: self.time,
        };
        let measured = self.measure(&task, &mut laps)?;
        let load = cpu.and_then(|earlier| earlier.until(&self.machine.cpu_times()?));
        let after = self.machine.measure_controls(2 * planned.index + 1)?;
        let (mut drifted, rival) = self.drifted(planned, &applied, &measured)?;
        let MeasuredRound {
            window,
            whole,
            outcome,
            cgroups,
            pause,
            stopped,
            told,
        } = measured;
        if stopped.is_some() {
            // The reference is in force now, as intended.
            drifted.clear();
        }
        let measured = window.as_ref().ok().map(|window| &window.interval);
        let arrivals = self.arrivals(measured);
        let iops_before = self.remember_load(measured);
        let name = self.disks.name();
        let participants = self.participants_of(&whole);
        let gap = window.as_ref().err().copied();
        let window = window.unwrap_or_else(|_| Window::nothing(&name));
        let finished = Finished {
            started,
            applied: applied[0].clone(),
            members: self.members(applied),
            drifted,
            gap,
            window: window.interval.together(&name),
            parts: window.parts,
            times: Some(laps.times),
            whole: Some(whole),
            cgroups,
            participants,
            outcome,
            with_elapsed: self.workload.properties().fixed == Fixed::Work
                && !self.workload.properties().ends_by_the_clock,
            disturbed: pause.map(|pause| (Exclusion::Paused, pause)),
            load,
            iops_before,
            uevents: told.lines(),
            cached_bytes,
            why: window.why,
        };
        let mut round = finished.round(turn, &self.arms[turn.planned.arm]);
        round.metrics.extend(controls::of_round(&before, &after));
        round.metrics.extend(arrivals);
        if stopped.is_some() {
            round.problem = stopped;
        }
        Ok(RoundOutcome { round, rival })
    }

    /// What changed during the round, or since the first round of its arm; and the change that another program made.
    fn drifted(
        &mut self,
        planned: &PlannedRound,
        applied: &[Applied],
        measured: &MeasuredRound,
    ) -> Result<(Vec<String>, Option<String>)> {
        let first = self.first.entry(planned.arm).or_insert_with(|| {
            let states = applied.iter().map(|applied| applied.effective.clone());
            states.collect()
        });
        let now = self.machine.read_back()?;
        let names = self.disks.member_names();
        let mut drifted = drift::drifted(&names, first, applied, &now);
        // For requested events, changes by udev rules show in the settings.
        let told = measured.told.events.iter();
        let own = told.filter(|event| !event.is_asked_for);
        drifted.extend(own.map(|event| format!("the kernel reported a {event}")));
        let rival = drift::rival(&names, applied, &now, &measured.whole)
            .filter(|_| measured.stopped.is_none());
        drifted.extend(rival.clone());
        Ok((drifted, rival))
    }

    /// Switches to the arm of the round, once the device is idle.
    fn switch(&mut self, planned: &PlannedRound, laps: &mut Laps) -> Result<Vec<Applied>> {
        let disks = &self.disks.members;
        self.wait_for_load()?;
        laps.lap(self.machine);
        self.wash_out(planned)?;
        let washed_out_s = laps.lap(self.machine);
        if self.washout.is_some() {
            laps.times.washout_s = washed_out_s;
        }
        // Before the switch: no arm writes back what another has left.
        if let Some(cold) = self.cold {
            self.machine.write_back(cold)?;
        }
        let applied = self.machine.apply(&self.arms[planned.arm])?;
        if self.live.is_some() {
            refuse_a_long_stop(&applied, disks)?;
        } else {
            wait_until_idle(self.machine, disks)?;
        }
        let fixed = self.workload.properties().fixed;
        let pause = planned.pause(fixed, self.ramp + self.time);
        let until = self.machine.now() + pause;
        idle_until(self.machine, until)?;
        laps.times.switch_s = laps.lap(self.machine);
        Ok(applied)
    }

    fn participants_of(&mut self, whole: &Interval) -> Vec<Participant> {
        let found = self.machine.participants().into_iter();
        let keys: Vec<&OwnerKey> = whole.owners.iter().map(|owner| &owner.key).collect();
        found.map(|participant| participant.among(&keys)).collect()
    }

    /// Runs the workload under the reference and discards it, so that every round follows the same state.
    fn wash_out(&mut self, planned: &PlannedRound) -> Result<()> {
        let Some((reference, time)) = self.washout else {
            return Ok(());
        };
        let arms = self.arms;
        let arm = &arms[reference];
        self.machine.apply(arm)?;
        wait_until_idle(self.machine, &self.disks.members)?;
        let begin = self.machine.now();
        // A command may be shorter than the time.
        while self.wash_once(planned, arm, time)? {
            if self.machine.now().saturating_sub(begin) >= time {
                break;
            }
        }
        Ok(())
    }

    /// Whether the workload succeeded.
    fn wash_once(&mut self, planned: &PlannedRound, arm: &Arm, time: Duration) -> Result<bool> {
        let output = self.machine.prepare()?;
        let task = Task {
            planned,
            arm,
            ramp: Duration::ZERO,
            time,
        };
        let mut running = self.machine.start(self.workload, &task, &output)?;
        loop {
            // If the workload fails, the round itself fails too.
            if let Some(outcome) = running.poll()? {
                return Ok(outcome.problem.is_none());
            }
            self.machine.ensure_uninterrupted()?;
            self.machine.sleep(POLL);
        }
    }

    fn members(&self, applied: Vec<Applied>) -> Vec<Member> {
        let disks = &self.disks.members;
        if disks.len() == 1 {
            return Vec::new();
        }
        let members = disks.iter().zip(applied);
        members
            .map(|(disk, applied)| Member {
                device: disk.name.clone(),
                applied,
            })
            .collect()
    }

    fn start(&mut self, task: &Task<'_>) -> Result<Started> {
        let output = self.machine.prepare()?;
        let before = self.machine.snapshot()?;
        let mut clock_watch = ClockWatch::begin(self.machine);
        let running = self.machine.start(self.workload, task, &output)?;
        clock_watch.attend(self.machine);
        Ok(Started {
            cgroups: running.cgroups(),
            running,
            before,
            clock_watch,
            _output: output,
        })
    }

    fn measure(&mut self, task: &Task<'_>, laps: &mut Laps) -> Result<MeasuredRound> {
        let fixed = self.workload.properties().fixed;
        let lead = self.workload.properties().lead;
        self.machine.take_uevents();
        if fixed == Fixed::Work {
            // Its window begins with it.
            laps.times.start_s = laps.lap(self.machine);
        }
        let mut started = self.start(task)?;
        let Started {
            running,
            before,
            clock_watch,
            cgroups,
            ..
        } = &mut started;
        let mut stopped = None;
        // A command beside others begins later than they.
        let begun = (fixed == Fixed::Work && !lead.is_zero())
            .then(|| self.machine.snapshot())
            .transpose()?;
        if begun.is_some() {
            laps.times.start_s += laps.lap(self.machine);
        }
        let timed = match fixed {
            Fixed::Work => {
                self.begin_blame();
                None
            }
            Fixed::Time => Some(self.timed_window(
                before,
                cgroups,
                &mut **running,
                clock_watch,
                &mut stopped,
                laps,
            )?),
        };
        if stopped.is_some() {
            running.stop();
        }
        let outcome = wait_for_end(self.machine, &mut **running, clock_watch)?;
        let to_the_end = laps.lap(self.machine);
        if timed.is_some() {
            laps.times.end_s = to_the_end;
        }
        let pause = clock_watch.problem(self.machine);
        let last = self.machine.snapshot()?;
        let whole = Interval::between(before, &last)?;
        let window = match timed {
            Some(window) => window,
            None => Ok(Window {
                interval: match begun {
                    Some(begun) => Interval::between(&begun, &last)?,
                    None => whole.clone(),
                },
                parts: Vec::new(),
                why: self.end_blame(cgroups)?,
            }),
        };
        let mut told = self.machine.take_uevents();
        let is_ours = |event: &Uevent| self.disks.stack.iter().any(|disk| event.is_of(&disk.name));
        told.events.retain(is_ours);
        Ok(MeasuredRound {
            window,
            whole,
            outcome,
            cgroups: std::mem::take(cgroups),
            pause,
            stopped,
            told,
        })
    }
}

#[cfg(test)]
#[path = "round_tests.rs"]
mod tests;
