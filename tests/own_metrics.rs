//! Metrics that a command calls what it likes, and metrics that a run can never have, through `iosched-ab run`.
//! Root only: `cargo test --test own_metrics -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use support::LoopDevice;
use support::program::{Ended, Program};

const BINARY: &str = support::under_test!("iosched-ab");
/// Rounds that last for some milliseconds.
const ARMS: [&str; 8] = [
    "run",
    "scratch:ram",
    "--arm",
    "none",
    "--arm",
    "bfq",
    "--reference",
    "none",
];

/// Runs a script that reads a little of the device and then does `what`, under none and bfq.
fn compare(program: &Program, more: &[&str], what: &str) -> Ended {
    let script = program.file("script.sh");
    let reads =
        "dd if=\"$IOSCHED_DEVICE\" of=/dev/null bs=64k count=16 iflag=direct status=none || exit 1";
    fs::write(&script, format!("#!/bin/sh\n{reads}\n{what}\n")).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
    let how = ["--force", "-o", "result"];
    program.run(&[&ARMS[..], &how, more, &["--", "./script.sh"]].concat())
}

/// The only row of a metric.
#[track_caller]
fn row<'a>(result: &'a Value, name: &str) -> &'a Value {
    let rows = result["comparisons"].as_array().expect("rows");
    let mut found = rows.iter().filter(|row| row["metric"]["name"] == name);
    let row = found.next().unwrap_or_else(|| panic!("no row of {name}"));
    assert!(found.next().is_none(), "two rows of {name}");
    row
}

/// Fields of a round, of a row and of the files around, and metrics of iosched.
const NAMES: [&str; 16] = [
    "position",
    "arm",
    "attempt",
    "block",
    "evidence",
    "index",
    "scheduler",
    "started",
    "window_s",
    "metrics",
    "reported",
    "exclusion",
    "iops",
    "elapsed",
    "total_p99",
    "command.iops",
];

#[test]
#[ignore = "root"]
fn a_metric_may_have_any_name() {
    let program = Program::new(BINARY);
    let lines = NAMES.map(|name| format!("echo {name} 5$IOSCHED_BLOCK vain/s lower"));
    let what = format!("( {} ) >$IOSCHED_METRICS", lines.join("; "));
    compare(&program, &["--rounds", "2"], &what).ends(0, &[]);
    let result = program.result("result");
    for round in result["rounds"].as_array().expect("rounds") {
        let expected = 50 + round["block"].as_u64().expect("a number");
        let expected = if expected == 50 { 50.0 } else { 51.0 };
        for name in NAMES {
            assert_eq!(round["reported"][name], json!(expected), "{name}");
        }
        let iops = round["metrics"]["iops"].as_f64().expect("a rate");
        assert!((iops - expected).abs() > 1e-6, "{iops} is the kernel's");
        assert!(
            round["position"].is_u64() && round["window_s"].is_f64(),
            "{round:#}"
        );
    }
    for format in ["text", "csv", "html", "markdown", "openmetrics", "benchfmt"] {
        let how = ["report", "result", "--format", format];
        program.run(&how).ends(0, &[]);
    }
    let table = program.run(&["report", "result", "--format", "csv"]).stdout;
    let mut columns: Vec<&str> = table.lines().next().expect("a header").split(',').collect();
    let all = columns.len();
    columns.sort_unstable();
    columns.dedup();
    assert_eq!(columns.len(), all, "two columns have one name: {table}");
    // Two blocks decide nothing.
    let gate = ["gate", "result", "--metric", "reported:iops"];
    let judged = program.run(&gate).ends(4, &[]);
    assert!(judged.stdout.contains("reported:iops"), "{judged:#?}");
}

