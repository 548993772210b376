//! The Go benchmark format, one line per valid round: `benchstat -col /arm FILE` gives a second opinion. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::escape::{self, component as word};
use super::labels;
use crate::analysis::table::Table;
use crate::metric::Metric;
use crate::statistics::scale::Direction;
use crate::types::result::ResultFile;

/// Lines with a key hold until the next one with the same key, so several results stand one after the other.
pub fn render(results: &[&ResultFile]) -> String {
    results.iter().map(|result| one(result)).collect()
}

fn one(result: &ResultFile) -> String {
    let mut text = String::new();
    let environment = &result.environment;
    let known = labels::series(result).into_iter();
    let known: BTreeMap<&str, String> = known.chain(labels::circumstances(result)).collect();
    for key in labels::ALL {
        // An empty one takes back that of the result before.
        let value = known
            .get(key)
            .map_or(String::new(), |value| escape::line(value));
        let _ = writeln!(text, "{}", format!("{key}: {value}").trim_end());
    }
    // In one line: benchstat compares no rounds whose keys differ.
    let schedulers = result.design.arms.iter();
    let schedulers = schedulers.map(|arm| format!("{}={}", word(&arm.label), word(&arm.scheduler)));
    let schedulers: Vec<String> = schedulers.collect();
    let _ = writeln!(text, "schedulers: {}", schedulers.join(" "));
    let primary = &result.design.primary;
    for metric in primary {
        let better = match metric.direction {
            Direction::HigherIsBetter => "higher",
            Direction::LowerIsBetter => "lower",
            Direction::Neutral => continue,
        };
        let _ = writeln!(text, "Unit {} better={better}", unit(metric));
    }
    // benchstat takes the first arm as the baseline.
    let reference = &result.design.arms[result.design.reference].label;
    let mut rounds = Table::new(result).counted_rounds();
    rounds.sort_by_key(|round| round.arm != *reference);
    for round in rounds {
        let values = primary.iter().filter_map(|metric| {
            let value = round.value(metric)?;
            Some(format!(" {value} {}", unit(metric)))
        });
        let values: String = values.collect();
        if !values.is_empty() {
            // Go appends its number of CPUs to a name; without it benchstat would take a number at the end of a label
            // for that.
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
