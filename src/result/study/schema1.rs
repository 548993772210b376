//! Reads the result of a study of schema 1, whose cells are results of schema 2. Pure.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::result::{CellResult, SCHEMA, SCHEMA_VERSION, StudyResult};
use crate::read::schema2::Converted;

/// The version that is read here.
pub const VERSION: u32 = 1;

#[derive(Deserialize)]
struct File {
    cells: Vec<Cell>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Cell {
    result: Converted,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A result of that version as one of this version.
pub fn parse(bytes: &[u8]) -> serde_json::Result<StudyResult> {
    let File { cells, mut rest } = serde_json::from_slice(bytes)?;
    rest.insert("cells".to_owned(), Value::Array(Vec::new()));
    let mut study: StudyResult = serde_json::from_value(Value::Object(rest))?;
    SCHEMA.clone_into(&mut study.schema);
    study.schema_version = SCHEMA_VERSION;
    study.cells = cells
        .into_iter()
        .map(Cell::read)
        .collect::<Result<_, _>>()?;
    Ok(study)
}

/// The fields of a cell that are not its result.
#[derive(Deserialize)]
struct About {
    name: String,
    expect: String,
    is_placebo: bool,
    #[serde(default)]
    placebo_of: Option<String>,
    #[serde(default)]
    exact: Vec<super::exact::Counted>,
    hopeless: Option<String>,
}

impl Cell {
    fn read(self) -> serde_json::Result<CellResult> {
        let about: About = serde_json::from_value(Value::Object(self.rest))?;
        Ok(CellResult {
            name: about.name,
            expect: about.expect,
            is_placebo: about.is_placebo,
            placebo_of: about.placebo_of,
            exact: about.exact,
            hopeless: about.hopeless,
            result: self.result.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;
    use crate::report::fixture;

    #[test]
    fn the_cells_of_an_old_study_are_read() {
        let text = include_str!("../../../tests/data/report/result-of-schema-2.json");
        let old: Value = serde_json::from_str(text).expect("JSON");
        let new = fixture::study(vec![read::parse(text.as_bytes()).expect("a result")]);
        let mut file = serde_json::to_value(&new).expect("JSON");
        file["schema_version"] = VERSION.into();
        file["cells"][0]["result"] = old;
        let read = parse(&serde_json::to_vec(&file).expect("JSON")).expect("a study");
        assert_eq!(read.cells, new.cells);
        assert_eq!(read.schema_version, SCHEMA_VERSION);
    }
}
