//! A study supports an arm only if all cells together do, or fresh rounds of one of them.

use std::collections::BTreeMap;

use super::*;
use crate::persist::support::tests::result;
use crate::report::fixture::{empty, play, study};
use crate::statistics::stopping::Stopping;

type Change<T> = fn(&mut T);

#[test]
fn a_study_must_support_it_in_every_cell_and_as_a_whole() {
    let wanted = Wanted {
        arm: Some("bfq"),
        ..Wanted::default()
    };
    let (good, bad) = (
        result(&[("bfq", 150.0, 50.0)]),
        result(&[("bfq", 50.0, 50.0)]),
    );
    let both = study(vec![good.clone(), good.clone()]);
    assert!(decide_study(&both, None, wanted).is_ok());
    let changes: [(Change<StudyResult>, &str); 7] = [
        (|study| study.status = Status::Interrupted, "not complete"),
        (
            |study| study.cells[1].hopeless = Some("it was".into()),
            "cell 1 was given up",
        ),
        (
            |study| study.cells[1].result.device.model = Some("Another disk".into()),
            "different disks",
        ),
        (
            |study| study.cells[1].result.environment.kernel_release = "7.2".into(),
            "different disks or kernels",
        ),
        (
            |study| study.cells[1].result.design.arms[1].scheduler = "kyber".into(),
            "different arms",
        ),
        (
            |study| {
                let cell = &mut study.cells[1];
                cell.is_placebo = true;
                cell.name = "A/A".into();
                cell.result.rounds.truncate(4);
            },
            "A/A, the reference against itself, has no result",
        ),
        // A difference of the reference from itself is noise, and more than that is an alarm.
        (
            |study| study.cells[1].is_placebo = true,
            "differs from itself",
        ),
    ];
    for (change, says) in changes {
        let mut study = both.clone();
        change(&mut study);
        let refused = decide_study(&study, None, wanted).unwrap_err();
        assert!(refused.what.contains(says), "{}", refused.what);
    }
    let refused = decide_study(&study(vec![good, bad]), None, wanted).unwrap_err();
    assert!(refused.what.contains("bfq is worse"), "{}", refused.what);
}

/// Six blocks in which bfq has so much more throughput, in per cent.
fn six_blocks(more_percent: [f64; 6]) -> ResultFile {
    let stopping = Stopping::Fixed { blocks: 6 };
    let mut result = empty(&["none", "bfq"], stopping, &["throughput"]);
    play(&mut result, |turn| {
        let more = match turn.planned.arm {
            1 => more_percent[turn.planned.block],
            _ => 0.0,
        };
        let throughput = 1e8 * (1.0 + more / 100.0);
        Ok(BTreeMap::from([("throughput".to_owned(), throughput)]))
    });
    result
}

const NOISE: [f64; 6] = [8.0, -7.0, 5.0, -6.0, 7.0, -5.0];
const BETTER: [f64; 6] = [12.0, 9.0, 15.0, 6.0, 11.0, 2.0];

#[test]
fn the_best_of_many_cells_needs_fresh_rounds() {
    let mut found = study((0..40).map(|_| six_blocks(NOISE)).collect());
    found.cells[3].result = six_blocks(BETTER);
    found.started = "2026-02-03T04:05:06Z".into();
    found.finished = Some("2026-02-03T05:05:06Z".into());
    let alone = study(vec![found.cells[3].result.clone()]);
    assert!(
        decide_study(&alone, None, Wanted::default()).is_ok(),
        "it is shown within its cell"
    );
    let refused = decide_study(&found, None, Wanted::default()).unwrap_err();
    assert!(refused.what.contains("best of 40 cells"), "{refused:?}");
    let command = "iosched-ab study ./sample.toml nvme0n1 --cells 'cell 3' -o confirm.json";
    assert!(refused.hint.contains(command), "{}", refused.hint);

    let mut fresh = alone.clone();
    fresh.cells[0].name = "cell 3".into();
    fresh.started = "2026-02-03T06:05:06Z".into();
    let decision = decide_study(&found, Some(&fresh), Wanted::default()).unwrap();
    assert!(
        decision.reasons[0].found[0].starts_with("confirmed by fresh rounds: throughput: bfq"),
        "{:?}",
        decision.reasons[0].found
    );
    let changes: [(Change<StudyResult>, &str); 5] = [
        (
            |fresh| fresh.started = "2026-02-03T04:30:00Z".into(),
            "began before",
        ),
        (
            |fresh| fresh.cells[0].name = "cell 99".into(),
            "none of the study",
        ),
        (
            |fresh| fresh.cells[0].result.workload.description = serde_json::Value::Null,
            "none of the study",
        ),
        (
            |fresh| fresh.cells[0].result = six_blocks(NOISE),
            "do not confirm",
        ),
        (
            |fresh| fresh.status = Status::Interrupted,
            "the confirming study: the study is not complete",
        ),
    ];
    for (change, says) in changes {
        let mut fresh = fresh.clone();
        change(&mut fresh);
        let refused = decide_study(&found, Some(&fresh), Wanted::default()).unwrap_err();
        assert!(refused.what.contains(says), "{}", refused.what);
    }
}
