//! Each parser against real output, shortened, whose numbers a human has read.

use super::fixture::{headlines, metrics, misread, parse, stderr, stdout, text};
use super::*;
use crate::workload::reported::known;
use iosched_result::metric::Metric;
use iosched_result::text::glob::glob;

#[path = "tests/broken.rs"]
mod broken; // what is refused
#[path = "tests/databases.rs"]
mod databases; // YCSB, HammerDB, mysqlslap, memtier_benchmark, redis-benchmark
#[path = "tests/disks.rs"]
mod disks; // vdbench, elbencho, filebench, bonnie++, fio's text, perf, time
#[path = "tests/docs.rs"]
mod docs; // the table in docs/commands.md
#[path = "tests/files.rs"]
mod files; // dd, dbench, iozone, db_bench, stress-ng
#[path = "tests/hostile.rs"]
mod hostile; // changed output of these
#[path = "tests/one_report.rs"]
mod one_report; // two reports in one output, and reports that nothing reads
#[path = "tests/sources.rs"]
mod sources; // lines that a source can print, of which there is no sample
#[path = "tests/timed.rs"]
mod timed; // which arguments make a program run for a fixed time
#[path = "tests/versions.rs"]
mod versions; // of which there is no real output, by the format strings of their sources

/// Names, values and units of all metrics, and the default ones.
#[track_caller]
fn reports(
    program: &str,
    printed: &Printed,
    expected: &[(&str, f64, &str)],
    default: &[&str],
) -> Found {
    let found = parse(program, printed).unwrap_or_else(|why| panic!("{why}"));
    let metrics = metrics(&found);
    for (name, value, unit) in expected {
        let (found, found_unit) = metrics
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {metrics:?}"));
        assert!(
            (found - value).abs() <= value * 1e-12,
            "{name}: {found} instead of {value}"
        );
        assert_eq!(found_unit, unit, "{name}");
    }
    let names: Vec<&str> = expected.iter().map(|(name, ..)| *name).collect();
    let others: Vec<_> = metrics
        .keys()
        .filter(|name| !names.contains(name))
        .collect();
    assert!(others.is_empty(), "also {others:?}");
    let default: Vec<String> = default
        .iter()
        .map(|name| format!("{}.{name}", prefix_of(program)))
        .collect();
    assert_eq!(headlines(&found), default);
    found
}

/// Names of metrics have no plus.
fn prefix_of(program: &str) -> &str {
    program.trim_end_matches('+')
}

const PER_S: &str = "1/s";
const BYTES: &str = "bytes/s";
const NS: &str = "ns";

#[test]
fn pg_test_fsync() {
    let expected = [
        ("one_write_open_datasync", 18275.324, PER_S),
        ("one_write_fdatasync", 38644.952, PER_S),
        ("one_write_fsync", 36749.714, PER_S),
        ("one_write_open_sync", 34090.159, PER_S),
        ("two_writes_open_datasync", 4517.752, PER_S),
        ("two_writes_fdatasync", 10499.132, PER_S),
        ("two_writes_fsync", 20731.880, PER_S),
        ("two_writes_open_sync", 15282.491, PER_S),
        ("open_sync_1x16kB", 4819.270, PER_S),
        ("open_sync_2x8kB", 2759.029, PER_S),
        ("open_sync_4x4kB", 3430.361, PER_S),
        ("open_sync_8x2kB", 2162.717, PER_S),
        ("open_sync_16x1kB", 464.925, PER_S),
        ("write_fsync_close", 8540.269, PER_S),
        ("write_close_fsync", 1020.339, PER_S),
        ("unsynced_write", 359_650.693, PER_S),
    ];
    let default = ["one_write_fdatasync"];
    reports(
        "pg_test_fsync",
        &stdout(&text("pg_test_fsync-15")),
        &expected,
        &default,
    );
    let found = parse("pg_test_fsync", &stdout(&text("pg_test_fsync-17"))).unwrap();
    assert_eq!(metrics(&found)["one_write_fdatasync"], (5461.390, PER_S));
    assert_eq!(found.metrics.len(), expected.len());
}

