//! pg_test_fsync on an SSD. Pure.

use serde::Deserialize;

use super::compare::Blocks;
use super::table::{self, Cell, Table};
use super::{Judged, change, excess, range};
use crate::failure::Failure;
use crate::statistics::estimate;

pub const CSV: &str = include_str!("../../../../data/originals/fsync.csv");
const FILE: &str = "data/originals/fsync.csv";

/// The method that does not wait for the disk.
const CONTROL: &str = "Non-Sync'ed 16kB writes: write";
/// pg_test_fsync measures the same write twice.
const SAME: [&str; 2] = [
    "Compare file sync methods using one 16kB write: open_sync",
    "Compare open_sync with different write sizes: 1 * 16kB open_sync write",
];
const COLUMN: &str = "ops_per_s";

#[derive(Deserialize)]
struct Row {
    order: u32,
    scheduler: String,
    section: String,
    method: String,
    #[serde(deserialize_with = "table::positive")]
    ops_per_s: f64,
}

pub struct Study {
    /// Without the control. The schedulers are in the order of their runs.
    pub disk: Table,
    pub control: Table,
}

pub fn read(csv: &str) -> anyhow::Result<Study> {
    let mut rows: Vec<Row> = table::parse(FILE, csv)?;
    rows.sort_by_key(|row| row.order);
    let cells = rows.into_iter().map(|row| Cell {
        scheduler: row.scheduler,
        block: format!("{}: {}", row.section, row.method),
        column: COLUMN.to_owned(),
        value: row.ops_per_s,
    });
    let (control, disk): (Vec<Cell>, Vec<Cell>) = cells.partition(|cell| cell.block == CONTROL);
    Ok(Study {
        disk: Table::of(FILE, disk.into_iter())?,
        control: Table::of(FILE, control.into_iter())?,
    })
}

/// The largest value of a method relative to its smallest, over the schedulers: a ratio.
pub fn spread(table: &Table, block: &str) -> anyhow::Result<f64> {
    let of_each = table
        .schedulers
        .iter()
        .map(|scheduler| table.value(scheduler, block, COLUMN));
    let values: anyhow::Result<Vec<f64>> = of_each.collect();
    let (low, high) = range(values?);
    Ok(high / low)
}

pub fn spreads(table: &Table) -> anyhow::Result<Vec<f64>> {
    let blocks = table.blocks.iter();
    blocks.map(|block| spread(table, block)).collect()
}

/// The same write, measured twice in one run: the larger relative to the smaller.
fn repeats(study: &Study) -> anyhow::Result<(f64, f64)> {
    let mut ratios = Vec::new();
    for scheduler in &study.disk.schedulers {
        let value = |block| study.disk.value(scheduler, block, COLUMN);
        let (low, high) = range([value(SAME[0])?, value(SAME[1])?]);
        ratios.push(high / low);
    }
    Ok(range(ratios))
}

pub fn judge(csv: &str) -> anyhow::Result<Judged> {
    let study = read(csv)?;
    let table = &study.disk;
    let Some((first, later)) = table.schedulers.split_first() else {
        return Err(Failure::invalid(format!("{FILE}: no rows"), ""));
    };
    let mut comparisons = Vec::new();
    for arm in later {
        let blocks = Blocks::of(table, arm, first, &[COLUMN])?;
        comparisons.push(blocks.compare(arm, first, "synchronous writes", "methods of one run"));
    }
    let spreads = spreads(table)?;
    let control = spread(&study.control, CONTROL)?;
    let typical = estimate::median(&spreads).unwrap_or(f64::NAN);
    let (low, high) = range(spreads.iter().copied());
    let wider = spreads.iter().filter(|spread| **spread > control).count();
    let (least, most) = repeats(&study)?;
    let of_control = |scheduler: &str| study.control.value(scheduler, CONTROL, COLUMN);
    let controls: anyhow::Result<Vec<String>> = later
        .iter()
        .map(|arm| {
            let ratio = of_control(arm)? / of_control(first)?;
            Ok(format!("{} ({arm})", change(ratio, 1)))
        })
        .collect();
    let controls = controls?;
    let is_lower = |c: &&super::Comparison| c.ratio.is_some_and(|ratio| ratio < 1.0);
    let lower = comparisons.iter().filter(is_lower).count();
    let order = table.schedulers.join(", then ");
    Ok(Judged {
        name: "fsync",
        title: "synchronous writes on an SSD under noop, anticipatory, deadline and cfq",
        source: "a PostgreSQL blog, undated (kernel before 2.6.33): pg_test_fsync, 5 s per method, 16 kB WAL blocks",
        claim: "a ranking: one table per scheduler, side by side. No advice is recorded with the figures.",
        findings: vec![
            format!(
                "Over the {} schedulers, the values of a method differ by {} to {} (largest against smallest; median {}).",
                table.schedulers.len(),
                excess(low),
                excess(high),
                excess(typical)
            ),
            format!(
                "The control, a write that is never synced and so does not wait for the disk, differs by {}: more than \
                 {} of the {} methods that do.",
                excess(control),
                spreads.len() - wider,
                spreads.len()
            ),
            format!(
                "Within a run, the same write measured twice differs by {} to {}. How much whole runs differ is \
                 not known: none was repeated.",
                excess(least),
                excess(most)
            ),
        ],
        reasons: vec![
            "n = 1: each scheduler ran once. The methods stand in for blocks, but they share one run, so the intervals \
             describe how these runs differ, not how the schedulers do."
                .to_owned(),
            format!(
                "Fixed order: {order}. {lower} of {} later runs are lower than the first.",
                comparisons.len()
            ),
            format!(
                "Noise floor: no scheduler acts on the control, but against {first} it differs by {}. A difference of the \
                 methods that is no larger than that shows nothing; where the control is alike, the single run and its order \
                 remain.",
                controls.join(", ")
            ),
            "The writer ran alone: with one synchronous write at a time, a scheduler has nothing to reorder.".to_owned(),
            "Anticipatory was removed in 2.6.33, noop, deadline and cfq in 5.0.".to_owned(),
        ],
        conclusion: "no ranking of schedulers is supported. The runs differ; the scheduler, the order and the noise \
                     between runs cannot be told apart."
            .to_owned(),
        comparisons,
    })
}
