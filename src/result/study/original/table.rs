//! The figures of an original, read from CSV. Pure.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};

use crate::failure::Failure;

/// Every line of `text` as a row. `file` names it in errors.
pub fn parse<Row: DeserializeOwned>(file: &str, text: &str) -> anyhow::Result<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| at_line(file, 1, &e))?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let line_of = |place: Option<&csv::Position>| place.map_or(0, csv::Position::line);
        let record = record.map_err(|e| at_line(file, line_of(e.position()), &e))?;
        let row = record.deserialize(Some(&headers));
        rows.push(row.map_err(|e| at_line(file, line_of(record.position()), &e))?);
    }
    Ok(rows)
}

fn at_line(file: &str, line: u64, error: &csv::Error) -> anyhow::Error {
    let cause = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("{len} fields instead of {expected_len}"),
        _ => error.to_string(),
    };
    Failure::invalid(format!("{file}, line {line}: {cause}"), "")
}

/// A number that has a logarithm.
pub fn positive<'de, D: serde::Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(input)?;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("{value} is not positive")))
    }
}

/// As [`positive`]; an empty field is none.
pub fn positive_or_empty<'de, D: serde::Deserializer<'de>>(
    input: D,
) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(input)? {
        Some(value) if !value.is_finite() || value <= 0.0 => {
            Err(D::Error::custom(format!("{value} is not positive")))
        }
        value => Ok(value),
    }
}

/// One value per scheduler, block and column. The names are in the order of the file.
pub struct Table {
    file: &'static str,
    cells: HashMap<(String, String, String), f64>,
    pub schedulers: Vec<String>,
    pub blocks: Vec<String>,
    pub columns: Vec<String>,
}

pub struct Cell {
    pub scheduler: String,
    pub block: String,
    pub column: String,
    pub value: f64,
}

impl Table {
    pub fn of(file: &'static str, cells: impl Iterator<Item = Cell>) -> anyhow::Result<Table> {
        let mut table = Table {
            file,
            cells: HashMap::new(),
            schedulers: Vec::new(),
            blocks: Vec::new(),
            columns: Vec::new(),
        };
        for cell in cells {
            append(&mut table.schedulers, &cell.scheduler);
            append(&mut table.blocks, &cell.block);
            append(&mut table.columns, &cell.column);
            let key = (cell.scheduler, cell.block, cell.column);
            if table.cells.contains_key(&key) {
                let (scheduler, block, column) = key;
                let what = format!("{file}: two values of {scheduler} for {block}, {column}");
                return Err(Failure::invalid(what, ""));
            }
            table.cells.insert(key, cell.value);
        }
        Ok(table)
    }

    pub fn value(&self, scheduler: &str, block: &str, column: &str) -> anyhow::Result<f64> {
        let key = (scheduler.to_owned(), block.to_owned(), column.to_owned());
        let missing = || {
            let file = self.file;
            Failure::invalid(
                format!("{file}: no value of {scheduler} for {block}, {column}"),
                "",
            )
        };
        self.cells.get(&key).copied().ok_or_else(missing)
    }

    /// All values in a column.
    pub fn column(&self, column: &str) -> Vec<f64> {
        let of_column = self.cells.iter().filter(|(key, _)| key.2 == column);
        of_column.map(|(_, value)| *value).collect()
    }
}

fn append(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|other| other == name) {
        names.push(name.to_owned());
    }
}
