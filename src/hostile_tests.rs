use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::*;
use crate::ab::stopping::Stopping;
use crate::report::fixture;
use crate::report::read::{self, Unreadable};

fn fio_fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/fio/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A small run, complete or killed in the middle.
fn result(is_running: bool) -> Value {
    let primary = ["throughput", "total_p99"];
    let mut result = fixture::empty(&["none", "bfq"], Stopping::Fixed { blocks: 6 }, &primary);
    fixture::carry_out(&mut result, |turn| {
        Ok(fixture::values(
            turn,
            &[("throughput", 1e8), ("total_p99", 2e6)],
        ))
    });
    if is_running {
        result.rounds.truncate(7);
        result.status = report::result::Status::Running;
    }
    serde_json::to_value(result).unwrap()
}

static RESULTS: LazyLock<[Value; 2]> = LazyLock::new(|| [result(false), result(true)]);

const JOURNAL: &str = r#"{"format":1,"process":{"pid":7,"start_time_ticks":9},"boot_id":"b","command":"iosched-ab run",
    "entries":[[0,{"kind":"directory","path":"/x"}],[1,{"kind":"loop","device":"loop64","backing_file":"/y"}]]}"#;

/// What people, other programs and attackers put where something else was expected.
fn odd_value() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(63),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e-308),
        json!(0.5),
        json!(""),
        json!("none"),
        json!("=cmd|\u{9b}2J\u{7f}\r\n#"),
        json!("\u{1b}[31m|\n\"\\\0</script>"),
        json!([]),
        json!({}),
        json!([[0, u64::MAX], [1, u64::MAX]]),
    ])
}

/// Some place in a document: from the top down, at each step into any child, so that the few outer places are met as
/// often as the many inner ones.
fn place<'a>(document: &'a mut Value, steps: &[Index]) -> &'a mut Value {
    let mut value = &*document;
    let mut pointer = String::new();
    for step in steps {
        let names: Vec<String> = match value {
            Value::Object(object) => object.keys().cloned().collect(),
            Value::Array(array) => (0..array.len()).map(|i| i.to_string()).collect(),
            _ => Vec::new(),
        };
        if names.is_empty() {
            break;
        }
        let name = &names[step.index(names.len())];
        let next = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        value = document.pointer(&next).expect("a child");
        pointer = next;
    }
    document.pointer_mut(&pointer).expect("a place")
}

/// Some places in a document, each to be exchanged for an odd value or for another place's.
type Changes = Vec<(Vec<Index>, Option<Value>, Vec<Index>)>;

fn changes() -> impl Strategy<Value = Changes> {
    let steps = || prop::collection::vec(any::<Index>(), 1..7);
    prop::collection::vec(
        (steps(), prop::option::weighted(0.8, odd_value()), steps()),
        1..4,
    )
}

fn tampered(document: &Value, changes: Changes) -> Vec<u8> {
    let mut document = document.clone();
    for (steps, value, other) in changes {
        let value = value.unwrap_or_else(|| place(&mut document, &other).clone());
        *place(&mut document, &steps) = value;
    }
    serde_json::to_vec(&document).unwrap()
}

/// One of each kind of value.
fn known_option() -> impl Strategy<Value = &'static str> {
    select(vec![
        "description",
        "name",
        "write_iolog",
        "write_bw_log",
        "bs",
        "size",
        "bssplit",
        "rw",
        "random_distribution",
        "ioengine",
        "mem",
        "iomem",
        "verify_pattern",
        "numa_mem_policy",
        "sync_file_range",
        "ignore_error",
        "thread",
        "filename",
        "runtime",
        "unlink",
        "verify",
        "cmdprio_bssplit",
        "steadystate",
    ])
}

fn known_value() -> impl Strategy<Value = String> {
    let word = "|read|zoned|iops|mmap|bind|md5|/etc/passwd|\\.\\./x|/dev/sdx|[a-z0-9 ]{1,5}";
    let end = "|:[0-9./,k%]{0,6}|['\"(`$]|/[a-z0-9/.]{0,5}|x{2100}";
    (word, end).prop_map(|(word, end)| word + &end)
}

