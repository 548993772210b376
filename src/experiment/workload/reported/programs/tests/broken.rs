//! Output that is none, ended half-way or is of a failure: an error text, never a value.

use super::*;

#[track_caller]
fn refuses(program: &str, printed: &Printed, says: &str) {
    let why = parse(program, printed).expect_err("a refusal");
    assert!(why.contains(says), "{program}: {why}");
}

#[test]
fn no_output_is_no_result() {
    for program in names() {
        for text in ["", "\n", "hello\n", "command not found", "\u{1b}[31mred\n"] {
            let printed = Printed {
                stderr: text.to_owned(),
                ..stdout(text)
            };
            let why = parse(program, &printed).expect_err("a refusal");
            assert!(!why.is_empty(), "{program}");
        }
    }
}

/// Cut after any line, a sample gives an error, or values that the whole sample also has.
#[test]
fn a_part_gives_no_other_values() {
    for (program, printed) in samples() {
        let Ok(whole) = parse(program, &printed) else {
            continue;
        };
        let is_stderr = printed.stdout.is_empty();
        let text = if is_stderr {
            &printed.stderr
        } else {
            &printed.stdout
        };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for count in 0..lines.len() {
            let part = lines[..count].concat();
            let part = if is_stderr {
                stderr(&part)
            } else {
                stdout(&part)
            };
            let Ok(found) = parse(program, &part) else {
                continue;
            };
            for metric in &found.metrics {
                let same = whole.metrics.iter().find(|other| other.name == metric.name);
                // The mean of some runs is printed after each.
                let is_mean = text.contains("[AVG 2 runs]") && metric.unit != "ns";
                assert!(
                    is_mean || same.is_some_and(|same| same == metric),
                    "{count}: {metric:?}"
                );
            }
        }
    }
}

#[test]
fn a_failure_is_no_result() {
    refuses(
        "pg_test_fsync",
        &stdout(&text("pg_test_fsync-15").replace("Non-sync", "x")),
        "before its last test",
    );
    let without = text("pg_test_fsync-15").replacen("fdatasync  ", "other", 2);
    refuses("pg_test_fsync", &stdout(&without), "no rate of fdatasync");
    refuses(
        "pgbench",
        &stdout(&text("pgbench-15-aborted")),
        "client 0 script 0 aborted in command 0 query 0",
    );
    refuses(
        "pgbench",
        &stdout("done in 0.79 s (drop tables 0.00 s).\n"),
        "no line \"tps = NUMBER\"",
    );
    refuses(
        "sysbench",
        &stdout(&text("sysbench-1.0.20-checkpoints")),
        "2 reports",
    );
    let prepared = "67108864 bytes written in 0.53 seconds (121.31 MiB/sec).\n";
    refuses(
        "sysbench",
        &stdout(prepared),
        "only the command run prints it",
    );
    let fatal = Printed {
        stderr: "FATAL: Cannot open file 'test_file.0' errno = 2 (No such file or directory)\n"
            .to_owned(),
        ..stdout(&text("sysbench-1.0.20-fileio"))
    };
    refuses("sysbench", &fatal, "Cannot open file");
    let idle = text("sysbench-1.0.20-fileio").replace("25706", "0");
    refuses("sysbench", &stdout(&idle), "there were no events");
    refuses(
        "ioping",
        &stdout(&text("ioping-1.3-warm-up")),
        "no request was completed",
    );
    refuses(
        "stress-ng",
        &stderr(&text("stress-ng-0.15.06-none")),
        "add --metrics-brief",
    );
    let failed = text("stress-ng-0.15.06").replace("successful run", "unsuccessful run");
    refuses("stress-ng", &stderr(&failed), "unsuccessful run completed");
    let doubted = text("stress-ng-0.17.06-brief").replace("worthy: 0", "worthy: 1");
    refuses("stress-ng", &stdout(&doubted), "untrustworthy: 1");
    let idle = text("stress-ng-0.15.06").replace(" 7168 ", " 0 ");
    refuses("stress-ng", &stderr(&idle), "its stressor hdd did nothing");
    let unfinished = text("iozone-507-auto").replace("iozone test complete.", "");
    refuses("iozone", &stdout(&unfinished), "iozone test complete");
    let other = text("iozone-507-random").replace("-i 2", "-i 5");
    refuses(
        "iozone",
        &stdout(&other),
        "4 numbers, and its command line asks for 3",
    );
    let child = format!("{}Child failed with status 1\n", text("dbench-4.0"));
    refuses("dbench", &stdout(&child), "Child failed");
    refuses(
        "db_bench",
        &stdout("put error: IO error: No space left on device\n"),
        "no line \"BENCHMARK :",
    );
}

#[test]
fn a_copy_that_failed_is_no_result() {
    let full = "dd: error writing '/mnt/d': No space left on device\n891+0 records in\n890+0 records out\n\
        933232640 bytes (933 MB, 890 MiB) copied, 6.52354 s, 143 MB/s\n";
    refuses("dd", &stderr(full), "No space left on device");
    let nothing = "0+0 records in\n0+0 records out\n0 bytes copied, 2.0861e-05 s, 0.0 kB/s\n";
    refuses("dd", &stderr(nothing), "copied nothing");
    refuses(
        "dd",
        &stderr("4+0 records in\n4+0 records out\n"),
        "status=noxfer",
    );
    let two = text("dd-9.1").repeat(2);
    refuses("dd", &stderr(&two), "2 reports: line 3 of standard error");
    // The time of a copy below the clock's resolution.
    let instant = "1+0 records out\n512 bytes copied, 0 s, Infinity B/s\n";
    refuses("dd", &stderr(instant), "there is no line");
}

#[test]
fn what_is_not_a_number_is_none() {
    for word in [
        "inf", "nan", "Infinity", "NaN", "-1", "n/a", "N/A", "1e999", "+5", "",
    ] {
        assert_eq!(number(word), None, "{word}");
    }
    assert_eq!(number("1e3"), Some(1000.0));
    for (program, name, from) in [
        ("pgbench", "pgbench-15-time", "1701.645209"),
        ("dbench", "dbench-4.0", "171.249"),
    ] {
        for word in ["inf", "nan", "-nan", "n/a"] {
            let text = text(name).replace(from, word);
            assert!(parse(program, &stdout(&text)).is_err(), "{program} {word}");
        }
    }
    let text = text("ioping-1.3").replace("9.11 ms", "nan ms");
    assert!(parse("ioping", &stdout(&text)).is_err());
}
