use super::*;
use crate::measured::snapshot::OwnerKind;
use crate::report::why::records::records;
use crate::report::{fixture, html, text};
use crate::statistics::stopping::Stopping;
use crate::why::{WhyBehind, WhyDevice};

const MS: u64 = 1_000_000;

fn other(name: &str, part: Option<&str>, does: Does, ns: u64) -> WhyBehind {
    WhyBehind {
        name: name.to_owned(),
        pid: 7,
        part: part.map(str::to_owned),
        does,
        ns,
        error: None,
    }
}

/// 200 requests, of which each took 1 ms at the device.
fn owner(
    name: &str,
    part: Option<&str>,
    does: Does,
    behind: Vec<WhyBehind>,
    idle_ns: u64,
) -> WhyOwner {
    WhyOwner {
        name: name.to_owned(),
        pid: 7,
        part: part.map(str::to_owned),
        kind: OwnerKind::Process,
        cgroup_id: 3,
        does,
        ios: 200,
        service_ns: 200 * MS,
        waits: 200,
        wait_ns: idle_ns + behind.iter().map(|of| of.ns).sum::<u64>(),
        behind,
        device_idle_ns: idle_ns,
        device_idle_error: None,
        slot_free_ns: Some(idle_ns),
    }
}

fn device(scheduler: &str, owners: Vec<WhyOwner>) -> WhyDevice {
    WhyDevice {
        device: "nvme0n1".to_owned(),
        scheduler: Some(scheduler.to_owned()),
        hardware_depth: Some(4),
        busy_periods: 1,
        batches: None,
        rounds: None,
        owners,
        missing: 0,
    }
}

/// Under none the probe waits behind the writer, under bfq the writer behind the idle device.
fn result() -> ResultFile {
    let mut result = fixture::empty(&["none", "bfq"], Stopping::Fixed { blocks: 6 }, &["iops"]);
    fixture::play(&mut result, |turn| {
        Ok(fixture::values(turn, &[("iops", 100.0)]))
    });
    result.design.why = true;
    for round in &mut result.rounds {
        let (probe, hog) = (Some("probe"), Some("hog"));
        let varies = 1 + round.block as u64 % 3;
        let owners = if round.arm == "none" {
            let behind = vec![
                other("fio", hog, Does::Writes, 1900 * MS),
                other("hog", None, Does::Writes, 100 * varies * MS),
                other("hog", None, Does::Reads, MS),
            ];
            vec![owner("fio", probe, Does::Reads, behind, 0)]
        } else {
            let own = other("fio", hog, Does::Writes, 4000 * MS);
            let waits = owner("fio", hog, Does::Writes, vec![own], 6000 * varies * MS);
            vec![waits, owner("fio", probe, Does::Reads, Vec::new(), 0)]
        };
        round.evidence.why = Some(RoundWhy {
            time_s: 20.0,
            devices: vec![device(&round.arm, owners)],
        });
    }
    result
}

#[test]
fn arms_stand_side_by_side() {
    let result = result();
    let found = section(&result);
    let rows: Vec<Vec<&str>> = found
        .lines()
        .skip(3)
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        rows,
        [
            vec!["hog writes", "mean", "-", "80.0 ms"],
            vec!["behind its own", "-", "25 % (+-3)"],
            vec!["device idle", "-", "75 % (+-3)"],
            vec!["a slot was free", "-", "75 %"],
            vec!["probe reads", "mean", "10.5 ms", "0 ns"],
            vec!["behind hog writes", "90 % (+-2)", "-"],
            vec!["behind hog (outside) writes", "10 % (+-2)", "-"],
            vec!["device idle", "0 %", "-"],
            vec!["a slot was free", "0 %", "-"],
        ],
        "{found}"
    );
    assert!(
        text::render(&result, text::Look::default()).contains(found.trim()),
        "{found}"
    );
    let page = html::render(&result);
    assert!(
        page.contains(
            "Under bfq hog writes wait 80.0 ms each, 75 % of it while the device is idle"
        )
    );
    assert!(page.contains("90 % (+-2)") && page.contains("(outside)"));
}