proptest! {
    #[test]
    fn any_result_file_is_used_or_refused(changes in changes(), is_running in any::<bool>()) {
        result_file(&tampered(&RESULTS[usize::from(is_running)], changes));
    }

    #[test]
    fn any_fio_output_is_used_or_refused(changes in changes(), name in select(vec!["normal", "jobs"])) {
        let document = serde_json::from_slice(&fio_fixture(name)).unwrap();
        let mut bytes = b"some words\n{\n".to_vec();
        bytes.extend_from_slice(&tampered(&document, changes)[1..]);
        fio_output(&bytes);
    }

    #[test]
    fn any_journal_is_used_or_refused(changes in changes()) {
        let document = serde_json::from_str(JOURNAL).unwrap();
        journal(&tampered(&document, changes));
    }

    #[test]
    fn any_bytes_are_used_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        result_file(&bytes);
        fio_output(&bytes);
        journal(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        job_file(&text);
        arm(&text);
        tables(&text);
        attributes(&text);
    }

    #[test]
    fn any_job_file_is_used_or_refused(
        lines in prop::collection::vec(
            "\\[[a-z ]{0,6}\\]|(rw|ioscheduler|unlink|startdelay|numjobs|filename|[a-z_]{1,8})[ \t\r\u{0}]?(=| = )?[a-z0-9$:/.\\-;#\u{0}]{0,9}",
            0..9,
        ),
    ) {
        job_file(&lines.join("\n"));
    }

    #[test]
    fn any_value_of_a_known_option_is_used_or_refused(
        lines in prop::collection::vec((known_option(), known_value()), 1..9),
        section in "[a-z./ \\[\\]-]{1,6}",
    ) {
        let lines = lines.iter().map(|(option, value)| format!("{option}={value}\n"));
        job_file(&format!("[{section}]\n{}[a]\n", lines.clone().collect::<String>()));
        // One of them alone, which the others cannot get refused.
        lines.for_each(|line| job_file(&format!("[a]\n{line}")));
    }

    #[test]
    fn any_recorded_label_is_used_or_refused(labels in prop::collection::vec("[a-z.]{0,2}[-a-z0-9/_. \n]{0,9}", 1..3)) {
        let process = |label| json!({ "label": label, "job": "[a]\n", "is_background": false });
        let processes: Vec<Value> = labels.into_iter().map(process).collect();
        recorded_workload(&json!({ "kind": "fio", "name": "a", "processes": processes }));
    }

    #[test]
    fn any_arm_is_used_or_refused(text in "([a-z]{1,5}=)?[a-z-]{1,12}(,[a-z_/.]{0,9}=?[-a-z0-9 =\u{1b}]{0,6}){0,3}") {
        arm(&text);
    }

    #[test]
    fn any_table_is_used_or_passed_over(
        words in prop::collection::vec("[0-9]{1,20}|-|[0-9]{1,3}:[0-9]{1,12}|/[a-z\\\\0-9+]{0,9}|cgroup2?|blkio,cpu|cpu|user_usec|system_usec|default|MemTotal:|kB|nan|inf|\n", 0..30),
    ) {
        tables(&words.join(" "));
        tables(&words.join(" ").replace(" \n ", "\n"));
    }

    #[test]
    fn any_attribute_is_used_or_passed_over(
        words in prop::collection::vec("[a-z-]{1,8}|\\[[a-z]{0,5}\\]?|-?[0-9]{1,40}|bitmap_tags:|depth=[0-9]{1,12}|[0-9]{1,12}:[0-9]{1,12}|\n", 0..20),
    ) {
        attributes(&words.join(" "));
        attributes(&words.join(" ").replace(" \n ", "\n"));
    }
}

#[test]
fn the_examples_are_accepted_before_they_are_changed() {
    for result in RESULTS.iter() {
        read::parse(&serde_json::to_vec(result).unwrap()).expect("a result");
    }
    journal::parse(Path::new("/j"), JOURNAL.as_bytes()).expect("a journal");
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
            "design.reference: there is no arm 2",
        ),
        (
            "/design/arms/1/label",
            json!("none"),
            "two have the same label",
        ),
        (
            "/design/ramp_s",
            json!(-1.0),
            "design.ramp_s: -1 is no time",
        ),
        ("/design/alpha", json!(1.5), "1.5 is no level"),
        (
            "/design/primary/0/margin",
            json!(0.0),
            "the margin of throughput is 0",
        ),
        ("/plan/arms", json!(3), "plan:"),
        (
            "/plan/rounds/3/arm",
            json!(2),
            "plan.rounds[3] is not in its place",
        ),
        (
            "/rounds/2/block",
            json!(99),
            "rounds[2]: there is no block 99",
        ),
        (
            "/rounds/2/arm",
            json!("kyber"),
            "rounds[2]: there is no arm \"kyber\"",
        ),
        (
            "/rounds/0/evidence/device/ops",
            json!([]),
            "rounds[0]: evidence.device.ops",
        ),
        (
            "/rounds/0/evidence/device/ops/0/d2c/layout/cells",
            json!(64),
            "the d2c histogram of read has another layout",
        ),
        ("/comparisons/0/arm", json!("as"), "there is no arm \"as\""),
    ] {
        let found = why(pointer, value);
        assert!(found.contains(says), "{pointer}: {found}");
    }
}

/// Without a limit a parser that goes down by itself would exhaust its stack.
#[test]
fn nesting_without_end_is_refused() {
    let deep = |start: &str| [start.as_bytes(), &vec![b'['; 1 << 20]].concat();
    let error = fio_result::parse(&deep("{\n\"jobs\":")).unwrap_err();
    assert!(error.contains("recursion limit"), "{error}");
    // What is unknown is passed over without going down.
    let found = read::parse(&deep("{\"schema_version\":1,\"x\":"));
    assert!(matches!(found, Err(Unreadable::Json(_))));
    let error = journal::parse(Path::new("/j"), &deep("{\"format\":1,\"x\":")).unwrap_err();
    assert!(error.to_string().contains("not a journal"), "{error:#}");
}

#[test]
fn numbers_that_are_none_are_refused_as_json() {
    for number in ["NaN", "nan", "Infinity", "-inf", "1e999", "0x10"] {
        let text = format!(
            "{{\n\"jobs\":[{{\"jobname\":\"a\",\"error\":0,\"read\":{{\"total_ios\":1,\"iops\":{number}}}}}]}}"
        );
        let error = fio_result::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains("cannot be read"), "{number}: {error}");
    }
}
