//! stress-ng: operations per second of each stressor, from `--metrics`, `--metrics-brief` or `--yaml /dev/stdout`.

use super::arguments::{after_program, is_above_zero, long, short};
use super::{MIB, Metrics, Program, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static STRESS_NG: Program = Program {
    name: "stress-ng",
    parse,
    is_timed: |words| is_timed(after_program(words, "stress-ng")),
    logs: |_| false,
};

/// Short options with a value, by stress-ng's core-opts.c.
const WITH_VALUE: &str = "abBcCdDfijlmopPQrsStTuxyY";
/// stress-hdd.c divides bytes per second by MB, which core-defs.h defines as 2^20.
const HDD_RATES: [(&str, &str, &str); 3] = [
    ("MB/sec read rate", "mbsec-read-rate", "read_bytes_per_s"),
    (
        "MB/sec write rate",
        "mbsec-write-rate",
        "written_bytes_per_s",
    ),
    (
        "MB/sec read/write combined rate",
        "mbsec-readwrite-combined-rate",
        "bytes_per_s",
    ),
];

/// Indent of the keys of a stressor in the YAML.
const INDENT: usize = 6;

/// It runs for a day if neither a time nor a number of operations (--hdd-ops N) is given.
fn is_timed(arguments: &[String]) -> bool {
    let has_ops = arguments.iter().any(|argument| {
        let name = argument.split('=').next().unwrap_or_default();
        name.starts_with("--") && name.ends_with("-ops")
    });
    let time = long(arguments, "--timeout").or(short(arguments, 't', WITH_VALUE));
    !has_ops && time.is_none_or(is_above_zero)
}

/// The rate of a stressor, and the rates of bytes that it reports.
struct Stressor {
    name: String,
    ops: f64,
    ops_per_s: f64,
    rates: Vec<(&'static str, f64)>,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    // Versions before 0.17 print messages to standard error, later ones to standard output.
    let lines = || printed.stderr.lines().chain(printed.stdout.lines());
    let messages = || lines().filter_map(message);
    let is_bad = |text: &&str| {
        let doubted = text.strip_prefix("metrics untrustworthy: ");
        text.contains("unsuccessful run completed")
            || text.contains("aborted early")
            || doubted.is_some_and(|count| count != "0")
    };
    if let Some(text) = messages().find(is_bad) {
        return Err(format!("stress-ng failed: {text:?}"));
    }
    let of_yaml = yaml(&printed.stdout);
    let found = if of_yaml.is_empty() {
        table(messages())
    } else {
        of_yaml
    };
    if found.is_empty() {
        return Err(
            "there is no table of metrics; add --metrics-brief to its arguments".to_owned(),
        );
    }
    let mut metrics = Metrics::of("stress-ng");
    for stressor in found {
        // One that was skipped did nothing.
        if stressor.ops == 0.0 || stressor.ops_per_s == 0.0 {
            return Err(format!("its stressor {} did nothing", stressor.name));
        }
        metrics.per_second(&format!("{}.ops_per_s", stressor.name), stressor.ops_per_s);
        metrics.headline();
        // 0.00 is the rate of a stressor that does no such I/O.
        for (name, rate) in stressor.rates.into_iter().filter(|(_, rate)| *rate > 0.0) {
            metrics.bytes_per_second(&format!("{}.{name}", stressor.name), rate);
        }
    }
    metrics.end()
}

/// The text after "stress-ng: metrc: [3869] ".
fn message(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("stress-ng: ")?;
    let (_, text) = rest.split_once("] ")?;
    Some(text)
}

/// "hdd 7168 2.03 0.15 0.12 3530.62 26351.88": operations, three times, and operations per second of real time. Below it,
/// "hdd 606.78 MB/sec write rate (...)".
fn table<'a>(messages: impl Iterator<Item = &'a str>) -> Vec<Stressor> {
    let mut found: Vec<Stressor> = Vec::new();
    for text in messages {
        let words: Vec<&str> = text.split_whitespace().collect();
        let numbers: Vec<f64> = words
            .iter()
            .skip(1)
            .map_while(|word| number(word))
            .collect();
        match (&words[..], &numbers[..]) {
            (_, [ops, _, _, _, ops_per_s, ..]) => found.push(Stressor {
                name: plain(words[0]),
                ops: *ops,
                ops_per_s: *ops_per_s,
                rates: Vec::new(),
            }),
            (["hdd", _, ..], [rate]) => {
                let what = words[2..].join(" ");
                let known = HDD_RATES.iter().find(|(text, ..)| what.starts_with(text));
                let hdd = found.iter_mut().find(|stressor| stressor.name == "hdd");
                if let (Some((.., name)), Some(hdd)) = (known, hdd) {
                    hdd.rates.push((name, rate * MIB));
                }
            }
            _ => {}
        }
    }
    found
}

/// The list "metrics:" of its YAML, whose form is always the same. Newer versions repeat the keys for each instance, further to
/// the right, and have other lists of stressors.
fn yaml(text: &str) -> Vec<Stressor> {
    let mut found: Vec<Stressor> = Vec::new();
    let list = text.lines().skip_while(|line| *line != "metrics:").skip(1);
    for line in list.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        let key = line.trim_start();
        if line.len() - key.len() > INDENT {
            continue;
        }
        let Some((key, value)) = line.trim().split_once(": ") else {
            continue;
        };
        let value = value.trim_matches('\'');
        if key == "- stressor" {
            found.push(Stressor {
                name: plain(value),
                ops: 0.0,
                ops_per_s: 0.0,
                rates: Vec::new(),
            });
        }
        let (Some(last), Some(value)) = (found.last_mut(), number(value)) else {
            continue;
        };
        match key {
            "bogo-ops" => last.ops = value,
            "bogo-ops-per-second-real-time" => last.ops_per_s = value,
            _ => {
                let known = HDD_RATES.iter().find(|(_, other, _)| *other == key);
                if let Some((.., name)) = known.filter(|_| last.name == "hdd") {
                    last.rates.push((name, value * MIB));
                }
            }
        }
    }
    found
}
