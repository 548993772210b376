//! One row per round and one column per metric, for spreadsheets, R and pandas. RFC 4180; docs/report.md lists the columns.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{escape, labels};
use crate::metric::{REPORTED, full_name};
use crate::types::result::{ResultFile, Round};

/// Columns that say on what the round was measured, see `labels`; a file of several results has rows of each.
const FROM: [&str; 5] = ["host", "device", "model", "kernel", "workload"];

const FIXED: [&str; 15] = [
    "index",
    "block",
    "attempt",
    "position",
    "arm",
    "scheduler",
    "workload_seed",
    "started",
    "window_s",
    "foreign_share",
    "lost_events",
    "busy_share",
    "steal_share",
    "exclusion",
    "problem",
];

/// All rounds of all results.
pub fn render(results: &[&ResultFile]) -> String {
    let rounds = || {
        let results = results.iter();
        results.flat_map(|result| result.rounds.iter().map(move |round| (*result, round)))
    };
    let names = |of: fn(&Round) -> &BTreeMap<String, f64>| -> BTreeSet<&str> {
        let all = rounds().flat_map(|(_, round)| of(round).keys());
        all.map(String::as_str).collect()
    };
    let measured = names(|round| &round.metrics);
    let reported = names(|round| &round.reported);
    let own = FROM.iter().chain(&FIXED);
    let own_and_measured = own.chain(&measured).map(|name| escape::cell(name));
    let header = own_and_measured.chain(reported.iter().map(|name| escape::cell(&column(name))));
    let rows = rounds().map(|(result, round)| {
        let of_round = measured.iter().map(|name| round.metrics.get(*name));
        let values = of_round.chain(reported.iter().map(|name| round.reported.get(*name)));
        let values = values.map(|value| number(value.copied()));
        let own = from(result).into_iter().chain(fixed(round));
        own.chain(values).collect()
    });
    written(std::iter::once(header.collect()).chain(rows))
}

/// A reported metric may be called like any other column.
fn column(reported: &str) -> String {
    if FROM.iter().chain(&FIXED).any(|name| *name == reported) {
        format!("{REPORTED}{reported}")
    } else {
        full_name(reported)
    }
}

/// Writes rows of cells that are escaped already.
fn written(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row)
            .expect("rows of one length, written to memory");
    }
    let bytes = writer.into_inner().expect("memory");
    String::from_utf8(bytes).expect("made of strings")
}

/// An empty cell where it is not known.
fn from(result: &ResultFile) -> [String; FROM.len()] {
    let known: BTreeMap<&str, String> = labels::series(result)
        .into_iter()
        .chain(labels::circumstances(result))
        .collect();
    FROM.map(|name| {
        known
            .get(name)
            .map_or(String::new(), |text| escape::cell(text))
    })
}

fn fixed(round: &Round) -> [String; FIXED.len()] {
    // The same name as in the JSON.
    let exclusion = serde_json::to_value(round.exclusion).unwrap_or_default();
    [
        round.index.to_string(),
        round.block.to_string(),
        round.attempt.to_string(),
        round.position.to_string(),
        escape::cell(&round.arm),
        escape::cell(&round.scheduler),
        round.workload_seed.to_string(),
        escape::cell(&round.started),
        number(Some(round.window_s)),
        number(round.foreign_share),
        round.lost_events.to_string(),
        number(round.busy_share),
        number(round.steal_share),
        exclusion.as_str().unwrap_or_default().to_owned(),
        escape::cell(round.problem.as_deref().unwrap_or_default()),
    ]
}

/// An empty cell where there is no value.
fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::{escape, render, written};
    use crate::report::fixture;

    #[test]
    fn no_two_columns_have_one_name() {
        let mut result = fixture::sample();
        for round in &mut result.rounds {
            for name in ["position", "host", "throughput", "tps"] {
                round.reported.insert(name.to_owned(), 7.0);
            }
        }
        let text = render(&[&result]);
        let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
        for (name, count) in [
            ("position", 1),
            ("throughput", 1),
            ("tps", 1),
            ("host", 1),
            ("reported:position", 1),
            ("reported:host", 1),
            ("reported:throughput", 1),
            ("reported:tps", 0),
        ] {
            let found = header.iter().filter(|column| **column == name);
            assert_eq!(found.count(), count, "{name}");
        }
    }

    #[test]
    fn only_what_needs_quotes_has_them() {
        for (text, expected) in [
            ("mq-deadline", "mq-deadline"),
            ("a=bfq,x/y=1", "\"a=bfq,x/y=1\""),
            ("=1,\n2", "\"'=1,?2\""),
            ("said \"no\"", "\"said \"\"no\"\"\""),
        ] {
            let row = vec![escape::cell(text), String::new()];
            assert_eq!(written([row].into_iter()), format!("{expected},\r\n"));
        }
    }
}
