use std::time::Duration;

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::bail;

use super::silent::Silent;
use super::*;
use crate::machine::fake::{FakeEvent, FakeMachine, Mishap, What, World, cgroup, disk};
use crate::workload::fake::{Call, Fake, Log, Played};
use iosched_result::metric::Metric;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::statistics::verdict::{Reason, Verdict};
use iosched_result::types::live::LiveDesign;
use iosched_result::types::outcome::Outcome;
use iosched_result::types::result::{Censored, Exclusion};

const BEFORE: &str = "mq-deadline nomerges=0 nr_requests=64";
const RAMP: Duration = Duration::from_secs(1);
const TIME: Duration = Duration::from_secs(2);
/// Polls of 20 ms: the ramp, the round's time, and a little more.
const POLLS: usize = 160;
/// In the middle of the window.
const MIDDLE: Duration = Duration::from_secs(2);

#[path = "run/panics_tests.rs"]
mod panics_in_each_stage;
#[path = "run/left_tests.rs"]
mod time_left;
#[path = "run/traces_tests.rs"]
mod traces;

/// A run on a fake machine: its result file, the actions on the disk, and the calls of the workload.
struct TestRun {
    outcome: Result<ResultFile>,
    world: Rc<RefCell<World>>,
    log: Log,
    directory: tempfile::TempDir,
}

impl TestRun {
    fn of(machine: FakeMachine, stopping: Stopping) -> TestRun {
        TestRun::with(machine, stopping, |_| Ok(played()), None)
    }

    fn with(
        machine: FakeMachine,
        stopping: Stopping,
        script: impl FnMut(&Call) -> Result<Played> + 'static,
        earlier: Option<ResultFile>,
    ) -> TestRun {
        TestRun::live(machine, stopping, script, (earlier, None, None))
    }

    fn live(
        machine: FakeMachine,
        stopping: Stopping,
        script: impl FnMut(&Call) -> Result<Played> + 'static,
        more: (Option<ResultFile>, Option<LiveDesign>, Option<Duration>),
    ) -> TestRun {
        TestRun::watched(machine, stopping, script, more, &mut Silent)
    }

    fn watched(
        mut machine: FakeMachine,
        stopping: Stopping,
        script: impl FnMut(&Call) -> Result<Played> + 'static,
        (earlier, live, trace): (Option<ResultFile>, Option<LiveDesign>, Option<Duration>),
        observer: &mut dyn Observer,
    ) -> TestRun {
        let directory = tempfile::tempdir().expect("a directory");
        let mut workload = Fake::new(script);
        workload.cgroups = vec![cgroup()];
        let (world, log) = (machine.world(), workload.log());
        let experiment = Experiment {
            disks: disk().into(),
            design: Design {
                live,
                trace_s: trace.map(|time| time.as_secs_f64()),
                ..Design::new(
                    ["none", "bfq,nr_requests=32"]
                        .map(|text| text.parse().expect("an arm"))
                        .into(),
                    0,
                    stopping,
                    vec![Metric::named("iops").expect("a metric")],
                )
                .timed(RAMP, TIME)
            },
            workload: &mut workload,
            participants: Vec::new(),
            scratch_file: None,
            seed: 11,
            output: Some(directory.path().join("result")),
            replaces_output: false,
            notes: Vec::new(),
            earlier,
        };
        let outcome = experiment.run_on(&mut machine, observer);
        TestRun {
            outcome,
            world,
            log,
            directory,
        }
    }

    /// The result file. Checks that the settings were restored, as the last action.
    #[track_caller]
    fn file(&self) -> ResultFile {
        let world = self.world.borrow();
        assert_eq!(world.settings, BEFORE, "{:?}", world.done);
        assert_eq!(world.done.first().map(String::as_str), Some("record"));
        assert_eq!(world.done.last().map(String::as_str), Some("put back"));
        let again = world.done.iter().filter(|what| *what == "put back");
        assert_eq!(again.count(), 1, "{:?}", world.done);
        self.as_saved()
    }

