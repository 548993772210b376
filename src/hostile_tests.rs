use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::*;
use crate::ab::result::read::{self, Unreadable};
use crate::ab::statistics::stopping::Stopping;
use crate::history::tests as history_tests;
use crate::report::fixture;

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
        result.status = crate::ab::result::Status::Running;
    }
    serde_json::to_value(result).unwrap()
}

static RESULTS: LazyLock<[Value; 2]> = LazyLock::new(|| [result(false), result(true)]);

/// Values that users, other programs and attackers put in place of expected ones.
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

/// A place in a document, from the top down and at each step into any child, so that the few outer places are chosen as
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

/// Places in a document, each to be replaced by an odd value or by the value of another place.
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

/// One option of each kind of value.
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

/// Realistic inputs, with which a fuzzer also starts.
fn seeds(kind: &str) -> Vec<Vec<u8>> {
    let below = match kind {
        "command_output" => "tests/data/commands".to_owned(),
        _ => format!("fuzz/seeds/{kind}"),
    };
    let directory = format!("{}/{below}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{directory}: {e}"));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{directory}");
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

fn text_seeds(kind: &str) -> Vec<String> {
    let texts = seeds(kind).into_iter();
    texts.map(|text| String::from_utf8(text).unwrap()).collect()
}

/// A seed with some of its words replaced.
fn worn(kind: &str) -> impl Strategy<Value = String> {
    let word = "|-1|0|1|nan|none|18446744073709551616|[0-9]{1,20}|\\[|\\]|=|/dev/sdx|\\.\\./x|\u{1b}\\[31m|\n|[a-z_/]{1,9}";
    let exchange = (any::<Index>(), word);
    (
        select(text_seeds(kind)),
        prop::collection::vec(exchange, 0..4),
    )
        .prop_map(|(mut text, exchanges)| {
            for (place, word) in exchanges {
                let is_end = |c: char| !c.is_ascii_alphanumeric();
                let mut starts = vec![0];
                for part in text.split_inclusive(is_end) {
                    starts.push(starts[starts.len() - 1] + part.len());
                }
                starts.pop();
                let start = starts.get(place.index(starts.len().max(1)));
                let start = start.copied().unwrap_or_default();
                let length = text[start..].find(is_end);
                let end = length.map_or(text.len(), |length| start + length);
                text.replace_range(start..end, &word);
            }
            text
        })
}

fn fio_name() -> impl Strategy<Value = &'static str> {
    select(vec!["normal", "jobs", "interrupted", "zero"])
}

fn tampered_fio(name: &str, changes: Changes) -> Vec<u8> {
    let bytes = fio_fixture(name);
    let start = bytes.iter().position(|&byte| byte == b'{').unwrap();
    let document = serde_json::from_slice(&bytes[start..]).unwrap();
    [b"some words\n{\n", &tampered(&document, changes)[1..]].concat()
}

/// The head, an interval, and one that was changed in one place.
fn tampered_history(mut changes: Changes) -> Vec<u8> {
    changes.truncate(1);
    let line = |value: Value| [serde_json::to_vec(&value).unwrap(), b"\n".to_vec()].concat();
    let frame = |number| serde_json::to_value(history_tests::frame(number)).unwrap();
    let head = serde_json::to_value(history_tests::head()).unwrap();
    let changed = [tampered(&frame(1), changes), b"\n".to_vec()].concat();
    [line(head), line(frame(0)), changed].concat()
}

fn tampered_journal(changes: Changes) -> Vec<u8> {
    let document = serde_json::from_slice(&seeds("journal")[0]).unwrap();
    tampered(&document, changes)
}

fn arms() -> impl Strategy<Value = String> {
    "([a-z]{1,5}=)?[a-z-]{1,12}(,[a-z_/.]{0,9}=?[-a-z0-9 =\u{1b}]{0,6}){0,3}"
}

fn lines_of_jobs() -> impl Strategy<Value = String> {
    let line = "\\[[a-z ]{0,6}\\]|(rw|ioscheduler|unlink|startdelay|numjobs|filename|[a-z_]{1,8})[ \t\r\u{0}]?(=| = )?[a-z0-9$:/.\\-;#\u{0}]{0,9}";
    prop::collection::vec(line, 0..9).prop_map(|lines| lines.join("\n"))
}

fn words_of_tables() -> impl Strategy<Value = String> {
    let word = "[0-9]{1,20}|-|[0-9]{1,3}:[0-9]{1,12}|/[a-z\\\\0-9+]{0,9}|cgroup2?|blkio,cpu|cpu|user_usec|system_usec|default|MemTotal:|kB|nan|inf|\n";
    prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "))
}

