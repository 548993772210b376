//! A live run whose caller keeps the time, as the terminal UI does: arms take turns on one disk under any load. What
//! comes next, which rounds count and what they say is decided as in `run --workload live --rounds open`. Pure.

mod program; // a program that is compared beside the disk

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::live::load;
use super::round::{Finished, is_stuck};
use iosched_result::analysis::drift::differences;
use iosched_result::analysis::exclusion::Gap;
use iosched_result::analysis::turn::{self, Next};
use iosched_result::analysis::{conclude, decided, early, exclusion, losses};
use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{Interval, OwnerNumbers};
use iosched_result::metric::Metric;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::live::LiveDesign;
use iosched_result::types::outcome::{Fixed, Outcome};
use iosched_result::types::participant::Participant;
use iosched_result::types::plan::{Plan, Turn};
use iosched_result::types::queue::{Applied, State};
use iosched_result::types::result::{
    Design, Exclusion, ResultFile, Round, Status, Subject, WorkloadInfo,
};
use iosched_result::why::RoundWhy;

pub use program::{MOST_PROGRAMS, Program};

/// Metrics of the disk that a rotation decides on. From arrival to completion, because a scheduler may move time from the
/// device's queue into its own. The means have a value wherever there was one I/O, the percentiles often have none.
pub const METRICS: [&str; 8] = [
    "read_total_mean",
    "read_total_p50",
    "read_total_p99",
    "read_throughput",
    "write_total_mean",
    "write_total_p99",
    "write_throughput",
    FAIRNESS,
];
/// Jain's index of the device times of the processes that were backlogged.
const FAIRNESS: &str = "jain_device_time";

/// A round may end late by this much, and by a tenth of its time.
const LATE_S: f64 = 1.0;
/// Shortest settle time; it is never more than a fifth of a round.
const SETTLE: Duration = Duration::from_secs(1);

pub struct Rotation {
    recorded: Recorded,
    time: Duration,
    next: Option<Turn>,
    now: Option<UnderWay>,
    /// Rate in the window before, see [`Evidence::iops_before`](crate::ab::result::Evidence).
    iops: Option<f64>,
}

/// What is compared, chosen before the first round.
pub struct Choice {
    pub arms: Vec<Arm>,
    /// Index into `arms`.
    pub reference: usize,
    /// At most [`MOST_PROGRAMS`].
    pub programs: Vec<Program>,
    /// Each turn is measured for so long after settling.
    pub time: Duration,
}

/// The rounds so far. A copy of it can be made into a file while the rotation goes on.
#[derive(Clone)]
pub struct Recorded {
    /// Its rounds lack the histograms of processes, which take half a megabyte for each round of a busy host.
    result: ResultFile,
    /// The whole rounds as JSON.
    rounds: Vec<Arc<[u8]>>,
}

struct UnderWay {
    turn: Turn,
    applied: Applied,
    started: String,
    disturbed: Option<(Exclusion, String)>,
}

impl Rotation {
    pub fn new(seed: u64, started: String, subject: Subject, choice: Choice) -> Self {
        let Choice {
            arms,
            reference,
            programs,
            time,
        } = choice;
        let plan = Plan::new(
            seed,
            arms.len(),
            Stopping::Open.next_segment(0).unwrap_or(1),
        );
        let workload = WorkloadInfo {
            name: "what was running".to_owned(),
            fixed: Fixed::Time,
            description: serde_json::json!({ "kind": "live" }),
            scratch_file: None,
            participants: Vec::new(),
        };
        let of_programs = programs.iter().flat_map(Program::metrics);
        let names = METRICS.map(str::to_owned).into_iter().chain(of_programs);
        let primary = names.filter_map(|name| Metric::named(&name));
        let design = Design {
            live: Some(LiveDesign::default()),
            elapsed_is_named: true,
            ..Design::new(arms, reference, Stopping::Open, primary.collect())
                .timed(settle(time), time)
        };
        let mut result = ResultFile::new(started, subject, workload, design, plan);
        result
            .notes
            .push("from a rotation of the terminal UI".to_owned());
        Rotation {
            recorded: Recorded {
                result,
                rounds: Vec::new(),
            },
            time,
            next: None,
            now: None,
            iops: None,
        }
    }

