//! What a row is judged by: the differences to the reference within each block, and the question that is asked of them. Pure.

use std::rc::Rc;

use super::conclude::is_comparable_in;
use super::controls::sight;
use super::early::ELAPSED;
use super::no_ratio;
use super::table::Table;
use crate::metric::Metric;
use crate::statistics::layout::Cell;
use crate::statistics::rows::{Judged, Row, RowBlock};
use crate::statistics::verdict::{Question, Reason};
use crate::types::result::{ArmComparison, Class, Evidence, Round};

/// The differences between an arm and the reference in one metric.
pub struct Input {
    pub metric: Metric,
    pub arm: usize,
    reference: usize,
    cells: Rc<[Cell]>,
    blocks: Vec<RowBlock>,
    question: Question,
}

/// One entry per arm that is not the reference.
pub fn inputs(table: &Table<'_>, metric: &Metric) -> Vec<Input> {
    let design = &table.result.design;
    let (cells, reference) = (Rc::from(table.cells(metric)), design.reference);
    let others = (0..design.arms.len()).filter(|arm| *arm != reference);
    others
        .map(|arm| Input {
            metric: metric.clone(),
            arm,
            reference,
            cells: Rc::clone(&cells),
            blocks: table.blocks(
                metric,
                &design.arms[arm].label,
                &design.arms[reference].label,
            ),
            question: question(table, metric, arm),
        })
        .collect()
}

impl Input {
    pub fn row(&self) -> Row<'_> {
        Row {
            arm: self.arm,
            reference: self.reference,
            cells: &self.cells,
            blocks: self.blocks.clone(),
            question: self.question,
        }
    }

    pub fn said(&self, table: &Table<'_>, mut judged: Judged, class: Class) -> ArmComparison {
        if self.metric.name == ELAPSED {
            // A time never begins in the kernel.
            for reason in &mut judged.comparison.reasons {
                if *reason == Reason::NotComparable {
                    *reason = Reason::WorkDiffers;
                }
            }
        }
        let label = |arm: usize| table.result.design.arms[arm].label.clone();
        let (arm, reference) = (label(self.arm), label(self.reference));
        ArmComparison {
            metric: self.metric.clone(),
            primary: class == Class::Primary,
            control: class == Class::Control,
            sight: (class == Class::Control).then(|| {
                let found = &judged.comparison;
                sight(table, &self.metric, found.question, found.blocks)
            }),
            arrivals: class == Class::Arrivals,
            no_ratio: no_ratio::found(table, &self.metric, (&arm, &reference), &self.blocks),
            arm_median: table.median(&arm, &self.metric),
            reference_median: table.median(&reference, &self.metric),
            arm,
            reference,
            p_adjusted: judged.p_adjusted,
            q_benjamini_hochberg: None,
            position_effect: judged.position.map(|effect| effect.by_position),
            carry_over_bias: judged.carry_over,
            comparison: judged.comparison,
            decided_after_blocks: None,
            other_adjustment: None,
            load_slopes: None,
        }
    }
}

/// The levels are set later.
fn question(table: &Table<'_>, metric: &Metric, arm: usize) -> Question {
    let design = &table.result.design;
    let label = |arm: usize| design.arms[arm].label.as_str();
    let (arm, reference) = (label(arm), label(design.reference));
    let rounds = table.side_by_side(arm, reference).concat();
    let flagged = |list: fn(&Evidence) -> &Vec<String>| {
        let is_flagged = |round: &&&Round| list(&round.evidence).contains(&metric.name);
        rounds.iter().filter(is_flagged).count() * 2 > rounds.len()
    };
    Question {
        scale: metric.scale,
        direction: metric.direction,
        margin: metric.margin,
        alpha: design.alpha,
        alpha_of_few: design.alpha,
        method: design.stopping.method(),
        insufficient_tail: flagged(|evidence| &evidence.insufficient_tail),
        fragile_percentile: flagged(|evidence| &evidence.fragile_percentile),
        not_comparable: !is_comparable_in(table, &metric.name, arm, reference)
            || (metric.name == ELAPSED && table.doubts_elapsed()),
        nothing_happened: table.is_all_zero(metric, arm, reference),
        is_stopped: table.result.is_stopped(arm),
        reference_is_silent: table.is_silent(metric, arm, reference),
    }
}
