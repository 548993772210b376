//! Lines that a program can print by its source, and of which there is no sample. Each text is made from the format strings of the
//! named version and file.

use super::fixture::misread;
use super::*;

const MIB: f64 = 1_048_576.0;

/// stat.c of fio 3.33, `show_ddir_status`, `show_clat_percentiles` and `show_mixed_ddir_status`.
#[test]
fn fio_prints_more_than_the_latency_of_a_direction() {
    let job = "a: (groupid=0, jobs=1): err= 0: pid=7: Wed Nov 25 12:41:42 2026\n";
    let read = "  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(4.00PiB/1000msec)\n    \
        clat (usec): min=1, max=9, avg= 5.00, stdev= 1.00\n    \
        clat prio 2/0 (usec): min=1, max=9, avg= 6.00, stdev= 1.00\n    \
        clat percentiles (usec):\n     | 50.000th=[    5], 99.000th=[    8]\n    \
        clat prio 2/0 (5.12% of IOs) percentiles (msec):\n     | 90.000th=[    7]\n";
    let mixed = "  mixed: IOPS=9000, BW=9000KiB/s (9216kB/s)(9000KiB/1000msec)\n    \
        clat (msec): min=1, max=9, avg= 9.00, stdev= 1.00\n    \
        clat percentiles (msec):\n     | 50.000th=[    9], 99.000th=[    9]\n";
    let issued = "     issued rwts: total=20000,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let status = "\nRun status group 0 (all jobs):\n   READ: bw=4000KiB/s\n  MIXED: bw=9000KiB/s\n";
    let bytes = 4.0 * MIB * MIB * 1024.0;
    let expected = [
        ("ios_per_s", 20000.0, PER_S),
        ("bytes_per_s", bytes, BYTES),
        ("read_ios_per_s", 20000.0, PER_S),
        ("read_bytes_per_s", bytes, BYTES),
        ("read_latency_mean", 5e3, NS),
        ("read_latency_p50", 5e3, NS),
        ("read_latency_p99", 8e3, NS),
    ];
    for mixed in ["", mixed] {
        let text = format!("\n{job}{read}{mixed}{issued}{status}");
        reports("fio", &stdout(&text), &expected, &["ios_per_s"]);
    }
}

/// stat.c of fio 3.33 prints all of `__show_run_stats` at each `--status-interval`.
#[test]
fn of_reports_of_one_run_of_fio_the_last_counts() {
    let report = text("fio-3.33-text-mixed");
    let (start, last) = report.split_once("\na: (groupid").expect("a job");
    let last = format!("\na: (groupid{last}");
    let earlier = last
        .replace("1001msec)", "500msec)")
        .replace("total=20570,20576", "total=9000,9000");
    assert_ne!(earlier, last);
    let whole = parse("fio", &stdout(&report)).unwrap_or_else(|why| panic!("{why}"));
    let found = parse("fio", &stdout(&format!("{start}{earlier}{earlier}{last}")));
    assert_eq!(found, Ok(whole));
    // Half of the last one.
    let cut = format!("{start}{earlier}{}", &last[..last.len() / 2]);
    let why = parse("fio", &stdout(&cut)).expect_err("a half");
    assert!(why.contains("ends before \"Run status group\""), "{why}");
    for other in [
        format!("{start}{last}{earlier}"),
        format!("{start}{earlier}{start}{last}"),
        format!("{start}{earlier}{}", last.replace("pid=", "pid=9")),
    ] {
        let why = misread("fio", &stdout(&other));
        assert!(why.contains("2 reports"), "{why}");
    }
}

/// pgbench.c of 9.6.0: 1000.0 * duration * nclients / total->cnt, where the duration is 0 with -t.
#[test]
fn a_mean_that_pgbench_did_not_measure_is_left_out() {
    let text = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\n\
        number of threads: 1\nnumber of transactions per client: 1000\nnumber of transactions actually processed: 1000/1000\n\
        latency average: 0.000 ms\n\
        tps = 499.500000 (including connections establishing)\ntps = 500.500000 (excluding connections establishing)\n";
    let expected = [("tps", 499.5, PER_S)];
    reports("pgbench", &stdout(text), &expected, &["tps"]);
    // All have failed: `printResults` of 15 and later.
    let none = text.replace("499.5", "0.0");
    let why = parse("pgbench", &stdout(&none)).expect_err("no transaction");
    assert!(why.contains("no transaction succeeded"), "{why}");
    // It goes on without the client, and ends with 0. In 12 and later: "client %d script %d aborted in command %d ...".
    for line in [
        "client 0 aborted in state 4: ERROR:  deadlock detected\n",
        "Client 3 aborted in establishing connection.\n",
        "pgbench: error: client 1 script 0 aborted in command 4 query 0: ERROR:  x\n",
    ] {
        let printed = Printed {
            stderr: line.to_owned(),
            ..stdout(text)
        };
        let why = parse("pgbench", &printed).expect_err(line);
        assert!(why.contains(line.trim()), "{why}");
    }
}

