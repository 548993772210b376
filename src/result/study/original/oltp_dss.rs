//! Oracle OLTP and DSS on Red Hat Enterprise Linux 4. Pure.

use serde::Deserialize;

use super::compare::Blocks;
use super::table;
use super::{Comparison, Judged};

pub const CSV: &str = include_str!("../../../../data/originals/oltp-dss.csv");
const FILE: &str = "data/originals/oltp-dss.csv";

/// The values are relative to that of this one.
const REFERENCE: &str = "cfq";

#[derive(Deserialize)]
pub struct Row {
    workload: String,
    pub metric: String,
    pub scheduler: String,
    #[serde(deserialize_with = "table::positive_or_empty")]
    pub relative_value: Option<f64>,
    claim: String,
}

pub fn read(csv: &str) -> anyhow::Result<Vec<Row>> {
    table::parse(FILE, csv)
}

/// Each value relative to the reference's of its metric.
pub fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let others = rows.iter().filter(|row| row.scheduler != REFERENCE);
    let pairs = others.filter_map(|row| {
        let is_reference =
            |other: &&Row| other.scheduler == REFERENCE && other.metric == row.metric;
        let reference = rows.iter().find(is_reference)?;
        let what = format!("{}, {}", row.workload, row.metric.replace('_', " "));
        let pair = Blocks::of_pair(row.relative_value?, reference.relative_value?);
        Some(pair.compare(&row.scheduler, REFERENCE, &what, "pairs of values"))
    });
    pairs.collect()
}

pub fn judge(csv: &str) -> anyhow::Result<Judged> {
    let rows = read(csv)?;
    let comparisons = comparisons(&rows);
    let without: Vec<String> = rows
        .iter()
        .filter(|row| row.relative_value.is_none())
        .map(|row| {
            format!(
                "{}, {}, {}: {}",
                row.scheduler,
                row.workload,
                row.metric.replace('_', " "),
                row.claim
            )
        })
        .collect();
    let values = rows.iter().filter(|row| row.relative_value.is_some());
    Ok(Judged {
        name: "oltp-dss",
        title: "OLTP and DSS of a database under cfq, deadline and noop",
        source: "D. J. Shakshober, Red Hat, 2005: Oracle 10g on ext3, 2 Xeon, 4 GB, 8 LUNs behind a RAID controller, \
                 Red Hat Enterprise Linux 4",
        claim: "cfq is the best for OLTP and in general, deadline for large sequential reads; noop saves CPU in \
                proportion to what it loses.",
        findings: vec![
            format!(
                "{} of {} statements have a value, relative to cfq.",
                values.count(),
                rows.len()
            ),
            format!(
                "{} statements have no value, so nothing can be computed: {}.",
                without.len(),
                without.join("; ")
            ),
        ],
        reasons: vec![
            "The number of runs is not stated, and a relative value without a spread has no interval (n = 1 as \
             printed)."
                .to_owned(),
            "The machine was rebooted between schedulers: a difference between two boots is not that of two schedulers \
             alone, and the order is not stated."
                .to_owned(),
            "CPU cycles are not given per transaction: a scheduler that does less work uses fewer cycles in total, \
             whether it saves any or not."
                .to_owned(),
            "Differences as large as these could be real on that controller, but cfq and noop were removed in Linux \
             5.0, and deadline became mq-deadline: the figures say nothing about the schedulers of today."
                .to_owned(),
        ],
        conclusion: "not decided. The direction is stated, no interval can be computed, and the statements about DSS \
                     and CPU have no figures."
            .to_owned(),
        comparisons,
    })
}
