use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::analysis::conclude::conclude;
use crate::analysis::turn::{Next, next};
use crate::measured::snapshot::{OwnerKey, OwnerKind, OwnerNumbers, OwnerOp};
use crate::metric::Origin;
use crate::metric::reported::{Better, Reported};
use crate::read;
use crate::report::fixture::{empty, round};
use crate::statistics::scale::Direction;
use crate::statistics::stopping::Stopping;
use crate::types::outcome::DiskBytes;
use crate::types::result::{ArmComparison, Exclusion, ForeignProcess};

/// Runs rounds of a command until [`look`] refuses or the first block is complete; `play` modifies each round.
fn play(
    primary: Vec<Metric>,
    mut change: impl FnMut(usize, &mut Round),
) -> (ResultFile, Option<String>) {
    let mut result = empty(&["none", "bfq"], Stopping::Fixed { blocks: 2 }, &[]);
    result.design.primary = primary;
    while let Next::Round(turn) = next(&result) {
        let values = BTreeMap::from([(ELAPSED.to_owned(), 5.0)]);
        let mut round = round(&result, &turn, Ok(values));
        round.evidence.owners = vec![owner(7, 1000)];
        round.evidence.cgroups = vec![CgroupRef {
            label: "command".into(),
            path: "/x".into(),
            id: 7,
            on_bios: true,
        }];
        change(turn.planned.index, &mut round);
        result.rounds.push(round);
        if let Err(error) = look(&mut result) {
            return (result, Some(error.to_string()));
        }
    }
    (result, None)
}

fn owner(cgroup_id: u64, ios: u64) -> OwnerNumbers {
    let key = OwnerKey {
        device: "nvme0n1".into(),
        kind: OwnerKind::Process,
        tgid: 9,
        start_ms: 1,
        cgroup_id,
        file: None,
    };
    let op = OwnerOp {
        ios,
        bytes: ios * 4096,
        ..OwnerOp::default()
    };
    OwnerNumbers {
        ops: vec![
            op,
            OwnerOp::default(),
            OwnerOp::default(),
            OwnerOp::default(),
            OwnerOp::default(),
        ],
        ..OwnerNumbers::new(key, "x")
    }
}

fn names(result: &ResultFile) -> Vec<&str> {
    let primary = result.design.primary.iter();
    primary.map(|metric| metric.name.as_str()).collect()
}

fn parse(name: &str) -> Metric {
    Metric::parse(name, true).unwrap()
}

#[test]
fn what_a_command_reports_is_primary_else_its_time() {
    let (result, refused) = play(Vec::new(), |_, _| {});
    assert_eq!((names(&result), refused), (vec!["elapsed"], None));
    let report = |_: usize, round: &mut Round| {
        let tps = Reported::new("tps", 9.0, "1/s", Some(Better::Higher));
        let rows = Reported::new("rows", 9.0, "1", None);
        round.evidence.outcome.reported = vec![tps.headline(), rows];
        round.reported = round.evidence.outcome.reported_values();
    };
    let (result, refused) = play(Vec::new(), report);
    assert_eq!((names(&result), refused), (vec!["tps"], None));
    assert_eq!(
        result.design.primary[0].direction,
        Direction::HigherIsBetter
    );
    let (result, _) = play(vec![parse("rows:3"), parse("tps")], report);
    let rows = &result.design.primary[0];
    assert_eq!(
        (rows.unit.as_str(), rows.direction),
        ("1", Direction::Neutral)
    );
    assert!((rows.margin - 0.03).abs() < 1e-12);
    assert!((result.design.primary[1].margin - 0.05).abs() < 1e-12);
    let (_, refused) = play(vec![parse("tsp")], report);
    assert!(
        refused
            .unwrap()
            .contains("did not report tsp in any round of the first block: it reported tps, rows")
    );
}

#[test]
fn a_command_that_ends_by_the_clock_and_reports_nothing_is_refused() {
    let (_, refused) = play(Vec::new(), |_, round| round.metrics.clear());
    assert!(
        refused
            .unwrap()
            .contains("runs for a fixed time and reports no metric")
    );
}