#[test]
fn pgbench() {
    let of = |name: &str, expected: &[(&str, f64, &str)], default| {
        reports("pgbench", &stdout(&text(name)), expected, &[default]);
    };
    // In version 13, connecting is in the first of two rates, as in that of later versions with -C.
    let first = [("tps", 914.122_383, PER_S), ("latency_mean", 2.188e6, NS)];
    of("pgbench-13-time", &first, "tps");
    let reconnect = [("tps", 98.969_097, PER_S), ("latency_mean", 10.104e6, NS)];
    of("pgbench-13-reconnect", &reconnect, "tps");
    let expected = [
        ("tps", 1_701.645_209, PER_S),
        ("latency_mean", 1.175e6, NS),
        ("connection_time", 14.508e6, NS),
        ("failed_transactions", 0.0, "1"),
    ];
    of("pgbench-15-time", &expected, "tps");
    let expected = [
        ("tps", 1_105.820_168, PER_S),
        ("latency_mean", 1.809e6, NS),
        ("connection_time", 37.366e6, NS),
        ("failed_transactions", 0.0, "1"),
    ];
    of("pgbench-16-time", &expected, "tps");
    let expected = [
        ("tps", 77.013_004, PER_S),
        ("latency_mean", 12.985e6, NS),
        ("reconnection_time", 5.777e6, NS),
        ("failed_transactions", 0.0, "1"),
    ];
    of("pgbench-17-reconnect", &expected, "tps");
    // The rate is given with -R, so the latency is the result.
    let expected = [
        ("tps", 89.128_835, PER_S),
        ("latency_mean", 4.207e6, NS),
        ("latency_sd", 9.572e6, NS),
        ("schedule_lag", 1.187e6, NS),
        ("connection_time", 13.007e6, NS),
        ("failed_transactions", 0.0, "1"),
        ("skipped_transactions", 8.0, "1"),
    ];
    of("pgbench-15-paced", &expected, "latency_mean");
    // Metrics of all scripts together, not of one.
    let expected = [
        ("tps", 1_841.756_299, PER_S),
        ("latency_mean", 0.543e6, NS),
        ("connection_time", 4.790e6, NS),
        ("failed_transactions", 0.0, "1"),
    ];
    of("pgbench-15-scripts", &expected, "tps");
}

#[test]
fn percentiles_of_pgbench_are_those_of_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("transactions.1");
    // 1 to 2000 us.
    let lines = (1..=2000).map(|us| format!("0 {us} {us} 0 1795393686 1\n"));
    std::fs::write(&log, lines.collect::<Vec<_>>().concat()).unwrap();
    let printed = Printed {
        logs: vec![log],
        ..stdout(&text("pgbench-15-time"))
    };
    let found = parse("pgbench", &printed).unwrap();
    let metrics = metrics(&found);
    assert_eq!(metrics["latency_p50"], (1000e3, NS));
    assert_eq!(metrics["latency_p95"], (1900e3, NS));
    assert_eq!(
        found.insufficient_tail,
        ["pgbench.latency_p99", "pgbench.latency_p99.9"]
    );
}

