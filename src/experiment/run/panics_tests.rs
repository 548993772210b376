//! A panic in any stage of a run: all is restored, the rounds are kept, and the error says that it is a bug.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use iosched_result::types::plan::Turn;

/// Panics where it is told of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Begin,
    RoundBegins,
    RoundEnds,
    Nowhere,
}

impl Stage {
    fn reached(self, stage: Stage, is_here: bool) {
        assert!(self != stage || !is_here, "on purpose");
    }
}

impl Observer for Stage {
    fn waits(&mut self, _: &str) {}
    fn scratch_file_grows(&mut self, _: &ScratchPlace, _: u64) {}
    fn begin(&mut self, _: &ResultFile) {
        self.reached(Stage::Begin, true);
    }
    fn trace_begins(&mut self, _: &Arm) {}
    fn round_begins(&mut self, turn: &Turn, _: &Arm) {
        self.reached(Stage::RoundBegins, turn.planned.index == 3);
    }
    fn round_ends(&mut self, _: &ResultFile, round: &Round) {
        self.reached(Stage::RoundEnds, round.index == 3);
    }
}

fn watched(
    machine: FakeMachine,
    mut stage: Stage,
    script: impl FnMut(&Call) -> Result<Played> + 'static,
) -> TestRun {
    TestRun::watched(machine, FOUR, script, (None, None, None), &mut stage)
}

#[track_caller]
fn restored_with(run: &TestRun, rounds: usize) {
    let file = run.file();
    assert_eq!((file.status, file.rounds.len()), (Status::Failed, rounds));
    let (kind, error) = run.error();
    assert_eq!(kind, Kind::Runtime);
    assert!(
        error.contains("a bug ended the work: on purpose"),
        "{error}"
    );
    assert_eq!(file.error, Some(error));
    assert_eq!(file.comparisons[0].comparison.blocks, rounds / 2);
}

#[test]
fn whatever_panics_in_the_rounds_all_is_restored_and_they_are_kept() {
    let quiet = || FakeMachine::new(&[]);
    let plays = |_: &Call| Ok(played());
    let starts = |call: &Call| {
        assert!(call.index != 3, "on purpose");
        Ok(played())
    };
    restored_with(&watched(quiet(), Stage::RoundBegins, plays), 3);
    restored_with(
        &watched(in_round(3, What::PanicsInSwitch), Stage::Nowhere, plays),
        3,
    );
    restored_with(&watched(quiet(), Stage::Nowhere, starts), 3);
    restored_with(
        &watched(after(3, FakeEvent::Panics), Stage::Nowhere, plays),
        3,
    );
    // The round is in the result before its end is told, and saved with it.
    restored_with(&watched(quiet(), Stage::RoundEnds, plays), 4);
}

#[test]
fn a_panic_before_the_settings_are_recorded_changes_nothing() {
    let machine = FakeMachine::new(&[]);
    let world = machine.world();
    let run = AssertUnwindSafe(|| drop(watched(machine, Stage::Begin, |_| Ok(played()))));
    assert!(catch_unwind(run).is_err());
    assert_eq!(world.borrow().done, [""; 0]);
}

#[test]
fn what_could_not_be_restored_after_a_panic_is_said_too() {
    let mut machine = after(3, FakeEvent::Panics);
    machine.stays = Some("nvme0n1 is busy");
    let run = watched(machine, Stage::Nowhere, |_| Ok(played()));
    let (_, error) = run.error();
    let (bug, left) = (error.find("on purpose"), error.find("nvme0n1 is busy"));
    assert!(bug.is_some() && bug < left, "{error}");
    assert_eq!(run.as_saved().status, Status::Failed);
}
