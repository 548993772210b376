//! By which lines a report is known, and that there is only one. Pure.

use super::report::numbered;
use super::{bonnie, dd, elbencho, find, fio, ioping, mysqlslap, redis_benchmark, vdbench};
use crate::workload::reported::output::Printed;

/// Lines of a program's report.
struct Mark {
    program: &'static str,
    once: Once,
    tells: Tells,
}

/// How often a line can be in one report.
#[derive(Clone, Copy)]
enum Once {
    /// Each report has one such line.
    Line(fn(&str) -> bool),
    /// The subject of a line's result, if it has one, from it and the lines before it: a report has several results, each of
    /// something else.
    Named(fn(&str, &[&str]) -> Option<String>),
    /// The parser looks.
    Own(fn(&Printed) -> Result<(), String>),
}

/// Why a report that nothing reads is asked for.
#[derive(Clone, Copy)]
enum Tells {
    /// A line that no other program prints: it may have run for a fixed time.
    Line(fn(&str) -> bool),
    /// A whole report with such a line. Its work is fixed, so that the time of a command may decide that prints only a part of
    /// it, or several.
    Report(fn(&str) -> bool),
    /// It runs beside a benchmark.
    Never,
}

const MARKS: [Mark; 21] = [
    Mark {
        program: "bonnie++",
        once: Once::Line(|line| bonnie::before_rates(line).is_some()),
        tells: Tells::Report(|line| bonnie::before_rates(line).is_some()),
    },
    Mark {
        program: "db_bench",
        once: Once::Line(|line| line.starts_with("Keys: ")),
        tells: Tells::Line(|line| line.contains(" micros/op ") && line.contains(" ops/sec")),
    },
    Mark {
        program: "dbench",
        once: Once::Line(|line| line.starts_with("Throughput ")),
        tells: Tells::Line(|line| line.starts_with("Throughput ") && line.contains(" procs")),
    },
    Mark {
        program: "dd",
        once: Once::Named(dd::result_of),
        tells: Tells::Report(|line| line.contains(" copied, ")),
    },
    Mark {
        program: "elbencho",
        once: Once::Named(elbencho::result_of),
        tells: Tells::Line(|line| line.starts_with("OPERATION ") && line.contains(" RESULT TYPE ")),
    },
    Mark {
        program: "filebench",
        once: Once::Line(|line| line.contains(": IO Summary: ")),
        tells: Tells::Line(|line| line.contains(": IO Summary: ")),
    },
    Mark {
        program: "fio",
        once: Once::Own(fio::ensure_one),
        tells: Tells::Line(|line| {
            line.starts_with("  \"fio version\" :") || line.starts_with("Run status group ")
        }),
    },
    Mark {
        program: "hammerdbcli",
        once: Once::Line(|line| line.contains("TEST RESULT : System achieved ")),
        tells: Tells::Line(|line| line.contains("TEST RESULT : System achieved ")),
    },
    Mark {
        program: "ioping",
        once: Once::Own(ioping::ensure_one),
        tells: Tells::Line(|line| {
            line.starts_with("--- ") && line.ends_with(" ioping statistics ---")
        }),
    },
    Mark {
        program: "iozone",
        once: Once::Line(|line| line.trim_start().starts_with("Command line used:")),
        tells: Tells::Report(|line| line == "iozone test complete."),
    },
    Mark {
        program: "memtier_benchmark",
        once: Once::Line(|line| {
            line.starts_with("ALL STATS") || line.starts_with("AGGREGATED AVERAGE RESULTS")
        }),
        tells: Tells::Line(|line| {
            line.starts_with("ALL STATS") || line.starts_with("AGGREGATED AVERAGE RESULTS")
        }),
    },
    Mark {
        program: "mysqlslap",
        once: Once::Named(mysqlslap::result_of),
        tells: Tells::Report(|line| {
            line.trim_start()
                .starts_with("Average number of seconds to run all queries: ")
        }),
    },
    Mark {
        program: "perf",
        once: Once::Line(|line| line.starts_with(" Performance counter stats for ")),
        tells: Tells::Never,
    },
    Mark {
        program: "pg_test_fsync",
        once: Once::Line(|line| line.starts_with("Compare file sync methods using one ")),
        tells: Tells::Line(|line| line.starts_with("Compare file sync methods using one ")),
    },
    Mark {
        program: "pgbench",
        // Up to version 13 there is a second rate, without the time to connect.
        once: Once::Line(|line| line.starts_with("tps = ") && !line.contains("excluding")),
        tells: Tells::Line(|line| line.starts_with("number of transactions actually processed:")),
    },
    Mark {
        program: "redis-benchmark",
        once: Once::Named(redis_benchmark::result_of),
        tells: Tells::Report(|line| {
            line.contains(" requests per second") || line.starts_with("\"test\",\"rps\"")
        }),
    },
    Mark {
        program: "stress-ng",
        // Standard output may have the YAML beside the table.
        once: Once::Named(|line, _| {
            let table = line.contains("bogo ops real time").then_some("table");
            let found = table.or((line == "metrics:").then_some("YAML"));
            found.map(str::to_owned)
        }),
        tells: Tells::Line(|line| {
            line.starts_with("stress-ng: ") && line.contains("bogo ops real time")
                || line.trim().starts_with("bogo-ops-per-second-real-time: ")
        }),
    },
    Mark {
        program: "sysbench",
        once: Once::Line(|line| {
            line.starts_with("Latency (ms):")
                || ["response time:", "per-request statistics:"].contains(&line.trim())
        }),
        tells: Tells::Line(|line| line.starts_with("Latency (ms):") || line == "Threads fairness:"),
    },
    Mark {
        program: "time",
        once: Once::Line(|line| line.trim_start().starts_with("Command being timed: ")),
        tells: Tells::Never,
    },
    Mark {
        program: "vdbench",
        once: Once::Named(vdbench::result_of),
        tells: Tells::Line(|line| line.contains("Vdbench execution completed successfully")),
    },
    Mark {
        program: "ycsb",
        once: Once::Line(|line| line.starts_with("[OVERALL], RunTime(ms), ")),
        tells: Tells::Line(|line| line.starts_with("[OVERALL], RunTime(ms), ")),
    },
];

