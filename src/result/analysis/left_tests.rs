use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;
use crate::analysis::turn::Next;
use crate::random::below;
use crate::report::fixture::{empty, round, values};
use crate::statistics::stopping::{Extension, Stopping};
use crate::types::live::LiveDesign;
use crate::types::outcome::Fixed;
use crate::types::plan::Turn;
use crate::types::result::Exclusion;
use crate::types::times::RoundTimes;

/// A run that is carried out on paper.
struct Paper {
    result: ResultFile,
    /// Seconds of a round under each arm, without its pause.
    arms_s: Vec<f64>,
    /// Between rounds.
    between_s: f64,
    /// Indices of rounds that do not count.
    spoilt: Vec<usize>,
    /// Throughput under each arm.
    levels: Vec<f64>,
    /// The share by which rounds differ from it.
    noise: f64,
}

/// What was foretold after each round, and the seconds that the rounds had taken then.
type Foretold = Vec<(f64, Option<Left>)>;

impl Paper {
    fn of(arms_s: &[f64], stopping: Stopping) -> Paper {
        let names = ["none", "bfq", "kyber", "mq-deadline"];
        Paper {
            result: empty(&names[..arms_s.len()], stopping, &["throughput"]),
            arms_s: arms_s.to_vec(),
            between_s: 0.3,
            spoilt: Vec::new(),
            levels: vec![1e8; arms_s.len()],
            noise: 0.0,
        }
    }

    /// Rounds differ by up to 3 % from the usual of their arm.
    fn one_round(&mut self, turn: &Turn) {
        let arm = turn.planned.arm;
        let index = turn.planned.index;
        let wobble = ((index * 7) % 11) as f64 / 11.0 - 0.5;
        let arm_s = self.arms_s[arm] * (1.0 + 0.06 * wobble);
        let washout_s = self.result.design.washout_s;
        let times = RoundTimes {
            washout_s,
            switch_s: pause_s(&self.result, &turn.planned),
            start_s: 0.05 * arm_s,
            ramp_s: 0.15 * arm_s,
            end_s: 0.0,
        };
        let played = if self.spoilt.contains(&index) {
            Err(Exclusion::ForeignIo)
        } else {
            let random = below(&mut ChaCha8Rng::seed_from_u64(index as u64), 1000);
            let noise = self.noise * (random as f64 / 1000.0 - 0.5);
            Ok(values(
                turn,
                &[("throughput", self.levels[arm] * (1.0 + noise))],
            ))
        };
        let mut round = round(&self.result, turn, played);
        round.window_s = 0.8 * arm_s;
        round.evidence.times = Some(times);
        let took_s = washout_s + times.switch_s + arm_s + self.between_s;
        *self.result.rounds_took_s.get_or_insert(0.0) += took_s;
        self.result.rounds.push(round);
    }

    fn carry_out(&mut self) -> Foretold {
        let mut foretold = Vec::new();
        loop {
            match turn::next(&self.result) {
                Next::Round(turn) => self.one_round(&turn),
                Next::Draw(segment) => {
                    self.result.plan.extend(segment.blocks, &segment.arms);
                    continue;
                }
                Next::End => return foretold,
            }
            foretold.push((self.took_s(), left(&self.result, 0.0)));
        }
    }

    fn took_s(&self) -> f64 {
        self.result.rounds_took_s.unwrap_or(0.0)
    }

    /// The worst error of the time that was left, as a share of it, from the end of the first block on until the last.
    fn worst_error(&mut self) -> f64 {
        let arms = self.arms_s.len();
        let foretold = self.carry_out();
        let end_s = self.took_s();
        let errors = foretold[arms - 1..foretold.len() - arms].iter();
        let errors = errors.map(|(at_s, left)| {
            let left_s = left.expect("an estimate").most_s.expect("an end");
            (left_s / (end_s - at_s) - 1.0).abs()
        });
        errors.fold(0.0, f64::max)
    }
}

