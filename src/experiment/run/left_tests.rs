//! The time that is left, foretold while the fake machine's clock goes on.

use super::*;
use iosched_result::analysis::left::left;
use iosched_result::types::plan::Turn;
use iosched_result::types::result::Round;

/// What is foretold when a round ends, and how long the rounds have taken until then.
#[derive(Default)]
struct Foretold(Vec<(f64, Option<f64>)>);

impl Observer for Foretold {
    fn waits(&mut self, _: &str) {}
    fn scratch_file_grows(&mut self, _: &ScratchPlace, _: u64) {}
    fn begin(&mut self, _: &ResultFile) {}
    fn trace_begins(&mut self, _: &Arm) {}
    fn round_begins(&mut self, _: &Turn, _: &Arm) {}
    fn round_ends(&mut self, result: &ResultFile, _: &Round) {
        let most_s = left(result, 0.0).and_then(|left| left.most_s);
        self.0.push((took_s(result), most_s));
    }
}

/// The worst error after the first block, as a share of what was left.
fn worst_error(machine: FakeMachine, polls: fn(&Call) -> usize) -> f64 {
    let mut foretold = Foretold::default();
    let run = TestRun::watched(
        machine,
        Stopping::Fixed { blocks: 8 },
        move |call| {
            Ok(Played {
                polls_before_end: polls(call),
                outcome: Outcome::default(),
            })
        },
        (None, None, None),
        &mut foretold,
    );
    let end_s = took_s(run.outcome.as_ref().expect("a run"));
    let (last, told) = foretold.0.split_last().expect("rounds");
    assert_eq!(last.1, Some(0.0), "something is left after the last round");
    let errors = told[1..].iter().map(|(at_s, most_s)| {
        let most_s = most_s.expect("an end");
        (most_s / (end_s - at_s) - 1.0).abs()
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn a_run_ends_when_it_was_foretold_after_its_first_block() {
    let error = worst_error(FakeMachine::new(&[]), |_| POLLS);
    assert!(error < 0.02, "{error}");
    // An arm whose workload takes long to end, by something from block to block.
    let error = worst_error(FakeMachine::new(&[]), |call| {
        match call.arm_label.as_str() {
            "none" => POLLS + call.block % 3,
            _ => 3 * POLLS + call.block % 5,
        }
    });
    assert!(error < 0.1, "{error}");
}

/// One start that hangs is not taken for what all take.
#[test]
fn a_slow_round_moves_the_end_by_its_own_time() {
    let slow = in_round(6, What::IdleFor(Duration::from_secs(2)));
    let error = worst_error(slow, |_| POLLS + 120);
    assert!(error < 0.2, "{error}");
}