#[test]
fn sysbench() {
    let of = |name: &str, expected: &[(&str, f64, &str)]| {
        reports(
            "sysbench",
            &stdout(&text(name)),
            expected,
            &["events_per_s"],
        )
    };
    let expected = [
        ("events_per_s", 25706.0 / 2.0481, PER_S),
        ("reads_per_s", 6971.08, PER_S),
        ("writes_per_s", 4647.55, PER_S),
        ("fsyncs_per_s", 933.32, PER_S),
        ("read_bytes_per_s", 108.92 * 1_048_576.0, BYTES),
        ("written_bytes_per_s", 72.62 * 1_048_576.0, BYTES),
        ("latency_mean", 0.08e6, NS),
        ("latency_max", 144.01e6, NS),
        ("latency_p95", 0.06e6, NS),
    ];
    of("sysbench-1.0.20-fileio", &expected);
    // Reads only, and no percentile.
    let expected = [
        ("events_per_s", 198_364.0 / 1.0122, PER_S),
        ("reads_per_s", 195_799.21, PER_S),
        ("read_bytes_per_s", 3059.36 * 1_048_576.0, BYTES),
        ("latency_mean", 0.02e6, NS),
        ("latency_max", 143.41e6, NS),
        ("fairness_sd", 13654.67, "1"),
    ];
    of("sysbench-1.0.20-fileio-4-threads", &expected);
    // 483 events are too few for their 95th percentile.
    let expected = [
        ("events_per_s", 240.58, PER_S),
        ("transactions_per_s", 240.58, PER_S),
        ("queries_per_s", 4864.80, PER_S),
        ("latency_mean", 8.30e6, NS),
        ("latency_max", 1016.69e6, NS),
        ("fairness_sd", 28.50, "1"),
    ];
    let found = of("sysbench-1.0.20-oltp", &expected);
    assert_eq!(found.insufficient_tail, ["sysbench.latency_p95"]);
    let found = parse("sysbench", &stdout(&text("sysbench-1.0.20-cpu"))).unwrap();
    assert_eq!(metrics(&found)["events_per_s"], (1465.41, PER_S));
    // A mean of 0.00 ms is below the resolution.
    let expected = [
        ("events_per_s", 2_905_890.39, PER_S),
        ("latency_max", 20.26e6, NS),
    ];
    of("sysbench-1.0.20-memory", &expected);
}

#[test]
fn ioping() {
    let of = |name: &str, expected: &[(&str, f64, &str)]| {
        reports("ioping", &stdout(&text(name)), expected, &["latency_mean"]);
    };
    let expected = [
        ("latency_mean", 9.11e6, NS),
        ("latency_min", 66.7e3, NS),
        ("latency_max", 36.1e6, NS),
        ("latency_sd", 15.6e6, NS),
        ("requests_per_s", 109.0, PER_S),
        ("bytes_per_s", 439.2 * 1024.0, BYTES),
    ];
    of("ioping-1.3", &expected);
    let expected = [
        ("latency_mean", 52.8e3, NS),
        ("latency_min", 49.7e3, NS),
        ("latency_max", 56.2e3, NS),
        ("latency_sd", 2.35e3, NS),
        ("requests_per_s", 18.9e3, PER_S),
        ("bytes_per_s", 74.0 * 1_048_576.0, BYTES),
    ];
    of("ioping-1.3-periods", &expected);
    let expected = [
        ("latency_mean", 131_974.0, NS),
        ("latency_min", 8913.0, NS),
        ("latency_max", 121_798_102.0, NS),
        ("latency_sd", 1_736_019.0, NS),
        ("requests_per_s", 7577.0, PER_S),
        ("bytes_per_s", 31_036_506.0, BYTES),
    ];
    of("ioping-1.3-batch", &expected);
    let json = stdout(&text("ioping-1.3-json"));
    let found = parse("ioping", &json).unwrap();
    let metrics = metrics(&found);
    let stat = |key: &str| {
        let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        document.as_array().unwrap().last().unwrap()["stat"][key]
            .as_f64()
            .unwrap()
    };
    assert_eq!(metrics["latency_mean"], (stat("avg"), NS));
    assert_eq!(metrics["bytes_per_s"], (stat("bps"), BYTES));
}

