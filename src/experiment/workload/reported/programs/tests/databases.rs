//! YCSB, HammerDB, mysqlslap, memtier_benchmark, redis-benchmark.

use super::*;

const US: f64 = 1e3;
const MS: f64 = 1e6;

#[test]
fn ycsb() {
    let found = parse("ycsb", &stdout(&text("ycsb-0.17.0-run"))).unwrap();
    let of = metrics(&found);
    assert_eq!(of["ops_per_s"], (98_684.210_526_315_79, PER_S));
    assert!((of["read.latency_mean"].0 - 863.585_869_806_709_6).abs() < 1e-9);
    assert_eq!(of["read.latency_max"], (8495.0 * US, NS));
    assert_eq!(of["read.latency_p99"], (2.0 * US, NS));
    // 1497 updates are too few for their 99th percentile; closing is no operation.
    assert!(!of.contains_key("update.latency_p95") && !of.contains_key("cleanup.latency_mean"));
    assert_eq!(
        found.insufficient_tail,
        ["ycsb.update.latency_p95", "ycsb.update.latency_p99"]
    );
    assert_eq!(headlines(&found), ["ycsb.ops_per_s"]);
    let found = parse("ycsb", &stdout(&text("ycsb-0.17.0-load"))).unwrap();
    assert_eq!(
        metrics(&found)["ops_per_s"],
        (10_714.285_714_285_714, PER_S)
    );
}

#[test]
fn ycsb_with_a_target_is_compared_by_its_latency() {
    let paced = Printed {
        stderr: "Command line: -t -db site.ycsb.BasicDB -target 500 -s\n".to_owned(),
        ..stdout(&text("ycsb-0.17.0-run"))
    };
    let found = parse("ycsb", &paced).unwrap();
    assert_eq!(
        headlines(&found),
        ["ycsb.read.latency_mean", "ycsb.update.latency_mean"]
    );
    let failed = text("ycsb-0.17.0-run") + "[READ], Return=ERROR, 3\n";
    let why = parse("ycsb", &stdout(&failed)).unwrap_err();
    assert!(why.contains("Return=ERROR, 3"), "{why}");
    // Half of its results.
    let text = text("ycsb-0.17.0-run");
    let half = text.split("[READ]").next().unwrap();
    let why = parse("ycsb", &stdout(half)).unwrap_err();
    assert!(why.contains("ends before"), "{why}");
}

#[test]
fn hammerdb() {
    let expected = [("nopm", 8204.0, "1/min"), ("tpm", 19009.0, "1/min")];
    let sample = text("hammerdbcli-4.9");
    reports("hammerdbcli", &stdout(&sample), &expected, &["nopm"]);
    let new = "System achieved 8204 NOPM from 19009 PostgreSQL TPM";
    // Before version 4.0, and a database whose name has two words.
    let old = sample.replace(new, "System achieved 19009 SQL Server TPM at 8204 NOPM");
    reports("hammerdbcli", &stdout(&old), &expected, &["nopm"]);
    let uncounted = sample.replace(new, "System achieved 8204 NOPM from 0 Oracle TPM");
    reports(
        "hammerdbcli",
        &stdout(&uncounted),
        &expected[..1],
        &["nopm"],
    );
    let failed = sample.replace("Vuser 3:FINISHED SUCCESS", "Vuser 3:FINISHED FAILED");
    let error = format!("Error in Virtual User 2: ERROR: deadlock detected\n{sample}");
    let none = sample.replace("8204 NOPM", "0 NOPM");
    for text in [failed, error, none] {
        parse("hammerdbcli", &stdout(&text)).unwrap_err();
    }
}

#[test]
fn mysqlslap() {
    let expected = [
        ("clients_2.run_time_mean", 0.020e9, NS),
        ("clients_2.run_time_min", 0.017e9, NS),
        ("clients_2.run_time_max", 0.023e9, NS),
        ("clients_4.run_time_mean", 0.014e9, NS),
        ("clients_4.run_time_min", 0.011e9, NS),
        ("clients_4.run_time_max", 0.018e9, NS),
    ];
    let default = ["clients_2.run_time_mean", "clients_4.run_time_mean"];
    let sample = text("mysqlslap-10.11.19");
    // A password on the command line is no failure.
    let warned = Printed {
        stderr:
            "mysqlslap: [Warning] Using a password on the command line interface can be insecure.\n"
                .to_owned(),
        ..stdout(&sample)
    };
    reports("mysqlslap", &warned, &expected, &default);
    let found = parse("mysqlslap", &stdout(&text("mysqlslap-10.11.19-engines"))).unwrap();
    assert_eq!(
        headlines(&found),
        [
            "mysqlslap.innodb.clients_1.run_time_mean",
            "mysqlslap.aria.clients_1.run_time_mean"
        ]
    );
    let failed = Printed {
        stderr: "mysqlslap: Cannot run query SELECT 1 ERROR : gone\n".to_owned(),
        ..stdout(&sample)
    };
    parse("mysqlslap", &failed).unwrap_err();
    let quick = stdout(&sample.replace("0.020", "0.000"));
    let why = parse("mysqlslap", &quick).unwrap_err();
    assert!(why.contains("less than 1 ms"), "{why}");
}