#[test]
fn the_same_time_for_other_work_is_no_result() {
    let with_work = |index: usize, round: &mut Round| {
        round.evidence.device.ops[0].bytes = 1000 + 100 * index as u64;
        round
            .metrics
            .insert(ELAPSED.to_owned(), 5.0 + 0.001 * index as f64);
    };
    let (_, refused) = play(Vec::new(), with_work);
    assert!(
        refused
            .unwrap()
            .contains("its elapsed time cannot be compared")
    );
    // Also where the time is not the same to the clock.
    let nearly = |index: usize, round: &mut Round| {
        with_work(index, round);
        let seconds = if index < 2 { 5.0 } else { 5.1 };
        round.metrics.insert(ELAPSED.to_owned(), seconds);
    };
    let refused = play(Vec::new(), nearly).1.unwrap();
    assert!(
        refused.contains("does not do the same work under every arm"),
        "{refused}"
    );
    let same_work = |index: usize, round: &mut Round| {
        round
            .metrics
            .insert(ELAPSED.to_owned(), 5.0 + 0.001 * index as f64);
    };
    assert_eq!(play(Vec::new(), same_work).1, None);
}

#[test]
fn a_workload_that_does_its_io_elsewhere_is_refused() {
    let (_, refused) = play(Vec::new(), |_, round| {
        round.evidence.owners.clear();
        round.evidence.outcome.disks = vec![DiskBytes {
            device: "sdz".into(),
            read_bytes: 4096,
            write_bytes: 0,
        }];
    });
    let refused = refused.unwrap();
    assert!(
        refused
            .contains("did no I/O on nvme0n1; it did 4096 bytes read and 0 bytes written on sdz"),
        "{refused}"
    );
    let (_, refused) = play(Vec::new(), |_, round| round.evidence.owners.clear());
    assert!(refused.unwrap().contains("the page cache served its reads"));
}

#[test]
fn a_run_that_others_dominate_is_refused_with_their_names() {
    let (result, refused) = play(Vec::new(), |_, round| {
        round.evidence.foreign = Some(Foreign {
            ios: 100,
            bytes: 1000,
            share_of_bytes: 0.9,
            unattributed_bytes: 0,
            largest: vec![ForeignProcess {
                pid: 77,
                name: "postgres".into(),
                bytes: 600,
            }],
        });
    });
    let refused = refused.unwrap();
    assert!(
        refused.contains(
            "other processes moved 90 % of the bytes on nvme0n1: postgres (77) 60 % of that"
        ),
        "{refused}"
    );
    assert_eq!(result.rounds.len(), 1, "the run ends after its first round");
}

#[test]
fn a_metric_without_a_value_is_told_after_the_first_block() {
    let tail = |_: usize, round: &mut Round| {
        round.evidence.insufficient_tail = vec!["read_total_p99.9".to_owned()];
        round.evidence.device.ops[0].ios = 5000;
    };
    let (_, refused) = play(vec![parse("read_total_p99.9")], tail);
    let refused = refused.unwrap();
    assert!(
        refused.contains("at most 5000 I/Os") && refused.contains("too few"),
        "{refused}"
    );
    let (result, refused) = play(vec![parse("read_total_p99.9"), parse("elapsed")], tail);
    assert_eq!(refused, None);
    assert!(
        result.notes[0].contains("read_total_p99.9 cannot be reported"),
        "{:?}",
        result.notes
    );
    let (_, refused) = play(vec![parse("read_total_p50")], |_, _| {});
    assert!(refused.unwrap().contains("does no such I/O"));
}

#[test]
fn a_first_block_that_overran_decides_nothing() {
    let (_, refused) = play(Vec::new(), |_, round| {
        round.censored = Some(crate::types::result::Censored::Overrun);
        round.problem = Some("x did not end within 1 s".to_owned());
    });
    assert!(
        refused
            .unwrap()
            .contains("no round of the first block has a value: x did not end")
    );
    let (_, refused) = play(Vec::new(), |_, round| {
        round.exclusion = Some(Exclusion::ForeignIo);
    });
    assert_eq!(refused, None);
}

#[test]
fn the_first_round_that_counts_is_looked_at() {
    let (_, refused) = play(Vec::new(), |index, round| {
        if index == 0 {
            round.exclusion = Some(Exclusion::LostEvents);
        }
        round.evidence.owners.clear();
    });
    assert!(refused.unwrap().contains("did no I/O on nvme0n1"));
}

/// As `--resume` continues a run that was ended.
#[test]
fn a_continued_run_is_refused_as_long_as_nothing_works() {
    let (mut result, refused) = play(Vec::new(), |_, round| round.evidence.owners.clear());
    assert!(refused.unwrap().contains("did no I/O on nvme0n1"));
    let idle = result.rounds[0].clone();
    result.rounds.push(idle.clone());
    let again = look(&mut result).expect_err("still nothing");
    assert!(again.to_string().contains("did no I/O on nvme0n1"));
    let (working, _) = play(Vec::new(), |_, _| ());
    result.rounds.push(working.rounds[0].clone());
    look(&mut result).expect("it works now");
}

