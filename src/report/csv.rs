//! A row per round, a column per metric: for spreadsheets, R and pandas. RFC 4180. Pure.

use std::collections::BTreeSet;

use super::escape;
use super::result::{ResultFile, Round};

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

pub fn render(result: &ResultFile) -> String {
    let rounds = result.rounds.iter();
    let metrics: BTreeSet<&str> = rounds
        .flat_map(|round| round.metrics.keys().map(String::as_str))
        .collect();
    let header = FIXED.iter().chain(&metrics).map(|name| quoted(name));
    let mut text = header.collect::<Vec<_>>().join(",") + "\r\n";
    for round in &result.rounds {
        let values = metrics
            .iter()
            .map(|name| number(round.metrics.get(*name).copied()));
        let row: Vec<String> = fixed(round).into_iter().chain(values).collect();
        text += &(row.join(",") + "\r\n");
    }
    text
}

fn fixed(round: &Round) -> [String; FIXED.len()] {
    // As the JSON names it.
    let exclusion = serde_json::to_value(round.exclusion).unwrap_or_default();
    [
        round.index.to_string(),
        round.block.to_string(),
        round.attempt.to_string(),
        round.position.to_string(),
        quoted(&round.arm),
        quoted(&round.scheduler),
        round.workload_seed.to_string(),
        quoted(&round.started),
        number(Some(round.window_s)),
        number(round.foreign_share),
        round.lost_events.to_string(),
        number(round.busy_share),
        number(round.steal_share),
        exclusion.as_str().unwrap_or_default().to_owned(),
        quoted(round.problem.as_deref().unwrap_or_default()),
    ]
}

/// Empty where there is none.
fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn quoted(text: &str) -> String {
    let text = escape::cell(text);
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_what_needs_quotes_has_them() {
        assert_eq!(quoted("mq-deadline"), "mq-deadline");
        assert_eq!(quoted("a=bfq,x/y=1"), "\"a=bfq,x/y=1\"");
        assert_eq!(quoted("=1,\n2"), "\"'=1,?2\"");
        assert_eq!(quoted("said \"no\""), "\"said \"\"no\"\"\"");
    }
}
