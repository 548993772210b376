//! Reads and checks an untrusted result of a search. Pure.

use std::collections::BTreeSet;

use super::search::{self, Step};
use super::{DEFAULT, SCHEMA_VERSION, TuneResult};
use crate::analysis::turn::{self, Next};
use crate::head::Head;
use crate::read;
use crate::types::result::{Design, ResultFile, Status};

/// Why it cannot be used.
#[derive(Debug)]
pub enum UnreadableTune {
    /// The version of the schema, which is not known.
    Version(u64),
    Json(serde_json::Error),
    Inconsistent(String),
}

/// None: it is something else than the result of a search.
pub fn parse(bytes: &[u8]) -> Result<Option<TuneResult>, UnreadableTune> {
    let Some(head) = Head::of(bytes).ok().filter(|head| head.is_of("tune-")) else {
        return Ok(None);
    };
    match head.schema_version {
        Some(version) if version == u64::from(SCHEMA_VERSION) => {}
        Some(other) => return Err(UnreadableTune::Version(other)),
        None => return Ok(None),
    }
    let tune: TuneResult = serde_json::from_slice(bytes).map_err(UnreadableTune::Json)?;
    check(&tune).map_err(UnreadableTune::Inconsistent)?;
    Ok(Some(tune))
}

fn check(tune: &TuneResult) -> Result<(), String> {
    let Some(default) = tune.candidates.get(DEFAULT) else {
        return Err("it has no candidate".to_owned());
    };
    let mut labels = BTreeSet::new();
    for candidate in &tune.candidates {
        if !labels.insert(&candidate.arm.label) {
            return Err(format!(
                "two candidates are called {:?}",
                candidate.arm.label
            ));
        }
    }
    let budget_s = tune.budget_s.unwrap_or(1.0);
    if !(budget_s.is_finite() && budget_s > 0.0) {
        return Err("budget_s is no time".to_owned());
    }
    let of_stages = tune.stages.iter().map(|stage| &stage.result);
    for (index, result) in of_stages.chain(&tune.referee).enumerate() {
        check_result(tune, &default.arm.label, result)?;
        // In the order in which they were run, each once.
        if result.plan.seed != tune.seed.wrapping_add(index as u64 + 1) {
            return Err(format!("the seed of stage {} is another", index + 1));
        }
    }
    check_order(tune)
}

/// Each begins when the one before has ended, and a search is complete when nothing is left to do.
fn check_order(tune: &TuneResult) -> Result<(), String> {
    let has_ended = |result: &ResultFile| result.status == Status::Complete;
    let before = tune.stages.len() - usize::from(tune.referee.is_none() && !tune.stages.is_empty());
    if tune.stages[..before]
        .iter()
        .any(|stage| !has_ended(&stage.result))
    {
        return Err("a stage has not ended, and another has begun".to_owned());
    }
    if tune.status != Status::Complete {
        return Ok(());
    }
    let is_over = |result: &ResultFile| has_ended(result) && turn::next(result) == Next::End;
    let mut results = tune
        .stages
        .iter()
        .map(|stage| &stage.result)
        .chain(&tune.referee);
    if !results.all(is_over) || search::next(tune) != Step::End {
        return Err("it says that it is complete, and has rounds left".to_owned());
    }
    Ok(())
}

fn check_result(tune: &TuneResult, default: &str, result: &ResultFile) -> Result<(), String> {
    read::check(result)?;
    let design = &result.design;
    if design.is_placebo || design.live.is_some() {
        return Err("a stage is no comparison of candidates".to_owned());
    }
    if design.alpha.total_cmp(&Design::ALPHA).is_ne() {
        return Err(format!(
            "design.alpha is {}, not {}",
            design.alpha,
            Design::ALPHA
        ));
    }
    if design.reference != DEFAULT || design.arms[DEFAULT].label != default {
        return Err(format!("a stage does not compare with {default:?}"));
    }
    let known = |label: &str| tune.index(label).map(|index| &tune.candidates[index].arm);
    let is_other = |arm: &&crate::types::arm::Arm| {
        known(&arm.label)
            .is_none_or(|known| known.settings != arm.settings || known.scheduler != arm.scheduler)
    };
    match design.arms.iter().find(is_other) {
        Some(arm) => Err(format!("{:?} in a stage is no candidate", arm.label)),
        None => Ok(()),
    }
}
