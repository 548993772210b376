use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::odd::{accepted, changes, seeds, tampered, text_seeds, worn};
use crate::read::Unreadable;
use crate::report::fixture;
use crate::statistics::stopping::Stopping;

/// A small run, complete or killed in the middle.
fn result(is_running: bool) -> Value {
    let primary = ["throughput", "total_p99"];
    let mut result = fixture::empty(&["none", "bfq"], Stopping::Fixed { blocks: 6 }, &primary);
    fixture::play(&mut result, |turn| {
        Ok(fixture::values(
            turn,
            &[("throughput", 1e8), ("total_p99", 2e6)],
        ))
    });
    if is_running {
        result.rounds.truncate(7);
        result.status = crate::types::result::Status::Running;
    }
    serde_json::to_value(result).unwrap()
}

static RESULTS: LazyLock<[Value; 2]> = LazyLock::new(|| [result(false), result(true)]);

fn arms() -> impl Strategy<Value = String> {
    "([a-z]{1,5}=)?[a-z-]{1,12}(,[a-z_/.]{0,9}=?[-a-z0-9 =\u{1b}]{0,6}){0,3}"
}

proptest! {
    #[test]
    fn any_result_file_is_used_or_refused(changes in changes(), is_running in any::<bool>()) {
        result_file(&tampered(&RESULTS[usize::from(is_running)], changes));
    }

    #[test]
    fn any_arm_is_used_or_refused(text in arms(), seed in worn("arm")) {
        arm(&text);
        arm(&seed);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_used_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        result_file(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        arm(&text);
    }
}

/// Input refused at its first byte does not test the rest; input that is always accepted does not test refusals.
#[test]
fn a_share_of_what_is_tried_gets_past_the_first_refusal() {
    let result =
        |(changes, is_running)| result_file(&tampered(&RESULTS[usize::from(is_running)], changes));
    let shares = [
        ("result", accepted((changes(), any::<bool>()), result)),
        ("arm", accepted(worn("arm"), |text| arm(&text))),
    ];
    println!("{shares:?}");
    for (kind, per_cent) in shares {
        assert!((5..100).contains(&per_cent), "{kind}: {per_cent} %");
    }
}

proptest! {
    #[test]
    fn any_result_of_a_search_is_used_or_refused(changes in changes()) {
        let tuned = serde_json::to_value(crate::report::tune::tests::tuned()).unwrap();
        tune_file(&tampered(&tuned, changes));
    }
}

proptest! {
    #[test]
    fn any_merged_file_is_used_or_refused(changes in changes()) {
        let merged = crate::report::merge::tests::merged(&[1.2, 1.1, 0.9, 1.3]);
        merged_file(&tampered(&serde_json::to_value(merged).unwrap(), changes));
    }
}

/// The fuzzer mutates the seeds: a seed that is refused leads it nowhere.
#[test]
fn every_seed_is_accepted() {
    assert!(seeds("result_file").iter().all(|seed| result_file(seed)));
    for seed in text_seeds("arm") {
        assert!(arm(&seed), "{seed}");
    }
}

#[test]
fn the_examples_are_accepted_before_they_are_changed() {
    for result in RESULTS.iter() {
        read::parse(&serde_json::to_vec(result).unwrap()).expect("a result");
    }
}

fn disk_of(luns: u64) -> Value {
    json!({
        "model": "ram",
        "size_bytes": 1,
        "luns": luns,
        "hardware_depth": 1,
        "timing": null,
        "compensation_ns": 0,
        "realtime": false,
        "text": "",
    })
}

#[test]
fn what_does_not_fit_together_is_named() {
    let why = |pointer: &str, value: Value| {
        let mut document = RESULTS[0].clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        match read::parse(&serde_json::to_vec(&document).unwrap()) {
            Err(Unreadable::Inconsistent(why)) => why,
            other => panic!("{pointer}: {other:?}"),
        }
    };
    for (pointer, value, says) in [
        (
            "/design/reference",
            json!(2),
            "design.reference: arm 2 does not exist",
        ),
        (
            "/design/arms/1/label",
            json!("none"),
            "two arms have the same label",
        ),
        (
            "/design/ramp_s",
            json!(-1.0),
            "design.ramp_s: -1 is not a valid duration",
        ),
        (
            "/comparisons/0/metric/margin",
            json!(1e308),
            "above a million",
        ),
        (
            "/comparisons/0/ratio_interval",
            json!({ "lower": 5.0, "upper": 0.1, "attained_confidence": 0.99 }),
            "ends before it begins",
        ),
        (
            "/design/alpha",
            json!(1.5),
            "1.5 is not a valid significance level",
        ),
        (
            "/design/primary/0/margin",
            json!(0.0),
            "the margin of throughput is 0",
        ),
        (
            "/device/scratch",
            disk_of(1 << 35),
            "device.scratch: ram*34359738368: that is not a number of LUNs",
        ),
        ("/plan/arms", json!(3), "plan:"),
        (
            "/plan/rounds/3/arm",
            json!(2),
            "plan.rounds[3] is out of order",
        ),
        (
            "/rounds/2/block",
            json!(99),
            "rounds[2]: block 99 does not exist",
        ),
        (
            "/rounds/2/arm",
            json!("kyber"),
            "rounds[2]: arm \"kyber\" does not exist",
        ),
        (
            "/rounds/0/evidence/device/ops",
            json!([]),
            "rounds[0]: evidence.device.ops",
        ),
        (
            "/rounds/0/evidence/device/ops/0/d2c/layout/cells",
            json!(64),
            "the d2c histogram of read has a different bucket layout",
        ),
        ("/comparisons/0/arm", json!("as"), "arm \"as\" or"),
    ] {
        let found = why(pointer, value);
        assert!(found.contains(says), "{pointer}: {found}");
    }
}

/// The parsers limit how deep a document may nest: deep recursion would exhaust the stack. Unknown fields are skipped without recursion.
#[test]
fn nesting_without_end_is_refused() {
    let deep = [
        b"{\"schema_version\":1,\"x\":".as_slice(),
        &vec![b'['; 1 << 20],
    ]
    .concat();
    let found = read::parse(&deep);
    assert!(matches!(found, Err(Unreadable::Json(_))));
}
