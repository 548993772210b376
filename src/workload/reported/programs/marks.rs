//! By which lines a report is known, and that there is only one. Pure.

use crate::workload::reported::output::Printed;

/// Lines of a program's report.
struct Mark {
    program: &'static str,
    /// Each report has one such line. Absent: its parser counts them.
    once: Option<fn(&str) -> bool>,
    /// A line that no other program prints. Absent: its work is fixed, so that its time may decide, or others print the like.
    tells: Option<fn(&str) -> bool>,
}

const MARKS: [Mark; 20] = [
    Mark {
        program: "bonnie++",
        once: Some(|line| {
            ["1.96,", "1.97,", "1.98,"]
                .iter()
                .any(|format| line.starts_with(format))
        }),
        tells: None,
    },
    Mark {
        program: "db_bench",
        once: Some(|line| line.starts_with("Keys: ")),
        tells: Some(|line| line.contains(" micros/op ") && line.contains(" ops/sec")),
    },
    Mark {
        program: "dbench",
        once: Some(|line| line.starts_with("Throughput ")),
        tells: Some(|line| line.starts_with("Throughput ") && line.contains(" procs")),
    },
    Mark {
        program: "elbencho",
        once: None,
        tells: Some(|line| line.starts_with("OPERATION ") && line.contains(" RESULT TYPE ")),
    },
    Mark {
        program: "filebench",
        once: Some(|line| line.contains(": IO Summary: ")),
        tells: Some(|line| line.contains(": IO Summary: ")),
    },
    Mark {
        program: "fio",
        // Of its normal output; documents of JSON are counted by its parser.
        once: Some(|line| line.starts_with("Run status group 0 ")),
        tells: Some(|line| {
            line.starts_with("  \"fio version\" :") || line.starts_with("Run status group ")
        }),
    },
    Mark {
        program: "hammerdbcli",
        once: Some(|line| line.contains("TEST RESULT : System achieved ")),
        tells: Some(|line| line.contains("TEST RESULT : System achieved ")),
    },
    Mark {
        program: "ioping",
        once: Some(|line| line.starts_with("--- ") && line.ends_with(" ioping statistics ---")),
        tells: Some(|line| line.starts_with("--- ") && line.ends_with(" ioping statistics ---")),
    },
    Mark {
        program: "iozone",
        once: Some(|line| line.trim_start().starts_with("Command line used:")),
        tells: None,
    },
    Mark {
        program: "memtier_benchmark",
        once: Some(|line| {
            line.starts_with("ALL STATS") || line.starts_with("AGGREGATED AVERAGE RESULTS")
        }),
        tells: Some(|line| {
            line.starts_with("ALL STATS") || line.starts_with("AGGREGATED AVERAGE RESULTS")
        }),
    },
    Mark {
        program: "mysqlslap",
        once: None,
        tells: None,
    },
    // What runs beside a benchmark is no reason to ask for its report.
    Mark {
        program: "perf",
        once: Some(|line| line.starts_with(" Performance counter stats for ")),
        tells: None,
    },
    Mark {
        program: "pg_test_fsync",
        once: Some(|line| line.starts_with("Compare file sync methods using one ")),
        tells: Some(|line| line.starts_with("Compare file sync methods using one ")),
    },
    Mark {
        program: "pgbench",
        // Up to version 13 there is a second rate, without the time to connect.
        once: Some(|line| line.starts_with("tps = ") && !line.contains("excluding")),
        tells: Some(|line| line.starts_with("number of transactions actually processed:")),
    },
    Mark {
        program: "redis-benchmark",
        once: None,
        tells: None,
    },
    Mark {
        program: "stress-ng",
        once: Some(|line| line.contains("bogo ops real time") || line == "metrics:"),
        tells: Some(|line| line.starts_with("stress-ng: ") && line.contains("bogo ops real time")),
    },
    Mark {
        program: "sysbench",
        once: Some(|line| {
            line.starts_with("Latency (ms):")
                || ["response time:", "per-request statistics:"].contains(&line.trim())
        }),
        tells: Some(|line| line.starts_with("Latency (ms):") || line == "Threads fairness:"),
    },
    Mark {
        program: "time",
        once: Some(|line| line.trim_start().starts_with("Command being timed: ")),
        tells: None,
    },
    Mark {
        program: "vdbench",
        once: Some(|line| line.contains("Vdbench execution completed successfully")),
        tells: Some(|line| line.contains("Vdbench execution completed successfully")),
    },
    Mark {
        program: "ycsb",
        once: Some(|line| line.starts_with("[OVERALL], RunTime(ms), ")),
        tells: Some(|line| line.starts_with("[OVERALL], RunTime(ms), ")),
    },
];

/// Lines with their stream and number.
fn lines(printed: &Printed) -> impl Iterator<Item = (&'static str, usize, &str)> {
    let of = |stream, text| {
        let lines = str::lines(text).enumerate();
        lines.map(move |(index, line): (usize, &str)| (stream, index + 1, line))
    };
    of("standard output", &printed.stdout).chain(of("standard error", &printed.stderr))
}

/// Refuses several reports of a program: values of two runs would be mixed.
pub fn ensure_one(program: &str, printed: &Printed) -> Result<(), String> {
    let once = MARKS
        .iter()
        .find(|mark| mark.program == program)
        .and_then(|mark| mark.once);
    let Some(once) = once else {
        return Ok(());
    };
    let found: Vec<_> = lines(printed).filter(|(_, _, line)| once(line)).collect();
    let ([first, .., last], count) = (&found[..], found.len()) else {
        return Ok(());
    };
    let place = |(stream, number, line): &(&str, usize, &str)| {
        format!("line {number} of {stream} {:?}", line.trim())
    };
    let parts = match program {
        "sysbench" => " (leave out --report-checkpoints: its reports are of a part of the time)",
        _ => "",
    };
    Err(format!(
        "it has {count} reports: {} and {}; print one, or name the number with --metric-regex{parts}",
        place(first),
        place(last)
    ))
}

/// The benchmark whose report this looks like.
pub fn resembling(printed: &Printed) -> Option<&'static str> {
    lines(printed).find_map(|(_, _, line)| {
        let mark = MARKS
            .iter()
            .find(|mark| mark.tells.is_some_and(|tells| tells(line)));
        Some(mark?.program)
    })
}