/// A round that does not count takes its whole block away, and a censored one has no values. Without any there is no word.
#[test]
fn only_rounds_that_count_are_in_it() {
    use crate::types::result::{Censored, Exclusion};
    let mut result = result();
    let bfq =
        |result: &mut ResultFile, block: usize, change: fn(&mut crate::types::result::Round)| {
            let rounds = result.rounds.iter_mut();
            rounds
                .filter(|round| round.arm == "bfq" && round.block == block)
                .for_each(change);
        };
    bfq(&mut result, 2, |round| {
        round.exclusion = Some(Exclusion::Paused);
    });
    bfq(&mut result, 3, |round| {
        round.censored = Some(Censored::Failed);
    });
    let rounds: Vec<_> = of_arms(&result)
        .iter()
        .map(|arm| arm.why.devices[0].rounds)
        .collect();
    assert_eq!(rounds, [Some(5), Some(4)]);
    // The block of the excluded round counts for neither arm, and the failed round is told.
    let note = "may be the worst: bfq 1 of 5.";
    assert!(section(&result).contains(note), "{}", section(&result));
    assert!(html::render(&result).contains(note));
    assert!(section(&result).contains("standard errors from 5 rounds on"));
    for round in &mut result.rounds {
        round.evidence.why = None;
    }
    result.design.why = false;
    assert_eq!(section(&result), "");
    assert!(!html::render(&result).contains("Rows wait"));
}

/// The faster arm has more requests, of which fewer than all are kept.
#[test]
fn how_much_of_the_windows_is_covered_is_said() {
    let mut result = result();
    for round in &mut result.rounds {
        round.window_s = if round.arm == "bfq" { 80.0 } else { 20.0 };
    }
    let text = section(&result);
    assert!(
        text.contains("the first part of the windows: bfq 25 %."),
        "{text}"
    );
    assert!(html::render(&result).contains("bfq 25 %"));
    let records = records(&result, &|_| true);
    assert_eq!(records[1].covered_share, Some(0.25));
}

#[test]
fn where_nobody_waits_it_says_so() {
    let mut result = result();
    for round in &mut result.rounds {
        let owners = vec![owner("fio", None, Does::Reads, Vec::new(), 0)];
        round.evidence.why = Some(RoundWhy {
            time_s: 20.0,
            devices: vec![WhyDevice {
                missing: 3,
                ..device("none", owners)
            }],
        });
    }
    let found = section(&result);
    assert!(found.contains("nobody waits for long"), "{found}");
    assert!(
        found.contains("missing in this: none 18, bfq 18"),
        "{found}"
    );
}

#[test]
fn each_arm_has_a_record_with_sentences() {
    let records = records(&result(), &|_| true);
    let arms: Vec<_> = records.iter().map(|of| of.arm.as_deref()).collect();
    assert_eq!(arms, [Some("none"), Some("bfq")]);
    let text = |place: usize| {
        let texts = records[place].sentences.iter().map(|of| of.text.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    assert!(
        text(0).starts_with("probe (7): its reads on nvme0n1 wait 10.5 ms of 11.5 ms each before the device gets them. They wait behind writes of hog (7) for 90 % (+-2)"),
        "{}",
        text(0)
    );
    assert!(
        text(1).contains("nvme0n1 was idle 75 % (+-3) of the time: bfq, which keeps the device"),
        "{}",
        text(1)
    );
    assert_eq!(records[0].devices[0].rounds, Some(6));
}

/// An arm that stalls in every round has no column, but is not silent.
#[test]
fn an_arm_without_any_numbers_is_told() {
    let mut result = result();
    for round in result.rounds.iter_mut().filter(|round| round.arm == "bfq") {
        round.censored = Some(crate::types::result::Censored::Starved);
        round.evidence.why = None;
    }
    assert!(section(&result).contains("may be the worst: bfq 6 of 6."));
    let records = records(&result, &|_| true);
    assert_eq!(records[1].arm.as_deref(), Some("bfq"));
    assert_eq!(records[1].sentences.len(), 1);
    assert!(
        records[1].sentences[0]
            .text
            .starts_with("6 of 6 rounds have no values")
    );
    assert!(records[1].devices.is_empty());
}
