//! The Go benchmark format, a line per round that counts: `benchstat -col /arm FILE` gives a second opinion. Pure.

use std::fmt::Write;

use super::escape;
use super::result::ResultFile;
use crate::ab::analysis;
use crate::ab::metric::Metric;
use crate::ab::verdict::Direction;

pub fn render(result: &ResultFile) -> String {
    let mut text = String::new();
    let environment = &result.environment;
    for (key, value) in [
        ("device", Some(&result.device.name())),
        ("model", result.device.models().as_ref()),
        ("workload", Some(&result.workload.name)),
        ("kernel", Some(&environment.kernel_release)),
        ("fio", environment.fio_version.as_ref()),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "{key}: {}", escape::line(value));
        }
    }
    let primary = &result.design.primary;
    for metric in primary {
        let better = match metric.direction {
            Direction::HigherIsBetter => "higher",
            Direction::LowerIsBetter => "lower",
        };
        let _ = writeln!(text, "Unit {} better={better}", unit(metric));
    }
    // benchstat compares with what comes first.
    let reference = &result.design.arms[result.design.reference].label;
    let mut rounds = analysis::counted_rounds(result);
    rounds.sort_by_key(|round| round.arm != *reference);
    for round in rounds {
        let values = primary.iter().filter_map(|metric| {
            let value = round.metrics.get(&metric.name)?;
            Some(format!(" {value} {}", unit(metric)))
        });
        let values: String = values.collect();
        if !values.is_empty() {
            // The number behind the name is Go's for its CPUs; without it one in a label would be taken for it.
            let (name, arm) = (word(&result.workload.name), word(&round.arm));
            let cpus = environment.cpus;
            let _ = writeln!(text, "Benchmark/workload={name}/arm={arm}-{cpus} 1{values}");
        }
    }
    text
}

fn unit(metric: &Metric) -> String {
    let unit = match metric.unit.as_str() {
        "bytes" => "B",
        "bytes/s" => "B/s",
        "s" => "sec",
        "1" => "ratio",
        unit => &word(unit),
    };
    format!("{}-{unit}", word(&metric.name))
}

/// A part of a name: no blank, and `/` is what parts are parted by.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-=,".contains(c);
    text.chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}
