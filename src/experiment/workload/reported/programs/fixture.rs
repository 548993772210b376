//! Real output of programs, in tests/data/commands.

use std::collections::BTreeMap;

use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use crate::workload::reported::pattern::NoValue;

pub fn text(name: &str) -> String {
    let path = format!(
        "{}/../../tests/data/commands/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// On standard output.
pub fn stdout(text: &str) -> Printed {
    Printed {
        stdout: text.to_owned(),
        ..Printed::default()
    }
}

/// On standard error.
pub fn stderr(text: &str) -> Printed {
    Printed {
        stderr: text.to_owned(),
        ..Printed::default()
    }
}

/// The report of a program in this output.
pub fn parse(program: &str, printed: &Printed) -> Result<Found, String> {
    let program = super::find(program).expect("a known program");
    super::read(program, printed).map_err(|(NoValue::Absent(why) | NoValue::Misread(why))| why)
}

/// Why the run ends, if it has several reports.
#[track_caller]
pub fn misread(program: &str, printed: &Printed) -> String {
    let program = super::find(program).expect("a known program");
    match super::read(program, printed) {
        Err(NoValue::Misread(why)) => why,
        other => panic!("{}: {other:?}", program.name),
    }
}

/// Its metrics by their names without the program's, each with its unit.
pub fn metrics(found: &Found) -> BTreeMap<&str, (f64, &str)> {
    let metrics = found.metrics.iter();
    metrics
        .map(|metric| {
            let name = metric.name.split_once('.').expect("a prefix").1;
            (name, (metric.value, metric.unit.as_str()))
        })
        .collect()
}

pub fn headlines(found: &Found) -> Vec<&str> {
    let metrics = found.metrics.iter().filter(|metric| metric.is_headline);
    metrics.map(|metric| metric.name.as_str()).collect()
}
