//! The rounds that figures show. Pure.

use crate::analysis::conclude::is_comparable_in;
use crate::analysis::table::Table;
use crate::measured::histogram::{DEVICE, Histogram};
use crate::measured::snapshot::Op;
use crate::types::result::{ResultFile, Round};

/// Reads or writes.
pub struct Side {
    pub name: &'static str,
    /// As in the names of metrics.
    pub scope: &'static str,
    pub ops: &'static [Op],
}

pub const SIDES: [Side; 2] = [
    Side {
        name: "Reads",
        scope: "read_",
        ops: &[Op::Read],
    },
    Side {
        name: "Writes",
        scope: "write_",
        ops: &Op::WRITES,
    },
];

pub struct Rounds<'a> {
    pub result: &'a ResultFile,
    table: Table<'a>,
    /// Rounds of blocks that count, in the order of execution.
    counted: Vec<&'a Round>,
}

impl<'a> Rounds<'a> {
    pub fn new(result: &'a ResultFile) -> Self {
        let table = Table::new(result);
        Rounds {
            result,
            counted: table.counted_rounds(),
            table,
        }
    }

    pub fn under(&self, arm: &str) -> Vec<&'a Round> {
        let rounds = self.counted.iter().copied();
        rounds.filter(|round| round.arm == arm).collect()
    }

    pub fn counts(&self, round: &Round) -> bool {
        let counted = self
            .counted
            .binary_search_by_key(&round.index, |it| it.index);
        counted.is_ok()
    }

    /// A warning if submitters were stalled for different times: the I/O that they could not submit meanwhile appears in
    /// no total. `scope`: `read_` or `write_`.
    pub fn incomparable(&self, scope: &str) -> String {
        let design = &self.result.design;
        let reference = &design.arms[design.reference].label;
        let metric = format!("{scope}total_p50");
        let is_comparable = |arm: &str| is_comparable_in(&self.table, &metric, arm, reference);
        let arms = design.arms.iter().map(|arm| arm.label.as_str());
        let others: Vec<&str> = arms.filter(|arm| !is_comparable(arm)).collect();
        if others.is_empty() {
            return String::new();
        }
        format!(
            " Submitters were stalled for different times under {reference} and {}: these curves do not compare, because the \
             I/O that a stalled thread could not submit appears in none of them.",
            others.join(", ")
        )
    }

    /// For each arm one distribution over all its rounds.
    pub fn of_arms(&self, of: impl Fn(&Round) -> Histogram) -> Vec<Histogram> {
        let pooled = |label: &str| {
            let mut sum: Option<Histogram> = None;
            for round in self.under(label) {
                let of_round = of(round);
                match &mut sum {
                    // The layouts are the same by construction.
                    Some(sum) => drop(sum.merge(&of_round)),
                    None => sum = Some(of_round),
                }
            }
            sum.unwrap_or_else(|| Histogram::new(DEVICE))
        };
        let arms = self.result.design.arms.iter();
        arms.map(|arm| pooled(&arm.label)).collect()
    }
}
