//! For github-action-benchmark, which takes one direction per file: ratios to the reference and medians. Pure.

use serde_json::{Value, json};

use super::{escape, labels, words};
use crate::statistics::scale::Direction;
use crate::types::result::{ArmComparison, ResultFile};

/// The inputs of its tools `customSmallerIsBetter` and `customBiggerIsBetter`.
pub struct Files {
    pub smaller: String,
    pub bigger: String,
}

pub fn render(results: &[&ResultFile]) -> Files {
    let from = |result: &ResultFile| {
        if results.len() == 1 {
            return result.workload.name.clone();
        }
        let all = labels::series(result).into_iter();
        all.map(|(_, value)| value).collect::<Vec<_>>().join(" ")
    };
    let of = |direction| {
        let entries = results.iter().flat_map(|result| {
            let primary = result.primary();
            let rows = primary.filter(move |c| c.metric.direction == direction);
            let from = from(result);
            rows.flat_map(move |row| entries(&from, row))
        });
        let entries: Vec<Value> = entries.collect();
        escape::json(&format!("{:#}\n", json!(entries)))
    };
    Files {
        smaller: of(Direction::LowerIsBetter),
        bigger: of(Direction::HigherIsBetter),
    }
}

/// `from`: the workload; of several results where they are from, too.
fn entries(from: &str, row: &ArmComparison) -> Vec<Value> {
    let (workload, metric) = (from, &row.metric);
    let mut entries = Vec::new();
    if let Some(ratio) = row.comparison.ratio {
        entries.push(json!({
            "name": format!("{workload}: {} of {} / {}", metric.name, row.arm, row.reference),
            "unit": "ratio",
            "value": ratio,
            "range": words::interval(&row.comparison),
            "extra": words::sentence(row),
        }));
    }
    if let Some(median) = row.arm_median {
        entries.push(json!({
            "name": format!("{workload}: {} of {}", metric.name, row.arm),
            "unit": metric.unit,
            "value": median,
            "extra": format!("median of {} blocks", row.comparison.blocks),
        }));
    }
    entries
}
