//! iozone over record sizes, on btrfs. Pure.

use serde::Deserialize;

use super::compare::Blocks;
use super::table::{self, Cell, Table};
use super::{ALPHA, Judged, change, range};
use crate::statistics::estimate;
use crate::statistics::verdict::bonferroni;

pub const CSV: &str = include_str!("../../../../data/originals/record-size.csv");
const FILE: &str = "data/originals/record-size.csv";

/// The operations through stdio; the others look like direct I/O.
const BUFFERED: [&str; 4] = ["fwrite", "frewrite", "fread", "freread"];
/// Operations that iozone runs twice.
const REPEATS: [(&str, &str); 2] = [("reread", "read"), ("rewrite", "write")];
const PAIRS: [(&str, &str); 3] = [("deadline", "noop"), ("cfq", "noop"), ("deadline", "cfq")];

#[derive(Deserialize)]
struct Row {
    order: u32,
    scheduler: String,
    record_kib: u32,
    operation: String,
    #[serde(deserialize_with = "table::positive")]
    kib_per_s: f64,
}

pub struct Study {
    pub table: Table,
    /// The schedulers as they were run.
    order: Vec<String>,
}

pub fn read(csv: &str) -> anyhow::Result<Study> {
    let mut rows: Vec<Row> = table::parse(FILE, csv)?;
    rows.sort_by_key(|row| (row.order, row.record_kib));
    let cells = rows.into_iter().map(|row| Cell {
        scheduler: row.scheduler,
        block: format!("{} KiB", row.record_kib),
        column: row.operation,
        value: row.kib_per_s,
    });
    let table = Table::of(FILE, cells)?;
    let order = table.schedulers.clone();
    Ok(Study { table, order })
}

impl Study {
    pub fn direct(&self) -> Vec<&str> {
        let all = self.table.columns.iter().map(String::as_str);
        all.filter(|column| !BUFFERED.contains(column)).collect()
    }

    pub fn blocks(&self, arm: &str, other: &str, columns: &[&str]) -> anyhow::Result<Blocks> {
        Blocks::of(&self.table, arm, other, columns)
    }

    /// The operations in which the interval does not include 0 %, each at `alpha`.
    pub fn differing(&self, arm: &str, other: &str, alpha: f64) -> anyhow::Result<Vec<&str>> {
        let mut found = Vec::new();
        for column in &self.table.columns {
            if self
                .blocks(arm, other, &[column])?
                .shows_a_difference(alpha)
            {
                found.push(column.as_str());
            }
        }
        Ok(found)
    }

    /// The standard deviation of an operation's second run against its first, under one scheduler.
    pub fn noise(&self, scheduler: &str) -> anyhow::Result<Option<f64>> {
        let mut d = Vec::new();
        for (again, first) in REPEATS {
            for block in &self.table.blocks {
                let value = |column| self.table.value(scheduler, block, column);
                d.push((value(again)? / value(first)?).ln());
            }
        }
        Ok(estimate::sd(&d))
    }

    fn noises(&self) -> anyhow::Result<(f64, f64)> {
        let of_each = self.order.iter().map(|scheduler| self.noise(scheduler));
        let all: anyhow::Result<Vec<Option<f64>>> = of_each.collect();
        Ok(range(all?.into_iter().flatten()))
    }

    /// In GB/s, over all record sizes and schedulers.
    fn rates(&self, columns: &[&str]) -> (f64, f64) {
        let all = columns.iter().flat_map(|column| self.table.column(column));
        range(all.map(|kib| kib * 1024.0 / 1e9))
    }
}

pub fn judge(csv: &str) -> anyhow::Result<Judged> {
    let study = read(csv)?;
    let direct = study.direct();
    let mut comparisons = Vec::new();
    let mut findings = Vec::new();
    for (arm, other) in PAIRS {
        let blocks = study.blocks(arm, other, &direct)?;
        let what = format!("{} direct operations", direct.len());
        comparisons.push(blocks.compare(arm, other, &what, "record sizes"));
    }
    for (arm, other) in PAIRS {
        findings.push(by_operation(&study, arm, other)?);
    }
    findings.push(largest(&study, &direct)?);
    findings.push(cached(&study, &direct));
    let (least, most) = study.noises()?;
    findings.push(format!(
        "Repeats within a run (reread against read, rewrite against write) have a standard deviation of {:.1} to {:.1} %, \
         depending on the scheduler.",
        least * 100.0,
        most * 100.0
    ));
    let supports = |c: &super::Comparison| c.ratio_interval.is_some_and(|i| !i.contains(1.0));
    Ok(Judged {
        name: "record-size",
        title: "record sizes on btrfs under noop, cfq and deadline",
        source: "digoal (blog), 2015-12-07: iozone, 2 GiB file, btrfs raid10 on 4 disks",
        claim: "deadline is the scheduler to use.",
        reasons: reasons(&study, &direct)?,
        conclusion: if comparisons.iter().any(supports) {
            "some intervals do not include 0 %, but the runs differ in more than the scheduler."
                .to_owned()
        } else {
            "not supported. The interval of each pair of schedulers includes 0 %.".to_owned()
        },
        comparisons,
        findings,
    })
}