    #[track_caller]
    fn as_saved(&self) -> ResultFile {
        assert_eq!(self.log.at_work(), 0, "a workload outlives its round");
        let bytes = std::fs::read(self.directory.path().join("result")).expect("a result");
        let file: ResultFile = serde_json::from_slice(&bytes).expect("a result");
        match &self.outcome {
            Ok(result) => assert_eq!(*result, file),
            Err(_) => assert!(file.finished.is_some()),
        }
        file
    }

    #[track_caller]
    fn error(&self) -> (Kind, String) {
        let error = self.outcome.as_ref().expect_err("an error");
        (kind_of(error), format!("{error:#}"))
    }
}

fn played() -> Played {
    Played {
        polls_before_end: POLLS,
        outcome: Outcome::default(),
    }
}

fn failed(why: &str) -> Played {
    let outcome = Outcome {
        problem: Some(why.into()),
        ..Outcome::default()
    };
    Played {
        polls_before_end: 3,
        outcome,
    }
}

fn in_round(round: usize, what: What) -> FakeMachine {
    FakeMachine::new(&[Mishap { round, what }])
}

fn after(round: usize, event: FakeEvent) -> FakeMachine {
    in_round(round, What::After(MIDDLE, event))
}

const FOUR: Stopping = Stopping::Fixed { blocks: 4 };

/// The rounds that do not count.
fn spoilt(file: &ResultFile) -> Vec<(usize, Exclusion)> {
    let rounds = file.rounds.iter();
    rounds
        .filter_map(|round| Some((round.index, round.exclusion?)))
        .collect()
}

fn problem(file: &ResultFile, round: usize) -> &str {
    file.rounds[round].problem.as_deref().unwrap_or_default()
}

#[test]
fn a_run_follows_its_plan_and_counts_every_round() {
    let run = TestRun::of(FakeMachine::new(&[]), FOUR);
    let file = run.file();
    assert_eq!(file.status, Status::Complete);
    assert_eq!((file.error, file.excluded.len()), (None, 0));
    assert_eq!(file.rounds.len(), 8);
    let planned = file.plan.rounds.iter();
    for ((planned, round), call) in planned.zip(&file.rounds).zip(run.log.calls()) {
        let arm = &file.design.arms[planned.arm];
        let place = (planned.index, planned.block, planned.position);
        assert_eq!(place, (round.index, round.block, round.position));
        assert_eq!(round.arm, arm.label);
        assert_eq!(round.evidence.applied.effective.active, arm.scheduler);
        let asked = (call.index, call.block, call.arm_label, call.seed);
        let wanted = (planned.index, planned.block, arm.label.clone());
        assert_eq!(asked, (wanted.0, wanted.1, wanted.2, planned.workload_seed));
        // The round's time less the delay of the first I/O's poll.
        assert!((round.window_s - 1.96).abs() < 1e-9, "{}", round.window_s);
        assert!((round.metrics["iops"] - 1000.0).abs() < 20.0);
    }
    assert_eq!(file.comparisons[0].comparison.blocks, 4);
}

#[test]
fn a_switch_that_is_refused_ends_the_run() {
    let run = TestRun::of(in_round(3, What::Refused), FOUR);
    let file = run.file();
    assert_eq!(file.status, Status::Failed);
    let (kind, error) = run.error();
    assert_eq!(kind, Kind::Usage);
    assert!(error.contains("nvme0n1 has no scheduler"), "{error}");
    assert_eq!(file.error, Some(error));
    // Earlier rounds are kept; nothing was started under the arm that is not in force.
    assert_eq!((file.rounds.len(), run.log.calls().len()), (3, 3));
    assert_eq!(spoilt(&file), []);
    assert_eq!(file.comparisons[0].comparison.blocks, 1);
}

#[test]
fn a_disk_that_never_comes_to_rest_ends_the_run() {
    let run = TestRun::of(in_round(2, What::NeverIdle), FOUR);
    let file = run.file();
    assert_eq!((file.status, file.rounds.len()), (Status::Failed, 2));
    let error = file.error.expect("an error");
    let says = "nvme0n1 has requests in flight (1        0) 30 s after the scheduler was switched";
    assert!(error.starts_with(says), "{error}");
}