#[test]
fn memtier() {
    let found = parse(
        "memtier_benchmark",
        &stdout(&text("memtier_benchmark-2.2.0")),
    )
    .unwrap();
    let of = metrics(&found);
    assert_eq!(of["ops_per_s"], (47021.98, PER_S));
    assert_eq!(of["bytes_per_s"], (1994.46 * 1024.0, BYTES));
    assert_eq!(of["latency_mean"], (0.21322 * MS, NS));
    // 20 000 requests: 200 of them beyond the 99th percentile, 20 beyond the next.
    assert_eq!(of["latency_p99"], (2.607 * MS, NS));
    assert!(!of.contains_key("latency_p99.9"));
    assert_eq!(of["sets.ops_per_s"], (4279.0, PER_S));
    assert_eq!(of["gets.latency_mean"], (0.21114 * MS, NS));
    assert!(!of.contains_key("waits.ops_per_s"));
    assert_eq!(headlines(&found), ["memtier_benchmark.ops_per_s"]);
    // The mean of two runs, not the best one.
    let found = parse(
        "memtier_benchmark",
        &stdout(&text("memtier_benchmark-2.2.0-runs")),
    )
    .unwrap();
    assert_eq!(metrics(&found)["ops_per_s"], (16782.36, PER_S));
    let found = parse(
        "memtier_benchmark",
        &stdout(&text("memtier_benchmark-2.2.0-time")),
    )
    .unwrap();
    assert_eq!(metrics(&found)["ops_per_s"], (59361.78, PER_S));
    // Version 1.2 has one latency.
    let old = "ALL STATS\n========================================================================\n\
        Type        Ops/sec     Hits/sec   Misses/sec      Latency       KB/sec \n\
        ------------------------------------------------------------------------\n\
        Sets       17005.29          ---          ---      1.07100      1309.80 \n\
        Gets      170037.94         0.00    170037.94      1.06400      6623.68 \n\
        Waits          0.00          ---          ---      0.00000          --- \n\
        Totals    187043.23         0.00    170037.94      1.06500      7933.49 \n";
    let found = parse("memtier_benchmark", &stdout(old)).unwrap();
    assert_eq!(metrics(&found)["latency_mean"], (1.065 * MS, NS));
    let failed = Printed {
        stderr: "server 127.0.0.1:6379 handle error response: -ERR value is not an integer or out of range\n".to_owned(),
        ..stdout(old)
    };
    parse("memtier_benchmark", &failed).unwrap_err();
}

#[test]
fn redis_benchmark() {
    let name = "redis-benchmark";
    let found = parse(name, &stdout(&text("redis-benchmark-7.0.15"))).unwrap();
    let of = metrics(&found);
    assert_eq!(
        headlines(&found),
        [
            "redis-benchmark.SET.ops_per_s",
            "redis-benchmark.GET.ops_per_s"
        ]
    );
    assert_eq!(of["SET.latency_mean"].1, NS);
    // 2000 requests: 100 are beyond the 95th percentile.
    assert!(of.contains_key("SET.latency_p95") && !of.contains_key("SET.latency_p99"));
    let expected = [
        ("SET.ops_per_s", 51282.05, PER_S),
        ("GET.ops_per_s", 50000.0, PER_S),
        ("LRANGE_100.ops_per_s", 25000.0, PER_S),
    ];
    let default = ["SET.ops_per_s", "GET.ops_per_s", "LRANGE_100.ops_per_s"];
    // A progress line ends in \r, and the list that a test needs is filled first.
    reports(
        name,
        &stdout(&text("redis-benchmark-7.0.15-quiet")),
        &expected,
        &default,
    );
    let expected = [
        ("SET.ops_per_s", 32608.70, PER_S),
        ("SET.latency_mean", 0.981 * MS, NS),
        ("SET.latency_min", 0.192 * MS, NS),
        ("SET.latency_max", 8.439 * MS, NS),
        ("GET.ops_per_s", 43478.26, PER_S),
        ("GET.latency_mean", 0.749 * MS, NS),
        ("GET.latency_min", 0.264 * MS, NS),
        ("GET.latency_max", 4.151 * MS, NS),
    ];
    reports(
        name,
        &stdout(&text("redis-benchmark-7.0.15-csv")),
        &expected,
        &default[..2],
    );
    // Version 5 and its CSV.
    let old = "====== SET ======\n  100000 requests completed in 1.00 seconds\n  50 parallel clients\n  3 bytes payload\n  \
        keep alive: 1\n\n99.99% <= 1 milliseconds\n100.00% <= 1 milliseconds\n99601.60 requests per second\n\n";
    let expected = [("SET.ops_per_s", 99601.60, PER_S)];
    for text in [
        old,
        "\"SET\",\"99601.60\"\n",
        "SET: 99601.60 requests per second\n",
    ] {
        reports(name, &stdout(text), &expected, &["SET.ops_per_s"]);
    }
    for broken in [
        "NOSUCH x: rps=0.0 (overall: -nan) avg_msec=-nan (overall: -nan)\r\nError from server: ERR unknown command\n",
        "Could not connect to Redis at 127.0.0.1:7999: Connection refused\n",
        "====== SET ======\n  100000 requests completed in 1.00 seconds\n",
    ] {
        parse(name, &stdout(broken)).unwrap_err();
    }
}
