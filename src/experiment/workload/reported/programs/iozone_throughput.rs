//! iozone's throughput mode (`-t`): the rate of all processes together, for each test. Pure.

use super::{KIB, Metrics, first_number, plain};

/// `Children see` adds up the rates of processes that did not run at the same time throughout; `Parent sees` is the bytes of
/// all by the time until the last ended, so it decides.
const LABELS: [(&str, &str); 2] = [
    ("Children see throughput for", "children_"),
    ("Parent sees throughput for", ""),
];

pub fn find(text: &str, metrics: &mut Metrics) {
    for line in text.lines() {
        let line = line.trim();
        let Some((rest, of)) = LABELS
            .iter()
            .find_map(|(label, of)| Some((line.strip_prefix(label)?, *of)))
        else {
            continue;
        };
        let Some((test, rate, unit)) = parts(rest) else {
            continue;
        };
        if unit == "ops/sec" {
            metrics.per_second(&format!("{test}.{of}ops_per_s"), rate);
        } else {
            metrics.bytes_per_second(&format!("{test}.{of}bytes_per_s"), rate * KIB);
        }
        if of == LABELS[1].1 {
            metrics.headline();
        }
    }
}

/// Units of a rate: the last is that of -O.
const UNITS: [&str; 4] = ["kB/sec", "KB/sec", "kBytes/sec", "ops/sec"];

/// The test, its rate and its unit in "  2 initial writers = 203732.05 kB/sec".
fn parts(text: &str) -> Option<(String, f64, &str)> {
    let (test, rate) = text.split_once('=')?;
    let test = test.trim().trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = rate.split_whitespace().nth(1)?;
    let is_known = UNITS.contains(&unit);
    let rate = first_number(rate).filter(|rate| is_known && *rate > 0.0)?;
    Some((plain(test).replace('-', "_"), rate, unit))
}
