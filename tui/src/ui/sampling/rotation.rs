//! A rotation on one disk: its timer, its measurement windows and its result file. [`iosched::ab::rotation`] decides
//! on the turns and on which rounds count.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched_experiment::rotation;
use iosched_host::scheduler;
use iosched_host::system::device::Device;
use iosched_measure::probe::Probe;
use iosched_result::measured::snapshot::{Interval, Snapshot};
use iosched_result::stat::{self, Selection};
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::Applied;
use iosched_result::types::result::{Exclusion, Subject};
use iosched_result::why::RoundWhy;

use super::parts::{Parts, Place};
use super::programs;
use super::result_path::ResultPath;
use super::sample::Rotating;
use super::score::Score;
use crate::ui::place::time_of_day;

/// The user's choice.
pub struct Chosen {
    pub arms: Vec<Arm>,
    /// Index into `arms`.
    pub reference: usize,
    pub seconds: u64,
    pub programs: Vec<programs::Chosen>,
    /// The directory of its result.
    pub directory: PathBuf,
    /// The arm before the rotation, which is restored afterwards.
    pub before: Arm,
}

pub struct TimedRotation {
    device: usize,
    before: Arm,
    seconds: u64,
    turns: rotation::Rotation,
    timer: Option<Timer>,
    is_paused: bool,
    parts: Parts,
    programs: Vec<programs::Chosen>,
    file: ResultPath,
    /// What the rounds say to do that were saved last.
    decision: Option<String>,
}

/// The timer of the present turn.
struct Timer {
    settled_at: Instant,
    start: Option<(Snapshot, Instant)>,
}

/// The step at the deadline.
pub enum Step {
    /// The scheduler has settled: the round begins.
    Begin,
    /// The round is over: switch to the next arm.
    Flip,
}

