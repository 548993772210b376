//! Reads and checks an untrusted result of a search. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{DEFAULT, SCHEMA_VERSION, TuneResult};
use crate::read;
use crate::types::result::ResultFile;

/// Why it cannot be used.
#[derive(Debug)]
pub enum UnreadableTune {
    /// The version of the schema, which is not known.
    Version(u32),
    Json(serde_json::Error),
    Inconsistent(String),
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "$schema")]
    schema: String,
    schema_version: u32,
}

/// None: it is something else than the result of a search.
pub fn parse(bytes: &[u8]) -> Result<Option<TuneResult>, UnreadableTune> {
    let is_tune = |head: &Head| head.schema.starts_with("tune-");
    let Some(head) = serde_json::from_slice(bytes).ok().filter(is_tune) else {
        return Ok(None);
    };
    if head.schema_version != SCHEMA_VERSION {
        return Err(UnreadableTune::Version(head.schema_version));
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
    for result in of_stages.chain(&tune.referee) {
        check_result(tune, &default.arm.label, result)?;
    }
    Ok(())
}

fn check_result(tune: &TuneResult, default: &str, result: &ResultFile) -> Result<(), String> {
    read::check(result)?;
    let design = &result.design;
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