#[test]
fn fio() {
    let file = |name: &str| {
        let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
        stdout(&std::fs::read_to_string(path).unwrap())
    };
    // One job, without histograms: fio's own percentiles, where 100 I/Os or more lie beyond.
    let expected = [
        ("ios_per_s", (13186.0 + 13261.0) / 1.001, PER_S),
        ("bytes_per_s", (54_009_856.0 + 54_317_056.0) / 1.001, BYTES),
        ("read_ios_per_s", 13186.0 / 1.001, PER_S),
    ];
    let found = parse("fio", &file("commands/fio-3.33-mixed.txt")).unwrap();
    let of = metrics(&found);
    for (name, value, unit) in &expected[2..] {
        assert!(
            (of[name].0 - value).abs() < 1e-6 && of[name].1 == *unit,
            "{of:?}"
        );
    }
    // As fio prints them.
    assert!((of["read_ios_per_s"].0 - 13_172.827_173).abs() < 1e-6);
    assert!((of["read_bytes_per_s"].0 - 53_955_900.0).abs() < 1.0);
    assert_eq!(of["read_latency_mean"], (39_196.633_323, NS));
    assert_eq!(of["read_latency_p50"], (11456.0, NS));
    assert_eq!(of["read_latency_p99"], (250_880.0, NS));
    assert!(!of.contains_key("read_latency_p99.9"));
    assert!(
        found
            .insufficient_tail
            .contains(&"fio.read_latency_p99.9".to_owned())
    );
    assert_eq!(headlines(&found), ["fio.ios_per_s"]);
    let sum = of["read_ios_per_s"].0 + of["write_ios_per_s"].0;
    assert!((of["ios_per_s"].0 - sum).abs() < 1e-6);
    let why = misread("fio", &file("commands/fio-3.33-stonewall.txt"));
    assert!(why.contains("several groups (stonewall"), "{why}");
    let why = parse("fio", &stdout("a: (g=0): rw=read, bs=...\nfio-3.33\n")).unwrap_err();
    assert!(why.contains("add --output-format=json"), "{why}");
    for broken in ["bad-option", "no-file", "truncated", "zero"] {
        assert!(
            parse("fio", &file(&format!("fio/{broken}.json"))).is_err(),
            "{broken}"
        );
    }
}

/// A name that iosched knows would get another unit and direction.
#[test]
fn no_name_is_one_of_iosched() {
    let mut names = Vec::new();
    for (program, printed) in samples() {
        if let Ok(found) = parse(program, &printed) {
            assert!(!found.metrics.is_empty());
            let metrics = found.metrics.iter().map(|metric| metric.name.clone());
            names.extend(metrics.chain(found.insufficient_tail));
        }
    }
    assert!(names.len() > 200, "{}", names.len());
    for name in &names {
        assert!(Metric::named(name).is_none(), "{name}");
        check_name(name).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    for program in super::names() {
        let prefix = format!("{}.", prefix_of(program));
        assert!(
            names.iter().any(|name| name.starts_with(&prefix)),
            "no sample of {program}"
        );
    }
    // The test can fail.
    assert!(
        Metric::named("dd.throughput").is_some() && Metric::named("fio.read_clat_p99").is_some()
    );
}

/// A wrong name is refused before the first round: no right one may be.
#[test]
fn the_known_names_are_all_names() {
    let mut seen = 0;
    for (program, printed) in samples() {
        let Some(known) = known::names_of(find(program).expect("a program")) else {
            continue;
        };
        let Ok(found) = parse(program, &printed) else {
            continue;
        };
        let names = found.metrics.into_iter().map(|metric| metric.name);
        for name in names.chain(found.insufficient_tail) {
            let is_known = known.iter().any(|pattern| glob(pattern, &name));
            assert!(
                is_known,
                "{name} is not in src/experiment/workload/reported/known.rs"
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

/// All files of real output, with the program that wrote each.
fn samples() -> Vec<(&'static str, Printed)> {
    let named = named_samples().into_iter();
    named
        .map(|(_, program, printed)| (program, printed))
        .collect()
}

/// With their names, each on the stream that it was written to.
fn named_samples() -> Vec<(String, &'static str, Printed)> {
    let directory = format!("{}/../../tests/data/commands", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(directory).expect("samples");
    let mut samples = Vec::new();
    for file in files {
        let path = file.expect("a sample").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let mut programs = super::names().into_iter();
        let program = programs.find(|program| name.starts_with(&format!("{program}-")));
        let program = program.unwrap_or_else(|| panic!("{name}: of which program?"));
        let text = std::fs::read_to_string(&path).expect("a sample");
        let is_stderr =
            ["dd", "perf", "time"].contains(&program) || name.starts_with("stress-ng-0.15");
        samples.push((
            name,
            program,
            if is_stderr {
                stderr(&text)
            } else {
                stdout(&text)
            },
        ));
    }
    samples
}