impl TimedRotation {
    pub fn new(device: usize, chosen: Chosen, (probe, disk): (&Probe, &Device)) -> Self {
        let seed = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |now| u64::from(now.subsec_nanos()));
        let subject = Subject {
            environment: iosched_host::system::environment::read(None),
            device: iosched_host::system::device::info::of(disk, None),
            probe: iosched_experiment::machine::probe_info(probe),
        };
        let time = Duration::from_secs(chosen.seconds);
        let programs = chosen.programs.iter().map(|it| it.program.clone());
        let choice = rotation::Choice {
            arms: chosen.arms,
            reference: chosen.reference,
            programs: programs.collect(),
            time,
        };
        TimedRotation {
            device,
            seconds: chosen.seconds,
            before: chosen.before,
            turns: rotation::Rotation::new(seed, time_of_day(), subject, choice),
            timer: None,
            is_paused: false,
            parts: Parts::default(),
            programs: chosen.programs,
            file: ResultPath::new(&chosen.directory),
            decision: None,
        }
    }

    pub fn device(&self) -> usize {
        self.device
    }

    /// Number of rounds that were measured.
    pub fn rounds(&self) -> usize {
        self.turns.recorded().rounds()
    }

    pub fn before(&self) -> &Arm {
        &self.before
    }

    pub fn progress(&self, now: Instant) -> Rotating {
        let (round, rounds) = self.turns.progress();
        let arms = self.turns.arms();
        let ends = self.timer.as_ref().map_or(now, |timer| match &timer.start {
            None => timer.settled_at + Duration::from_secs(self.seconds),
            Some((_, began)) => *began + Duration::from_secs(self.seconds),
        });
        let left = ends.saturating_duration_since(now).as_secs_f64();
        Rotating {
            device: self.device,
            arms: arms.iter().map(|arm| arm.label.clone()).collect(),
            round,
            rounds,
            block: self.turns.block().map_or(0, |block| block + 1),
            seconds: self.seconds,
            now: self.turns.arm_now(),
            next: self.turns.arm_after(),
            left_s: left.ceil() as u64,
            is_paused: self.is_paused,
        }
    }

    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.is_paused {
            return None;
        }
        Some(match &self.timer {
            None => now,
            Some(Timer {
                start: None,
                settled_at,
            }) => *settled_at,
            Some(Timer {
                start: Some((_, began)),
                ..
            }) => *began + Duration::from_secs(self.seconds),
        })
    }

    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Ends the present round, which does not count: a pause may well come because of what its arm does.
    pub fn pause(
        &mut self,
        end: Option<Snapshot>,
        disk: &Device,
        names: &dyn Selection,
    ) -> Result<()> {
        self.is_paused = true;
        self.turns
            .disturb(Exclusion::Paused, "the rotation was paused".to_owned());
        self.end(end, disk, names, None)
    }

    pub fn go_on(&mut self) {
        self.is_paused = false;
    }

    pub fn step(&self) -> Step {
        match &self.timer {
            Some(Timer { start: None, .. }) => Step::Begin,
            _ => Step::Flip,
        }
    }

    pub fn begin(&mut self, start: Option<Snapshot>, now: Instant) {
        if let Some(timer) = &mut self.timer {
            timer.start = start.map(|snapshot| (snapshot, now));
        }
    }

    /// Marks the present round as not counting.
    pub fn disturb(&mut self, why: String) {
        self.turns.disturb(Exclusion::DriftedSettings, why);
    }

    /// The next arm, and its time to settle; None at the end of the plan.
    pub fn next_turn(&mut self) -> Option<(Arm, Duration)> {
        let (arm, settle) = self.turns.next_turn()?;
        Some((arm.clone(), settle))
    }

    pub fn flipped(&mut self, applied: Applied, settled_at: Instant) {
        let started = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        self.turns.begin(applied, started);
        self.timer = Some(Timer {
            settled_at,
            start: None,
        });
    }

    /// Ends the present round, if there is one. `names` knows the weights of control groups; `why` is of its window.
    pub fn end(
        &mut self,
        end: Option<Snapshot>,
        disk: &Device,
        names: &dyn Selection,
        why: Option<RoundWhy>,
    ) -> Result<()> {
        let start = self.timer.take().and_then(|timer| timer.start);
        let arm = self.turns.arm_now();
        let window = match (start, end) {
            (Some((start, _)), Some(end)) => Some(self.window(&start, &end, disk)?),
            _ => None,
        };
        let state = window.as_ref().and_then(|_| scheduler::read(disk).ok());
        let fairness = window
            .as_ref()
            .and_then(|window| stat::fairness_in(window, names)?.jain_device_time);
        let owners = window.as_ref().map_or(&[][..], |window| &window.owners);
        let programs = programs::participants(&self.programs, owners, names);
        let round = self
            .turns
            .end(window, state.as_ref(), fairness, programs, why)?;
        if let Some((round, arm)) = round.zip(arm) {
            let (block, attempt) = (round.block, round.attempt);
            let place = Place {
                block,
                attempt,
                arm,
            };
            self.parts.add(place, &round.evidence.owners, names);
        }
        Ok(())
    }

    pub fn why_none_counts(&self) -> Option<String> {
        self.turns.why_none_counts()
    }

    /// The score of the rounds so far. `metric`: the one that the user looks at.
    pub fn score(&mut self, metric: &str) -> Score {
        let result = self.turns.so_far();
        let is_out = |block, attempt| {
            let mut excluded = result.excluded.iter();
            excluded.any(|at| (at.block, at.attempt) == (block, attempt))
        };
        let parts = self.parts.report(is_out);
        Score::of(self.device, result, metric, parts)
    }

    /// `reference`: index of an arm.
    pub fn compare_with(&mut self, reference: usize) {
        self.turns.compare_with(reference);
    }

    /// The interval of this disk only.
    fn window(&self, start: &Snapshot, end: &Snapshot, disk: &Device) -> Result<Interval> {
        let mut window = Interval::between(start, end)?;
        window.devices.swap(0, self.device);
        window.devices.truncate(1);
        window.owners.retain(|owner| owner.key.device == disk.name);
        Ok(window)
    }

    /// Saves the rounds so far as a result file for `iosched-ab report`; None without rounds.
    pub fn save(&mut self) -> Result<Option<PathBuf>> {
        let saved = self.file.save(self.turns.recorded())?;
        Ok(saved.map(|saved| {
            self.decision = Some(saved.decision);
            saved.path
        }))
    }

    /// The disk, and what its rounds said to do when they were saved last.
    pub fn decision(&self) -> Option<String> {
        let name = self.turns.recorded().name();
        Some(format!("{name}: {}", self.decision.as_ref()?))
    }

    /// The file of the rounds, if it was written.
    pub fn written(&self) -> Option<&Path> {
        self.file.written()
    }

    /// Saves from time to time, in the background. An error is that of an earlier attempt.
    pub fn save_now_and_then(&mut self) -> Result<()> {
        self.file.save_now_and_then(self.turns.recorded())
    }
}
