//! All comparisons of an experiment: differences are adjusted for position effects, checked for carry-over, and share
//! one level. Pure.

use std::collections::BTreeMap;

use super::carry_over::{CarryOver, Contrast};
use super::censored;
use super::estimate;
use super::family::{Joint, Member};
use super::layout::{Cell, PositionEffect};
use super::leftover::Leftover;
use super::signed_rank::Difference;
use super::verdict::{self, Comparison, Question, bonferroni};

/// An arm against the reference in one metric.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    pub arm: usize,
    pub reference: usize,
    /// Cells of all arms in this metric.
    pub cells: &'a [Cell],
    /// Blocks in which both arms took part.
    pub blocks: Vec<RowBlock>,
    /// Its levels are filled in here.
    pub question: Question,
}

#[derive(Clone, Copy, Debug)]
pub struct RowBlock {
    pub block: usize,
    pub difference: Option<Difference>,
    /// Positions of the arm and of the reference.
    pub positions: (usize, usize),
    /// The arms before the round of the arm and before that of the reference.
    pub before: (Option<usize>, Option<usize>),
}

impl Row<'_> {
    fn until(&self, end: usize) -> Row<'_> {
        let before = self.blocks.iter().filter(|of| of.block < end);
        Row {
            blocks: before.copied().collect(),
            ..*self
        }
    }
}

/// The result of a row.
#[derive(Clone, Debug)]
pub struct Judged {
    pub comparison: Comparison,
    /// Adjusted for the whole family at this look. None for a row outside the family.
    pub p_adjusted: Option<f64>,
    /// Present when positions differ; the differences were then adjusted by these effects.
    pub position: Option<PositionEffect>,
    /// Bias of the estimate due to the preceding rounds.
    pub carry_over: Option<Contrast>,
}