const SIX: Stopping = Stopping::Fixed { blocks: 6 };

#[test]
fn after_the_first_block_a_fixed_run_ends_when_it_was_foretold() {
    let mut worst: f64 = 0.0;
    for seed in 0..200 {
        // Short rounds, of which the random pauses are a large part.
        for arms_s in [&[1.2, 1.3][..], &[6.0, 6.2], &[25.0, 25.0, 26.0, 25.5]] {
            let mut paper = Paper::of(arms_s, SIX);
            paper.result.plan = crate::types::plan::Plan::new(seed, arms_s.len(), 6);
            worst = worst.max(paper.worst_error());
        }
    }
    assert!(worst < 0.1, "{worst}");
}

#[test]
fn a_command_takes_as_long_as_it_takes_under_each_arm() {
    let mut paper = Paper::of(&[2.0, 40.0, 9.0], SIX);
    paper.result.workload.fixed = Fixed::Work;
    let worst = paper.worst_error();
    assert!(worst < 0.1, "{worst}");
    // Also where an arm has not had its turn: as long as the others.
    let mut paper = Paper::of(&[10.0, 10.0], SIX);
    let foretold = paper.carry_out();
    let of_first = foretold[0].1.expect("an estimate").most_s.expect("an end");
    assert!((of_first / (paper.took_s() - foretold[0].0) - 1.0).abs() < 0.1);
}

#[test]
fn nothing_is_foretold_before_the_first_round_or_for_hours_of_the_day() {
    let mut paper = Paper::of(&[10.0, 10.0], SIX);
    assert_eq!(left(&paper.result, 0.0), None);
    paper.carry_out();
    paper.result.rounds.truncate(4);
    assert!(left(&paper.result, 0.0).is_some());
    paper.result.design.live = Some(LiveDesign {
        between: Some("22:00-06:00".parse().expect("hours")),
        ..LiveDesign::default()
    });
    assert_eq!(left(&paper.result, 0.0), None);
}

#[test]
fn blocks_that_are_repeated_and_wash_outs_take_their_time() {
    let mut paper = Paper::of(&[10.0, 10.0], Stopping::Fixed { blocks: 10 });
    // One round of the first block, and one of the second.
    paper.spoilt = vec![1, 2];
    let worst = paper.worst_error();
    assert_eq!(paper.result.rounds.len(), 24);
    // The second was not spoilt yet when the first block ended: 18 of 20 rounds were foretold.
    assert!((0.05..0.15).contains(&worst), "{worst}");
    let foretold = Paper {
        result: empty(
            &["none", "bfq"],
            Stopping::Fixed { blocks: 10 },
            &["throughput"],
        ),
        ..paper
    }
    .carry_out();
    let left_s = foretold[3].1.and_then(|left| left.most_s).expect("an end");
    assert!(
        (left_s / (foretold[23].0 - foretold[3].0) - 1.0).abs() < 0.05,
        "{left_s}"
    );

    let mut washed = Paper::of(&[10.0, 10.0], SIX);
    washed.result.design.washout_s = 30.0;
    assert!(washed.worst_error() < 0.05);
}