#[test]
fn a_workload_that_cannot_be_started_ends_the_run() {
    let script = |call: &Call| match call.index {
        2 => bail!("fio: no such program"),
        _ => Ok(played()),
    };
    let run = TestRun::with(FakeMachine::new(&[]), FOUR, script, None);
    let file = run.file();
    assert_eq!((file.status, file.rounds.len()), (Status::Failed, 2));
    assert_eq!(file.error.as_deref(), Some("fio: no such program"));
    assert_eq!(run.error().0, Kind::Runtime);
}

/// The first I/O may take half a minute.
#[test]
fn a_workload_that_does_not_begin_spoils_its_round() {
    let stopping = Stopping::Fixed { blocks: 5 };
    for (seconds, is_late) in [(29, false), (31, true), (1000, true)] {
        let machine = in_round(4, What::IdleFor(Duration::from_secs(seconds)));
        let script = |call: &Call| {
            Ok(Played {
                polls_before_end: if call.index == 4 { 2000 } else { POLLS },
                ..played()
            })
        };
        let file = TestRun::with(machine, stopping, script, None).file();
        assert_eq!(file.status, Status::Complete);
        assert_eq!(file.comparisons[0].comparison.blocks, 5);
        if !is_late {
            assert_eq!((spoilt(&file), file.rounds.len()), (vec![], 10));
            continue;
        }
        // The arm may be the cause: the round stays, counts as worse than every other, and is not repeated.
        assert_eq!(spoilt(&file), []);
        assert_eq!(file.rounds[4].censored, Some(Censored::Starved));
        assert!(
            file.rounds[4].window_s.abs() < 1e-9 && !file.rounds[4].metrics.contains_key("iops")
        );
        assert_eq!((file.rounds.len(), file.excluded.len()), (10, 0));
        let reasons = &file.comparisons[0].comparison.reasons;
        assert!(
            reasons.contains(&Reason::Censored { blocks: 1 }),
            "{reasons:?}"
        );
    }
}

#[test]
fn a_workload_that_ends_early_spoils_its_round() {
    let stopping = Stopping::Fixed { blocks: 5 };
    // In the ramp and in the window; just before the end is not early.
    for (polls, is_early) in [(30, true), (100, true), (140, false)] {
        let script = move |call: &Call| {
            Ok(Played {
                polls_before_end: if call.index == 1 { polls } else { POLLS },
                ..played()
            })
        };
        let file = TestRun::with(FakeMachine::new(&[]), stopping, script, None).file();
        assert_eq!(file.status, Status::Complete);
        if is_early {
            assert_eq!(spoilt(&file), [(1, Exclusion::Workload)], "{polls}");
            assert!(problem(&file, 1).contains("ended before its window"));
        } else {
            assert_eq!(spoilt(&file), []);
            assert_eq!(file.rounds.len(), 10);
        }
    }
}

#[test]
fn a_workload_that_fails_is_worse_than_any_and_in_a_whole_block_ends_the_run() {
    let stopping = Stopping::Fixed { blocks: 5 };
    for index in [0, 3] {
        let script = move |call: &Call| {
            if call.index == index {
                return Ok(failed("fio exited with code 3"));
            }
            Ok(played())
        };
        let file = TestRun::with(FakeMachine::new(&[]), stopping, script, None).file();
        assert_eq!((file.status, file.rounds.len()), (Status::Complete, 10));
        assert_eq!(spoilt(&file), []);
        assert_eq!(file.rounds[index].censored, Some(Censored::Failed));
        assert_eq!(problem(&file, index), "fio exited with code 3");
        let reasons = &file.comparisons[0].comparison.reasons;
        assert!(
            reasons.contains(&Reason::Censored { blocks: 1 }),
            "{reasons:?}"
        );
    }
    let script = |_: &Call| Ok(failed("fio exited with code 3"));
    let run = TestRun::with(FakeMachine::new(&[]), stopping, script, None);
    let file = run.file();
    assert_eq!((file.status, file.rounds.len()), (Status::Failed, 2));
    let (kind, error) = run.error();
    let says = "the workload failed in every round of the first block: fio exited with code 3";
    assert!(error.starts_with(says), "{error}");
    assert_eq!((kind, file.error), (Kind::Runtime, Some(error)));
}

