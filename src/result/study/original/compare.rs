//! Two schedulers, compared over the cells that both have. Pure.

use std::fmt;

use serde::Serialize;

use super::table::Table;
use super::{ALPHA, change};
use crate::statistics::estimate::{self, ConfidenceInterval};
use crate::statistics::scale::Scale;
use crate::statistics::signed_rank::{self, Difference};

/// A scheduler against the reference. Ratios above 1: the scheduler has the larger value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub arm: String,
    pub reference: String,
    /// The measured quantity.
    pub what: String,
    /// Pairs of values.
    pub pairs: usize,
    /// Pairs in which the arm has the larger value.
    pub higher: usize,
    /// The geometric mean of the pairs.
    pub mean_ratio: Option<f64>,
    /// Name of what stands in for blocks.
    pub blocks_are: String,
    pub blocks: usize,
    /// Hodges-Lehmann over the blocks.
    pub ratio: Option<f64>,
    /// By signed ranks, at 95 %. None with too few blocks.
    pub ratio_interval: Option<ConfidenceInterval>,
}

/// The differences of logarithms, by block.
pub struct Blocks(pub Vec<Vec<f64>>);

impl Blocks {
    pub fn of(table: &Table, arm: &str, other: &str, columns: &[&str]) -> anyhow::Result<Blocks> {
        let of_cell = |block: &str, column: &str| -> anyhow::Result<f64> {
            let value = |scheduler| table.value(scheduler, block, column);
            Ok((value(arm)? / value(other)?).ln())
        };
        let of_block = |block: &String| columns.iter().map(|c| of_cell(block, c)).collect();
        let blocks: anyhow::Result<_> = table.blocks.iter().map(of_block).collect();
        Ok(Blocks(blocks?))
    }

    /// One pair of values.
    pub fn of_pair(arm: f64, reference: f64) -> Blocks {
        Blocks(vec![vec![(arm / reference).ln()]])
    }

    pub fn differences(&self) -> Vec<Difference> {
        let means = self.0.iter().filter_map(|block| estimate::mean(block));
        means.map(Difference::exact).collect()
    }

    pub fn interval(&self, alpha: f64) -> Option<ConfidenceInterval> {
        signed_rank::interval(&self.differences(), alpha)
    }

    pub fn shows_a_difference(&self, alpha: f64) -> bool {
        let interval = self.interval(alpha);
        interval.is_some_and(|interval| !interval.contains(0.0))
    }

    pub fn compare(&self, arm: &str, reference: &str, what: &str, blocks_are: &str) -> Comparison {
        let all = self.0.concat();
        Comparison {
            arm: arm.to_owned(),
            reference: reference.to_owned(),
            what: what.to_owned(),
            pairs: all.len(),
            higher: all.iter().filter(|d| **d > 0.0).count(),
            mean_ratio: Scale::Log.ratio(estimate::mean(&all)),
            blocks_are: blocks_are.to_owned(),
            blocks: self.0.len(),
            ratio: Scale::Log.ratio(signed_rank::hodges_lehmann(&self.differences())),
            ratio_interval: Scale::Log.ratio_interval(self.interval(ALPHA)),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, {}: ", self.arm, self.reference, self.what)?;
        match self.ratio {
            Some(ratio) => write!(f, "{}", change(ratio, 1))?,
            None => write!(f, "not known")?,
        }
        let Some(interval) = self.ratio_interval else {
            let needed = signed_rank::blocks_needed(ALPHA);
            let (count, are) = (self.blocks, &self.blocks_are);
            return write!(f, ", no interval: that needs {needed} {are}, not {count}");
        };
        write!(
            f,
            " [{}, {}] (95 %) with {} {} as blocks",
            change(interval.lower, 1),
            change(interval.upper, 1),
            self.blocks,
            self.blocks_are,
        )?;
        let mean = self.mean_ratio.map_or("?".to_owned(), |r| change(r, 2));
        write!(
            f,
            "; mean of all pairs {mean}, higher in {} of {}",
            self.higher, self.pairs
        )
    }
}
