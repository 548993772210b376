//! Reads and checks an untrusted result of a study. Pure.

use super::result::{SCHEMA_VERSION, StudyResult};
use super::schema1;
use crate::head::Head;
use crate::read;

/// Why the result of a study cannot be used.
#[derive(Debug)]
pub enum UnreadableStudy {
    /// The version of the schema, which is not known.
    Version(u64),
    Json(serde_json::Error),
    Inconsistent {
        cell: String,
        why: String,
    },
}

/// None: it is something else than the result of a study.
pub fn parse(bytes: &[u8]) -> Result<Option<StudyResult>, UnreadableStudy> {
    let Some(head) = Head::of(bytes).ok().filter(|head| head.is_of("study-")) else {
        return Ok(None);
    };
    let Some(version) = head.schema_version else {
        return Ok(None);
    };
    let study: StudyResult = match u32::try_from(version) {
        Ok(SCHEMA_VERSION) => serde_json::from_slice(bytes),
        Ok(schema1::VERSION) => schema1::parse(bytes),
        _ => return Err(UnreadableStudy::Version(version)),
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