/// The rows of a family share `level`. Each is judged as the family stood at the row's last block, so the verdict of an
/// arm that no longer takes part does not change.
pub fn judge_family(rows: &[Row<'_>], level: f64) -> Vec<Judged> {
    let at: Vec<(usize, usize)> = rows.iter().map(end_of).enumerate().collect();
    judge_at(rows, &at, level)
}

/// Each of these rows as the family stood before that block.
pub fn judge_at(rows: &[Row<'_>], at: &[(usize, usize)], level: f64) -> Vec<Judged> {
    let share = bonferroni(level, rows.len());
    let mut families: BTreeMap<usize, (Vec<Prepared>, Joint)> = BTreeMap::new();
    let judged = at.iter().map(|(index, end)| {
        let (prepared, joint) = families
            .entry(*end)
            .or_insert_with(|| family_at(rows, *end));
        let question = Question {
            alpha: joint.level(level),
            alpha_of_few: share,
            ..rows[*index].question
        };
        let mut found = prepared[*index].judged(question);
        found.p_adjusted = found.comparison.p.map(|p| joint.adjusted(p));
        found
    });
    judged.collect()
}

/// All rows, with the blocks before `end` alone.
fn family_at(rows: &[Row<'_>], end: usize) -> (Vec<Prepared>, Joint) {
    let then: Vec<Row<'_>> = rows.iter().map(|row| row.until(end)).collect();
    let mut prepared: Vec<Prepared> = then.iter().map(Prepared::of).collect();
    bound_from_other_rows(&then, &mut prepared);
    let joint = Joint::of(prepared.iter().map(Prepared::member).collect());
    (prepared, joint)
}

/// Judges a row outside the family.
pub fn judge_alone(row: &Row<'_>, alpha: f64) -> Judged {
    let question = Question {
        alpha,
        alpha_of_few: alpha,
        ..row.question
    };
    let mut prepared = [Prepared::of(row)];
    bound_from_other_rows(std::slice::from_ref(row), &mut prepared);
    prepared[0].judged(question)
}

/// The block after its last one.
pub fn end_of(row: &Row<'_>) -> usize {
    row.blocks.last().map_or(0, |last| last.block + 1)
}

/// Where rounds have no value, too few are left to estimate the carry-over of a row. What its arm leaves behind in any
/// other row is the bound; without one nothing is assumed, because it could not explain a round without a value.
fn bound_from_other_rows(rows: &[Row<'_>], prepared: &mut [Prepared]) {
    let known: Vec<(usize, Contrast)> = rows
        .iter()
        .zip(&*prepared)
        .filter_map(|(row, own)| match own.leftover {
            Leftover::Bias(bias) => Some((row.arm, bias)),
            _ => None,
        })
        .collect();
    for (row, own) in rows.iter().zip(prepared) {
        if !matches!(own.leftover, Leftover::Unknown) || !censored::is_any(row) {
            continue;
        }
        let of_arm = known.iter().filter(|(arm, _)| *arm == row.arm);
        let widest = of_arm.max_by(|a, b| a.1.estimate.abs().total_cmp(&b.1.estimate.abs()));
        own.leftover = widest.map_or(Leftover::Nothing, |(_, bias)| Leftover::Bias(*bias));
    }
}

/// A row's differences, adjusted for positions.
struct Prepared {
    /// Block and difference.
    differences: Vec<(usize, Option<Difference>)>,
    position: Option<PositionEffect>,
    leftover: Leftover,
}

impl Prepared {
    fn of(row: &Row<'_>) -> Prepared {
        let end = end_of(row);
        let before = row.cells.iter().filter(|cell| cell.block < end);
        let cells: Vec<Cell> = before.copied().collect();
        let position = PositionEffect::of(&cells).filter(PositionEffect::is_evident);
        let leftover = match CarryOver::of(&cells) {
            _ if censored::may_be_caused_by_what_ran_before(row) => Leftover::Censored,
            Some(found) => Leftover::Bias(found.bias(&cells, row.arm, row.reference)),
            None if cells.iter().any(|cell| cell.before[0].is_some()) => Leftover::Unknown,
            None => Leftover::Nothing,
        };
        let plain = row.blocks.iter().map(|b| (b.block, b.difference));
        let differences = match &position {
            Some(effect) => adjusted(row, effect),
            None => plain.collect(),
        };
        Prepared {
            differences,
            position,
            leftover,
        }
    }

    fn member(&self) -> Member {
        let blocks = self.differences.iter();
        let finite = blocks.filter_map(|(block, d)| Some((*block, (*d)?.finite()?)));
        finite.collect()
    }

    fn judged(&self, question: Question) -> Judged {
        let d: Vec<Option<Difference>> = self.differences.iter().map(|(_, d)| *d).collect();
        Judged {
            comparison: verdict::compare(&d, question, self.leftover),
            p_adjusted: None,
            position: self.position.clone(),
            carry_over: match self.leftover {
                Leftover::Bias(bias) => Some(bias),
                Leftover::Nothing | Leftover::Unknown | Leftover::Censored => None,
            },
        }
    }
}

/// The differences minus the position effects. Their spread is increased for the uncertainty of that estimate: it used
/// degrees of freedom, and unequal positions of arm and reference are partly confounded with the arm.
fn adjusted(row: &Row<'_>, effect: &PositionEffect) -> Vec<(usize, Option<Difference>)> {
    let less = |block: &RowBlock| {
        let off = effect.of_pair(block.positions);
        block.difference.map(|d| Difference {
            lower: d.lower - off,
            upper: d.upper - off,
        })
    };
    let plain: Vec<(usize, Option<Difference>)> =
        row.blocks.iter().map(|b| (b.block, less(b))).collect();
    let finite: Vec<f64> = plain.iter().filter_map(|(_, d)| (*d)?.finite()).collect();
    let (Some(centre), n) = (estimate::hodges_lehmann(&finite), finite.len() as f64) else {
        return plain;
    };
    let told_apart = 1.0 - confounded(row);
    if n < 3.0 || told_apart < 0.01 {
        return row.blocks.iter().map(|b| (b.block, b.difference)).collect();
    }
    let factor = (n / (n - 2.0) / told_apart).sqrt();
    let spread = |x: f64| {
        if x.is_finite() {
            centre + (x - centre) * factor
        } else {
            x
        }
    };
    let wider = |d: Difference| Difference {
        lower: spread(d.lower),
        upper: spread(d.upper),
    };
    plain
        .into_iter()
        .map(|(block, d)| (block, d.map(wider)))
        .collect()
}

/// How much of the contrast between arm and reference is confounded with position: 0 when both had each position
/// equally often, 1 when position and arm coincide.
fn confounded(row: &Row<'_>) -> f64 {
    let positions = row
        .blocks
        .iter()
        .map(|b| b.positions.0.max(b.positions.1) + 1);
    let positions = positions.max().unwrap_or(0);
    let mut share = 0.0;
    for place in 0..positions {
        let arm = row.blocks.iter().filter(|b| b.positions.0 == place).count() as f64;
        let reference = row.blocks.iter().filter(|b| b.positions.1 == place).count() as f64;
        if arm + reference > 0.0 {
            share += (arm - reference).powi(2) / (arm + reference);
        }
    }
    share / (2 * row.blocks.len().max(1)) as f64
}
