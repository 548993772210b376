//! Two reports in one output are refused with both lines named; a report that nothing reads is recognised.

use super::*;

/// The marks, or what the parser itself says.
fn refusal(program: &str, printed: &Printed) -> Option<String> {
    ensure_one(program, printed)
        .err()
        .or_else(|| parse(program, printed).err())
}

/// A script that runs a benchmark twice gives no value that is half of one run and half of the other.
#[test]
fn two_reports_are_refused() {
    let mut refused = std::collections::BTreeSet::new();
    for (program, printed) in samples() {
        if parse(program, &printed).is_err() {
            continue;
        }
        assert_eq!(ensure_one(program, &printed), Ok(()), "{program}");
        // Of two runs of fio, one ended later.
        let later = |text: &str| text.replace("\"timestamp_ms\" : ", "\"timestamp_ms\" : 9");
        let both = Printed {
            stdout: format!("{}{}", printed.stdout, later(&printed.stdout)),
            stderr: printed.stderr.repeat(2),
            ..Printed::default()
        };
        // Of several lines of -B, none is of the whole run.
        if program == "ioping" && printed.stdout.lines().count() == 1 {
            continue;
        }
        match refusal(program, &both) {
            Some(_) => _ = refused.insert(program),
            None => panic!("{program}: {}", printed.stdout),
        }
    }
    let names: std::collections::BTreeSet<&str> = names().into_iter().collect();
    assert_eq!(refused, names, "every program has a sample");
}

#[test]
fn a_refusal_names_both_lines() {
    let two = text("pgbench-15-time").repeat(2);
    let why = ensure_one("pgbench", &stdout(&two)).expect_err("two");
    assert!(
        why.contains("it has 2 reports: line 13 of standard output \"tps = 1701.645209"),
        "{why}"
    );
    let two = text("fio-3.33-text-mixed").repeat(2);
    let why = ensure_one("fio", &stdout(&two)).expect_err("two");
    assert!(
        why.contains("it has 2 reports: line ") && why.contains("Run status group 0"),
        "{why}"
    );
    let two = text("dbench-4.0").repeat(2);
    let why = ensure_one("dbench", &stdout(&two)).expect_err("two");
    assert!(why.contains("Throughput 171.249 MB/sec"), "{why}");
}

/// Their work is fixed, or they run beside another program.
const NOT_ASKED_FOR: [&str; 7] = [
    "bonnie++",
    "dd",
    "iozone",
    "mysqlslap",
    "perf",
    "redis-benchmark",
    "time",
];

#[test]
fn a_report_that_nothing_reads_is_recognised() {
    for (program, printed) in samples() {
        if parse(program, &printed).is_err() || NOT_ASKED_FOR.contains(&program) {
            continue;
        }
        // The formats for programs have no words of their own.
        let is_raw = printed
            .stdout
            .starts_with(['[', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        if !is_raw {
            assert_eq!(
                resembling(&printed),
                Some(program),
                "{}{}",
                printed.stdout,
                printed.stderr
            );
        }
    }
    for other in [
        "",
        "tps: 5\n",
        "Throughput: 5 MB/s\n",
        "latency = 4 ms\nops/sec 5\n",
    ] {
        assert_eq!(resembling(&stdout(other)), None, "{other}");
    }
}