/// The kernel's number with the unit and the direction of a command's, or the other way round, would turn the verdict over.
#[test]
#[ignore = "root"]
fn a_name_of_iosched_and_of_the_command_are_two_metrics() {
    let program = Program::new(BINARY);
    let what = "test $IOSCHED_ARM = bfq && rate=50 || rate=100; echo iops $rate$IOSCHED_BLOCK vain/s lower >$IOSCHED_METRICS";
    for more in [
        &["--rounds", "6"][..],
        &["--rounds", "6", "--metric", "reported:iops"],
    ] {
        let ended = compare(&program, more, what);
        ended.ends(0, &["reported:iops"]);
        let result = program.result("result");
        let row = row(&result, "reported:iops");
        assert_eq!(row["verdict"], "better", "{row:#}");
        assert_eq!(row["metric"]["unit"], "vain/s");
        assert_eq!(result["design"]["primary"][0]["origin"], "reported");
    }
    compare(&program, &["--rounds", "2", "--metric", "iops"], what).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(row(&result, "iops")["metric"]["unit"], "io/s");
    let notes = result["notes"].to_string();
    assert!(
        notes.contains("reported:iops is what the command reported"),
        "{notes}"
    );
}

#[test]
#[ignore = "root"]
fn units_of_one_kind_are_converted_and_others_end_the_run() {
    let program = Program::new(BINARY);
    let lag = |bfq: &str| {
        format!(
            "test $IOSCHED_ARM = bfq && lag='{bfq}' || lag='90'$IOSCHED_BLOCK' us'; echo lag $lag lower >$IOSCHED_METRICS"
        )
    };
    compare(&program, &["--rounds", "6"], &lag("1.2 ms")).ends(0, &[]);
    let result = program.result("result");
    let row = row(&result, "lag");
    assert_eq!(row["verdict"], "worse", "{row:#}");
    // In the unit of the first round, whichever arm that was.
    let least = match row["metric"]["unit"].as_str() {
        Some("ms") => 0.9,
        Some("us") => 900.0,
        unit => panic!("{unit:?}"),
    };
    for round in result["rounds"].as_array().expect("rounds") {
        let value = round["reported"]["lag"].as_f64().expect("a value");
        assert!((least..2.0 * least).contains(&value), "{round:#}");
    }
    compare(&program, &["--rounds", "6"], &lag("1.2 MB/s")).ends(6, &["MB/s", "us"]);
    let rounds = program.result("result")["rounds"].clone();
    assert_eq!(rounds.as_array().map(Vec::len), Some(2), "it ended at once");
}

/// Each reader, with what it prints twice: neither of both, and never one half of each.
#[test]
#[ignore = "root"]
fn two_reports_end_the_run() {
    let program = Program::new(BINARY);
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/commands");
    for (parser, file) in [
        ("pgbench", "pgbench-15-time"),
        ("ycsb", "ycsb-0.17.0-run"),
        ("hammerdbcli", "hammerdbcli-4.9"),
        ("vdbench", "vdbench-50407-disks"),
        ("memtier_benchmark", "memtier_benchmark-2.2.0"),
        ("filebench", "filebench-1.5-alpha3"),
        ("bonnie++", "bonnie++-2.00a"),
        ("elbencho", "elbencho-3.1"),
        ("mysqlslap", "mysqlslap-10.11.19"),
        ("redis-benchmark", "redis-benchmark-7.0.15-csv"),
        ("fio", "fio-3.33-text-mixed"),
    ] {
        let parse = ["--rounds", "1", "--parse", parser];
        let once = format!("cat '{data}/{file}.txt'");
        compare(&program, &parse, &once).ends(0, &[]);
        let result = program.result("result");
        for round in result["rounds"].as_array().expect("rounds") {
            assert!(!round["reported"].is_null(), "{parser}: {round:#}");
        }
        let ended = compare(&program, &parse, &format!("{once}; {once}"));
        assert!(
            ended.code != Some(0) && ended.stderr.contains("reports"),
            "{parser}: {ended:#?}"
        );
        let result = program.result("result");
        for round in result["rounds"].as_array().expect("rounds") {
            assert_eq!(round["reported"], Value::Null, "{parser}: {round:#}");
        }
    }
}

