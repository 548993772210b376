use super::*;
use crate::machine::fake::{FakeMachine, cgroup, disk};
use crate::workload::fake::{Fake, Played};
use iosched_result::types::level::{Precondition, WindowPart};
use iosched_result::types::plan::Plan;
use iosched_result::types::result::Censored;

const RAMP: Duration = Duration::from_secs(1);

/// A round of `time` with a workload that ends after `polls_before_end` polls of 20 ms.
fn round(fixed: Fixed, time: Duration, polls_before_end: usize, cgroup: CgroupRef) -> Round {
    let mut machine = FakeMachine::new(&[]);
    let mut workload = Fake::new(move |_| {
        Ok(Played {
            polls_before_end,
            outcome: Outcome {
                elapsed_ns: 7_000_000,
                ..Outcome::default()
            },
        })
    });
    workload.fixed = fixed;
    workload.cgroups = vec![cgroup];
    let mut bench = RoundSetup {
        disks: &Disks::from(disk()),
        arms: &["none".parse().expect("an arm"), "bfq".parse().expect("one")],
        machine: &mut machine,
        workload: &mut workload,
        ramp: RAMP,
        washout: None,
        cold: None,
        time,
        why: true,
        live: None,
        first: BTreeMap::new(),
    };
    let planned = Plan::new(3, 2, 1).rounds[0];
    let done = bench.run_round(&Turn {
        planned,
        attempt: 0,
    });
    let done = done.expect("a round");
    assert_eq!(done.rival, None);
    done.round
}

#[test]
fn the_window_lies_between_the_ramp_and_the_end() {
    let round = round(Fixed::Time, Duration::from_secs(2), 160, cgroup());
    assert_eq!(round.exclusion, None);
    assert!((round.window_s - 1.96).abs() < 1e-9, "{}", round.window_s);
    assert!(!round.metrics.contains_key("elapsed"));
    assert_eq!(round.foreign_share, Some(0.0));
}

#[test]
fn fixed_work_is_measured_from_its_start_to_its_end() {
    let round = round(Fixed::Work, Duration::ZERO, 50, cgroup());
    assert_eq!(round.exclusion, None);
    assert!((round.window_s - 1.0).abs() < 1e-9, "{}", round.window_s);
    assert!((round.metrics["elapsed"] - 0.007).abs() < 1e-12);
    assert!(round.metrics.contains_key("iops"));
}

/// What ends in the parts is what ends in the window, once.
#[test]
fn a_window_of_a_second_or_more_has_five_equal_parts() {
    let of = round(Fixed::Time, Duration::from_secs(2), 160, cgroup());
    let parts = &of.evidence.parts;
    assert_eq!(parts.len(), 5);
    let is_fifth = |part: &WindowPart| (part.seconds - of.window_s / 5.0).abs() < 0.021;
    assert!(parts.iter().all(is_fifth), "{parts:?}");
    let ios = of.evidence.device.ops.iter().map(|op| op.ios);
    assert_eq!(
        parts.iter().map(|part| part.ios).sum::<u64>(),
        ios.sum::<u64>()
    );
    for (fixed, time) in [(Fixed::Time, 900), (Fixed::Work, 0)] {
        let of = round(fixed, Duration::from_millis(time), 160, cgroup());
        assert_eq!(of.evidence.parts, []);
    }
}

/// `speed`: I/Os per second of each execution. Returns what was done, and the actions on the disk.
fn preconditioned(speed: fn(&str, usize) -> u64) -> (Precondition, Vec<String>) {
    let mut machine = FakeMachine::new(&[]);
    machine.speed = speed;
    let world = machine.world();
    let mut workload = Fake::new(|_| {
        Ok(Played {
            polls_before_end: 160,
            outcome: Outcome::default(),
        })
    });
    workload.cgroups = vec![cgroup()];
    let mut bench = RoundSetup {
        disks: &Disks::from(disk()),
        arms: &["none".parse().expect("an arm"), "bfq".parse().expect("one")],
        machine: &mut machine,
        workload: &mut workload,
        ramp: RAMP,
        washout: None,
        cold: Some(Cold::All),
        time: Duration::from_secs(2),
        why: false,
        live: None,
        first: BTreeMap::new(),
    };
    let (mut told, mut done) = (0, Precondition::default());
    let ended = bench.precondition(1, 7, &mut done, &mut |_| told += 1);
    ended.expect("it");
    assert_eq!(told, done.iops.len() + usize::from(done.problem.is_some()));
    let world = world.borrow();
    (done, world.done.clone())
}

