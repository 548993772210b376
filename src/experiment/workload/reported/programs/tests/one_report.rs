//! Two reports in one output are refused with both lines named; a report that nothing reads is recognised.

use super::fixture::misread;
use super::*;

/// A script that runs a benchmark twice gives no value that is half of one run and half of the other. The run ends: a round
/// without its metric would count against an arm that did nothing wrong.
#[test]
fn two_reports_are_refused_with_both_lines() {
    let mut refused = std::collections::BTreeSet::new();
    for (program, printed) in samples() {
        if parse(program, &printed).is_err() {
            continue;
        }
        // One of two runs of fio ended later.
        let later = |text: &str| text.replace("\"timestamp_ms\" : ", "\"timestamp_ms\" : 9");
        let both = Printed {
            stdout: format!("{}{}", printed.stdout, later(&printed.stdout)),
            stderr: printed.stderr.repeat(2),
            ..Printed::default()
        };
        let why = misread(program, &both);
        let first = why.split_once("line").unwrap_or_default().1;
        assert!(
            why.contains(" reports") && first.contains(" and "),
            "{program}: {why}"
        );
        refused.insert(program);
    }
    let names: std::collections::BTreeSet<&str> = names().into_iter().collect();
    assert_eq!(refused, names, "every program has a sample");
}

#[test]
fn a_refusal_names_both_lines() {
    for (program, name, says) in [
        (
            "pgbench",
            "pgbench-15-time",
            "line 13 of standard output \"tps = 1701.645209",
        ),
        (
            "fio",
            "fio-3.33-text-mixed",
            "standard output \"a: (groupid=0, jobs=1)",
        ),
        ("dbench", "dbench-4.0", "Throughput 171.249 MB/sec"),
        (
            "mysqlslap",
            "mysqlslap-10.11.19",
            "line 5 of standard output \"Number of clients running queries: 2\" and line 19 of",
        ),
        (
            "elbencho",
            "elbencho-3.1",
            "\"MKDIRS      Elapsed time     :         3ms         4ms\" and line",
        ),
        (
            "redis-benchmark",
            "redis-benchmark-7.0.15-csv",
            "line 2 of standard output \"\\\"SET\\\",\\\"32608.70\\\"",
        ),
    ] {
        let why = misread(program, &stdout(&text(name).repeat(2)));
        assert!(
            why.contains("it has 2 reports") && why.contains(says),
            "{program}: {why}"
        );
    }
    let document = text("fio-3.33-mixed");
    let later = document.replace("\"timestamp_ms\" : ", "\"timestamp_ms\" : 9");
    let why = misread("fio", &stdout(&format!("{document}{later}")));
    assert!(
        why.contains("2 reports, which begin in lines 1 and "),
        "{why}"
    );
    // The lines of the periods of -p are no reports.
    for (name, first) in [
        ("ioping-1.3-batch", "line 1 of standard output \"7537 "),
        ("ioping-1.3-json", "line 1 of standard output \"[{\""),
        ("ioping-1.3-periods", "--- /mnt (ext4 /dev/loop0"),
    ] {
        let why = misread("ioping", &stdout(&text(name).repeat(2)));
        assert!(why.contains("2 reports") && why.contains(first), "{why}");
    }
    let why = misread("dd", &stderr(&text("dd-9.1").repeat(2)));
    let lines = "2 reports: line 3 of standard error \"67108864 bytes (67 MB, 64 MiB) copied, 0.0735005 s, 913 MB/s\" and line 6 of";
    assert!(why.contains(lines), "{why}");
}

