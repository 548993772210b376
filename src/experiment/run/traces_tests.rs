use super::*;
use iosched_result::types::live::LiveDesign;

const TRACE: Duration = Duration::from_millis(500);

fn traced(machine: FakeMachine, earlier: Option<ResultFile>) -> TestRun {
    let stopping = Stopping::Fixed { blocks: 2 };
    TestRun::live(
        machine,
        stopping,
        |_| Ok(played()),
        (earlier, None, Some(TRACE)),
    )
}

fn arms(file: &ResultFile) -> Vec<&str> {
    file.traces.iter().map(|trace| trace.arm.as_str()).collect()
}

#[test]
fn each_arm_is_traced_once_after_the_last_round() {
    let run = traced(FakeMachine::new(&[]), None);
    let file = run.file();
    assert_eq!((file.status, file.rounds.len()), (Status::Complete, 4));
    assert_eq!(file.design.trace_s, Some(0.5));
    let first = file.plan.rounds.iter().filter(|round| round.block == 0);
    let order = first.map(|round| file.design.arms[round.arm].label.as_str());
    assert_eq!(arms(&file), order.collect::<Vec<_>>());
    for trace in &file.traces {
        assert_eq!(trace.problem, None);
        // Its time less the delay of the first I/O's poll.
        let time_s = trace.trace.as_ref().expect("a trace").time_s;
        assert!((time_s - 0.46).abs() < 0.021, "{time_s}");
    }
    let world = run.world.borrow();
    let done: Vec<&str> = world
        .done
        .iter()
        .map(String::as_str)
        .filter(|what| what.contains("trace") || what.starts_with("start"))
        .collect();
    let of = |arm: &str| format!("trace {}", arm.split(',').next().expect("a scheduler"));
    let (one, two) = (of(&file.traces[0].arm), of(&file.traces[1].arm));
    let expected = [
        "start 0",
        "start 1",
        "start 2",
        "start 3",
        "prepare traces",
        "start 4",
        &one,
        "start 4",
        &two,
    ];
    assert_eq!(done, expected);
    // The rounds are those of a run without traces.
    let stopping = Stopping::Fixed { blocks: 2 };
    let without = TestRun::of(FakeMachine::new(&[]), stopping).file();
    assert_eq!(file.rounds, without.rounds);
    assert_eq!(file.comparisons, without.comparisons);
}

#[test]
fn a_run_that_was_interrupted_traces_the_rest() {
    // The fifth switch is that of the first trace.
    let run = traced(after(5, FakeEvent::Signal(15)), None);
    let first = run.file();
    assert_eq!((first.status, first.rounds.len()), (Status::Interrupted, 4));
    assert_eq!(first.traces.len(), 1);
    let done = arms(&first)[0].to_owned();
    let run = traced(FakeMachine::new(&[]), Some(first));
    let file = run.file();
    assert_eq!((file.status, file.rounds.len()), (Status::Complete, 4));
    assert_eq!(file.traces.len(), 2);
    assert_eq!(arms(&file)[0], done);
    assert_ne!(arms(&file)[1], done);
}

#[test]
fn a_trace_under_other_settings_has_no_requests() {
    let file = traced(after(4, FakeEvent::Sets("nomerges", "2")), None).file();
    assert_eq!(file.status, Status::Complete);
    let spoilt = &file.traces[0];
    assert_eq!(spoilt.trace, None);
    let problem = spoilt.problem.as_deref().expect("a problem");
    assert!(problem.contains("nomerges"), "{problem}");
}

#[test]
fn another_program_that_switches_the_disk_ends_the_traces() {
    let run = traced(after(4, FakeEvent::Switches("kyber")), None);
    let file = run.file();
    assert_eq!((file.status, file.traces.len()), (Status::Failed, 1));
    assert_eq!(file.traces[0].trace, None);
    let (kind, error) = run.error();
    assert_eq!(kind, Kind::Invalid);
    assert!(error.contains("another program switched"), "{error}");
}

/// The rounds were measured before; it is a quarter past midnight.
#[test]
fn a_live_disk_is_switched_for_a_trace_only_in_its_hours() {
    let live = LiveDesign {
        between: Some("01:00-02:00".parse().expect("hours")),
        ..LiveDesign::default()
    };
    let run = |earlier, trace| {
        let stopping = Stopping::Fixed { blocks: 1 };
        let machine = FakeMachine::new(&[]);
        TestRun::live(
            machine,
            stopping,
            |_| Ok(played()),
            (earlier, Some(live.clone()), trace),
        )
        .file()
    };
    let file = run(Some(run(None, None)), Some(TRACE));
    assert_eq!((file.rounds.len(), file.traces.len()), (2, 2));
    for trace in &file.traces {
        let started = &trace.started;
        assert!(started.starts_with("1970-01-01T01:0"), "{started}");
    }
}
