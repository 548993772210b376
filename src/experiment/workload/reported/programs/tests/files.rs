//! dd, dbench, iozone, db_bench, stress-ng.

use super::*;

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;

#[test]
fn dd() {
    let rate = |bytes: f64, seconds: f64| [("bytes_per_s", bytes / seconds, BYTES)];
    let of = |text: &str, expected: &[(&str, f64, &str)]| {
        reports("dd", &stderr(text), expected, &["bytes_per_s"]);
    };
    of(&text("dd-9.1"), &rate(67_108_864.0, 0.073_500_5));
    // Written by coreutils 9.1 and 9.7.
    for (text, bytes, seconds) in [
        (
            "100+0 records out\n100 bytes copied, 0.000233906 s, 428 kB/s\n",
            100.0,
            0.000_233_906,
        ),
        (
            "64+0 Datensätze aus\n67108864 Byte (67 MB, 64 MiB) kopiert, 0,0720791 s, 931 MB/s\n",
            67_108_864.0,
            0.072_079_1,
        ),
        (
            "64+0 enregistrements écrits\n67108864 octets (67 MB, 64 MiB) copiés, 0,377418 s, 178 MB/s\n",
            67_108_864.0,
            0.377_418,
        ),
        (
            "输出了 64+0 块记录\n67108864 字节 (67 MB, 64 MiB) 已复制，0.0707782 s，948 MB/s\n",
            67_108_864.0,
            0.070_778_2,
        ),
        (
            "输出了 99+0 块记录\n99 字节已复制，0.000200467 s，494 kB/s\n",
            99.0,
            0.000_200_467,
        ),
        (
            "64+0 записів записано\n67108864 байтів (67 МБ, 64 МіБ) скопійовано, 0,0735 с, 913 МБ/с\n",
            67_108_864.0,
            0.0735,
        ),
        (
            "1+0 records out\n1 byte copied, 2.5e-05 s, 40.0 kB/s\n",
            1.0,
            2.5e-5,
        ),
        (
            "\r449904640 bytes (450 MB, 429 MiB) copied, 1 s, 448 MB/s\r833290240 bytes (833 MB, 795 MiB) copied, 2 s, \
             415 MB/s\n14249+0 records in\n14249+0 records out\n933822464 bytes (934 MB, 891 MiB) copied, 2.8733 s, 325 MB/s\n",
            933_822_464.0,
            2.8733,
        ),
    ] {
        of(text, &rate(bytes, seconds));
    }
    let warning = "dd: warning: partial read (4 bytes); suggest iflag=fullblock\n";
    of(
        &format!("{warning}{}", text("dd-9.1")),
        &rate(67_108_864.0, 0.073_500_5),
    );
}

#[test]
fn dbench() {
    let resources = [
        ("NTCreateX", 0.038),
        ("Close", 0.001),
        ("Rename", 0.073),
        ("Unlink", 0.071),
        ("Deltree", 0.013),
        ("Mkdir", 0.056),
        ("Qpathinfo", 0.009),
        ("Qfileinfo", 0.006),
        ("Qfsinfo", 0.002),
        ("Sfileinfo", 0.009),
        ("Find", 0.056),
        ("WriteX", 0.026),
        ("ReadX", 0.007),
        ("LockX", 0.003),
        ("UnlockX", 0.001),
        ("Flush", 3.601),
    ];
    let names: Vec<String> = resources
        .iter()
        .map(|(name, _)| format!("{name}.latency_mean"))
        .collect();
    let mut expected = vec![
        ("bytes_per_s", 171.249e6, BYTES),
        ("latency_max", 103.839e6, NS),
    ];
    let resources = names
        .iter()
        .zip(resources)
        .map(|(name, (_, ms))| (name.as_str(), ms * 1e6, NS));
    expected.extend(resources);
    reports(
        "dbench",
        &stdout(&text("dbench-4.0")),
        &expected,
        &["bytes_per_s"],
    );
}

