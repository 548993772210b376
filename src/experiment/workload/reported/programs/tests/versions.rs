//! Versions of the last ten years that no supported release has, by the format strings of their sources.

use super::*;

const MIB: f64 = 1_048_576.0;

/// Lua tests print what cpu does; fileio prints neither the events nor the time.
#[test]
fn sysbench_1_1() {
    let fileio = "Throughput:\n         read:  IOPS=6971.08 108.92 MiB/s (114.21 MB/s)\n         \
        write: IOPS=0.00 0.00 MiB/s (0.00 MB/s)\n         fsync: IOPS=933.32\n\nLatency (ms):\n         \
        min:                                  0.01\n         avg:                                  0.25\n         \
        max:                                 12.50\n         95th percentile:                      0.50\n         \
        sum:                               5000.00\n\n";
    let expected = [
        ("events_per_s", 6971.08 + 933.32, PER_S),
        ("reads_per_s", 6971.08, PER_S),
        ("read_bytes_per_s", 108.92 * MIB, BYTES),
        ("fsyncs_per_s", 933.32, PER_S),
        ("latency_mean", 0.25e6, NS),
        ("latency_max", 12.5e6, NS),
        // A percentile of 20000 events.
        ("latency_p95", 0.5e6, NS),
    ];
    reports("sysbench", &stdout(fileio), &expected, &["events_per_s"]);
    let cpu = "CPU speed:\n    events per second:  1465.41\n\nThroughput:\n    events/s (eps):                      1465.4105\n    \
        time elapsed:                        10.0006s\n    total number of events:              14656\n\nLatency (ms):\n         \
        min:                                    0.64\n         avg:                                    0.68\n\n";
    let expected = [
        ("events_per_s", 1465.4105, PER_S),
        ("latency_mean", 0.68e6, NS),
    ];
    reports("sysbench", &stdout(cpu), &expected, &["events_per_s"]);
}

#[test]
fn sysbench_before_1() {
    let head = "Operations performed:  6000 reads, 4000 writes, 12800 Other = 22800 Total\n\
        Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (13.391Mb/sec)\n  857.04 Requests/sec executed\n\n";
    let statistics = "    total time:                          12.5000s\n    total number of events:              10000\n    \
        total time taken by event execution: 5.1234s\n";
    let latency = "         min:                                  0.01ms\n         avg:                                  0.51ms\n         \
        max:                                 35.67ms\n         approx.  95 percentile:               4.11ms\n\n\
        Threads fairness:\n    events (avg/stddev):           10000.0000/0.00\n";
    let expected = [
        ("events_per_s", 800.0, PER_S),
        ("reads_per_s", 480.0, PER_S),
        ("writes_per_s", 320.0, PER_S),
        ("fsyncs_per_s", 1024.0, PER_S),
        ("read_bytes_per_s", 7.5 * MIB, BYTES),
        ("written_bytes_per_s", 5.0 * MIB, BYTES),
        ("latency_mean", 0.51e6, NS),
        ("latency_max", 35.67e6, NS),
        ("latency_p95", 4.11e6, NS),
    ];
    for (title, section) in [
        ("General statistics:", "    response time:\n"),
        ("Test execution summary:", "    per-request statistics:\n"),
    ] {
        let text = format!("{head}{title}\n{statistics}{section}{latency}");
        reports("sysbench", &stdout(&text), &expected, &["events_per_s"]);
        let small = text
            .replace("6000 reads", "6000 Read")
            .replace("4000 writes", "4000 Write");
        reports("sysbench", &stdout(&small), &expected, &["events_per_s"]);
    }
}