#[test]
fn a_setting_that_drifts_spoils_its_round_and_those_after_it() {
    let run = TestRun::of(after(4, FakeEvent::Sets("nomerges", "2")), FOUR);
    let file = run.file();
    assert_eq!(file.status, Status::Complete);
    let expected = [4, 5, 6, 7].map(|index| (index, Exclusion::DriftedSettings));
    assert_eq!(spoilt(&file), expected);
    assert_eq!(problem(&file, 4), "settings changed: nomerges: 0 -> 2");
    for index in 5..8 {
        let says = "settings changed: since the first round of this arm nomerges: 0 -> 2";
        assert_eq!(problem(&file, index), says);
    }
    let blocks: Vec<usize> = file.excluded.iter().map(|e| e.block).collect();
    assert_eq!(blocks, [2, 3]);
    let error = ensure_valid(run.outcome.as_ref().expect("a result")).unwrap_err();
    assert_eq!(kind_of(&error), Kind::Invalid);
    let comparison = &file.comparisons[0].comparison;
    assert_eq!((comparison.blocks, comparison.blocks_missing), (2, 2));
}

#[test]
fn another_program_that_switches_the_disk_ends_the_run() {
    for (event, says) in [
        (
            FakeEvent::Switches("kyber"),
            "another program switched nvme0n1 from",
        ),
        (
            FakeEvent::SwitchesAndBack,
            "another program switched nvme0n1 and back",
        ),
    ] {
        let run = TestRun::of(after(2, event), FOUR);
        let file = run.file();
        // The round that shows it is kept, but does not count.
        assert_eq!((file.status, file.rounds.len()), (Status::Failed, 3));
        assert_eq!(spoilt(&file), [(2, Exclusion::DriftedSettings)]);
        assert!(problem(&file, 2).contains(says), "{}", problem(&file, 2));
        let (kind, error) = run.error();
        assert_eq!(kind, Kind::Invalid);
        assert!(
            error.contains(says) && error.contains("--resume"),
            "{error}"
        );
    }
}

#[test]
fn what_the_kernel_tells_of_the_disk_spoils_the_round_unless_it_was_asked_for() {
    let stopping = Stopping::Fixed { blocks: 5 };
    let file = TestRun::of(after(3, FakeEvent::Tells("RESIZE=1")), stopping).file();
    assert_eq!(spoilt(&file), [(3, Exclusion::DriftedSettings)]);
    let says = "settings changed: the kernel reported a change of nvme0n1 (RESIZE=1)";
    assert_eq!(problem(&file, 3), says);
    let file = TestRun::of(after(3, FakeEvent::Tells("SYNTH_UUID=0")), stopping).file();
    assert_eq!(spoilt(&file), []);
    let told = &file.rounds[3].evidence.uevents;
    assert_eq!(*told, ["change of nvme0n1, requested by user space"]);
}

#[test]
fn a_machine_that_is_suspended_spoils_the_round() {
    let event = FakeEvent::Suspended(Duration::from_secs(90));
    let file = TestRun::of(after(3, event), Stopping::Fixed { blocks: 5 }).file();
    assert_eq!(spoilt(&file), [(3, Exclusion::Paused)]);
    let says = "the machine was suspended for 90.0 s during the round";
    assert_eq!(problem(&file, 3), says);
}

#[test]
fn a_disk_that_goes_ends_the_run_with_its_rounds() {
    let run = TestRun::of(after(3, FakeEvent::Goes), FOUR);
    let file = run.as_saved();
    assert_eq!((file.status, file.rounds.len()), (Status::Failed, 3));
    assert_eq!(spoilt(&file), []);
    let (kind, error) = run.error();
    assert_eq!(kind, Kind::Runtime);
    let says =
        "nvme0n1 disappeared (unplugged, removed, or unbound from its driver) in round 4: reading";
    assert!(error.starts_with(says), "{error}");
    assert!(error.contains("nothing left to restore"), "{error}");
    assert_eq!(file.error, Some(error));
    let world = run.world.borrow();
    assert_eq!(world.done.last().map(String::as_str), Some("put back"));
}