fn by_operation(study: &Study, arm: &str, other: &str) -> anyhow::Result<String> {
    let count = study.table.columns.len();
    let each = study.differing(arm, other, ALPHA)?;
    let all = study.differing(arm, other, bonferroni(ALPHA, count))?;
    let names = |found: &[&str]| match found {
        [] => "none".to_owned(),
        found => format!("{} ({})", found.len(), found.join(", ")),
    };
    Ok(format!(
        "{arm}/{other}, each of {count} operations by itself: the 95 % interval lies on one side of 0 % in {}; corrected \
         for {count} comparisons, in {}.",
        names(&each),
        names(&all),
    ))
}

/// The pair farthest from no difference, and what remains without it.
fn largest(study: &Study, direct: &[&str]) -> anyhow::Result<String> {
    let (arm, other) = PAIRS[0];
    let all = study.blocks(arm, other, direct)?.0;
    let mut pairs = Vec::new();
    for (block, values) in study.table.blocks.iter().zip(&all) {
        for (column, d) in direct.iter().zip(values) {
            pairs.push((*d, *column, block));
        }
    }
    pairs.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let Some((d, column, block)) = pairs.pop() else {
        return Ok("No pairs.".to_owned());
    };
    let rest: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    let mean = estimate::mean(&rest).unwrap_or(f64::NAN);
    Ok(format!(
        "One of the {} pairs of {arm}/{other} is far from the others: {column} at {block}, {}. Without it the mean is {}.",
        rest.len() + 1,
        change(d.exp(), 0),
        change(mean.exp(), 2)
    ))
}

fn cached(study: &Study, direct: &[&str]) -> String {
    let (_, fastest) = study.rates(direct);
    let (write_low, write_high) = study.rates(&BUFFERED[..2]);
    let (_, fastest_write) = study.rates(&["write", "rewrite"]);
    let (read_low, read_high) = study.rates(&BUFFERED[2..]);
    format!(
        "fwrite and frewrite ran at {write_low:.2} to {write_high:.2} GB/s, but write and rewrite at no more than \
         {fastest_write:.2}; fread and freread ran at {read_low:.1} to {read_high:.1} GB/s, but no direct operation \
         faster than {fastest:.2}."
    )
}

fn reasons(study: &Study, direct: &[&str]) -> anyhow::Result<Vec<String>> {
    let ends = [study.table.blocks.first(), study.table.blocks.last()];
    let [Some(small), Some(large)] = ends else {
        return Ok(Vec::new());
    };
    let first = &study.order[0];
    let rate = |block: &str| -> anyhow::Result<f64> {
        Ok(study.table.value(first, block, "write")? * 1024.0 / 1e6)
    };
    let (_, noise) = study.noises()?;
    Ok(vec![
        "n = 1: each scheduler ran once. Record sizes stand in for blocks, but those of one run share its \
         allocation on disk and its moment, so the true intervals are wider."
            .to_owned(),
        format!(
            "Fixed order: {}. Whatever changed over time looks like a scheduler.",
            study.order.join(", then ")
        ),
        format!(
            "Noise floor: repeats under the same scheduler vary by up to {:.1} % (one standard deviation), as much as \
             the schedulers differ.",
            noise * 100.0
        ),
        format!(
            "Page cache: {} of {} operations ({}) measure memory, at rates beyond that of the disks.",
            BUFFERED.len(),
            direct.len() + BUFFERED.len(),
            BUFFERED.join(", ")
        ),
        format!(
            "One request at a time: the rate of write grows with the record size ({:.0} MB/s at {small}, {:.0} MB/s at \
             {large}, {first}), as with direct I/O and a queue depth of 1. A scheduler then has nothing to reorder.",
            rate(small)?,
            rate(large)?,
        ),
    ])
}
