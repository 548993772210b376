use iosched_result::odd::{Changes, accepted, changes, seeds, tampered};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::history::tests as history_tests;

/// The head, an interval, and one that was changed in one place.
fn tampered_history(mut changes: Changes) -> Vec<u8> {
    changes.truncate(1);
    let line = |value: Value| [serde_json::to_vec(&value).unwrap(), b"\n".to_vec()].concat();
    let frame = |number| serde_json::to_value(history_tests::frame(number)).unwrap();
    let head = serde_json::to_value(history_tests::head()).unwrap();
    let changed = [tampered(&frame(1), changes), b"\n".to_vec()].concat();
    [line(head), line(frame(0)), changed].concat()
}

proptest! {
    #[test]
    fn any_history_is_used_or_refused(changes in changes()) {
        history(&tampered_history(changes));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_used_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        history(&bytes);
    }
}

/// Input refused at its first byte does not test the rest; input that is always accepted does not test refusals.
#[test]
fn a_share_of_what_is_tried_gets_past_the_first_refusal() {
    let shares = [(
        "history",
        accepted(changes(), |changes| history(&tampered_history(changes))),
    )];
    println!("{shares:?}");
    for (kind, per_cent) in shares {
        assert!((5..100).contains(&per_cent), "{kind}: {per_cent} %");
    }
}

/// The fuzzer mutates the seeds: a seed that is refused leads it nowhere.
#[test]
fn every_seed_is_accepted() {
    assert!(seeds("history").iter().all(|seed| history(seed)));
}