/// Each of another thing, by several calls: no metric has two answers.
#[test]
fn parts_of_one_benchmark_are_no_second_report() {
    for (program, printed) in [
        (
            "redis-benchmark",
            stdout("SET: 26315.79 requests per second, p50=0.367 msec\n\"GET\",\"43478.26\"\n"),
        ),
        (
            "mysqlslap",
            stdout(&text("mysqlslap-10.11.19").replacen("queries: 2\n", "queries: 3\n", 1)),
        ),
    ] {
        let found = parse(program, &printed).unwrap_or_else(|why| panic!("{why}"));
        let names: std::collections::BTreeSet<_> = metrics(&found).into_keys().collect();
        assert_eq!(names.len(), found.metrics.len(), "{program}");
    }
    // Two commands whose names are the same in the metrics.
    let cut = "lpush a-list-with-a-very-long-name";
    let long = format!("{cut} 1: 5.00 requests per second\n{cut} 2: 6.00 requests per second\n");
    assert!(misread("redis-benchmark", &stdout(&long)).contains("2 reports"));
    // With --yaml /dev/stdout, stress-ng 0.17 and later print the table to the same stream.
    let both = format!(
        "{}{}",
        text("stress-ng-0.19.02"),
        text("stress-ng-0.15.06-yaml")
    );
    parse("stress-ng", &stdout(&both)).unwrap_or_else(|why| panic!("{why}"));
}

/// A document of one run and the normal output of another.
#[test]
fn reports_of_two_forms_are_of_one_run_or_refused() {
    let (json, normal) = (text("fio-3.33-mixed"), text("fio-3.33-text-mixed"));
    let why = misread("fio", &stdout(&format!("{normal}{json}")));
    assert!(why.contains("2 reports") && why.contains("lines"), "{why}");
}

/// Samples that are not recognised, and why.
const NOT_RECOGNISED: [(&str, &str); 5] = [
    ("ioping-1.3-batch", "ten numbers without a word"),
    (
        "ioping-1.3-json",
        "its keys are those of any list of requests",
    ),
    ("perf-6.1.192-runs", "it runs beside a benchmark"),
    ("time-1.9", "it runs beside a benchmark"),
    ("stress-ng-0.15.06-none", "it has no metrics"),
];
/// The output has a report of another program.
const BESIDE: (&str, &str) = ("perf-6.1.192-dd", "dd");

#[test]
fn a_report_that_nothing_reads_is_recognised() {
    let mut recognised = std::collections::BTreeSet::new();
    for (name, program, printed) in named_samples() {
        let is_not = NOT_RECOGNISED.iter().any(|(of, _)| *of == name);
        let expected = (!is_not).then_some(if name == BESIDE.0 { BESIDE.1 } else { program });
        assert_eq!(resembling(&printed), expected, "{name}");
        recognised.extend(expected);
        // A script prints other things before it.
        let among_others = Printed {
            stdout: format!("12 files\n{}done\n", printed.stdout),
            ..printed
        };
        assert_eq!(resembling(&among_others), expected, "{name}");
    }
    let mut names = names();
    names.retain(|name| !["perf", "time"].contains(name));
    assert!(recognised.into_iter().eq(names));
    for other in [
        "",
        "tps: 5\n",
        "Throughput: 5 MB/s\n",
        "latency = 4 ms\nops/sec 5\n",
        "\"a\",\"5\"\n",
        "SET: 5 requests\n",
        "3 files copied, 5 s, 6 MB/s\n",
    ] {
        assert_eq!(resembling(&stdout(other)), None, "{other}");
    }
}

/// The work of these is fixed: two runs have one elapsed time, and no parser reads both.
#[test]
fn several_reports_of_a_fixed_work_are_compared_by_their_time() {
    let twice = stderr(&text("dd-9.1").repeat(2));
    assert_eq!(resembling(&twice), None);
    for program in ["bonnie++-2.00a", "iozone-507-auto", "mysqlslap-10.11.19"] {
        assert_eq!(resembling(&stdout(&text(program).repeat(2))), None);
    }
    // dd writes the files that fio reads.
    let both = Printed {
        stderr: text("dd-9.1"),
        ..stdout(&text("fio-3.33-text-mixed"))
    };
    assert_eq!(resembling(&both), Some("fio"));
}