#[test]
fn a_run_with_looks_has_a_next_and_a_last_one() {
    let mut paper = Paper::of(&[10.0, 10.0], Stopping::LOOKS);
    // Nothing is decided before the last look.
    paper.noise = 1.0;
    let foretold = paper.carry_out();
    let blocks = paper.result.blocks_begun();
    assert_eq!(blocks, 20, "a difference was found where there is none");
    let end_s = paper.took_s();
    let near = |foretold_s: Option<f64>, wanted_s: f64| {
        let foretold_s = foretold_s.expect("a time");
        assert!(
            (foretold_s / wanted_s - 1.0).abs() < 0.1,
            "{foretold_s} {wanted_s}"
        );
    };
    // After the first block the next look is the one after six, with ten more rounds.
    for (after_blocks, look) in [(1, 6), (5, 6), (7, 8), (9, 12), (13, 16)] {
        let (at_s, left) = foretold[2 * after_blocks - 1];
        let left = left.expect("an estimate");
        near(left.next_s, foretold[2 * look - 1].0 - at_s);
        near(left.most_s, end_s - at_s);
    }
    for look in [6, 8, 12, 16] {
        let (at_s, left) = foretold[2 * look - 1];
        let left = left.expect("an estimate");
        assert_eq!(left.next_s, None, "the verdicts are drawn now");
        near(left.most_s, end_s - at_s);
    }
    let (_, last) = foretold[37];
    let last = last.expect("an estimate");
    assert_eq!(last.next_s, last.most_s);

    let mut decided = Paper::of(&[10.0, 10.0], Stopping::LOOKS);
    decided.levels = vec![1e8, 2e8];
    let foretold = decided.carry_out();
    assert!(
        decided.result.blocks_begun() < 20,
        "doubled, and not decided"
    );
    let end = foretold.last().and_then(|(_, left)| *left);
    let next_s = end.expect("an estimate").next_s;
    assert_eq!(next_s, None);
}

#[test]
fn limits_of_time_and_added_rounds_say_when_it_ends_at_the_latest() {
    let mut paper = Paper::of(&[10.0, 10.0], Stopping::LOOKS);
    paper.result.design.budget_s = Some(250.0);
    let foretold = paper.carry_out();
    assert!(paper.took_s() <= 250.0);
    for (at_s, left) in &foretold[1..] {
        let left = left.expect("an estimate");
        assert!(
            left.most_s <= Some(250.0 - at_s) || left.most_s == left.next_s,
            "{left:?}"
        );
    }
    // All its blocks, and eight more of 20.6 s and some pause.
    paper.result.design.budget_s = None;
    let done = paper.result.blocks_begun();
    paper.result.design.extensions = vec![Extension {
        after_blocks: done,
        blocks: 8,
    }];
    let before_s = paper.took_s();
    let foretold_s = left(&paper.result, before_s)
        .and_then(|left| left.most_s)
        .expect("an end");
    paper.carry_out();
    let took_s = paper.took_s() - before_s;
    assert!(
        (foretold_s / took_s - 1.0).abs() < 0.1,
        "{foretold_s} {took_s}"
    );
}

#[test]
fn a_live_run_ends_with_its_time_and_an_open_one_has_no_end() {
    let mut paper = Paper::of(&[10.0, 10.0], Stopping::Open);
    for _ in 0..4 {
        let Next::Round(turn) = turn::next(&paper.result) else {
            panic!("an open run has ended");
        };
        paper.one_round(&turn);
    }
    let open = left(&paper.result, 0.0).expect("something");
    assert_eq!((open.next_s, open.most_s), (None, None));
    paper.result.design.live = Some(LiveDesign {
        for_s: Some(300.0),
        ..LiveDesign::default()
    });
    let ends_s = |took_before_s: f64| {
        let left = left(&paper.result, took_before_s).expect("something");
        assert_eq!(left.next_s, None);
        left.most_s.expect("an end")
    };
    // A round that has begun ends.
    let rest_s = 300.0 - paper.took_s();
    assert!(
        (rest_s..rest_s + 11.0).contains(&ends_s(0.0)),
        "{}",
        ends_s(0.0)
    );
    assert!(ends_s(20.0) - ends_s(0.0) > 19.9, "it was resumed");
}

#[test]
fn traces_come_after_the_last_round() {
    let mut paper = Paper::of(&[10.0, 10.0], SIX);
    paper.carry_out();
    assert_eq!(
        left(&paper.result, 0.0).and_then(|left| left.most_s),
        Some(0.0)
    );
    paper.result.design.trace_s = Some(60.0);
    let traces_s = left(&paper.result, 0.0).and_then(|left| left.most_s);
    assert!((120.0..130.0).contains(&traces_s.expect("an end")));
}
