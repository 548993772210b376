//! deadline against cfq, on a hosting company's help page. Pure.

use serde::Deserialize;

use super::compare::Blocks;
use super::table;
use super::{Comparison, Judged, change};

pub const CSV: &str = include_str!("../../../../data/originals/oltp-web.csv");
const FILE: &str = "data/originals/oltp-web.csv";

const ARM: &str = "deadline";
const REFERENCE: &str = "cfq";
/// In the column `device`: settings that are recommended.
const RECOMMENDED: &str = "recommended";

#[derive(Deserialize)]
pub struct Row {
    pub device: String,
    pub workload: String,
    pub metric: String,
    pub scheduler: String,
    #[serde(deserialize_with = "table::positive_or_empty")]
    pub value: Option<f64>,
    pub claim: String,
}

impl Row {
    fn what(&self) -> String {
        let metric = self.metric.replace('_', " ");
        format!("{}, {metric} ({})", self.workload, self.device)
    }
}

pub fn read(csv: &str) -> anyhow::Result<Vec<Row>> {
    table::parse(FILE, csv)
}

/// One per workload and metric with a value for both schedulers.
pub fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let of_arm = rows.iter().filter(|row| row.scheduler == ARM);
    let pairs = of_arm.filter_map(|row| {
        let is_partner = |other: &&Row| {
            other.scheduler == REFERENCE
                && (&other.device, &other.workload, &other.metric)
                    == (&row.device, &row.workload, &row.metric)
        };
        let partner = rows.iter().find(is_partner)?;
        let what = row.what();
        let pair = Blocks::of_pair(row.value?, partner.value?);
        Some(pair.compare(ARM, REFERENCE, &what, "pairs of values"))
    });
    pairs.collect()
}

/// The settings, and what for.
fn recommended(rows: &[Row]) -> Vec<String> {
    let recommended = rows.iter().filter(|row| row.device == RECOMMENDED);
    let all = recommended.map(|row| format!("{} ({})", row.claim, row.workload));
    all.collect()
}

pub fn judge(csv: &str) -> anyhow::Result<Judged> {
    let rows = read(csv)?;
    let comparisons = comparisons(&rows);
    let results = rows.iter().filter(|row| row.device != RECOMMENDED);
    let without: Vec<String> = results
        .filter(|row| row.value.is_none())
        .map(|row| format!("{}: {}", row.what(), row.claim))
        .collect();
    let settings = recommended(&rows);
    let is_lower = |c: &&Comparison| c.ratio.is_some_and(|ratio| ratio < 1.0);
    let lower = comparisons.iter().filter(is_lower);
    let lower: Vec<String> = lower
        .filter_map(|c| Some(format!("{}, {}", c.what, change(c.ratio?, 1))))
        .collect();
    Ok(Judged {
        name: "oltp-web",
        title: "deadline against cfq for databases on NVMe and SAS",
        source: "a hosting company's help page, 2025-07-05: sysbench and fio, Xeon Gold 6248R, Samsung PM983, \
                 \"CentOS 7.9, kernel 5.4.94\"",
        claim: "deadline is the scheduler to use for NVMe, with settings per device and for MySQL.",
        findings: vec![
            format!(
                "deadline is lower than cfq in {} of {} pairs: {}.",
                lower.len(),
                comparisons.len(),
                lower.join("; ")
            ),
            format!(
                "{} results are stated without the values of the two schedulers, so nothing can be computed: {}.",
                without.len(),
                without.join("; ")
            ),
            format!(
                "{} groups of settings are recommended without a measurement: {}.",
                settings.len(),
                settings.join("; ")
            ),
        ],
        reasons: vec![
            "The number of runs and their order are not stated, and one value per scheduler has no spread (n = 1 as \
             printed)."
                .to_owned(),
            "The kernel that is named has no cfq: Linux 5.0 removed it, and kernel 5.4 calls deadline mq-deadline. So \
             what the cfq values measured is unknown."
                .to_owned(),
            "The mix is described as 70/30 in the method and as 60/40 in the results.".to_owned(),
            "The settings for SAS and MySQL are the defaults of cfq and of the old block layer; those for NVMe are below \
             the defaults of deadline (500 and 5000 ms)."
                .to_owned(),
            "NFS and TPC-C are reported without their set-up.".to_owned(),
        ],
        conclusion: "not supported. The pairs point in both directions, none has an interval, and the reference cannot \
                     have run on the kernel that is named."
            .to_owned(),
        comparisons,
    })
}