/// dd.c of coreutils 9.7: `print_xfer_stats`, and "%jd truncated records" of conv=block before it.
#[test]
fn dd_prints_truncated_records_and_its_path() {
    let whole = "1+0 records in\n0+1 records out\n1 truncated record\n81 bytes copied, 0.0005 s, 162 kB/s\n";
    let expected = [("bytes_per_s", 162_000.0, BYTES)];
    reports("dd", &stderr(whole), &expected, &["bytes_per_s"]);
    // Output of a script that joins both streams, and of a terminal.
    reports(
        "dd",
        &stdout(&whole.replace('\n', "\r\n")),
        &expected,
        &["bytes_per_s"],
    );
    let one = "0+1 records in\n0+1 records out\n1 byte copied, 2e-05 s, 50.0 kB/s\n";
    reports(
        "dd",
        &stderr(one),
        &[("bytes_per_s", 50_000.0, BYTES)],
        &["bytes_per_s"],
    );
    let full = format!("/usr/bin/dd: error writing 'x': No space left on device\n{whole}");
    let why = parse("dd", &stderr(&full)).expect_err("a failure");
    assert!(why.contains("No space left"), "{why}");
    let both = Printed {
        stdout: whole.to_owned(),
        ..stderr(whole)
    };
    let why = misread("dd", &both);
    assert!(
        why.contains("line 4 of standard output") && why.contains("line 4 of standard error"),
        "{why}"
    );
}

/// stress-ng.c of 0.21.04: `stress_metrics_dump` repeats the keys below "instances:"; other lists follow.
#[test]
fn stress_ng_prints_each_instance_in_its_yaml() {
    let text = "---\nmetrics:\n    - stressor: hdd\n      bogo-ops: 3000\n      bogo-ops-per-second-usr-sys-time: 9.0e+03\n      \
        bogo-ops-per-second-real-time: 1.5e+03\n      wall-clock-time: 2.0\n      mbsec-read-rate: 2.000000\n      instances:\n          \
        - instance: 0\n            bogo-ops: 0\n            bogo-ops-per-second-real-time: 7.0\n            wall-clock-time: 2.0\n\n\
        exercised:\n    - stressor: hdd\n      syscalls: []\n\ntimes:\n      run-time: 2.0\n...\n";
    let expected = [
        ("hdd.ops_per_s", 1500.0, PER_S),
        ("hdd.read_bytes_per_s", 2.0 * MIB, BYTES),
    ];
    reports("stress-ng", &stdout(text), &expected, &["hdd.ops_per_s"]);
    assert_eq!(resembling(&stdout(text)), Some("stress-ng"));
}

/// `db_bench_tool.cc`: "; %.3f ms/op; %6.1f (± %.1f) MB/sec" of 10.8.3; "%ld ops/sec", "%11.3f micros/op" of 8.0.0.
#[test]
fn db_bench_prints_a_mean_time_and_whole_rates() {
    let mean = "readrandom   :       1.374 micros/op 727907 ops/sec 0.137 seconds 100000 operations;   80.5 MB/s\n\
        readrandom [AVG    2 runs] : 727907 (± 57025) ops/sec; 0.002 ms/op;   80.5 (± 6.3) MB/sec\n";
    let found = parse("db_bench", &stdout(mean)).unwrap_or_else(|why| panic!("{why}"));
    let last = found.metrics.last().expect("a metric");
    assert_eq!((last.value, last.unit.as_str()), (80.5 * MIB, BYTES));
    let slow = "compact      : 2500000.000 micros/op 0 ops/sec 2.500 seconds 1 operations;\n\
        crc32c       :       0.000 micros/op 2905890 ops/sec 0.100 seconds 290589 operations;    0.0 MB/s\n";
    let expected = [
        ("compact.ops_per_s", 0.4, PER_S),
        ("compact.latency_mean", 2.5e9, NS),
        ("crc32c.ops_per_s", 2_905_890.0, PER_S),
    ];
    reports(
        "db_bench",
        &stdout(slow),
        &expected,
        &["compact.ops_per_s", "crc32c.ops_per_s"],
    );
}

