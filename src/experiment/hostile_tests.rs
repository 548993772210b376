use iosched_result::odd::{Changes, accepted, changes, tampered, text_seeds, worn};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::*;

fn fio_fixture(name: &str) -> Vec<u8> {
    let path = format!(
        "{}/../../tests/data/fio/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
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

fn fio_name() -> impl Strategy<Value = &'static str> {
    select(vec!["normal", "jobs", "interrupted", "zero"])
}

fn tampered_fio(name: &str, changes: Changes) -> Vec<u8> {
    let bytes = fio_fixture(name);
    let start = bytes.iter().position(|&byte| byte == b'{').unwrap();
    let document = serde_json::from_slice(&bytes[start..]).unwrap();
    [b"some words\n{\n", &tampered(&document, changes)[1..]].concat()
}

fn lines_of_jobs() -> impl Strategy<Value = String> {
    let line = "\\[[a-z ]{0,6}\\]|(rw|ioscheduler|unlink|startdelay|numjobs|filename|[a-z_]{1,8})[ \t\r\u{0}]?(=| = )?[a-z0-9$:/.\\-;#\u{0}]{0,9}";
    prop::collection::vec(line, 0..9).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_fio_output_is_used_or_refused(changes in changes(), name in fio_name()) {
        fio_output(&tampered_fio(name, changes));
    }

    #[test]
    fn any_output_of_a_command_is_used_or_refused(text in worn("command_output"), part in any::<Index>()) {
        command_output(&text);
        let part = part.index(text.chars().count() + 1);
        command_output(&text.chars().take(part).collect::<String>());
    }

    #[test]
    fn any_page_of_metrics_is_used_or_refused(text in worn("metrics_page"), part in any::<Index>()) {
        metrics_page(&text);
        let part = part.index(text.chars().count() + 1);
        metrics_page(&text.chars().take(part).collect::<String>());
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
}

proptest! {
    #[test]
    fn any_bytes_are_used_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fio_output(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        job_file(&text);
        command_output(&text);
    }
}

/// Input refused at its first byte does not test the rest; input that is always accepted does not test refusals.
#[test]
fn a_share_of_what_is_tried_gets_past_the_first_refusal() {
    let shares = [
        (
            "fio",
            accepted((changes(), fio_name()), |(changes, name)| {
                fio_output(&tampered_fio(name, changes))
            }),
        ),
        (
            "job_file",
            accepted(worn("job_file"), |text| job_file(&text)),
        ),
        (
            "command_output",
            accepted(worn("command_output"), |text| command_output(&text)),
        ),
        (
            "metrics_page",
            accepted((worn("metrics_page"), any::<Index>()), |(text, part)| {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                metrics_page(&lines[..=part.index(lines.len())].concat())
            }),
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
    for seed in text_seeds("job_file") {
        assert!(job_file(&seed), "{seed}");
    }
    for seed in text_seeds("metrics_page") {
        assert!(metrics_page(&seed), "{seed}");
    }
    for name in ["normal", "jobs", "text-before"] {
        assert!(fio_output(&fio_fixture(name)), "{name}");
    }
}

/// The parsers limit how deep a document may nest: deep recursion would exhaust the stack.
#[test]
fn nesting_without_end_is_refused() {
    let deep = [b"{\n\"jobs\":".as_slice(), &vec![b'['; 1 << 20]].concat();
    let error = fio_result::parse(&deep).unwrap_err();
    assert!(error.contains("recursion limit"), "{error}");
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
