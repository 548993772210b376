use super::*;
use iosched_result::measured::snapshot::{InFlight, Op};
use iosched_result::report::fixture;
use iosched_result::statistics::verdict::Verdict;
use iosched_result::types::result::Censored;

fn of(arms: Vec<Arm>) -> Choice {
    Choice {
        arms,
        reference: 0,
        programs: Vec::new(),
        time: Duration::from_secs(10),
    }
}

fn rotation() -> Rotation {
    let arms = ["none", "bfq"].map(|text| text.parse().unwrap());
    Rotation::new(3, "then".into(), fixture::subject(), of(arms.into()))
}

fn state(arm: &Arm) -> State {
    State {
        active: arm.scheduler.clone(),
        available: Vec::new(),
        settings: [("nr_requests".to_owned(), "64".to_owned())].into(),
        hardware_depth: None,
    }
}

fn window(ios: u64, total_ns: u64) -> Interval {
    let mut window = Interval::nothing("nvme0n1");
    window.end_ns = 10_000_000_000;
    let reads = &mut window.devices[0].ops[Op::Read as usize];
    (reads.ios, reads.bytes) = (ios, 4096 * ios);
    reads.q2c.record_n(total_ns, ios);
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
    // Which arm is the faster one changes from block to block, so this is never decided.
    let is_fast = (rotation.recorded.rounds() / 2).is_multiple_of(2) == (ios == 2000);
    let window = window(ios, if is_fast { 1_000_000 } else { 2_000_000 });
    let round = rotation.end(Some(window), Some(&state), Some(0.5), Vec::new(), None);
    round.unwrap().unwrap()
}

#[test]
fn turns_follow_the_plan_and_make_a_result() {
    let mut rotation = rotation();
    for index in 0..16 {
        let planned = rotation.recorded.result.plan.rounds[index];
        let (arm, settle) = rotation.next_turn().unwrap();
        assert_eq!(arm.label, ["none", "bfq"][planned.arm]);
        let longest = Duration::from_millis(1250);
        assert!((Duration::from_secs(1)..longest).contains(&settle));
        let round = turn(&mut rotation, |_, _| {});
        assert_eq!((round.index, round.block), (index, planned.block));
        assert_eq!(round.problem, None);
    }
    assert_eq!(rotation.progress(), (16, 16));
    let file = rotation.recorded().result("later".into()).unwrap();
    assert_eq!((file.status, file.plan.blocks()), (Status::Complete, 8));
    let iops = file
        .comparisons
        .iter()
        .find(|row| row.metric.name == "iops");
    let found = &iops.unwrap().comparison;
    assert_eq!(found.blocks, 8);
    assert!((found.ratio.unwrap() - 2.0).abs() < 1e-9);
    let of = |metric: &str, arm: &str| {
        let mut rounds = file.rounds.iter().filter(|round| round.arm == arm);
        rounds.next().unwrap().metrics[metric]
    };
    let is = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(is(of("read_iops", "bfq"), 200.0));
    assert!(is(of("read_throughput", "none"), 409_600.0));
    assert!(
        is(of("write_iops", "none"), 0.0),
        "a rate of 0 was measured"
    );
    assert!(is(of("jain_device_time", "bfq"), 0.5));
    // In the middle of a block.
    turn(&mut rotation, |_, _| {});
    let file = rotation.recorded().result("later".into()).unwrap();
    assert_eq!((file.status, file.plan.blocks()), (Status::Interrupted, 9));
}

#[test]
fn a_turn_that_was_disturbed_does_not_count() {
    let mut rotation = rotation();
    let round = turn(&mut rotation, |rotation, _| {
        rotation.disturb(Exclusion::DriftedSettings, "another switched".into());
        rotation.disturb(Exclusion::Paused, "and again".into());
    });
    assert_eq!(round.exclusion, Some(Exclusion::DriftedSettings));
    assert_eq!(round.problem.as_deref(), Some("another switched"));
    let round = turn(&mut rotation, |_, state| {
        state.settings.insert("nr_requests".into(), "8".into());
    });
    let says = "settings changed: nr_requests: 64 -> 8";
    assert_eq!(round.problem.as_deref(), Some(says));
    let file = rotation.recorded().result("later".into()).unwrap();
    assert_eq!((file.rounds.len(), file.excluded.len()), (2, 1));
    assert_eq!(file.comparisons[0].comparison.blocks, 0);
    // As in every run, an excluded block is run again before its look.
    let again = (0..14).any(|_| turn(&mut rotation, |_, _| {}).attempt == 1);
    assert!(again, "{:?}", rotation.recorded.result.excluded);
}