#[test]
fn a_signal_ends_the_run_in_the_middle_of_a_round() {
    for at in [
        Duration::from_millis(40),
        MIDDLE,
        Duration::from_millis(3100),
    ] {
        let machine = in_round(5, What::After(at, FakeEvent::Signal(15)));
        let run = TestRun::of(machine, FOUR);
        let file = run.file();
        // The unfinished round is discarded.
        assert_eq!((file.status, file.rounds.len()), (Status::Interrupted, 5));
        assert_eq!(run.log.calls().len(), 6);
        assert_eq!(run.error().0, Kind::Interrupted(15));
        assert_eq!(file.error.as_deref(), Some("interrupted by signal 15"));
        assert_eq!(file.comparisons[0].comparison.blocks, 2);
    }
}

/// The rounds are the same as in a run without an interruption.
#[test]
fn an_interrupted_run_goes_on_where_it_ended() {
    let whole = TestRun::of(FakeMachine::new(&[]), FOUR).file();
    let first = TestRun::of(after(5, FakeEvent::Signal(2)), FOUR).file();
    let second = TestRun::with(
        FakeMachine::new(&[]),
        FOUR,
        |_| Ok(played()),
        Some(first.clone()),
    );
    let file = second.file();
    assert_eq!(
        (file.status, file.error.as_deref()),
        (Status::Complete, None)
    );
    assert_eq!(file.resumed.len(), 1);
    assert_eq!(file.resumed[0].after_rounds, 5);
    assert_eq!((&file.plan, &file.started), (&whole.plan, &first.started));
    assert_eq!(file.rounds[..5], first.rounds);
    let order = |file: &ResultFile| -> Vec<(usize, String)> {
        let rounds = file.rounds.iter();
        rounds.map(|r| (r.index, r.arm.clone())).collect()
    };
    assert_eq!(order(&file), order(&whole));
    let calls: Vec<usize> = second.log.calls().iter().map(|call| call.index).collect();
    assert_eq!(calls, [5, 6, 7], "no round twice");
}

/// The first part's settings bind the second: rounds with other settings are not comparable.
#[test]
fn settings_that_changed_while_a_run_was_interrupted_spoil_what_comes_after() {
    let first = TestRun::of(after(5, FakeEvent::Signal(2)), FOUR).file();
    let mut machine = FakeMachine::new(&[]);
    machine.set("nomerges", "1");
    let file = TestRun::with(machine, FOUR, |_| Ok(played()), Some(first)).as_saved();
    let expected = [5, 6, 7].map(|index| (index, Exclusion::DriftedSettings));
    assert_eq!(spoilt(&file), expected);
    for index in 5..8 {
        let says = "settings changed: since the first round of this arm nomerges: 0 -> 1";
        assert_eq!(problem(&file, index), says);
    }
}

/// At the first look, after 6 blocks, the difference is clear; where arms are alike, the run continues.
#[test]
fn what_stays_in_the_page_cache_is_noted_once() {
    let mut machine = FakeMachine::new(&[]);
    machine.stays_cached = 5000;
    let mut result = TestRun::of(machine, FOUR).file();
    assert_eq!((result.design.cold, result.notes.len()), (None, 0));
    result.rounds.iter_mut().for_each(|round| {
        assert_eq!(round.evidence.cached_bytes, None);
        round.evidence.cached_bytes = Some(5000);
    });
    let mut notes = Vec::new();
    for round in &result.rounds {
        turns::note_what_stays_cached(&mut notes, round);
    }
    assert_eq!(
        notes,
        ["5 KiB could not be dropped from the page cache before round 1: other programs use them"]
    );
}

