//! One row per round and one column per metric, for spreadsheets, R and pandas. RFC 4180. Pure.

use std::collections::BTreeSet;

use super::escape;
use crate::ab::result::{ResultFile, Round};

const FIXED: [&str; 16] = [
    "workload",
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
        results.flat_map(|result| {
            result
                .rounds
                .iter()
                .map(|round| (&*result.workload.name, round))
        })
    };
    let metrics: BTreeSet<&str> = rounds()
        .flat_map(|(_, round)| round.metrics.keys().map(String::as_str))
        .collect();
    let header = FIXED.iter().chain(&metrics).copied().map(escape::cell);
    let rows = rounds().map(|(workload, round)| {
        let values = metrics
            .iter()
            .map(|name| number(round.metrics.get(*name).copied()));
        fixed(workload, round).into_iter().chain(values).collect()
    });
    written(std::iter::once(header.collect()).chain(rows))
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

fn fixed(workload: &str, round: &Round) -> [String; FIXED.len()] {
    // The same name as in the JSON.
    let exclusion = serde_json::to_value(round.exclusion).unwrap_or_default();
    [
        escape::cell(workload),
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
    use super::{escape, written};

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
