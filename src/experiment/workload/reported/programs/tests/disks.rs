//! vdbench, elbencho, filebench, bonnie++, fio's text; perf and time beside a command.

use super::*;
use crate::workload::reported::Sources;

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
const US: f64 = 1e3;
const MS: f64 = 1e6;

#[test]
fn vdbench() {
    // The second run has a rate that is given, so its response time is the result.
    let expected = [
        ("rd1.ops_per_s", 8394.0, PER_S),
        ("rd1.bytes_per_s", 32.79 * MIB, BYTES),
        ("rd1.latency_mean", 0.465 * MS, NS),
        ("rd1.read_latency_mean", 0.505 * MS, NS),
        ("rd1.write_latency_mean", 0.371 * MS, NS),
        ("rd2.ops_per_s", 101.0, PER_S),
        ("rd2.bytes_per_s", 0.39 * MIB, BYTES),
        ("rd2.latency_mean", 0.209 * MS, NS),
        ("rd2.read_latency_mean", 0.228 * MS, NS),
        ("rd2.write_latency_mean", 0.165 * MS, NS),
    ];
    let sample = text("vdbench-50407-disks");
    reports(
        "vdbench",
        &stdout(&sample),
        &expected,
        &["rd1.ops_per_s", "rd2.latency_mean"],
    );
    // Formatting is no result.
    let expected = [
        ("rd1.ops_per_s", 1512.5, PER_S),
        ("rd1.bytes_per_s", 47.27 * MIB, BYTES),
        ("rd1.latency_mean", 0.660 * MS, NS),
        ("rd1.read_latency_mean", 0.502 * MS, NS),
        ("rd1.write_latency_mean", 0.818 * MS, NS),
    ];
    reports(
        "vdbench",
        &stdout(&text("vdbench-50407-files")),
        &expected,
        &["rd1.ops_per_s"],
    );
    let decimal = parse("vdbench", &stdout(&sample.replace("1024**2", "1000**2"))).unwrap();
    assert_eq!(metrics(&decimal)["rd1.bytes_per_s"], (32.79e6, BYTES));
    let unknown = sample.replace("bytes   read     resp", "bytes   resp     read");
    let looped = sample.replace("RD=rd2", "RD=rd1");
    let damaged = format!("10:01:07.001 Data Validation error for sd=sd1\n{sample}");
    let killed = sample.replace("Vdbench execution completed successfully", "Killed");
    for (text, says) in [
        (unknown, "unknown version"),
        (looped, "2 reports: line "),
        (damaged, "Data Validation"),
        (killed, "completed successfully"),
    ] {
        let why = parse("vdbench", &stdout(&text)).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn elbencho() {
    let expected = [
        ("mkdirs.dirs_per_s", 1973.0, PER_S),
        ("write.files_per_s", 527.0, PER_S),
        ("write.ios_per_s", 8437.0, PER_S),
        ("write.bytes_per_s", 32.0 * MIB, BYTES),
        ("write.files_latency_mean", 13.4 * MS, NS),
        ("write.files_latency_max", 145.0 * MS, NS),
        ("write.io_latency_mean", 469.0 * US, NS),
        ("write.io_latency_max", 14.5 * MS, NS),
        ("rwmix70.ios_per_s", 10026.0, PER_S),
        ("rwmix70.read_ios_per_s", 7017.0, PER_S),
        ("rwmix70.write_ios_per_s", 3009.0, PER_S),
        ("rwmix70.bytes_per_s", 38.0 * MIB, BYTES),
        ("rwmix70.read_bytes_per_s", 27.0 * MIB, BYTES),
        ("rwmix70.write_bytes_per_s", 11.0 * MIB, BYTES),
        ("rwmix70.io_write_latency_mean", 301.0 * US, NS),
        ("rwmix70.io_write_latency_max", 9.02 * MS, NS),
        ("rwmix70.io_read_latency_mean", 278.0 * US, NS),
        ("rwmix70.io_read_latency_max", 8.11 * MS, NS),
    ];
    let default = ["write.ios_per_s", "rwmix70.ios_per_s"];
    let sample = text("elbencho-3.1");
    reports("elbencho", &stdout(&sample), &expected, &default);
    // Whole files of one block have no row of I/Os.
    let without = sample.replace(
        "            IOPS             :        9441        8437\n",
        "",
    );
    let found = parse("elbencho", &stdout(&without)).unwrap();
    assert_eq!(
        headlines(&found),
        ["elbencho.write.files_per_s", "elbencho.rwmix70.ios_per_s"]
    );
    let failed = format!("{sample}ERROR: Worker exited with error\n");
    parse("elbencho", &stdout(&failed)).unwrap_err();
}

#[test]
fn filebench() {
    let sample = text("filebench-1.5-alpha3");
    let expected = [
        ("ops_per_s", 23618.001, PER_S),
        ("reads_per_s", 5905.0, PER_S),
        ("writes_per_s", 5905.0, PER_S),
        ("bytes_per_s", 3642.0 * MIB, BYTES),
        ("latency_mean", 0.084 * MS, NS),
        ("app1.latency_mean", 0.008 * MS, NS),
        ("close1.latency_mean", 0.003 * MS, NS),
        ("read1.latency_mean", 0.316 * MS, NS),
        ("open1.latency_mean", 0.010 * MS, NS),
    ];
    reports("filebench", &stdout(&sample), &expected, &["ops_per_s"]);
    // Version 1.4.
    let old = "12:10: 10.1: IO Summary: 47380 ops, 23618.001 ops/s, (5905/5905 r/w), 3642.0mb/s,     50us cpu/op,   0.1ms latency\n";
    let found = parse("filebench", &stdout(old)).unwrap();
    assert_eq!(metrics(&found)["latency_mean"], (0.1 * MS, NS));
    for broken in [
        "IO Summary: 0 ops 0.000 ops/s 0/0 rd/wr 0.0mb/s 0.000ms/op\n".to_owned(),
        format!(
            "{sample}3.1: NO VALID RESULTS! Filebench run terminated prematurely around line 12\n"
        ),
    ] {
        parse("filebench", &stdout(&broken)).unwrap_err();
    }
}

#[test]
fn bonnie() {
    // "+++++" took too short a time; only these tests did not.
    let found = parse("bonnie++", &stdout(&text("bonnie++-2.00a"))).unwrap();
    let of = metrics(&found);
    assert_eq!(of["char_write_bytes_per_s"], (1373.0 * KIB, BYTES));
    assert_eq!(of["char_read_bytes_per_s"], (2233.0 * KIB, BYTES));
    assert!(!of.contains_key("write_bytes_per_s"));
    assert_eq!(of["seek_latency_max"], (11588.0 * US, NS));
    assert_eq!(of["random_delete_latency_max"], (89.0 * US, NS));
    assert_eq!(headlines(&found), [""; 0]);
    // Versions 1.96 and 1.97 have two fields less, and -n 0 leaves out files.
    let old = "1.97,1.97,host,1,1414376948,4G,,786,99,17094,3,15431,4,1662,91,37881,4,548.4,17,16,,,,,142,0,+++++,+++,\
        161,1,150,0,+++++,+++,162,1,12323us,1410ms,2s,5101us,60us,812ms,120ms,9us,80ms,110ms,8us,70ms\n";
    let found = parse("bonnie++", &stdout(old)).unwrap();
    let of = metrics(&found);
    assert_eq!(of["write_bytes_per_s"], (17094.0 * KIB, BYTES));
    assert_eq!(of["rewrite_bytes_per_s"], (15431.0 * KIB, BYTES));
    assert_eq!(of["read_bytes_per_s"], (37881.0 * KIB, BYTES));
    assert_eq!(of["seeks_per_s"], (548.4, PER_S));
    assert_eq!(of["seq_creates_per_s"], (142.0, PER_S));
    assert_eq!(of["write_latency_max"], (1410.0 * MS, NS));
    assert_eq!(of["rewrite_latency_max"], (2e9, NS));
    let default = [
        "write_bytes_per_s",
        "rewrite_bytes_per_s",
        "read_bytes_per_s",
        "seeks_per_s",
    ];
    assert_eq!(
        headlines(&found),
        default.map(|name| format!("bonnie.{name}"))
    );
    let old_format = old.replacen("1.97,", "1.03c,", 1);
    let why = parse("bonnie++", &stdout(&old_format)).unwrap_err();
    assert!(why.contains("1.96 or later"), "{why}");
}

#[test]
fn text_of_fio() {
    let fio = |name: &str| parse("fio", &stdout(&text(&format!("fio-3.33-text-{name}"))));
    let found = fio("mixed").unwrap();
    let of = metrics(&found);
    assert_eq!(of["ios_per_s"], ((20570.0 + 20576.0) / 1.001, PER_S));
    assert_eq!(of["read_ios_per_s"], (20570.0 / 1.001, PER_S));
    assert_eq!(of["write_bytes_per_s"], (80.4 * MIB / 1.001, BYTES));
    assert_eq!(of["read_latency_mean"], (72_560.85, NS));
    assert_eq!(of["read_latency_p99"], (135.0 * US, NS));
    assert_eq!(of["write_latency_p50"], (76.0 * US, NS));
    assert!(
        found
            .insufficient_tail
            .contains(&"fio.read_latency_p99.9".to_owned())
    );
    assert_eq!(headlines(&found), ["fio.ios_per_s"]);
    let found = fio("group-fsync").unwrap();
    let of = metrics(&found);
    assert_eq!(of["write_ios_per_s"], (2709.0 / 1.007, PER_S));
    assert_eq!(of["sync_latency_mean"], (546.58 * US, NS));
    // Two jobs: their rates are added until the last one ended, and have no latency together.
    let expected = [
        ("ios_per_s", 32.0 / 0.020, PER_S),
        ("bytes_per_s", 32.0 * MIB / 0.020, BYTES),
        ("read_ios_per_s", 32.0 / 0.020, PER_S),
        ("read_bytes_per_s", 32.0 * MIB / 0.020, BYTES),
    ];
    let two = stdout(&text("fio-3.33-text-two"));
    reports("fio", &two, &expected, &["ios_per_s"]);
    let why = misread("fio", &stdout(&text("fio-3.33-text-stonewall")));
    assert!(why.contains("several groups (stonewall"), "{why}");
    let mixed = text("fio-3.33-text-mixed");
    // Version 3.1, and a unit of a thousand.
    let old = mixed
        .replace(
            "issued rwts: total=20570,20576,0,0",
            "issued rwt: total=20570,20576,0,",
        )
        .replace("80.4MiB/", "80.4MB/");
    let found = parse("fio", &stdout(&old)).unwrap();
    assert_eq!(metrics(&found)["read_bytes_per_s"], (80.4e6 / 1.001, BYTES));
    assert_eq!(metrics(&found)["read_ios_per_s"], (20570.0 / 1.001, PER_S));
    for (from, to) in [
        ("err= 0", "err= 5"),
        ("Run status", "x"),
        ("total=20570", "total=x"),
    ] {
        parse("fio", &stdout(&mixed.replace(from, to))).unwrap_err();
    }
    let error = "fio: io_u error on file /mnt/f: No space left on device: write offset=4096, buflen=4096\n\
        fio: pid=7, err=28/file:io_u.c:1846, func=io_u error, error=No space left on device\n";
    parse("fio", &stdout(&format!("{error}{mixed}"))).unwrap_err();
}

#[test]
fn perf() {
    let expected = [
        ("task_clock", 1.48 * MS, NS),
        ("context_switches", 0.0, "1"),
        ("block_block_rq_issue", 0.0, "1"),
        ("system_time", 0.002_144e9, NS),
    ];
    let sample = text("perf-6.1.192-dd");
    reports("perf", &stderr(&sample), &expected, &[]);
    let found = parse("perf", &stderr(&text("perf-6.1.192-runs"))).unwrap();
    let of = metrics(&found);
    assert_eq!(of["task_clock"], (1.13 * MS, NS));
    assert_eq!(of["page_faults"], (75.0, "1"));
    assert!(!of.contains_key("cycles"), "<not supported>");
    // German: 1.200 are a thousand.
    for other in [
        sample.replace("1.48", "1,48"),
        sample.replace("  0      context", "1.200      context"),
    ] {
        let why = parse("perf", &stderr(&other)).unwrap_err();
        assert!(why.contains("LC_ALL=C"), "{why}");
    }
}

#[test]
fn time() {
    let sample = text("time-1.9");
    let printed =
        stderr(&sample.replace("System time (seconds): 0.00", "System time (seconds): 1.25"));
    let expected = [
        ("system_time", 1.25e9, NS),
        ("max_rss", 1808.0 * KIB, "bytes"),
        ("major_page_faults", 0.0, "1"),
        ("minor_page_faults", 98.0, "1"),
        ("voluntary_context_switches", 2.0, "1"),
        ("involuntary_context_switches", 0.0, "1"),
        ("file_system_inputs", 0.0, "1"),
        ("file_system_outputs", 0.0, "1"),
    ];
    reports("time", &printed, &expected, &[]);
    let failed = format!("Command exited with non-zero status 1\n{sample}");
    parse("time", &stderr(&failed)).unwrap_err();
}

#[test]
fn what_runs_beside_a_command_is_shown_and_decides_nothing() {
    let both = text("dd-9.1") + &text("perf-6.1.192-runs") + &text("time-1.9");
    let of = |program: Option<&str>, is_program_sure, text: &str| {
        let sources = Sources {
            program: program.map(|name| find(name).unwrap()),
            is_program_sure,
            ..Sources::default()
        };
        let found = sources.find(&stderr(text));
        assert_eq!(found.problem, None);
        found
    };
    let found = of(Some("dd"), false, &both);
    assert_eq!(headlines(&found), ["dd.bytes_per_s"]);
    let names: Vec<&str> = found
        .metrics
        .iter()
        .map(|metric| metric.name.as_str())
        .collect();
    assert!(
        names.contains(&"perf.task_clock") && names.contains(&"time.max_rss"),
        "{names:?}"
    );
    // A command without a parser is compared by its elapsed time.
    assert_eq!(headlines(&of(None, false, &both)), [""; 0]);
    // `--parse dd` reads what dd printed, and ignores two reports of `time`.
    let two = text("dd-9.1") + &text("time-1.9").repeat(2);
    assert_eq!(of(Some("dd"), false, &two).metrics.len(), 1);
    // --parse none.
    assert_eq!(of(None, true, &both).metrics, []);
}