#[test]
fn a_turn_that_was_not_measured_is_no_round_and_a_disk_that_is_gone_spoils_one() {
    let mut rotation = rotation();
    assert_eq!(
        rotation
            .end(Some(window(1, 1)), None, None, Vec::new(), None)
            .unwrap(),
        None
    );
    let applied = |rotation: &mut Rotation| Applied {
        effective: state(rotation.next_turn().unwrap().0),
        switch_ns: None,
        notes: Vec::new(),
    };
    let now = applied(&mut rotation);
    rotation.begin(now, "now".into());
    assert_eq!(
        rotation.end(None, None, None, Vec::new(), None).unwrap(),
        None
    );
    let now = applied(&mut rotation);
    rotation.begin(now, "now".into());
    let round = rotation
        .end(Some(window(1, 1)), None, None, Vec::new(), None)
        .unwrap()
        .unwrap();
    assert_eq!(round.index, 0, "a turn without a window is made again");
    let says = "settings changed: nvme0n1 is gone";
    assert_eq!(round.problem.as_deref(), Some(says));
}

/// As the screen's: against the arm that the user chose, which the result tells.
#[test]
fn another_reference_turns_the_comparisons_round() {
    let mut rotation = rotation();
    for _ in 0..8 {
        turn(&mut rotation, |_, _| {});
    }
    rotation.compare_with(1);
    rotation.compare_with(1);
    rotation.compare_with(7);
    let file = rotation.recorded().result("later".into()).unwrap();
    let rows = file.comparisons.iter();
    let mut rows = rows.filter(|row| row.metric.name == "iops" && row.arm == "none");
    let found = rows.next().unwrap();
    assert_eq!(found.reference, "bfq");
    assert!((found.comparison.ratio.unwrap() - 0.5).abs() < 1e-9);
    let notes: Vec<&String> = file
        .notes
        .iter()
        .filter(|n| n.contains("reference"))
        .collect();
    assert_eq!(
        notes,
        ["the reference was changed from none to bfq after 8 rounds"]
    );
}

/// With one process at a time there is no fairness, and without writes no percentile of them.
#[test]
fn a_metric_that_no_round_has_does_not_keep_a_rotation_running() {
    let mut rotation = rotation();
    let mut rounds = 0;
    while let Some((arm, _)) = rotation.next_turn() {
        let state = state(arm);
        let ios = if arm.label == "bfq" { 2000 } else { 1000 };
        let applied = Applied {
            effective: state.clone(),
            switch_ns: None,
            notes: Vec::new(),
        };
        rotation.begin(applied, "now".into());
        let window = window(ios, 1_000_000);
        rotation
            .end(Some(window), Some(&state), None, Vec::new(), None)
            .unwrap();
        rounds += 1;
        assert!(rounds < 100);
    }
    let file = rotation.recorded().result("later".into()).unwrap();
    assert_eq!(file.status, Status::Complete, "{rounds} rounds");
    let row = |metric: &str| {
        let mut rows = file.comparisons.iter();
        rows.find(|row| row.metric.name == metric)
            .unwrap()
            .comparison
            .clone()
    };
    assert_eq!(row("jain_device_time").blocks, 0);
    assert_eq!(row("read_total_p50").blocks, rounds / 2);
}