/// A rate of reads or of writes is measured apart, and that of an operation that the workload does not do is refused before
/// the first round.
#[test]
#[ignore = "root"]
fn rates_by_operation_are_measured_or_refused_at_once() {
    let program = Program::new(BINARY);
    let run = |name: &str| {
        let how = ["--rounds", "2", "--ramp", "0.2s", "--round-time", "0.5s"];
        let what = [
            "--force",
            "-o",
            "result",
            "--workload",
            "randread",
            "--metric",
            name,
        ];
        program.run(&[&ARMS[..], &how, &what].concat())
    };
    for name in [
        "write_iops",
        "write_throughput",
        "discard_iops",
        "jain_device_time",
    ] {
        run(name).ends(2, &[name, "cannot be measured"]);
        assert_eq!(program.files(), [""; 0], "{name}");
    }
    for (name, whole) in [("read_iops", "iops"), ("read_throughput", "throughput")] {
        run(name).ends(0, &[name]);
        for round in program.result("result")["rounds"]
            .as_array()
            .expect("rounds")
        {
            let metrics = &round["metrics"];
            assert!(metrics[name].as_f64() > Some(0.0), "{round:#}");
            assert_eq!(metrics[name], metrics[whole], "it does nothing but reads");
        }
    }
}

#[test]
#[ignore = "root"]
fn a_job_that_only_trims_is_compared_by_its_discards() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    fs::write(
        program.file("trim.fio"),
        "[trim]\nrw=randtrim\nbs=64k\nsize=32m\n",
    )
    .expect("a job");
    let node = disk.node();
    let start = [
        "run",
        &node,
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
        "--destroy-data",
        "--yes-destroy",
        &node,
        "--rounds",
        "2",
        "--ramp",
        "0.2s",
        "--round-time",
        "0.5s",
        "--job",
        "trim.fio",
        "-o",
        "result",
    ];
    program.run(&start).ends(0, &["discard_throughput"]);
    let result = program.result("result");
    for round in result["rounds"].as_array().expect("rounds") {
        let metrics = &round["metrics"];
        for name in ["discard_iops", "discard_throughput", "trim.discard_iops"] {
            assert!(metrics[name].as_f64() > Some(0.0), "{name}: {round:#}");
        }
    }
    let data = [&start[..], &["--force", "--metric", "throughput"]].concat();
    program
        .run(&data)
        .ends(2, &["only discards", "discard_throughput"]);
}

/// The rate of a round depends on the arm of the round before, so that the arms seem to differ.
#[test]
#[ignore = "root"]
fn what_arms_leave_behind_begins_the_run_again() {
    let program = Program::new(BINARY);
    // Some noise, of the clock.
    let what = "rate=100; test \"$(cat before 2>/dev/null)\" = bfq && rate=60\n\
        echo $IOSCHED_ARM >before\n\
        echo rate $rate.$(date +%N | head -c 3) 1/s higher >$IOSCHED_METRICS";
    let auto = ["--rounds", "8", "--seed", "3", "--washout"];
    let ended = compare(&program, &[&auto[..], &["auto"]].concat(), what).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(result["pilot"]["began_again"], json!(true), "{result:#}");
    let rounds = |of: &Value| of.as_array().map_or(0, Vec::len);
    assert_eq!(rounds(&result["pilot"]["rounds"]), 12);
    assert_eq!(rounds(&result["rounds"]), 16);
    // Each round came after the reference.
    let rates = result["rounds"].as_array().expect("rounds").iter();
    let rates: Vec<f64> = rates
        .filter_map(|it| it["reported"]["rate"].as_f64())
        .collect();
    assert!(
        rates.len() == 16 && rates.iter().all(|rate| *rate >= 100.0),
        "{rates:?}"
    );
    assert_ne!(row(&result, "rate")["verdict"], "better");
    assert!(
        ended.stdout.contains("began again after 12 rounds"),
        "{ended:#?}"
    );
    // Without it nothing begins again.
    compare(&program, &[&auto[..], &["0"]].concat(), what).ends(0, &[]);
    assert!(program.result("result")["pilot"].is_null());
}
