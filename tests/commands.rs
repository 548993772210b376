//! Well-known benchmarks, run by `iosched-ab run` on a file system of their own: the metric that decides is the number that the
//! program printed. Root only: `cargo test --test commands -- --ignored --test-threads=1`.

mod support;

use std::path::PathBuf;

use regex::Regex;
use serde_json::Value;
use support::program::Program;
use support::traces::traces_of;
use support::{LoopDevice, Mounted, run};

const BINARY: &str = support::under_test!("iosched-ab");
const SIZE_BYTES: u64 = 512 << 20;

/// An ext4 in memory.
struct Volume {
    // Unmounted before its disk is detached.
    mounted: Mounted,
    _disk: LoopDevice,
}

impl Volume {
    fn new() -> Self {
        let disk = LoopDevice::in_memory(SIZE_BYTES);
        Volume {
            mounted: Mounted::ext4(&disk.node()),
            _disk: disk,
        }
    }

    fn path(&self, name: &str) -> String {
        self.mounted.path().join(name).display().to_string()
    }
}

/// The path of a program; says so if there is none.
fn installed(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Debian puts what belongs to a version of PostgreSQL here.
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    places.extend(versions.flatten().map(|version| version.path().join("bin")));
    let found = places
        .iter()
        .map(|place| place.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: {name} is not installed");
    }
    Some(found?.display().to_string())
}

/// The result of two rounds of a command under each of two schedulers.
fn compare(volume: &Volume, options: &[&str], command: &[&str]) -> Value {
    let program = Program::new(BINARY);
    let place = volume.path("");
    let start = [
        "run",
        &place,
        "--allow-mounted",
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
        "--rounds",
        "2",
        "--seed",
        "11",
        "--force",
        "-o",
        "result",
    ];
    let ended = program.run(&[&start, options, &["--"], command].concat());
    let ended = ended.ends(0, &[]);
    assert_eq!(traces_of(ended.pid), [""; 0], "left on the machine");
    assert!(program.journals().is_empty(), "left in the journal");
    program.result("result")
}