/// A line that is a result.
struct Place<'a> {
    stream: &'static str,
    number: usize,
    line: &'a str,
    of: String,
}

/// Refuses several reports of a program: values of two runs would be mixed.
pub fn ensure_one(program: &str, printed: &Printed) -> Result<(), String> {
    let Some(mark) = MARKS.iter().find(|mark| mark.program == program) else {
        return Ok(());
    };
    let refused = match &mark.once {
        Once::Line(is_it) => ensure_once(printed, &|line, _| is_it(line).then(String::new)),
        Once::Named(of) => ensure_once(printed, of),
        Once::Own(ensure) => ensure(printed),
    };
    refused.map_err(|why| match program {
        "sysbench" => {
            format!("{why} (leave out --report-checkpoints: its reports are of a part of the time)")
        }
        _ => why,
    })
}

/// `of`: what a line is a result of, if it is one, from it and the lines before it.
pub(super) fn ensure_once(
    printed: &Printed,
    of: &dyn Fn(&str, &[&str]) -> Option<String>,
) -> Result<(), String> {
    let results = results(printed, of);
    let again = |first: &&Place| results.iter().filter(|other| other.of == first.of).count() > 1;
    let Some(first) = results.iter().find(again) else {
        return Ok(());
    };
    let same: Vec<&Place> = results
        .iter()
        .filter(|other| other.of == first.of)
        .collect();
    let place = |place: &Place| {
        let line: String = place.line.trim().chars().take(LONGEST_LINE).collect();
        format!("line {} of {} {line:?}", place.number, place.stream)
    };
    Err(format!(
        "it has {} reports: {} and {}; print one, or name the number with --metric-regex",
        same.len(),
        place(first),
        same.last().map_or_else(String::new, |last| place(last)),
    ))
}

/// So much of a line as a message can show.
const LONGEST_LINE: usize = 120;

fn results<'a>(
    printed: &'a Printed,
    of: &dyn Fn(&str, &[&str]) -> Option<String>,
) -> Vec<Place<'a>> {
    let mut found = Vec::new();
    for (stream, text) in streams(printed) {
        let mut before = Vec::new();
        for (number, line) in numbered(text) {
            if let Some(of) = of(line, &before) {
                found.push(Place {
                    stream,
                    number,
                    line,
                    of,
                });
            }
            before.push(line);
        }
    }
    found
}

fn streams(printed: &Printed) -> [(&'static str, &str); 2] {
    [
        ("standard output", &printed.stdout),
        ("standard error", &printed.stderr),
    ]
}

/// The benchmark whose report this looks like.
pub fn resembling(printed: &Printed) -> Option<&'static str> {
    let lines = || {
        let streams = streams(printed).into_iter();
        streams.flat_map(|(_, text)| numbered(text).map(|(_, line)| line))
    };
    let of_a_line = lines().find_map(|line| {
        let mut marks = MARKS.iter();
        marks.find(|mark| matches!(mark.tells, Tells::Line(tells) if tells(line)))
    });
    // One that prepares the other's files comes after it.
    let of_a_report = || {
        MARKS.iter().find(|mark| {
            matches!(mark.tells, Tells::Report(tells) if lines().any(tells))
                && find(mark.program).is_some_and(|program| super::read(program, printed).is_ok())
        })
    };
    Some(of_a_line.or_else(of_a_report)?.program)
}