#[test]
fn a_look_ends_a_run_that_is_decided() {
    let mut machine = FakeMachine::new(&[]);
    machine.speed = |scheduler, round| {
        let speed = if scheduler == "bfq" { 1500 } else { 1000 };
        speed + (round as u64 * 37) % 17
    };
    let file = TestRun::of(machine, Stopping::LOOKS).file();
    assert_eq!(file.status, Status::Complete);
    assert_eq!((file.plan.blocks(), file.rounds.len()), (6, 12));
    let row = &file.comparisons[0];
    assert_eq!(row.comparison.verdict, Verdict::Better);

    let mut machine = FakeMachine::new(&[]);
    machine.speed = |_, round| 1000 + (round as u64 * 7919) % 400;
    let file = TestRun::of(machine, Stopping::LOOKS).file();
    assert_eq!((file.status, file.rounds.len()), (Status::Complete, 40));
}

#[test]
fn what_cannot_be_put_back_is_an_error_and_the_rounds_are_kept() {
    let mut machine = FakeMachine::new(&[]);
    machine.stays = Some("nr_requests: invalid argument");
    let run = TestRun::of(machine, FOUR);
    let file = run.as_saved();
    assert_eq!((file.status, file.rounds.len()), (Status::Complete, 8));
    let (_, error) = run.error();
    let says = "some settings were not restored; `iosched restore` tries those that it knows: nr_requests: invalid argument";
    assert_eq!(error, says);
}

#[test]
fn what_ended_a_run_is_said_before_what_could_not_be_put_back() {
    let mut machine = in_round(2, What::After(MIDDLE, FakeEvent::Signal(2)));
    machine.stays = Some("nr_requests: invalid argument");
    let run = TestRun::of(machine, FOUR);
    let file = run.as_saved();
    assert_eq!(file.status, Status::Interrupted);
    let (kind, error) = run.error();
    let says = "interrupted by signal 2\nsome settings were not restored; `iosched restore` tries those that it knows: \
                nr_requests: invalid argument";
    assert_eq!((kind, error.as_str()), (Kind::Runtime, says));
}

#[test]
fn a_result_that_came_meanwhile_is_not_overwritten_and_nothing_is_touched() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("result");
    std::fs::write(&path, "another's").expect("a file");
    let mut machine = FakeMachine::new(&[]);
    let world = machine.world();
    let mut workload = Fake::new(|_| Ok(played()));
    let experiment = Experiment {
        disks: disk().into(),
        design: Design::new(
            vec!["none".parse().expect("an arm"), "bfq".parse().expect("one")],
            0,
            FOUR,
            Vec::new(),
        )
        .timed(RAMP, TIME),
        workload: &mut workload,
        participants: Vec::new(),
        scratch_file: None,
        seed: 11,
        output: Some(path.clone()),
        replaces_output: false,
        notes: Vec::new(),
        earlier: None,
    };
    experiment
        .run_on(&mut machine, &mut Silent)
        .expect_err("a refusal");
    assert_eq!(std::fs::read_to_string(&path).expect("it"), "another's");
    assert_eq!(world.borrow().done, [""; 0]);
}

/// The fake's clock begins at midnight.
#[test]
fn outside_its_hours_a_live_run_waits_under_the_reference() {
    let live = LiveDesign {
        between: Some("01:00-02:00".parse().expect("hours")),
        ..LiveDesign::default()
    };
    let machine = FakeMachine::new(&[]);
    let stopping = Stopping::Fixed { blocks: 1 };
    let run = TestRun::live(
        machine,
        stopping,
        |_| Ok(played()),
        (None, Some(live), None),
    );
    let file = run.file();
    assert_eq!(file.rounds.len(), 2);
    let started: Vec<&str> = file.rounds.iter().map(|round| &*round.started).collect();
    assert!(
        started.iter().all(|at| at.starts_with("1970-01-01T01:0")),
        "{started:?}"
    );
    let world = run.world.borrow();
    let switches: Vec<&String> = world
        .done
        .iter()
        .filter(|what| what.contains("none"))
        .collect();
    assert!(!switches.is_empty(), "{:?}", world.done);
    let applied = world.done.iter().filter(|what| what.starts_with("apply"));
    assert_eq!(
        applied.count(),
        3,
        "the reference, then each arm: {:?}",
        world.done
    );
}
