//! A gate on a study: every cell is held to the rules. Pure.

use super::result::{CellResult, StudyResult};
use crate::gate::{self, Decision, Judgement, Mode, Rules, Selection, Unknown};
use crate::statistics::verdict::Verdict;
use crate::types::result::ResultFile;

pub struct StudyJudgement<'a> {
    /// By cell that compares arms and has a selected comparison.
    pub cells: Vec<(&'a CellResult, Judgement)>,
    /// Counts that are not what the study asserts, in words.
    pub broken: Vec<String>,
    pub decision: Decision,
    /// How many cells share the level of the verdicts, so that all of them hold together.
    pub sharing: usize,
}

/// Err: a metric or an arm that no cell compares.
pub fn judge<'a>(
    study: &'a StudyResult,
    baselines: &[(String, StudyResult)],
    rules: Rules,
    metrics: &[String],
    arms: &[String],
) -> Result<StudyJudgement<'a>, Unknown> {
    if let Some(name) = metrics.iter().find(|name| !is_anywhere(study, name)) {
        return Err(Unknown {
            what: "metric",
            name: name.clone(),
            known: all_metrics(study),
        });
    }
    let sharing = sharing(study, rules);
    let mut cells = Vec::new();
    for cell in study.compared() {
        let own: Vec<String> = own_metrics(&cell.result, metrics);
        if own.is_empty() && !metrics.is_empty() {
            continue;
        }
        let result = gate::redrawn(&cell.result, sharing);
        let selection = Selection::new(&result, &own, arms)?;
        let earlier: Vec<(String, ResultFile)> = baselines
            .iter()
            .filter_map(|(name, baseline)| {
                let mut same = baseline.compared().filter(|it| it.name == cell.name);
                Some((name.clone(), gate::redrawn(&same.next()?.result, 1)))
            })
            .collect();
        let judgement = match earlier.len() {
            found if found == baselines.len() => gate::judge(&result, &earlier, rules, selection),
            found => undecidable(
                gate::judge(&result, &[], rules, selection),
                format!(
                    "{} of the baselines have no such cell",
                    baselines.len() - found
                ),
            ),
        };
        let judgement = match cut(study, &cell.name) {
            Some(blocks) if judgement.decision == Decision::Passed => {
                undecidable(judgement, was_over(blocks))
            }
            _ => judgement,
        };
        cells.push((cell, judgement));
    }
    let broken = broken(study);
    Ok(StudyJudgement {
        decision: if broken.is_empty() {
            decision(study, &cells)
        } else {
            Decision::Failed
        },
        broken,
        cells,
        sharing,
    })
}

/// How many cells share the level: one that fails fails them all, so of forty equal cells one or two would. All of them must
/// be non-inferior to pass; there each keeps its own.
fn sharing(study: &StudyResult, rules: Rules) -> usize {
    match rules.mode {
        Mode::Worse | Mode::BeyondMargin => study.compared().count(),
        Mode::Noninferior => 1,
    }
}

/// Whatever metrics and arms are selected: a count that cannot be wrong makes the rest doubtful.
fn broken(study: &StudyResult) -> Vec<String> {
    let cells = study.compared();
    let broken = cells.flat_map(|cell| {
        let broken = cell.exact.iter().filter(|it| it.is_broken());
        broken.map(|it| format!("{}: {}", cell.name, it.sentence()))
    });
    broken.collect()
}

/// The blocks of a cell that ended before its last one. That too few blocks show nothing is no pass.
fn cut(study: &StudyResult, cell: &str) -> Option<usize> {
    let mut cut = study.budget.iter().flat_map(|budget| &budget.cut);
    cut.find(|it| it.cell == cell).map(|it| it.blocks)
}

fn was_over(blocks: usize) -> String {
    format!("the time of --budget was over after {blocks} blocks")
}

fn undecidable(judgement: Judgement, why: String) -> Judgement {
    Judgement {
        decision: Decision::Incomparable(vec![why]),
        checks: Vec::new(),
        ..judgement
    }
}

fn own_metrics(result: &ResultFile, wanted: &[String]) -> Vec<String> {
    let has = |name: &&String| result.design.primary.iter().any(|it| it.name == **name);
    wanted.iter().filter(has).cloned().collect()
}

fn is_anywhere(study: &StudyResult, name: &str) -> bool {
    all_metrics(study).iter().any(|known| known == name)
}

fn all_metrics(study: &StudyResult) -> Vec<String> {
    let mut all = Vec::new();
    for metric in study
        .compared()
        .flat_map(|cell| &cell.result.design.primary)
    {
        if !all.contains(&metric.name) {
            all.push(metric.name.clone());
        }
    }
    all
}

/// The gravest of all cells. What was shown counts before what is missing, and a reference that differs from itself
/// takes a pass away.
fn decision(study: &StudyResult, cells: &[(&CellResult, Judgement)]) -> Decision {
    let gravity = |decision: &Decision| match decision {
        Decision::Failed => 4,
        Decision::Invalid(_) => 3,
        Decision::Incomparable(_) => 2,
        Decision::Undecided => 1,
        Decision::Passed => 0,
    };
    let named = cells
        .iter()
        .map(|(cell, judgement)| match &judgement.decision {
            Decision::Invalid(why) => Decision::Invalid(format!("{}: {why}", cell.name)),
            Decision::Incomparable(why) => {
                Decision::Incomparable(vec![format!("{}: {}", cell.name, why.join("; "))])
            }
            other => other.clone(),
        });
    let placebo = placebo_differs(study).or_else(|| placebo_is_cut(study));
    let placebo = placebo.map(|why| Decision::Incomparable(vec![why]));
    named
        .chain(placebo)
        .max_by_key(gravity)
        .unwrap_or(Decision::Undecided)
}

fn placebo_differs(study: &StudyResult) -> Option<String> {
    let cell = study.cells.iter().find(|cell| cell.is_placebo)?;
    let differs = cell.primary().find(|row| {
        row.comparison.beyond_margin && row.comparison.verdict != Verdict::Equivalent
    })?;
    Some(format!(
        "{}: the reference against itself differs in {} by more than its margin",
        cell.name, differs.metric.name
    ))
}

/// A control that has ended early has not shown that the machine is calm.
fn placebo_is_cut(study: &StudyResult) -> Option<String> {
    let cell = study.cells.iter().find(|cell| cell.is_placebo)?;
    let blocks = cut(study, &cell.name)?;
    Some(format!("{}: {}", cell.name, was_over(blocks)))
}