/// As when the machine sleeps, or nothing completes under an arm.
#[test]
fn a_round_that_lasts_too_long_does_not_count_and_one_that_is_stuck_is_the_worst() {
    let mut rotation = rotation();
    let end = |rotation: &mut Rotation, window: Interval| {
        let (arm, _) = rotation.next_turn().unwrap();
        let state = state(arm);
        let applied = Applied {
            effective: state.clone(),
            switch_ns: None,
            notes: Vec::new(),
        };
        rotation.begin(applied, "now".into());
        rotation
            .end(Some(window), Some(&state), None, Vec::new(), None)
            .unwrap()
            .unwrap()
    };
    let mut long = window(1000, 1_000_000);
    long.end_ns = 12_100_000_000;
    let round = end(&mut rotation, long);
    assert_eq!(round.exclusion, Some(Exclusion::Paused));
    let mut late = window(1000, 1_000_000);
    late.end_ns = 11_900_000_000;
    assert_eq!(end(&mut rotation, late).exclusion, None);
    let mut stuck = Interval::nothing("nvme0n1");
    stuck.end_ns = 10_000_000_000;
    stuck.devices[0].in_flight = Some(InFlight {
        queued: 3,
        blocked: None,
        issued: 0,
        oldest_ns: None,
    });
    let round = end(&mut rotation, stuck);
    assert_eq!(
        (round.exclusion, round.censored),
        (None, Some(Censored::Starved))
    );
}

/// A reader that gets 3 I/Os in a round has no percentile, but a mean. What is decided of it stays when it stalls.
#[test]
fn a_slow_reader_is_judged_by_its_mean_and_stays_judged() {
    let mut rotation = rotation();
    let rounds = |rotation: &mut Rotation, blocks: usize, ios: u64| {
        for round in 0..2 * blocks as u64 {
            // The arms take turns at being the fairer one, so fairness is never decided and the rotation goes on.
            let is_odd = (rotation.recorded.rounds() / 2) % 2 == 1;
            let (arm, _) = rotation.next_turn().unwrap();
            let state = state(arm);
            let is_slow = arm.label == "bfq";
            let applied = Applied {
                effective: state.clone(),
                switch_ns: None,
                notes: Vec::new(),
            };
            rotation.begin(applied, "now".into());
            let wobble = 1_000_000 + 40_000 * (round * 7 % 5);
            let window = if is_slow {
                window(ios, 13 * wobble)
            } else {
                window(40, wobble)
            };
            let fairness = if is_odd == is_slow { 0.9 } else { 0.5 };
            let ended = rotation.end(Some(window), Some(&state), Some(fairness), Vec::new(), None);
            ended.unwrap().unwrap();
        }
    };
    let row = |rotation: &Rotation, name: &str| {
        let rows = conclude::primary_comparisons(rotation.so_far()).into_iter();
        let mut rows = rows.filter(|row| row.metric.name == name);
        rows.next().unwrap()
    };
    rounds(&mut rotation, 9, 3);
    let found = row(&rotation, "read_total_mean");
    assert_eq!(found.comparison.verdict, Verdict::Worse, "{found:#?}");
    let first = found.decided_after_blocks.unwrap();
    assert!((4..=9).contains(&first), "{first}");
    assert_eq!(
        row(&rotation, "read_total_p99").comparison.verdict,
        Verdict::Inconclusive
    );
    rounds(&mut rotation, 1, 0);
    let found = row(&rotation, "read_total_mean");
    assert_eq!(found.comparison.verdict, Verdict::Worse, "{found:#?}");
    assert_eq!(found.decided_after_blocks, Some(first));
    let file = rotation.recorded().result("later".into()).unwrap();
    assert!(file.decided.iter().any(|it| it.metric == "read_total_mean"));
    assert_eq!(
        row(&rotation, "read_total_mean").comparison,
        file.comparisons[0].comparison
    );
}

/// Chosen before the first round: a family with the rows of the disk.
#[test]
fn programs_have_rows_of_their_own() {
    let arms = ["none", "bfq"].map(|text| text.parse().unwrap());
    let choice = Choice {
        programs: vec![Program {
            label: "db".into(),
            reads: true,
            writes: false,
        }],
        ..of(arms.into())
    };
    let rotation = Rotation::new(3, "then".into(), fixture::subject(), choice);
    let rows = conclude::primary_comparisons(rotation.so_far());
    let own = rows.iter().filter(|row| row.metric.name.starts_with("db."));
    let own: Vec<&str> = own.map(|row| &*row.metric.name).collect();
    assert_eq!(own, ["db.read_queue_wait_mean", "db.throughput"]);
}