#[test]
fn iozone() {
    let of = |name: &str, expected: &[(&str, f64, &str)], default: &[&str]| {
        reports("iozone", &stdout(&text(name)), expected, default);
    };
    // Blank columns belong to tests that were not asked for.
    let expected = [
        ("write.4096kB.16kB", 289_961.0 * KIB, BYTES),
        ("rewrite.4096kB.16kB", 162_037.0 * KIB, BYTES),
        ("random_read.4096kB.16kB", 298_973.0 * KIB, BYTES),
        ("random_write.4096kB.16kB", 465_455.0 * KIB, BYTES),
        ("write.4096kB.64kB", 159_086.0 * KIB, BYTES),
        ("rewrite.4096kB.64kB", 650_560.0 * KIB, BYTES),
        ("random_read.4096kB.64kB", 528_777.0 * KIB, BYTES),
        ("random_write.4096kB.64kB", 153_430.0 * KIB, BYTES),
    ];
    of("iozone-507-random", &expected, &[]);
    let expected = [
        ("write.1024kB.64kB", 1_805_514.0 * KIB, BYTES),
        ("rewrite.1024kB.64kB", 4_095_102.0 * KIB, BYTES),
        ("stride_read.1024kB.64kB", 12_790_037.0 * KIB, BYTES),
    ];
    of(
        "iozone-507-fsync",
        &expected,
        &expected.map(|(name, ..)| name),
    );
    let expected = [
        ("write.1024kB.64kB", 57962.0, PER_S),
        ("rewrite.1024kB.64kB", 215_919.0, PER_S),
    ];
    of(
        "iozone-507-operations",
        &expected,
        &expected.map(|(name, ..)| name),
    );
    let expected = [
        ("write.1024kB.64kB", 18e3, NS),
        ("rewrite.1024kB.64kB", 5e3, NS),
    ];
    of(
        "iozone-507-microseconds",
        &expected,
        &expected.map(|(name, ..)| name),
    );
    let found = parse("iozone", &stdout(&text("iozone-507-all"))).unwrap();
    let of_all = metrics(&found);
    assert_eq!(of_all.len(), 13);
    assert_eq!(
        of_all["backward_read.1024kB.64kB"],
        (19_994_662.0 * KIB, BYTES)
    );
    assert_eq!(of_all["fwrite.1024kB.64kB"], (10_990_032.0 * KIB, BYTES));
    assert_eq!(of_all["freread.1024kB.64kB"], (23_754_601.0 * KIB, BYTES));
    let found = parse("iozone", &stdout(&text("iozone-507-auto"))).unwrap();
    assert_eq!(
        metrics(&found)["reread.4096kB.1024kB"],
        (19_957_894.0 * KIB, BYTES)
    );
}

#[test]
fn iozone_with_several_processes() {
    let of = |test: &str, children: f64, parent: f64| {
        [
            (format!("{test}.children_bytes_per_s"), children * KIB),
            (format!("{test}.bytes_per_s"), parent * KIB),
        ]
    };
    let expected = [
        of("initial_writers", 1_215_774.25, 203_732.05),
        of("rewriters", 1_086_815.86, 369_659.07),
        of("readers", 4_648_331.25, 1_361_277.40),
        of("re_readers", 2_779_102.00, 220_915.20),
        of("random_readers", 7_558_881.50, 2_022_635.06),
        of("random_writers", 1_166_650.50, 789_813.47),
    ]
    .concat();
    let default: Vec<&str> = expected
        .iter()
        .skip(1)
        .step_by(2)
        .map(|(name, _)| name.as_str())
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, rate)| (name.as_str(), *rate, BYTES))
        .collect();
    reports(
        "iozone",
        &stdout(&text("iozone-507-throughput")),
        &expected,
        &default,
    );
}

