//! States of the disk in which cells run, one after the other: empty, half full, full. Pure.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use toml::Spanned;

use super::At;
use crate::study::axes::{Axes, Combination, Room, Scalar};

/// Each has a cell of its own.
const MOST_STAGES: usize = super::MOST_CELLS;

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageFile {
    /// `{stage}` in the names of cells; other fields of your own are `{stage.field}`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    name: Spanned<String>,
    /// Commands that make it of any state the disk may have.
    #[serde(default)]
    prepare: Vec<Vec<String>>,
    #[serde(flatten)]
    fields: BTreeMap<String, Scalar>,
}

/// Cells of one stage are interleaved; those of different stages cannot be.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    pub name: String,
    /// Commands that run before its first round, with the places of commands.
    pub prepare: Vec<Vec<String>>,
}

/// They become an axis too. `prepare`: the commands of every stage.
pub(super) fn all(
    files: &[StageFile],
    prepare: &[Vec<String>],
    (axes, room): (&mut Axes, &Room),
    at: &At<'_>,
) -> Result<Vec<Stage>> {
    let Some(first) = files.first() else {
        return Ok(vec![Stage {
            name: String::new(),
            prepare: prepare.to_vec(),
        }]);
    };
    if files.len() > MOST_STAGES {
        let what = format!("{} stages are more than {MOST_STAGES}", files.len());
        return Err(at(&first.name, what));
    }
    let added = axes.add_stages(files.iter().map(StageFile::fields));
    added.map_err(|what| at(&first.name, what))?;
    let mut stages: Vec<Stage> = Vec::new();
    for (file, values) in files.iter().zip(axes.stages(room)) {
        let name = file.name.get_ref().clone();
        if stages.iter().any(|stage| stage.name == name) {
            return Err(at(&file.name, format!("two stages have the name {name}")));
        }
        let filled = |argv: &Vec<String>| -> Result<Vec<String>, String> {
            argv.iter().map(|word| values.fill(word)).collect()
        };
        let prepare = prepare.iter().chain(&file.prepare).map(filled);
        let prepare: Result<Vec<Vec<String>>, String> = prepare.collect();
        let prepare = prepare.map_err(|what| at(&file.name, format!("the stage {name} {what}")))?;
        stages.push(Stage { name, prepare });
    }
    Ok(stages)
}

/// The index of the cell's stage. Err: the cell names none.
pub(super) fn index_of(files: &[StageFile], values: &Combination<'_>) -> Result<usize, String> {
    match values.stage() {
        Some(name) => {
            let is_it = |file: &StageFile| *file.name.get_ref() == name;
            Ok(files.iter().position(is_it).unwrap_or(0))
        }
        None if files.is_empty() => Ok(0),
        None => Err("does not name the {stage} in which it runs".to_owned()),
    }
}

impl StageFile {
    fn fields(&self) -> BTreeMap<String, Scalar> {
        let name = Scalar::Text(self.name.get_ref().clone());
        let mut fields = self.fields.clone();
        fields.insert("name".to_owned(), name);
        fields
    }
}
