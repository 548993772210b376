//! A live run whose caller keeps the time, as the terminal UI does: arms take turns on one disk under any load. What
//! comes next, which rounds count and what they say is decided as in `run --workload live --rounds open`. Pure.

use std::time::Duration;

use anyhow::Result;

use super::conclude;
use super::drift::differences;
use super::live::{self, LiveDesign, load};
use super::metric::Metric;
use super::plan::Plan;
use super::round::Finished;
use super::statistics::stopping::Stopping;
use super::turn::{self, Next, Turn};
use crate::ab::result::{Design, Exclusion, ResultFile, Round, Status, Subject, WorkloadInfo};
use crate::measure::histogram::Histogram;
use crate::measure::snapshot::{Interval, OwnerNumbers};
use crate::scheduler::arm::Arm;
use crate::scheduler::{Applied, State};
use crate::workload::{Fixed, Outcome};

/// Shortest settle time; it is never more than a fifth of a round.
const SETTLE: Duration = Duration::from_secs(1);

pub struct Rotation {
    /// Its rounds lack the histograms of processes, which take half a megabyte for each round of a busy host.
    result: ResultFile,
    /// The whole rounds as JSON.
    rounds: Vec<Vec<u8>>,
    time: Duration,
    next: Option<Turn>,
    now: Option<UnderWay>,
    /// Rate in the window before, see [`Evidence::iops_before`](crate::ab::result::Evidence).
    iops: Option<f64>,
}

struct UnderWay {
    turn: Turn,
    applied: Applied,
    started: String,
    disturbed: Option<String>,
}

impl Rotation {
    /// `reference`: one of the arms. Each turn is measured for `time` after settling.
    pub fn new(
        seed: u64,
        started: String,
        subject: Subject,
        arms: Vec<Arm>,
        reference: usize,
        time: Duration,
    ) -> Self {
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
        let design = Design {
            arms,
            reference,
            stopping: Stopping::Open,
            ramp_s: settle(time).as_secs_f64(),
            washout_s: 0.0,
            control_disk: None,
            cold: None,
            round_time_s: time.as_secs_f64(),
            primary: live::METRICS
                .iter()
                .filter_map(|name| Metric::named(name))
                .collect(),
            alpha: Design::ALPHA,
            is_placebo: false,
            live: Some(LiveDesign::default()),
            order: false,
            fairness: false,
            trace_s: None,
        };
        let mut result = ResultFile::new(started, subject, workload, design, plan);
        result
            .notes
            .push("from a rotation of the terminal UI".to_owned());
        Rotation {
            result,
            rounds: Vec::new(),
            time,
            next: None,
            now: None,
            iops: None,
        }
    }

    pub fn arms(&self) -> &[Arm] {
        &self.result.design.arms
    }

    /// Number of turns that have begun, and of those that are planned so far.
    pub fn progress(&self) -> (usize, usize) {
        let begun = self.rounds.len() + usize::from(self.now.is_some());
        (begun, self.result.plan.rounds.len().max(begun))
    }