/// Version 3 has narrower columns; by tables in public mailing lists and repositories.
#[test]
fn iozone_3() {
    let command = |tests: &str| {
        format!("\tCommand line used: iozone {tests} -r 64k -f /tmp/iozone.tmp -ecp -K\n")
    };
    let header = "                                                            random  random    bkwd   record   stride\n              \
        KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite frewrite   fread  freread\n";
    let end = "\n\niozone test complete.\n";
    let row = "          409600      64   31782   22524                    816017   10411                  3779260";
    let expected = [
        ("write.409600kB.64kB", 31782.0 * KIB, BYTES),
        ("rewrite.409600kB.64kB", 22524.0 * KIB, BYTES),
        ("random_read.409600kB.64kB", 816_017.0 * KIB, BYTES),
        ("random_write.409600kB.64kB", 10411.0 * KIB, BYTES),
        ("stride_read.409600kB.64kB", 3_779_260.0 * KIB, BYTES),
    ];
    let printed = stdout(&format!("{}{header}{row}{end}", command("-i0 -i2 -i5 -i8")));
    reports(
        "iozone",
        &printed,
        &expected,
        &expected.map(|(name, ..)| name),
    );
    let row = "              64       4  496362  939223  2772930  2923952 1828508 1017549 1392258  1143223  1768283   533875   \
        653436 1679761  2203800";
    let found = parse(
        "iozone",
        &stdout(&format!("{}{header}{row}{end}", command("-a"))),
    )
    .unwrap();
    let of = metrics(&found);
    for (name, kib) in COLUMNS_OF_THE_ROW {
        assert_eq!(
            of[format!("{name}.64kB.4kB").as_str()],
            (kib * KIB, BYTES),
            "{name}"
        );
    }
    assert_eq!(of.len(), COLUMNS_OF_THE_ROW.len());
}

const COLUMNS_OF_THE_ROW: [(&str, f64); 13] = [
    ("write", 496_362.0),
    ("rewrite", 939_223.0),
    ("read", 2_772_930.0),
    ("reread", 2_923_952.0),
    ("random_read", 1_828_508.0),
    ("random_write", 1_017_549.0),
    ("backward_read", 1_392_258.0),
    ("record_rewrite", 1_143_223.0),
    ("stride_read", 1_768_283.0),
    ("fwrite", 533_875.0),
    ("frewrite", 653_436.0),
    ("fread", 1_679_761.0),
    ("freread", 2_203_800.0),
];

#[test]
fn db_bench() {
    let found = parse("db_bench", &stdout(&text("db_bench-7.8.3-histogram"))).unwrap();
    let of = metrics(&found);
    assert_eq!(of["fillseq.ops_per_s"], (102_732.0, PER_S));
    assert_eq!(of["fillseq.bytes_per_s"], (11.4 * MIB, BYTES));
    assert_eq!(of["fillseq.latency_mean"], (9582.0, NS));
    assert_eq!(of["fillseq.latency_p50"], (2310.0, NS));
    assert_eq!(of["fillseq.latency_p75"], (2720.0, NS));
    assert_eq!(of["fillseq.latency_p99"], (6380.0, NS));
    assert_eq!(of["fillsync.ops_per_s"], (5076.0, PER_S));
    assert_eq!(of["fillsync.latency_p99"], (3_738_240.0, NS));
    assert_eq!(of["readwhilewriting.ops_per_s"], (403_746.0, PER_S));
    // No rate of bytes, and 20 samples beyond the 99.9th percentile.
    assert_eq!(of["seekrandom.latency_mean"], (8848.0, NS));
    assert!(!of.contains_key("seekrandom.bytes_per_s"));
    assert!(!of.contains_key("seekrandom.latency_p99.9"));
    assert!(
        found
            .insufficient_tail
            .contains(&"db_bench.seekrandom.latency_p99.9".to_owned())
    );
    let default = [
        "fillseq",
        "readrandom",
        "fillsync",
        "readwhilewriting",
        "seekrandom",
    ];
    assert_eq!(
        headlines(&found),
        default.map(|name| format!("db_bench.{name}.ops_per_s"))
    );
}

