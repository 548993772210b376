//! Options that take a row of a table by its name.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use iosched_result::metric;
use iosched_result::text::named::Named;

/// Help and completion list the names, with what the table says of them.
pub fn of<T: Sync>(table: &'static [Named<T>]) -> impl TypedValueParser<Value = &'static Named<T>> {
    let names = table
        .iter()
        .map(|row| PossibleValue::new(row.name).help(row.about));
    PossibleValuesParser::new(names).try_map(|name| {
        let row = table.iter().find(|row| row.name == name);
        row.ok_or_else(|| format!("there is no {name}"))
    })
}

/// The name of a metric as a result has it: a prefix that is not needed is left out.
#[allow(clippy::unnecessary_wraps)] // as clap wants it
pub fn metric_name(text: &str) -> Result<String, String> {
    Ok(metric::name_in_result(text))
}
