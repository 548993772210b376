//! A table of one dimension in Markdown: each cost as a multiple of the smallest case's, and its exponent. Pure.

use std::fmt::Write;

use crate::exponent::{exponent, median};

/// What one run of a case cost, in the order of the table's columns. None: it was not measured.
pub type Costs = Vec<Option<f64>>;

pub struct Case {
    pub size: u64,
    pub runs: Vec<Costs>,
}

pub struct Growth<'a> {
    /// What grows, as the head of the first column.
    pub dimension: &'a str,
    pub columns: &'a [Column],
    pub cases: Vec<Case>,
}

#[derive(Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

impl Column {
    pub const fn time(name: &'static str) -> Column {
        Column {
            name,
            kind: Kind::Time,
        }
    }

    pub const fn memory(name: &'static str) -> Column {
        Column {
            name,
            kind: Kind::Memory,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Depends on the machine: only ratios are shown.
    Time,
    /// In bytes; the same on every machine.
    Memory,
}

impl Growth<'_> {
    pub fn markdown(&self) -> String {
        let names = self.columns.iter().map(|column| column.name);
        let head: Vec<&str> = std::iter::once(self.dimension).chain(names).collect();
        let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
        for case in &self.cases {
            let cells = (0..self.columns.len()).map(|place| self.cell(case, place));
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(text, "| {} | {} |", case.size, cells.join(" | "));
        }
        let all = self.exponents(&self.cases);
        let last = self.exponents(&self.cases[self.cases.len().saturating_sub(2)..]);
        let _ = writeln!(text, "| exponent | {all} |");
        let _ = writeln!(text, "| of the last step | {last} |");
        text
    }

    fn exponents(&self, cases: &[Case]) -> String {
        let of = |place: usize| {
            let points = cases
                .iter()
                .map(|case| Some((case.size as f64, typical(case, place)?)));
            let points: Option<Vec<(f64, f64)>> = points.collect();
            let found = points.and_then(|points| exponent(&points));
            found.map_or_else(|| "-".to_owned(), |e| format!("{e:.2}"))
        };
        let exponents: Vec<String> = (0..self.columns.len()).map(of).collect();
        exponents.join(" | ")
    }

    fn cell(&self, case: &Case, place: usize) -> String {
        let Some(cost) = typical(case, place) else {
            return "-".to_owned();
        };
        if self.columns[place].kind == Kind::Memory {
            return format!("{:.1} MiB", cost / f64::from(1 << 20));
        }
        let Some(least) = self.cases.first().and_then(|first| typical(first, place)) else {
            return "-".to_owned();
        };
        let spread = spread(case, place).map_or_else(String::new, |(low, high)| {
            format!(" [{}, {}]", multiple(low / least), multiple(high / least))
        });
        format!("{}{spread}", multiple(cost / least))
    }
}

fn costs(case: &Case, place: usize) -> Vec<f64> {
    let found = case.runs.iter().filter_map(|run| run.get(place).copied()?);
    found.collect()
}

fn typical(case: &Case, place: usize) -> Option<f64> {
    median(costs(case, place))
}

/// The least and the most of all runs.
fn spread(case: &Case, place: usize) -> Option<(f64, f64)> {
    let costs = costs(case, place);
    let low = costs.iter().copied().reduce(f64::min)?;
    let high = costs.iter().copied().reduce(f64::max)?;
    (costs.len() > 1).then_some((low, high))
}

fn multiple(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 10.0 => format!("{ratio:.0}"),
        ratio if ratio >= 3.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}
