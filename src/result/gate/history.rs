//! When the level of a comparison changed in a series of runs. Pure.

use super::worse_margin;
use crate::statistics::change_point::{change_points, shift};
use crate::statistics::estimate::{self, ConfidenceInterval};
use crate::statistics::verdict::{Question, Verdict};

/// Minimum number of baselines for a history.
pub const HISTORY: usize = 8;

/// A comparison in an earlier result.
#[derive(Clone, Debug)]
pub struct Run {
    pub name: String,
    /// RFC 3339 in UTC, so that the order as text is the order in time.
    pub started: String,
    pub value: f64,
}

impl Run {
    pub fn new(name: &str, started: &str, value: f64) -> Run {
        Run {
            name: name.to_owned(),
            started: started.to_owned(),
            value,
        }
    }
}

/// A change of the level since an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelChange {
    /// The first run with the new level.
    pub since: String,
    pub started: String,
    /// Number of runs before and since the change; the judged run is the last of the latter.
    pub runs_before: usize,
    pub runs_since: usize,
    /// Change of the mean, on the metric's scale.
    pub change: f64,
    pub interval: ConfidenceInterval,
    pub verdict: Verdict,
    /// Worse, and the whole interval lies beyond the margin.
    pub worse_beyond_margin: bool,
    /// The judged run is nearer to the other runs since the change than to those before it.
    pub is_of_this_run: bool,
}

/// The last change of the level in at least [`HISTORY`] runs and the new run, which comes last.
pub fn last_change(history: &[Run], new: f64, question: Question) -> Option<LevelChange> {
    if history.len() < HISTORY {
        return None;
    }
    let mut runs: Vec<&Run> = history.iter().collect();
    runs.sort_by(|a, b| a.started.cmp(&b.started));
    let values: Vec<f64> = runs.iter().map(|run| run.value).chain([new]).collect();
    let changes = change_points(&values);
    let at = *changes.last()?;
    let begin = changes.iter().rev().nth(1).copied().unwrap_or(0);
    let (before, since) = (&values[begin..at], &values[at..]);
    let (change, interval) = shift(before, since)?;
    let old_level = estimate::mean(before)?;
    let new_level = estimate::mean(&since[..since.len() - 1])?;
    let first = runs.get(at)?;
    let verdict = question.judge(interval);
    let (_, best) = question.direction.worst_and_best(interval);
    Some(LevelChange {
        since: first.name.clone(),
        started: first.started.clone(),
        runs_before: before.len(),
        runs_since: since.len(),
        change,
        interval,
        verdict,
        worse_beyond_margin: verdict == Verdict::Worse && best < -worse_margin(question),
        is_of_this_run: (new - new_level).abs() < (new - old_level).abs(),
    })
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
