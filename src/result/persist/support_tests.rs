//! A result supports an arm only if its rounds show that.

use super::*;
use crate::persist::{Disk, FORMATS, Together};
use crate::report::fixture::{empty, play, sample, values};
use crate::statistics::stopping::Stopping;
use crate::types::result::Status;
use crate::types::scratch::truth::Truth;

type Change<T> = fn(&mut T);

/// Each arm's throughput and latency against none's 100 and 100.
pub(in crate::persist) fn result(arms: &[(&str, f64, f64)]) -> ResultFile {
    let labels: Vec<&str> = ["none"]
        .into_iter()
        .chain(arms.iter().map(|arm| arm.0))
        .collect();
    let mut result = empty(
        &labels,
        Stopping::Fixed { blocks: 12 },
        &["throughput", "total_mean"],
    );
    let levels = arms.to_vec();
    play(&mut result, move |turn| {
        let (throughput, latency) = match turn.planned.arm {
            0 => (100.0, 100.0),
            arm => (levels[arm - 1].1, levels[arm - 1].2),
        };
        Ok(values(
            turn,
            &[
                ("throughput", throughput * 1e6),
                ("total_mean", latency * 1e4),
            ],
        ))
    });
    result
}

fn decided(result: &ResultFile, wanted: Option<&str>, accepted: &[&str]) -> Result<String, String> {
    let accepted: Vec<String> = accepted.iter().map(|&name| name.to_owned()).collect();
    let wanted = Wanted {
        accepts_idle: false,
        alike: false,
        arm: wanted,
        accepted: &accepted,
        serial: None,
    };
    let decision = decide(result, wanted).map_err(|refusal| refusal.what)?;
    Ok(decision.scheduler)
}

/// Better in one metric, and without a value in the other: in half of the rounds, and in every one.
#[test]
fn what_cannot_be_judged_is_no_support() {
    for every in [1, 2] {
        let mut result = result(&[("bfq", 150.0, 50.0)]);
        for round in &mut result.rounds {
            if round.arm == "bfq" && round.block % every == 0 {
                round.metrics.remove("total_mean");
            }
        }
        let why = decided(&result, Some("bfq"), &[]).unwrap_err();
        let words = [
            "bfq cannot be judged: total_mean",
            "bfq is worse: total_mean",
        ];
        assert!(words.iter().any(|words| why.starts_with(words)), "{why}");
        let found = decided(&result, Some("bfq"), &["total_mean"]);
        assert_eq!(found.as_deref(), Ok("bfq"));
    }
}

#[test]
fn only_what_is_better_and_nowhere_worse_is_supported() {
    let found = result(&[
        ("bfq", 150.0, 50.0),
        ("kyber", 150.0, 200.0),
        ("mq-deadline", 100.0, 100.0),
    ]);
    assert_eq!(decided(&found, None, &[]).as_deref(), Ok("bfq"));
    let said = |wanted, accepted: &[&str]| decided(&found, Some(wanted), accepted).unwrap_err();
    assert!(said("kyber", &[]).starts_with("kyber is worse: total_mean"));
    assert_eq!(
        decided(&found, Some("kyber"), &["total_mean"]).as_deref(),
        Ok("kyber")
    );
    assert!(said("mq-deadline", &[]).contains("not shown to be better"));
    assert!(said("adios", &[]).contains("no arm adios"));
    assert!(said("none", &[]).contains("none is the reference, and bfq"));
    let several = decided(&found, None, &["total_mean"]).unwrap_err();
    assert!(several.contains("several arms: bfq, kyber"), "{several}");
}

#[test]
fn the_reference_stays_where_all_others_lose_or_are_the_same() {
    let found = result(&[("bfq", 50.0, 100.0), ("kyber", 100.0, 100.0)]);
    assert_eq!(decided(&found, None, &[]).as_deref(), Ok("none"));
}

#[test]
fn stored_verdicts_are_not_believed() {
    let mut found = result(&[("bfq", 50.0, 50.0)]);
    for row in &mut found.comparisons {
        row.comparison.verdict = Verdict::Better;
    }
    assert!(
        decided(&found, Some("bfq"), &[])
            .unwrap_err()
            .contains("bfq is worse")
    );
}

#[test]
fn every_primary_row_is_in_the_evidence() {
    let found = result(&[("bfq", 150.0, 100.0)]);
    let decision = decide(&found, Wanted::default()).unwrap();
    assert_eq!(
        decision.reasons[0].found.len(),
        2,
        "{:?}",
        decision.reasons[0].found
    );
    assert!(
        decided(&found, None, &["no_such_metric"])
            .unwrap_err()
            .contains("no primary metric")
    );
}

#[test]
fn what_was_not_measured_on_the_disk_is_refused() {
    let changes: [(Change<ResultFile>, &str); 4] = [
        (|result| result.status = Status::Interrupted, "not complete"),
        (|result| result.design.is_placebo = true, "with itself"),
        (
            |result| result.device.device.name = "../sda".into(),
            "not the name of a disk",
        ),
        (
            |result| {
                let ram = "ram".parse().unwrap();
                result.device.scratch = Some(Truth::untimed(ram, 1 << 30, 4));
            },
            "simulated",
        ),
    ];
    for (change, says) in changes {
        let mut result = result(&[("bfq", 150.0, 50.0)]);
        change(&mut result);
        let said = decided(&result, Some("bfq"), &[]).unwrap_err();
        assert!(said.contains(says), "{said}");
    }
    let mut result = sample();
    let accepted = ["throughput".to_owned()];
    // Formats that need a model refuse then.
    for nameless in [None, Some("? *".to_owned())] {
        result.device.model = nameless;
        let wanted = Wanted {
            arm: Some("bfq"),
            accepted: &accepted,
            ..Wanted::default()
        };
        let found = decide(&result, wanted).unwrap();
        assert!(matches!(found.disk, Disk::Unnamed(_)), "{found:?}");
        let found = Together {
            decisions: vec![found],
            left_out: Vec::new(),
        };
        for format in FORMATS {
            let takes_names = ["tmpfiles", "gke"].contains(&format.name);
            let refused = format.it.write(&found).err();
            let lacks_model = refused.is_some_and(|why| why.what.contains("no model"));
            assert_eq!(lacks_model, !takes_names, "{}", format.name);
        }
    }
    let of = |serial| {
        let wanted = Wanted {
            accepts_idle: false,
            alike: false,
            arm: Some("bfq"),
            accepted: &accepted,
            serial: Some(serial),
        };
        decide(&result, wanted).map(|decision| decision.disk)
    };
    assert_eq!(of("S123"), Ok(Disk::Serial("S123".to_owned())));
    assert!(of("").is_err() && of("*").is_err());
}