    pub fn arms(&self) -> &[Arm] {
        &self.recorded.result.design.arms
    }

    /// The rounds so far, without the histograms of processes.
    pub fn so_far(&self) -> &ResultFile {
        &self.recorded.result
    }

    /// Compares with another arm from now on. The result says that this was decided during the run.
    pub fn compare_with(&mut self, reference: usize) {
        let design = &mut self.recorded.result.design;
        if reference >= design.arms.len() || reference == design.reference {
            return;
        }
        let was = std::mem::replace(&mut design.reference, reference);
        self.recorded.result.decided.clear();
        let design = &self.recorded.result.design;
        let label = |arm: usize| &design.arms[arm].label;
        let note = format!(
            "the reference was changed from {} to {} after {} rounds",
            label(was),
            label(reference),
            self.recorded.rounds.len()
        );
        self.recorded.result.notes.push(note);
        decided::note(&mut self.recorded.result);
    }

    /// Index of the arm of the present turn.
    pub fn arm_now(&self) -> Option<usize> {
        Some(self.now.as_ref()?.turn.planned.arm)
    }

    /// The block of the present turn, or of the last one, from 0.
    pub fn block(&self) -> Option<usize> {
        match &self.now {
            Some(now) => Some(now.turn.planned.block),
            None => Some(self.recorded.result.rounds.last()?.block),
        }
    }

    /// Index of the arm after that; None if it is not certain: a block is repeated or may be, or is not drawn yet.
    pub fn arm_after(&self) -> Option<usize> {
        let result = &self.recorded.result;
        let now = self
            .now
            .as_ref()
            .filter(|now| now.turn.attempt == 0)?
            .turn
            .planned;
        let next = result.plan.rounds.get(now.index + 1)?;
        (next.block == now.block || result.excluded.is_empty()).then_some(next.arm)
    }

    /// Number of turns that have begun, and of those that are planned so far.
    pub fn progress(&self) -> (usize, usize) {
        let begun = self.recorded.rounds.len() + usize::from(self.now.is_some());
        (begun, self.recorded.result.plan.rounds.len().max(begun))
    }

    /// The arm of the next turn and its settling time; None when every comparison has its verdict, or none can get one.
    pub fn next_turn(&mut self) -> Option<(&Arm, Duration)> {
        let turn = loop {
            match turn::next(&self.recorded.result) {
                Next::Round(turn) => break turn,
                Next::Draw(segment) => self
                    .recorded
                    .result
                    .plan
                    .extend(segment.blocks, &segment.arms),
                Next::End => return None,
            }
        };
        let (arm, phase_ns) = (turn.planned.arm, turn.planned.phase_ns);
        self.next = Some(turn);
        // Random jitter, so that rounds are not in phase with periodic jobs of the host.
        let jitter = Duration::from_nanos(phase_ns / 4);
        Some((&self.arms()[arm], settle(self.time) + jitter))
    }

    /// Call when the arm of [`Rotation::next_turn`] is in force. No effect at the end.
    pub fn begin(&mut self, applied: Applied, started: String) {
        self.now = self.next.take().map(|turn| UnderWay {
            turn,
            applied,
            started,
            disturbed: None,
        });
    }

    /// Marks the current turn as not counting. The first reason is kept.
    pub fn disturb(&mut self, exclusion: Exclusion, why: String) {
        if let Some(now) = &mut self.now {
            now.disturbed.get_or_insert((exclusion, why));
        }
    }

