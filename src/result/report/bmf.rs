//! Bencher's metric format: the medians, and the ratios to the reference with their intervals. Pure.
//!
//! The format has names and values, and nothing beside them. So the name of a benchmark is that of its history: host, disk,
//! workload, arm and scheduler; the kernel is not part of it, because its update would begin another history.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{escape, labels};
use crate::types::result::ResultFile;

type Benchmarks = BTreeMap<String, BTreeMap<String, Value>>;

pub fn render(results: &[&ResultFile]) -> String {
    let mut benchmarks = Benchmarks::new();
    for result in results {
        add(&mut benchmarks, result);
    }
    escape::json(&format!("{:#}\n", json!(benchmarks)))
}

fn add(benchmarks: &mut Benchmarks, result: &ResultFile) {
    // Slashes are between parts only.
    let series = labels::series(result).into_iter();
    let series = series.map(|(_, value)| value.replace('/', "_"));
    let series: Vec<String> = series.collect();
    let name = |arm: &str| {
        let scheduler = labels::scheduler(result, arm);
        let series = series.join("/");
        if arm.split([',', '=']).any(|part| part == scheduler) {
            format!("{series}/{arm}")
        } else {
            format!("{series}/{arm} ({scheduler})")
        }
    };
    for row in result.primary() {
        let slug = slug(&row.metric.name);
        let medians = [
            (&row.arm, row.arm_median),
            (&row.reference, row.reference_median),
        ];
        for (arm, median) in medians {
            if let Some(value) = median {
                let measures = benchmarks.entry(name(arm)).or_default();
                measures.insert(slug.clone(), json!({ "value": value }));
            }
        }
        if let Some(value) = row.comparison.ratio {
            let mut ratio = json!({ "value": value });
            if let Some(interval) = row.comparison.ratio_interval {
                ratio["lower_value"] = json!(interval.lower);
                ratio["upper_value"] = json!(interval.upper);
            }
            let measures = benchmarks.entry(name(&row.arm)).or_default();
            measures.insert(format!("{slug}-ratio"), ratio);
        }
    }
}

/// Lower case, digits and hyphens; at most 64 characters including `-ratio`.
fn slug(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric();
    let slug = text
        .chars()
        .take(58)
        .map(|c| if plain(c) { c } else { '-' });
    slug.collect::<String>().to_ascii_lowercase()
}
