//! Whole studies, simulated: how often the best of many cells that differ in nothing becomes a rule, and the worst fails the
//! gate.

use std::collections::BTreeMap;

use iosched_result::analysis::conclude;
use iosched_result::gate::{Decision, Rules};
use iosched_result::persist::{Wanted, decide_study};
use iosched_result::statistics::stopping::Stopping;
use iosched_result::statistics::verdict::Verdict;
use iosched_result::study::gate;
use iosched_result::study::result::{CellResult, StudyResult};
use iosched_result::study::times::Times;
use iosched_result::types::result::{ResultFile, Status};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::FULL;
use super::results::{Template, slack};

const RUNS: usize = if cfg!(debug_assertions) { 12 } else { FULL / 8 };
/// Noise of each round.
const NOISE: f64 = 0.04;

struct Cells {
    template: Template,
    rng: ChaCha8Rng,
}

impl Cells {
    fn new(arms: &[&str]) -> Cells {
        Cells {
            template: Template::new(arms, Stopping::LOOKS),
            rng: ChaCha8Rng::seed_from_u64(20_240_601),
        }
    }

    /// Carried out until it is decided; `effect` is that of arm 1.
    fn cell(&mut self, effect: f64) -> ResultFile {
        let mut result = self.template.run(&mut self.rng, |rng, turn| {
            let noise: f64 = StandardNormal.sample(rng);
            let truth = if turn.planned.arm == 1 { effect } else { 0.0 };
            let value = 1e8 * (truth + NOISE * noise).exp();
            BTreeMap::from([("throughput".to_owned(), value)])
        });
        result.comparisons = conclude::primary_comparisons(&result);
        result
    }

    fn study(&mut self, effects: &[f64]) -> StudyResult {
        let results: Vec<ResultFile> = effects.iter().map(|effect| self.cell(*effect)).collect();
        study_of(results.into_iter().enumerate(), "2026-02-03T04:05:06Z")
    }

    /// A confirming study of the cell in which the arm is most clearly better, if there is one.
    fn confirming(
        &mut self,
        study: &StudyResult,
        effects: &[f64],
        arm: &str,
    ) -> Option<StudyResult> {
        let better = |cell: &CellResult| {
            let mut rows = cell.primary();
            let row = rows.find(|row| row.arm == arm && row.comparison.verdict == Verdict::Better);
            row.and_then(|row| row.comparison.estimate)
        };
        let cells = study.cells.iter().enumerate();
        let found = cells.filter_map(|(index, cell)| Some((index, better(cell)?)));
        let (index, _) = found.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let fresh = self.cell(effects[index]);
        Some(study_of(
            [(index, fresh)].into_iter(),
            "2026-02-04T04:05:06Z",
        ))
    }
}

fn study_of(results: impl Iterator<Item = (usize, ResultFile)>, started: &str) -> StudyResult {
    let cells = results.map(|(index, result)| CellResult {
        name: format!("cell {index}"),
        expect: String::new(),
        is_placebo: false,
        placebo_of: None,
        exact: Vec::new(),
        hopeless: None,
        result,
    });
    StudyResult {
        schema: String::new(),
        schema_version: 1,
        iosched_version: String::new(),
        study: "simulated".to_owned(),
        title: String::new(),
        file: String::new(),
        quick: false,
        times: Times::default(),
        budget: None,
        status: Status::Complete,
        error: None,
        started: started.to_owned(),
        finished: Some(started.to_owned()),
        seed: 1,
        stages: Vec::new(),
        arms: Vec::new(),
        left_out: Vec::new(),
        cells: cells.collect(),
        shown: None,
    }
}

/// Whether the study leads to a rule for any arm but the reference.
fn makes_a_rule(study: &StudyResult, confirming: Option<&StudyResult>, arms: &[&str]) -> bool {
    arms[1..].iter().any(|arm| {
        let wanted = Wanted {
            arm: Some(arm),
            ..Wanted::default()
        };
        decide_study(study, confirming, wanted).is_ok()
    })
}

/// Whether it would make one if each cell were a study of its own: better in one, and worse in none.
fn would_make_one_by_cell(study: &StudyResult, arms: &[&str]) -> bool {
    arms[1..].iter().any(|arm| {
        let rows = || study.cells.iter().flat_map(CellResult::primary);
        let has = |verdict| rows().any(|row| row.arm == *arm && row.comparison.verdict == verdict);
        has(Verdict::Better) && !has(Verdict::Worse)
    })
}

/// Whether the gate on the study fails by its verdicts.
fn fails_the_gate(study: &StudyResult) -> bool {
    let judged = gate::judge(study, &[], Rules::default(), &[], &[]).expect("all of it");
    judged.decision == Decision::Failed
}

struct Found {
    by_cell: f64,
    joint: f64,
    failed_gates: f64,
    /// Where the study alone makes none: with fresh rounds of its best cell.
    confirmed: f64,
}

fn found(arms: &[&str], effects: &[f64]) -> Found {
    let mut cells = Cells::new(arms);
    let (mut by_cell, mut joint, mut confirmed, mut failed_gates) = (0, 0, 0, 0);
    for _ in 0..RUNS {
        let study = cells.study(effects);
        by_cell += usize::from(would_make_one_by_cell(&study, arms));
        failed_gates += usize::from(fails_the_gate(&study));
        let is_rule = makes_a_rule(&study, None, arms);
        joint += usize::from(is_rule);
        let mut is_confirmed = is_rule;
        for arm in &arms[1..] {
            is_confirmed = is_confirmed
                || cells
                    .confirming(&study, effects, arm)
                    .is_some_and(|fresh| makes_a_rule(&study, Some(&fresh), &[arms[0], arm]));
        }
        confirmed += usize::from(is_confirmed);
    }
    let percent = |hits: usize| 100.0 * hits as f64 / RUNS as f64;
    let found = Found {
        by_cell: percent(by_cell),
        joint: percent(joint),
        failed_gates: percent(failed_gates),
        confirmed: percent(confirmed),
    };
    println!(
        "{} cells, {} arms, best effect {:.0} %: rules {:.1} %; {:.1} % with a confirming run; {:.1} % if cells did not share a level; {:.1} % fail the gate",
        effects.len(),
        arms.len(),
        100.0 * effects.iter().fold(0.0f64, |a, b| a.max(*b)).exp_m1(),
        found.joint,
        found.confirmed,
        found.by_cell,
        found.failed_gates
    );
    found
}

#[test]
fn the_best_of_many_cells_is_no_rule() {
    for arms in [
        &["none", "bfq"][..],
        &["none", "bfq", "kyber", "mq-deadline"],
    ] {
        let null = found(arms, &[0.0; 8]);
        for found in [null.joint, null.confirmed, null.failed_gates] {
            assert!(
                found <= 3.0 + slack(3.0, RUNS),
                "{} arms: {found} %",
                arms.len()
            );
        }
    }
}

/// The cost of that where one cell of eight differs, and that fresh rounds give it back.
#[test]
fn a_true_difference_in_one_cell_is_found() {
    let mut effects = [0.0; 8];
    effects[0] = 0.1f64.ln_1p();
    let found = found(&["none", "bfq"], &effects);
    let lost = found.by_cell - found.confirmed;
    assert!(lost <= 10.0 + slack(10.0, RUNS), "{lost} points lost");
    for (power, least) in [(found.confirmed, 87.0), (found.joint, 38.0)] {
        assert!(
            power >= least - slack(least, RUNS),
            "{power} %, less than {least}"
        );
    }
}