#[test]
fn the_workload_runs_under_the_reference_until_the_disk_keeps_its_level() {
    // The third execution is the first at the level.
    let (done, actions) = preconditioned(|_, round| if round < 2 { 4000 } else { 1000 });
    assert!(done.is_level && done.problem.is_none());
    assert_eq!(done.iops.len(), 7, "{done:?}");
    let is_of_window = |(iops, wanted): (&f64, f64)| (iops / wanted - 1.0).abs() < 0.02;
    let wanted = [4000.0, 4000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0];
    assert!(done.iops.iter().zip(wanted).all(is_of_window), "{done:?}");
    assert!(done.seconds >= 7.0 * 3.0, "{done:?}");
    let actions = actions.iter().filter(|what| !what.starts_with("start"));
    let actions: Vec<&str> = actions.map(String::as_str).collect();
    let once = ["write back ALL", "apply bfq", "drop ALL"];
    assert_eq!(actions, once.repeat(7));
    let (done, _) = preconditioned(|_, round| if round % 2 == 0 { 1300 } else { 1000 });
    assert_eq!((done.is_level, done.iops.len()), (false, 25));
}

/// What the page cache answers says nothing of the disk.
#[test]
fn without_io_there_is_no_level() {
    // The second execution finds all in the cache.
    let (done, _) = preconditioned(|_, round| if round == 0 { 4000 } else { 0 });
    assert_eq!((done.is_level, done.iops.len()), (false, 1));
    assert!(done.problem.is_some(), "{done:?}");
}

/// All I/O is foreign: the clock does not start, and the wait ends after 30 s.
#[test]
fn io_of_others_does_not_begin_a_round() {
    let other = CgroupRef { id: 77, ..cgroup() };
    let round = round(Fixed::Time, Duration::from_secs(2), 2000, other);
    assert_eq!(
        (round.exclusion, round.censored),
        (None, Some(Censored::Starved))
    );
    assert_eq!(round.metrics.keys().collect::<Vec<_>>(), ["control_cpu"]);
    let both = round.metrics["control_cpu"];
    assert!((both - 1.5e6).abs() < 1.0, "before and after: {both}");
}

#[test]
fn caches_are_written_back_before_the_switch_and_dropped_after_it() {
    let mut machine = FakeMachine::new(&[]);
    machine.stays_cached = 4096;
    let world = machine.world();
    let mut workload = Fake::new(|_| {
        Ok(Played {
            polls_before_end: 50,
            outcome: Outcome::default(),
        })
    });
    workload.fixed = Fixed::Work;
    workload.cgroups = vec![cgroup()];
    let mut bench = RoundSetup {
        disks: &Disks::from(disk()),
        arms: &["none".parse().expect("an arm"), "bfq".parse().expect("one")],
        machine: &mut machine,
        workload: &mut workload,
        ramp: RAMP,
        washout: Some((0, Duration::ZERO)),
        cold: Some(Cold::All),
        time: Duration::ZERO,
        why: false,
        live: None,
        first: BTreeMap::new(),
    };
    let mut planned = Plan::new(3, 2, 1).rounds[0];
    planned.arm = 1;
    let turn = Turn {
        planned,
        attempt: 0,
    };
    let round = bench.run_round(&turn).expect("a round").round;
    assert_eq!(round.evidence.cached_bytes, Some(4096));
    let done = world.borrow().done.clone();
    let done = done.iter().filter(|what| !what.starts_with("start"));
    assert_eq!(
        done.collect::<Vec<_>>(),
        ["apply none", "write back ALL", "apply bfq", "drop ALL"]
    );
}

/// The stretch is the window: it begins after the ramp, and a round without a window has none.
#[test]
fn a_round_says_who_waited_behind_whom_in_its_window() {
    let group = CgroupRef {
        label: "probe".into(),
        on_bios: true,
        ..cgroup()
    };
    let round = round(Fixed::Time, Duration::from_secs(2), 160, group);
    let why = round.evidence.why.expect("it");
    assert!((why.time_s - round.window_s).abs() < 0.1, "{}", why.time_s);
    let owner = &why.devices[0].owners[0];
    // Two processes of one part.
    assert_eq!((owner.label(), owner.pid), ("probe", 0));
    assert_eq!((owner.wait_ns, owner.behind[0].ns), (1_000_000, 1_000_000));
}