/// `db_bench_tool.cc` of 8.0.0 prints a histogram of each kind of operation, in no order; internal_stats.cc those of levels.
#[test]
fn histograms_of_other_operations_are_not_mixed() {
    let result =
        "fillseq      :       9.582 micros/op 102732 ops/sec 0.195 seconds 20000 operations;\n";
    let of = |title: &str, p50: &str| {
        format!(
            "{title}\nCount: 20000 Average: 2.0000  StdDev: 1.00\nMin: 1  Median: {p50}  Max: 9\nPercentiles: P50: {p50} P75: 3.00\n"
        )
    };
    let own = of("Microseconds per write:", "2.31");
    let level = of("** Level 0 read latency histogram (micros):", "7.00");
    let p50 = |text: &str| {
        let found = parse("db_bench", &stdout(text)).unwrap_or_else(|why| panic!("{why}"));
        metrics(&found)
            .get("fillseq.latency_p50")
            .map(|value| value.0)
    };
    assert_eq!(p50(&format!("{result}{own}{level}")), Some(2310.0));
    assert_eq!(p50(&format!("{result}{level}")), None);
    let reads = of("Microseconds per read:", "1.00");
    assert_eq!(p50(&format!("{result}{reads}{own}")), None);
}

/// mysys/errors.c of MariaDB 11: `EE_NAME_DEPRECATED`, on standard error of each of its programs that has an old name.
#[test]
fn a_deprecated_name_of_mysqlslap_is_no_failure() {
    let printed = Printed {
        stderr: "mysqlslap: Deprecated program name. It will be removed in a future release, use '/usr/bin/mariadb-slap' instead\n"
            .to_owned(),
        ..stdout(&text("mysqlslap-10.11.19"))
    };
    parse("mysqlslap", &printed).unwrap_or_else(|why| panic!("{why}"));
    // It ends with 0.
    let failed = Printed {
        stderr: "/usr/bin/mysqlslap: Cannot run query SELECT 1 ERROR : gone\n".to_owned(),
        ..printed
    };
    assert!(parse("mysqlslap", &failed).is_err());
}

/// iozone.c of 3.507 with -O: the rate of the throughput mode is in "ops/sec".
#[test]
fn operations_of_the_throughput_mode_of_iozone() {
    let text = text("iozone-507-throughput").replace("kB/sec", "ops/sec");
    let found = parse("iozone", &stdout(&text)).unwrap_or_else(|why| panic!("{why}"));
    let of = metrics(&found);
    assert_eq!(of["initial_writers.ops_per_s"], (203_732.05, PER_S));
    assert_eq!(
        of["initial_writers.children_ops_per_s"],
        (1_215_774.25, PER_S)
    );
    assert!(
        headlines(&found)
            .iter()
            .all(|name| name.ends_with("s.ops_per_s"))
    );
}

/// iozone.c of 3.4 with -V.
#[test]
fn numbers_that_iozone_calls_invalid_are_none() {
    let verify = "\tVerify Mode. Pattern 5\n\tPerformance measurements are invalid in this mode.\n";
    let text = text("iozone-507-random").replacen("\tAuto Mode\n", verify, 1);
    let why = parse("iozone", &stdout(&text)).expect_err("no measurement");
    assert!(why.contains("invalid in this mode"), "{why}");
}

/// redis-benchmark.c of 3.0 to 7.4: a rate is "inf" where the test took less than 1 ms.
#[test]
fn a_rate_without_a_time_is_none() {
    for text in [
        "SET: inf requests per second\n",
        "SET: inf requests per second, p50=0.007 msec\n",
        "====== SET ======\n  1 requests completed in 0.00 seconds\n\ninf requests per second\n\n",
    ] {
        let why = parse("redis-benchmark", &stdout(text)).expect_err(text);
        assert!(why.contains("its test SET has no rate"), "{why}");
    }
}

/// bon_time.cpp of 2.00a with -s 0 and -n 16:1000:10/4: `DoReportIO`, `DoReportFile`; int(stat) of more than 2^31 is negative.
#[test]
fn bonnie_prints_only_files() {
    let line = "1.98,2.00a,vm,1,1795591009,,,,,,,,,,,,,,,,,16,1000,10,,4,10,5,20,5,30,5,40,5,50,5,60,5,,,,,,,134us,301ms,392s,901us,34us,89us\n";
    let found = parse("bonnie++", &stdout(line)).unwrap_or_else(|why| panic!("{why}"));
    let of = metrics(&found);
    assert_eq!(of["seq_creates_per_s"], (10.0, PER_S));
    assert_eq!(of["random_deletes_per_s"], (60.0, PER_S));
    assert_eq!(of["seq_stat_latency_max"], (301e6, NS));
    assert_eq!(of["seq_delete_latency_max"], (392e9, NS));
    assert_eq!(headlines(&found).len(), 6);
    let why =
        parse("bonnie++", &stdout(&line.replace(",10,5,20", ",-10,5,20"))).expect_err("overflow");
    assert!(why.contains("is not a rate"), "{why}");
}