#[test]
fn ioping_since_0_9() {
    let expected = [
        ("latency_mean", 150e3, NS),
        ("latency_min", 110e3, NS),
        ("latency_max", 420e3, NS),
        ("latency_sd", 30e3, NS),
        ("requests_per_s", 6700.0, PER_S),
        ("bytes_per_s", 26.0 * MIB, BYTES),
    ];
    let times = "min/avg/max/mdev = 110 us / 150 us / 420 us / 30 us\n";
    for middle in [
        "400 requests completed in 60.0 ms, 6.7 k iops, 26.0 MiB/s\n",
        "400 requests completed in 60.0 ms, 1.56 MiB read, 6.7 k iops, 26.0 MiB/s\ngenerated 401 requests in 61.0 ms\n",
        "400 requests completed in 60.0 ms, 1.56 MiB, 6.7 k iops, 26.0 MiB/s\n2 too fast, generated 401 requests in 61 ms\n",
    ] {
        let text = format!("\n--- /srv/a (ext4 /dev/sda1) ioping statistics ---\n{middle}{times}");
        reports("ioping", &stdout(&text), &expected, &["latency_mean"]);
    }
    // The batch line of 0.9 has eight numbers, in us.
    let batch = [("latency_mean", 150e3, NS), ("latency_max", 420e3, NS)];
    let found = parse(
        "ioping",
        &stdout("400 60000 6700 27262976 110 150 420 30\n"),
    )
    .unwrap_or_else(|why| panic!("{why}"));
    for (name, value, unit) in batch {
        assert_eq!(metrics(&found)[name], (value, unit));
    }
    let other = "--- a ioping statistics ---\n400 requests completed, 26.0 MiB/s\n";
    let why = parse("ioping", &stdout(&format!("{other}{times}"))).expect_err("another form");
    assert!(why.contains("N requests completed in N s"), "{why}");
}

#[test]
fn pgbench_9_6() {
    let text = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\n\
        number of threads: 1\nduration: 2 s\nnumber of transactions actually processed: 1000\nlatency average: 2.000 ms\n\
        tps = 499.5 (including connections establishing)\ntps = 500.5 (excluding connections establishing)\n";
    let expected = [("tps", 499.5, PER_S), ("latency_mean", 2e6, NS)];
    reports("pgbench", &stdout(text), &expected, &["tps"]);
    let text = text.replace("latency average: ", "latency average = ");
    reports("pgbench", &stdout(&text), &expected, &["tps"]);
}

/// Several scripts in version 18: only the lines of all together count.
#[test]
fn pgbench_18() {
    let text = "transaction type: multiple scripts\nduration: 2 s\nnumber of transactions actually processed: 410\n\
        number of failed transactions: 5 (1.205%)\nnumber of other failures: 5 (1.205%)\n\
        latency average = 9.750 ms (including failures)\ninitial connection time = 3.100 ms\n\
        tps = 205.128205 (without initial connection time)\nSQL script 1: a\n - weight: 1 (targets 50.0% of total)\n - 205 transactions (50.0% of total)\n \
        - number of transactions actually processed: 205 (tps = 102.5)\n - number of failed transactions: 2 (0.9%)\n - latency average = 4.7 ms\n";
    let expected = [
        ("tps", 205.128_205, PER_S),
        ("latency_mean", 9.75e6, NS),
        ("connection_time", 3.1e6, NS),
        ("failed_transactions", 5.0, "1"),
    ];
    reports("pgbench", &stdout(text), &expected, &["tps"]);
}

/// fdatasync of a log writer, as fio 3.33 prints it.
#[test]
fn fsyncs_of_fio_have_percentiles() {
    let text = r#"{
  "fio version" : "fio-3.33", "timestamp_ms" : 1, "jobs" : [ { "jobname" : "wal", "groupid" : 0, "error" : 0,
  "write" : { "io_bytes" : 2097600, "total_ios" : 912, "runtime" : 1000, "clat_ns" : { "min" : 1, "max" : 9, "mean" : 6.5, "N" : 912,
    "percentile" : { "50.000000" : 6 } } },
  "sync" : { "total_ios" : 0, "lat_ns" : { "min" : 100, "max" : 900, "mean" : 250.5, "stddev" : 1.0, "N" : 1200,
    "percentile" : { "50.000000" : 200, "90.000000" : 400, "95.000000" : 500, "99.000000" : 600, "99.900000" : 800 } } } } ]
}
"#;
    let found = parse("fio", &stdout(text)).unwrap_or_else(|why| panic!("{why}"));
    let of = metrics(&found);
    assert_eq!(of["sync_latency_mean"], (250.5, NS));
    assert_eq!(of["sync_latency_p90"], (400.0, NS));
    let short = found.insufficient_tail;
    assert!(
        short.contains(&"fio.sync_latency_p99.9".to_owned()),
        "{short:?}"
    );
    let mixed = text.replace("\"write\" :", "\"mixed\" :");
    let why = parse("fio", &stdout(&mixed)).expect_err("one number");
    assert!(why.contains("unified_rw_reporting"), "{why}");
}
