//! Reads and checks an untrusted result of a study. Pure.

use serde::Deserialize;

use super::result::{SCHEMA_VERSION, StudyResult};
use super::schema1;
use crate::read;

/// Why the result of a study cannot be used.
#[derive(Debug)]
pub enum UnreadableStudy {
    /// The version of the schema, which is not known.
    Version(u32),
    Json(serde_json::Error),
    Inconsistent {
        cell: String,
        why: String,
    },
}

/// Fields that tell one result from another.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "$schema")]
    schema: String,
    schema_version: u32,
}

/// None: it is something else than the result of a study.
pub fn parse(bytes: &[u8]) -> Result<Option<StudyResult>, UnreadableStudy> {
    let is_study = |head: &Head| head.schema.starts_with("study-");
    let Some(head) = serde_json::from_slice(bytes).ok().filter(is_study) else {
        return Ok(None);
    };
    let study: StudyResult = match head.schema_version {
        SCHEMA_VERSION => serde_json::from_slice(bytes),
        schema1::VERSION => schema1::parse(bytes),
        other => return Err(UnreadableStudy::Version(other)),
    }
    .map_err(UnreadableStudy::Json)?;
    for cell in &study.cells {
        read::check(&cell.result).map_err(|why| UnreadableStudy::Inconsistent {
            cell: cell.name.clone(),
            why,
        })?;
    }
    Ok(Some(study))
}