#[test]
fn an_elapsed_time_that_follows_from_the_arguments_is_not_compared_at_all() {
    let compared = |bytes: u64| {
        let (result, refused) = play(vec![parse("iops")], |index, round| {
            round.evidence.device.ops[0].bytes = 1000 + bytes * index as u64;
            round.metrics.insert("iops".to_owned(), 5.0);
        });
        assert_eq!(refused, None);
        let others = crate::analysis::table::Table::new(&result).other_metrics();
        others.iter().any(|metric| metric.name == ELAPSED)
    };
    assert!(compared(0), "the same work in the same time");
    assert!(!compared(100), "other work in the same time");
}

/// A command may call its metrics as iosched calls its own, or as a round calls its fields.
#[test]
fn what_a_command_reports_has_any_name() {
    for name in ["iops", "total_p99", "position", "window_s", "elapsed"] {
        let report = |index: usize, round: &mut Round| {
            let value = if round.arm == "none" { 100.0 } else { 50.0 };
            let value = value + index as f64 / 100.0;
            let metric = Reported::new(name, value, "vain/s", Some(Better::Lower));
            round.evidence.outcome.reported = vec![metric.headline()];
            round.reported = round.evidence.outcome.reported_values();
            round.metrics.insert("iops".to_owned(), 7.0);
        };
        for primary in [vec![], vec![parse(&format!("reported:{name}"))]] {
            let (mut result, refused) = play(primary, report);
            assert_eq!(refused, None, "{name}");
            let of = result.design.primary[0].clone();
            assert_eq!((of.origin, of.plain_name()), (Origin::Reported, name));
            assert_eq!(
                (of.unit.as_str(), of.direction),
                ("vain/s", Direction::LowerIsBetter)
            );
            assert!(result.rounds[0].value(&of) > Some(49.0), "{name}");
            conclude(&mut result);
            let bytes = serde_json::to_vec(&result).expect("JSON");
            let read = read::parse(&bytes).unwrap_or_else(|why| panic!("{name}: {why:?}"));
            assert_eq!(read.rounds, result.rounds, "{name}");
            let names = read.metrics.iter().map(|metric| metric.name.as_str());
            let names: BTreeSet<&str> = names.collect();
            assert_eq!(names.len(), read.metrics.len(), "{name}: {names:?}");
        }
    }
    let (result, _) = play(vec![parse("iops")], |_, round| {
        let metric = Reported::new("iops", 3.0, "vain/s", Some(Better::Lower));
        round.evidence.outcome.reported = vec![metric.headline()];
        round.reported = round.evidence.outcome.reported_values();
        round.metrics.insert("iops".to_owned(), 7.0);
    });
    let of = &result.design.primary[0];
    assert_eq!((of.origin, of.unit.as_str()), (Origin::Measured, "io/s"));
    let notes = result
        .notes
        .iter()
        .filter(|note| note.contains("reported:iops"));
    assert_eq!(notes.count(), 1, "{:?}", result.notes);
    assert_eq!(
        result.rounds[0].value(of),
        Some(7.0),
        "the plain name is the kernel's"
    );
}

/// A run that ends before the command has reported what decides can be read, and resumed.
#[test]
fn what_was_never_reported_leaves_a_readable_result() {
    let report = |name: &'static str| {
        move |_: usize, round: &mut Round| {
            let metric = Reported::new(name, 9.0, "1/s", Some(Better::Higher));
            round.evidence.outcome.reported = vec![metric];
            round.reported = round.evidence.outcome.reported_values();
        }
    };
    let (refused, why) = play(vec![parse("tps"), parse("iops")], report("lag"));
    assert!(why.is_some_and(|why| why.contains("did not report tps")));
    // Killed in the first block.
    let mut killed = empty(&["none", "bfq"], Stopping::Fixed { blocks: 2 }, &[]);
    killed.design.primary = vec![parse("tps")];
    let Next::Round(turn) = next(&killed) else {
        panic!("no round")
    };
    let mut first = round(&killed, &turn, Ok(BTreeMap::new()));
    report("tps")(0, &mut first);
    killed.rounds.push(first);
    for mut result in [refused, killed] {
        conclude(&mut result);
        let bytes = serde_json::to_vec(&result).expect("JSON");
        let read = read::parse(&bytes).unwrap_or_else(|why| panic!("{why:?}"));
        assert_eq!(read.design.primary, result.design.primary);
        let is_row = |row: &ArmComparison| row.metric.name == "tps";
        assert!(
            !read.comparisons.iter().any(is_row),
            "nothing is known of it"
        );
        assert!(!crate::analysis::conclude::is_decided(&read));
    }
}