fn words_of_attributes() -> impl Strategy<Value = String> {
    let word = "[a-z-]{1,8}|\\[[a-z]{0,5}\\]?|-?[0-9]{1,40}|bitmap_tags:|depth=[0-9]{1,12}|[0-9]{1,12}:[0-9]{1,12}|\n";
    prop::collection::vec(word, 0..20).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_result_file_is_used_or_refused(changes in changes(), is_running in any::<bool>()) {
        result_file(&tampered(&RESULTS[usize::from(is_running)], changes));
    }

    #[test]
    fn any_fio_output_is_used_or_refused(changes in changes(), name in fio_name()) {
        fio_output(&tampered_fio(name, changes));
    }

    #[test]
    fn any_journal_is_used_or_refused(changes in changes()) {
        journal(&tampered_journal(changes));
    }

    #[test]
    fn any_history_is_used_or_refused(changes in changes()) {
        history(&tampered_history(changes));
    }

    #[test]
    fn any_bytes_are_used_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        result_file(&bytes);
        fio_output(&bytes);
        journal(&bytes);
        history(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        job_file(&text);
        arm(&text);
        tables(&text);
        attributes(&text);
        command_output(&text);
    }

    #[test]
    fn any_output_of_a_command_is_used_or_refused(text in worn("command_output"), part in any::<Index>()) {
        command_output(&text);
        let part = part.index(text.chars().count() + 1);
        command_output(&text.chars().take(part).collect::<String>());
    }

    #[test]
    fn any_job_file_is_used_or_refused(lines in lines_of_jobs(), seed in worn("job_file")) {
        job_file(&lines);
        job_file(&seed);
    }

    #[test]
    fn any_value_of_a_known_option_is_used_or_refused(
        lines in prop::collection::vec((known_option(), known_value()), 1..9),
        section in "[a-z./ \\[\\]-]{1,6}",
    ) {
        let lines = lines.iter().map(|(option, value)| format!("{option}={value}\n"));
        job_file(&format!("[{section}]\n{}[a]\n", lines.clone().collect::<String>()));
        // Each line alone, so that the others cannot cause its refusal.
        lines.for_each(|line| {
            job_file(&format!("[a]\n{line}"));
        });
    }

    #[test]
    fn any_recorded_label_is_used_or_refused(labels in prop::collection::vec("[a-z.]{0,2}[-a-z0-9/_. \n]{0,9}", 1..3)) {
        let process = |label| json!({ "label": label, "job": "[a]\n", "is_background": false });
        let processes: Vec<Value> = labels.into_iter().map(process).collect();
        recorded_workload(&json!({ "kind": "fio", "name": "a", "processes": processes }));
    }

    #[test]
    fn any_arm_is_used_or_refused(text in arms(), seed in worn("arm")) {
        arm(&text);
        arm(&seed);
    }

    #[test]
    fn any_table_is_used_or_passed_over(words in words_of_tables(), seed in worn("tables")) {
        tables(&words);
        tables(&words.replace(" \n ", "\n"));
        tables(&seed);
    }

    #[test]
    fn any_attribute_is_used_or_passed_over(words in words_of_attributes(), seed in worn("attributes")) {
        attributes(&words);
        attributes(&words.replace(" \n ", "\n"));
        attributes(&seed);
    }
}

/// How many of a hundred inputs are accepted; the inputs are always the same.
fn accepted<T>(strategy: impl Strategy<Value = T>, is_accepted: impl Fn(T) -> bool) -> usize {
    let mut runner = TestRunner::deterministic();
    let drawn = (0..200).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    drawn.filter_map(|it| is_accepted(it).then_some(())).count() / 2
}

/// Input refused at its first byte does not test the rest; input that is always accepted does not test refusals.
#[test]
fn a_share_of_what_is_tried_gets_past_the_first_refusal() {
    let result =
        |(changes, is_running)| result_file(&tampered(&RESULTS[usize::from(is_running)], changes));
    let shares = [
        ("result", accepted((changes(), any::<bool>()), result)),
        (
            "fio",
            accepted((changes(), fio_name()), |(changes, name)| {
                fio_output(&tampered_fio(name, changes))
            }),
        ),
        (
            "journal",
            accepted(changes(), |changes| journal(&tampered_journal(changes))),
        ),
        (
            "history",
            accepted(changes(), |changes| history(&tampered_history(changes))),
        ),
        ("arm", accepted(worn("arm"), |text| arm(&text))),
        (
            "job_file",
            accepted(worn("job_file"), |text| job_file(&text)),
        ),
        ("tables", accepted(worn("tables"), |text| tables(&text))),
        (
            "attributes",
            accepted(worn("attributes"), |text| attributes(&text)),
        ),
        (
            "command_output",
            accepted(worn("command_output"), |text| command_output(&text)),
        ),
    ];
    println!("{shares:?}");
    for (kind, per_cent) in shares {
        assert!((5..100).contains(&per_cent), "{kind}: {per_cent} %");
    }
}

/// The fuzzer mutates the seeds: a seed that is refused leads it nowhere.
#[test]
fn every_seed_is_accepted() {
    for (kind, is_accepted) in [
        ("result_file", result_file as fn(&[u8]) -> bool),
        ("history", history),
        ("journal", journal),
    ] {
        assert!(seeds(kind).iter().all(|seed| is_accepted(seed)), "{kind}");
    }
    for (kind, is_accepted) in [
        ("arm", arm as fn(&str) -> bool),
        ("job_file", job_file),
        ("tables", tables),
        ("attributes", attributes),
    ] {
        for seed in text_seeds(kind) {
            assert!(is_accepted(&seed), "{kind}: {seed}");
        }
    }
    for name in ["normal", "jobs", "text-before"] {
        assert!(fio_output(&fio_fixture(name)), "{name}");
    }
}

/// Every kind of change that a journal can contain is in a seed.
#[test]
fn the_seeds_have_every_kind_of_entry() {
    let text = text_seeds("journal").concat();
    for kind in ["directory", "mount", "loop", "queue", "files", "cgroup"] {
        assert!(text.contains(&format!("\"kind\": \"{kind}\"")), "{kind}");
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

/// Without a limit a recursive parser would exhaust its stack.
#[test]
fn nesting_without_end_is_refused() {
    let deep = |start: &str| [start.as_bytes(), &vec![b'['; 1 << 20]].concat();
    let error = fio_result::parse(&deep("{\n\"jobs\":")).unwrap_err();
    assert!(error.contains("recursion limit"), "{error}");
    // Unknown fields are skipped without recursion.
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