#[test]
fn db_bench_repeats() {
    // A warm-up is no result; of several runs, the mean is.
    let expected = [
        ("fillseq.ops_per_s", 179_823.0, PER_S),
        ("fillseq.bytes_per_s", 19.9 * MIB, BYTES),
        ("fillseq.latency_mean", 5516.0, NS),
        ("readrandom.ops_per_s", 979_431.0, PER_S),
        ("readrandom.bytes_per_s", 108.4 * MIB, BYTES),
        ("readrandom.latency_mean", 1014.0, NS),
        ("overwrite.ops_per_s", 37922.0, PER_S),
        ("overwrite.bytes_per_s", 4.2 * MIB, BYTES),
        ("readrandom_2.ops_per_s", 727_907.0, PER_S),
        ("readrandom_2.bytes_per_s", 80.5 * MIB, BYTES),
    ];
    let default = ["fillseq", "readrandom", "overwrite", "readrandom_2"]
        .map(|name| format!("{name}.ops_per_s"));
    let default: Vec<&str> = default.iter().map(String::as_str).collect();
    reports(
        "db_bench",
        &stdout(&text("db_bench-7.8.3-repeats")),
        &expected,
        &default,
    );
    let found = parse("db_bench", &stdout(&text("db_bench-9.10.0-statistics"))).unwrap();
    let of = metrics(&found);
    assert_eq!(of["fillseq.latency_p99"], (7700.0, NS));
    assert_eq!(of["readrandom.ops_per_s"], (228_308.0, PER_S));
    assert!(!of.contains_key("readrandom.latency_p99"), "of which run?");
    assert_eq!(of["get_latency_p95"], (1_989.827, NS));
    assert_eq!(of["write_latency_p99"], (6_819.876, NS));
    assert!(!of.contains_key("seek_latency_p50"), "there was none");
    // Version 6.11.
    let old = "fillseq      :       4.868 micros/op 205378 ops/sec;   22.7 MB/s\n";
    let expected = [
        ("fillseq.ops_per_s", 205_378.0, PER_S),
        ("fillseq.bytes_per_s", 22.7 * MIB, BYTES),
        ("fillseq.latency_mean", 4868.0, NS),
    ];
    reports("db_bench", &stdout(old), &expected, &["fillseq.ops_per_s"]);
}

#[test]
fn stress_ng() {
    let default = ["hdd.ops_per_s", "iomix.ops_per_s"];
    let expected = [
        ("hdd.ops_per_s", 3530.62, PER_S),
        ("hdd.read_bytes_per_s", 2069.93 * MIB, BYTES),
        ("hdd.written_bytes_per_s", 606.78 * MIB, BYTES),
        ("hdd.bytes_per_s", 938.46 * MIB, BYTES),
        ("iomix.ops_per_s", 613.45, PER_S),
    ];
    reports(
        "stress-ng",
        &stderr(&text("stress-ng-0.15.06")),
        &expected,
        &default,
    );
    let expected = [
        ("hdd.ops_per_s", 10828.34, PER_S),
        ("hdd.read_bytes_per_s", 2139.25 * MIB, BYTES),
        ("hdd.written_bytes_per_s", 1015.67 * MIB, BYTES),
        ("hdd.bytes_per_s", 1370.44 * MIB, BYTES),
        ("iomix.ops_per_s", 234.18, PER_S),
    ];
    reports(
        "stress-ng",
        &stdout(&text("stress-ng-0.19.02")),
        &expected,
        &default,
    );
    let expected = [
        ("hdd.ops_per_s", 6766.42, PER_S),
        ("iomix.ops_per_s", 573.69, PER_S),
    ];
    reports(
        "stress-ng",
        &stdout(&text("stress-ng-0.17.06-brief")),
        &expected,
        &default,
    );
    // 0.00 MB/sec read rate: it did not read.
    let expected = [
        ("hdd.ops_per_s", 6609.68, PER_S),
        ("hdd.written_bytes_per_s", 2771.66 * MIB, BYTES),
        ("hdd.bytes_per_s", 2771.66 * MIB, BYTES),
    ];
    reports(
        "stress-ng",
        &stderr(&text("stress-ng-0.15.06-brief")),
        &expected,
        &default[..1],
    );
    let expected = [
        ("hdd.ops_per_s", 5_621.191_960, PER_S),
        ("hdd.read_bytes_per_s", 1_300.774_801 * MIB, BYTES),
        ("hdd.written_bytes_per_s", 1_017.103_003 * MIB, BYTES),
        ("hdd.bytes_per_s", 1_140.425_321 * MIB, BYTES),
    ];
    reports(
        "stress-ng",
        &stdout(&text("stress-ng-0.15.06-yaml")),
        &expected,
        &default[..1],
    );
    // Version 0.12 has no rates of bytes.
    let old = "stress-ng: info:  [4064] successful run completed in 1.83s\n\
        stress-ng: info:  [4064] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s\n\
        stress-ng: info:  [4064]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)\n\
        stress-ng: info:  [4064] hdd                8370      1.02      0.15      0.11      8228.24       32192.31\n";
    reports(
        "stress-ng",
        &stderr(old),
        &[("hdd.ops_per_s", 8228.24, PER_S)],
        &default[..1],
    );
}