    /// Ends the current turn. Without a `window` it was not measured and adds no round. `window` covers this disk
    /// alone; `state` is in force now, None when the disk is gone; `fairness` among the processes of the window, if
    /// there were several; `programs` are those of [`Rotation::new`], with their processes of this window; `why`: who
    /// waited behind whom in it, if that was kept.
    pub fn end(
        &mut self,
        window: Option<Interval>,
        state: Option<&State>,
        fairness: Option<f64>,
        programs: Vec<Participant>,
        why: Option<RoundWhy>,
    ) -> Result<Option<Round>> {
        if let Some(why) = window
            .as_ref()
            .and_then(|window| self.lasted_too_long(window))
        {
            self.disturb(Exclusion::Paused, why);
        }
        let (Some(now), Some(window)) = (self.now.take(), window) else {
            return Ok(None);
        };
        let drifted = match state {
            Some(state) => differences(&now.applied.effective, state),
            None => vec![format!(
                "{} is gone",
                self.recorded.result.device.device.name
            )],
        };
        let (rate, arrivals) = (load::iops(&window), load::arrivals(&window));
        let finished = Finished {
            started: now.started,
            applied: now.applied,
            members: Vec::new(),
            drifted,
            gap: is_stuck(&window).then_some(Gap::Starved),
            window,
            whole: None,
            cgroups: Vec::new(),
            participants: programs,
            outcome: Outcome::default(),
            with_elapsed: false,
            disturbed: now.disturbed,
            load: None,
            iops_before: std::mem::replace(&mut self.iops, rate),
            cached_bytes: None,
            parts: Vec::new(),
            times: None,
            why,
            uevents: Vec::new(),
        };
        let mut round = finished.round(&now.turn, &self.arms()[now.turn.planned.arm]);
        round.metrics.extend(arrivals);
        // Among all processes, not among the chosen programs.
        round.metrics.remove(FAIRNESS);
        let fairness = fairness.map(|index| (FAIRNESS.to_owned(), index));
        round.metrics.extend(fairness);
        losses::exclude(&self.recorded.result.design.primary, &mut round);
        let json = serde_json::to_vec(&round)?;
        self.recorded.rounds.push(json.into());
        self.recorded.result.rounds.push(light(&round));
        self.recorded.result.excluded = exclusion::excluded_blocks(&self.recorded.result);
        decided::note(&mut self.recorded.result);
        Ok(Some(round))
    }

    /// As when the machine slept, or this program was stopped.
    fn lasted_too_long(&self, window: &Interval) -> Option<String> {
        let (lasted, planned) = (window.duration_s(), self.time.as_secs_f64());
        let text = format!("the round lasted {lasted:.0} s in place of {planned:.0} s");
        (lasted > planned + LATE_S + planned / 10.0).then_some(text)
    }

    /// Why the rotation is to end before a round that counts: see [`early::why_none_counts`].
    pub fn why_none_counts(&self) -> Option<String> {
        early::why_none_counts(&self.recorded.result)
    }

    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }
}

impl Recorded {
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The name of the disk.
    pub fn name(&self) -> String {
        self.result.device.name()
    }

    /// The comparison from the turns so far.
    pub fn result(&self, finished: String) -> Result<ResultFile> {
        let mut file = self.result.clone();
        file.rounds = self
            .rounds
            .iter()
            .map(|json| serde_json::from_slice(json))
            .collect::<Result<_, _>>()?;
        let last = file.rounds.last().map_or(0, |round| round.block + 1);
        file.plan.rounds.retain(|planned| planned.block < last);
        file.finished = Some(finished);
        let first = file.rounds.iter().filter(|round| round.attempt == 0);
        let is_whole = first.count() == file.plan.rounds.len();
        file.status = if is_whole {
            Status::Complete
        } else {
            Status::Interrupted
        };
        file.excluded = exclusion::excluded_blocks(&file);
        conclude::conclude(&mut file);
        Ok(file)
    }
}

/// The part of a round that decides on the turns to come.
fn light(round: &Round) -> Round {
    let mut light = round.clone();
    for owner in &mut light.evidence.owners {
        forget_histograms(owner);
    }
    light
}

fn forget_histograms(owner: &mut OwnerNumbers) {
    for histogram in owner.q2d.iter_mut().chain(&mut owner.d2c) {
        *histogram = Histogram::new(histogram.layout());
    }
    (owner.stages, owner.asked) = (None, None);
}

fn settle(time: Duration) -> Duration {
    SETTLE.min(time / 5)
}

#[cfg(test)]
#[path = "rotation_tests.rs"]
mod tests;