    /// The arm of the next turn and its settling time; None when every comparison has its verdict, or none can get one.
    pub fn next_turn(&mut self) -> Option<(&Arm, Duration)> {
        let turn = loop {
            match turn::next(&self.result) {
                Next::Round(turn) => break turn,
                Next::Draw(segment) => self.result.plan.extend(segment.blocks, &segment.arms),
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
    pub fn disturb(&mut self, why: String) {
        if let Some(now) = &mut self.now {
            now.disturbed.get_or_insert(why);
        }
    }

    /// Ends the current turn. Without a `window` it was not measured and adds no round. `window` covers this disk
    /// alone; `state` is in force now, None when the disk is gone.
    pub fn end(
        &mut self,
        window: Option<Interval>,
        state: Option<&State>,
    ) -> Result<Option<Round>> {
        let (Some(now), Some(window)) = (self.now.take(), window) else {
            return Ok(None);
        };
        let drifted = match state {
            Some(state) => differences(&now.applied.effective, state),
            None => vec![format!("{} is gone", self.result.device.device.name)],
        };
        let (rate, arrivals) = (load::iops(&window), load::arrivals(&window));
        let finished = Finished {
            started: now.started,
            applied: now.applied,
            members: Vec::new(),
            drifted,
            window,
            gap: None,
            whole: None,
            cgroups: Vec::new(),
            participants: Vec::new(),
            outcome: Outcome::default(),
            with_elapsed: false,
            disturbed: now.disturbed.map(|why| (Exclusion::DriftedSettings, why)),
            load: None,
            iops_before: std::mem::replace(&mut self.iops, rate),
            cached_bytes: None,
            uevents: Vec::new(),
        };
        let mut round = finished.round(&now.turn, &self.arms()[now.turn.planned.arm]);
        round.metrics.extend(arrivals);
        self.rounds.push(serde_json::to_vec(&round)?);
        self.result.rounds.push(light(&round));
        self.result.excluded = conclude::excluded_blocks(&self.result);
        Ok(Some(round))
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
        file.excluded = conclude::excluded_blocks(&file);
        conclude::conclude(&mut file);
        Ok(file)
    }
}

/// What decides on the turns to come.
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
mod tests {
    use super::*;
    use crate::measure::snapshot::Op;
    use crate::report::fixture;

    fn rotation() -> Rotation {
        let arms = ["none", "bfq"].map(|text| text.parse().unwrap());
        let time = Duration::from_secs(10);
        Rotation::new(3, "then".into(), fixture::subject(), arms.into(), 0, time)
    }

    fn state(arm: &Arm) -> State {
        State {
            active: arm.scheduler.clone(),
            available: Vec::new(),
            settings: [("nr_requests".to_owned(), "64".to_owned())].into(),
            hardware_depth: None,
        }
    }

    fn window(ios: u64) -> Interval {
        let mut window = Interval::nothing("nvme0n1");
        window.end_ns = 10_000_000_000;
        window.devices[0].ops[Op::Read as usize].ios = ios;
        window
    }

    /// A turn from its switch to its end; `end` may change the state that is found at the end.
    fn turn(rotation: &mut Rotation, end: impl FnOnce(&mut Rotation, &mut State)) -> Round {
        let (arm, _) = rotation.next_turn().unwrap();
        let mut state = state(arm);
        let ios = if arm.label == "bfq" { 2000 } else { 1000 };
        let applied = Applied {
            effective: state.clone(),
            switch_ns: None,
            notes: Vec::new(),
        };
        rotation.begin(applied, "now".into());
        end(rotation, &mut state);
        let round = rotation.end(Some(window(ios)), Some(&state));
        round.unwrap().unwrap()
    }

    #[test]
    fn turns_follow_the_plan_and_make_a_result() {
        let mut rotation = rotation();
        for index in 0..16 {
            let planned = rotation.result.plan.rounds[index];
            let (arm, settle) = rotation.next_turn().unwrap();
            assert_eq!(arm.label, ["none", "bfq"][planned.arm]);
            let longest = Duration::from_millis(1250);
            assert!((Duration::from_secs(1)..longest).contains(&settle));
            let round = turn(&mut rotation, |_, _| {});
            assert_eq!((round.index, round.block), (index, planned.block));
            assert_eq!(round.problem, None);
        }
        assert_eq!(rotation.progress(), (16, 16));
        let file = rotation.result("later".into()).unwrap();
        assert_eq!((file.status, file.plan.blocks()), (Status::Complete, 8));
        let iops = file
            .comparisons
            .iter()
            .find(|row| row.metric.name == "iops");
        let found = &iops.unwrap().comparison;
        assert_eq!(found.blocks, 8);
        assert!((found.ratio.unwrap() - 2.0).abs() < 1e-9);
        // In the middle of a block.
        turn(&mut rotation, |_, _| {});
        let file = rotation.result("later".into()).unwrap();
        assert_eq!((file.status, file.plan.blocks()), (Status::Interrupted, 9));
    }

    #[test]
    fn a_turn_that_was_disturbed_does_not_count() {
        let mut rotation = rotation();
        let round = turn(&mut rotation, |rotation, _| {
            rotation.disturb("another switched".into());
            rotation.disturb("and again".into());
        });
        assert_eq!(round.exclusion, Some(Exclusion::DriftedSettings));
        assert_eq!(round.problem.as_deref(), Some("another switched"));
        let round = turn(&mut rotation, |_, state| {
            state.settings.insert("nr_requests".into(), "8".into());
        });
        let says = "settings changed: nr_requests: 64 -> 8";
        assert_eq!(round.problem.as_deref(), Some(says));
        let file = rotation.result("later".into()).unwrap();
        assert_eq!((file.rounds.len(), file.excluded.len()), (2, 1));
        assert_eq!(file.comparisons[0].comparison.blocks, 0);
        // As in every run, an excluded block is run again before its look.
        let again = (0..14).any(|_| turn(&mut rotation, |_, _| {}).attempt == 1);
        assert!(again, "{:?}", rotation.result.excluded);
    }

    #[test]
    fn a_turn_that_was_not_measured_is_no_round_and_a_disk_that_is_gone_spoils_one() {
        let mut rotation = rotation();
        assert_eq!(rotation.end(Some(window(1)), None).unwrap(), None);
        let applied = |rotation: &mut Rotation| Applied {
            effective: state(rotation.next_turn().unwrap().0),
            switch_ns: None,
            notes: Vec::new(),
        };
        let now = applied(&mut rotation);
        rotation.begin(now, "now".into());
        assert_eq!(rotation.end(None, None).unwrap(), None);
        let now = applied(&mut rotation);
        rotation.begin(now, "now".into());
        let round = rotation.end(Some(window(1)), None).unwrap().unwrap();
        assert_eq!(round.index, 0, "a turn without a window is made again");
        let says = "settings changed: nvme0n1 is gone";
        assert_eq!(round.problem.as_deref(), Some(says));
    }
}