/// Each round's metric is what `printed` finds in the output that the result keeps, and it alone decides.
#[track_caller]
fn decides(result: &Value, parser: &str, metric: &str, unit: &str, printed: impl Fn(&str) -> f64) {
    assert_eq!(result["workload"]["description"]["parser"], parser);
    let primary = result["design"]["primary"]
        .as_array()
        .expect("primary metrics");
    let [primary] = &primary[..] else {
        panic!("not one primary metric: {primary:?}")
    };
    assert_eq!(
        (&primary["name"], &primary["unit"]),
        (&metric.into(), &unit.into())
    );
    let rounds = result["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 4);
    for round in rounds {
        assert_eq!(round["problem"], Value::Null, "{round:#}");
        let output = &round["evidence"]["outcome"]["output"];
        let text = |stream: &str| {
            let of = |part: &str| output[stream][part].as_str().unwrap_or_default();
            format!("{}{}", of("head"), of("tail"))
        };
        let expected = printed(&(text("stdout") + &text("stderr")));
        let found = round["reported"][metric].as_f64().expect("its value");
        assert!(
            (found - expected).abs() <= expected * 1e-9,
            "{found} instead of {expected}"
        );
    }
    let compared = result["comparisons"].to_string();
    assert!(compared.contains(metric), "{compared}");
}

/// The only number that an expression finds.
#[track_caller]
fn number(text: &str, expression: &str) -> f64 {
    let regex = Regex::new(expression).expect("an expression");
    let mut found = regex.captures_iter(text);
    let number = found
        .next()
        .unwrap_or_else(|| panic!("no {expression} in {text}"))[1]
        .parse();
    assert!(found.next().is_none(), "{text}");
    number.expect("a number")
}

#[test]
#[ignore = "root"]
fn pg_test_fsync_decides_by_fdatasync() {
    let Some(program) = installed("pg_test_fsync") else {
        return;
    };
    let volume = Volume::new();
    let command = [&program, "-f", &volume.path("file"), "-s", "1"];
    let result = compare(&volume, &[], &command);
    let first = |text: &str| {
        let section = text.split("two 8kB writes").next().expect("a section");
        number(section, r"(?m)^ +fdatasync +([0-9.]+) ops/sec")
    };
    decides(
        &result,
        "pg_test_fsync",
        "pg_test_fsync.one_write_fdatasync",
        "1/s",
        first,
    );
    // It runs for a fixed time.
    assert_eq!(result["rounds"][0]["metrics"]["elapsed"], Value::Null);
}

#[test]
#[ignore = "root"]
fn ioping_decides_by_its_mean_latency_also_behind_nice() {
    if installed("ioping").is_none() {
        return;
    }
    let volume = Volume::new();
    let place = volume.path("");
    let mean = |text: &str| {
        let unit = Regex::new(r"mdev = \S+ \S+ / \S+ (us|ms|ns) ").expect("an expression");
        let factor = match &unit.captures(text).expect("a unit")[1] {
            "ns" => 1.0,
            "us" => 1e3,
            _ => 1e6,
        };
        number(text, r"mdev = \S+ \S+ / (\S+) ") * factor
    };
    let ioping = ["ioping", "-D", "-c", "50", "-i", "0", &place];
    for wrapper in [&[][..], &["nice", "-n", "5"]] {
        let result = compare(&volume, &[], &[wrapper, &ioping].concat());
        decides(&result, "ioping", "ioping.latency_mean", "ns", mean);
        assert!(result["rounds"][0]["metrics"]["elapsed"].as_f64() > Some(0.0));
    }
}

#[test]
#[ignore = "root"]
fn dd_decides_by_its_rate() {
    let volume = Volume::new();
    let target = format!("of={}", volume.path("file"));
    let command = [
        "dd",
        "if=/dev/zero",
        &target,
        "bs=256k",
        "count=64",
        "oflag=direct",
    ];
    let result = compare(&volume, &[], &command);
    let rate = |text: &str| {
        let bytes = number(text, r"(?m)^([0-9]+) bytes");
        assert!((bytes - f64::from(64 * 256 * 1024)).abs() < 0.5);
        bytes / number(text, r"copied, (\S+) s,")
    };
    decides(&result, "dd", "dd.bytes_per_s", "bytes/s", rate);
}

#[test]
#[ignore = "root"]
fn sysbench_decides_by_its_events() {
    if installed("sysbench").is_none() {
        return;
    }
    let volume = Volume::new();
    let place = volume.path("");
    let fileio = ["fileio", "--file-total-size=64M", "--file-num=4"];
    run(
        "env",
        &[&["-C", &place, "sysbench"], &fileio[..], &["prepare"]].concat(),
    );
    let test = [
        "--file-test-mode=rndrw",
        "--file-extra-flags=direct",
        "--time=1",
        "run",
    ];
    let command = [&["env", "-C", &place, "sysbench"], &fileio[..], &test].concat();
    let result = compare(&volume, &[], &command);
    let events = |text: &str| {
        number(text, r"total number of events: +([0-9]+)")
            / number(text, r"total time: +([0-9.]+)s")
    };
    decides(&result, "sysbench", "sysbench.events_per_s", "1/s", events);
    // The same metric by name, with a margin.
    let named = ["--metric", "sysbench.reads_per_s:20"];
    let result = compare(&volume, &named, &command);
    let reads = |text: &str| number(text, r"reads/s: +([0-9.]+)");
    decides(&result, "sysbench", "sysbench.reads_per_s", "1/s", reads);
    assert_eq!(result["design"]["primary"][0]["margin"], 0.2);
}

#[test]
#[ignore = "root"]
fn stress_ng_decides_by_its_operations() {
    if installed("stress-ng").is_none() {
        return;
    }
    let volume = Volume::new();
    let place = volume.path("");
    let command = [
        "stress-ng",
        "--hdd",
        "1",
        "--hdd-bytes",
        "16M",
        "--hdd-opts",
        "direct",
        "--timeout",
        "1",
        "--temp-path",
        &place,
        "--metrics-brief",
    ];
    let result = compare(&volume, &[], &command);
    let rate = |text: &str| {
        number(
            text,
            r"\] hdd +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+) +[0-9.]+",
        )
    };
    decides(&result, "stress-ng", "stress-ng.hdd.ops_per_s", "1/s", rate);
}

#[test]
#[ignore = "root"]
fn dbench_decides_by_its_throughput() {
    if installed("dbench").is_none() {
        return;
    }
    let volume = Volume::new();
    let command = ["dbench", "-s", "-D", &volume.path(""), "-t", "3", "1"];
    let result = compare(&volume, &[], &command);
    let rate = |text: &str| number(text, r"Throughput (\S+) MB/sec") * 1e6;
    decides(&result, "dbench", "dbench.bytes_per_s", "bytes/s", rate);
}

#[test]
#[ignore = "root"]
fn db_bench_decides_by_its_operations() {
    if installed("db_bench").is_none() {
        return;
    }
    let volume = Volume::new();
    let db = format!("--db={}", volume.path("db"));
    let command = ["db_bench", &db, "--num=500", "--benchmarks=fillsync"];
    let result = compare(&volume, &[], &command);
    let rate = |text: &str| number(text, r"fillsync +: +\S+ micros/op ([0-9]+) ops/sec");
    decides(
        &result,
        "db_bench",
        "db_bench.fillsync.ops_per_s",
        "1/s",
        rate,
    );
}

#[test]
#[ignore = "root"]
fn fio_as_a_command_decides_by_its_ios() {
    if installed("fio").is_none() {
        return;
    }
    let volume = Volume::new();
    let file = format!("--filename={}", volume.path("file"));
    let job = [
        "fio",
        "--name=a",
        &file,
        "--size=16M",
        "--rw=randread",
        "--direct=1",
        "--runtime=1",
        "--time_based",
    ];
    let command = [&job[..], &["--output-format=json"]].concat();
    let result = compare(&volume, &[], &command);
    // The end of its output is not kept whole; fio's rate is.
    let rate = |text: &str| number(text, r#""iops" : ([1-9][0-9.]*)"#);
    decides(&result, "fio", "fio.ios_per_s", "1/s", rate);
    // Also from its normal output, below perf where there is one.
    let rate = |text: &str| {
        number(text, r"issued rwts: total=([0-9]+),") / number(text, r"B/([0-9]+)msec\)") * 1000.0
    };
    let perf = ["perf", "stat", "-e", "context-switches"];
    for before in [&[][..], &perf] {
        if before.first().is_some_and(|perf| installed(perf).is_none()) {
            continue;
        }
        let result = compare(&volume, &[], &[before, &job[..]].concat());
        decides(&result, "fio", "fio.ios_per_s", "1/s", rate);
        let switches = result["rounds"]
            .to_string()
            .contains("perf.context_switches");
        assert_eq!(switches, !before.is_empty());
    }
    // Without either there is nothing to compare, and the message says what to do.
    let program = Program::new(BINARY);
    let place = volume.path("");
    let start = [
        "run",
        &place,
        "--allow-mounted",
        "--arm",
        "none",
        "--arm",
        "kyber",
        "--rounds",
        "2",
        "--",
    ];
    let ended = program.run(&[&start, &job[..], &["--minimal"]].concat());
    assert!(
        ended.code != Some(0) && ended.stderr.contains("--output-format=json"),
        "{ended:#?}"
    );
}
