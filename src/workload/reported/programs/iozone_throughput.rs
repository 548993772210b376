//! iozone's throughput mode (`-t`): the rate of all processes together, for each test. Pure.

use super::{KIB, Metrics, first_number, plain};

/// `Children see` adds up the rates of processes that did not run at the same time throughout; `Parent sees` is the bytes of
/// all by the time until the last ended, so it decides.
const LABELS: [(&str, &str); 2] = [
    ("Children see throughput for", "children_bytes_per_s"),
    ("Parent sees throughput for", "bytes_per_s"),
];

pub fn find(text: &str, metrics: &mut Metrics) {
    for line in text.lines() {
        let line = line.trim();
        let Some((rest, name)) = LABELS
            .iter()
            .find_map(|(label, name)| Some((line.strip_prefix(label)?, *name)))
        else {
            continue;
        };
        let Some((test, rate)) = parts(rest) else {
            continue;
        };
        metrics.bytes_per_second(&format!("{test}.{name}"), rate);
        if name == LABELS[1].1 {
            metrics.headline();
        }
    }
}

/// The test and its rate in "  2 initial writers = 203732.05 kB/sec".
fn parts(text: &str) -> Option<(String, f64)> {
    let (test, rate) = text.split_once('=')?;
    let test = test.trim().trim_start_matches(|c: char| c.is_ascii_digit());
    let is_kib =
        rate.trim().to_lowercase().ends_with("kb/sec") || rate.trim().ends_with("kBytes/sec");
    let rate = first_number(rate).filter(|rate| is_kib && *rate > 0.0)?;
    Some((plain(test).replace('-', "_"), rate * KIB))
}
