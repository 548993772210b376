//! How many runs of fio there are in an output: with `--status-interval`, fio prints a document every few seconds, of which
//! the last has everything. Pure.

use serde_json::Value;

use crate::workload::fio_result;

/// By how much the times of two documents may disagree: fio counts a job's time in steps of its own clock.
const SAME_RUN_MS: f64 = 250.0;

/// The output from its last document on. Err: there are several runs.
pub fn only_run(text: &str) -> Result<&str, String> {
    let starts = starts(text);
    let documents = starts.iter().enumerate().map(|(index, start)| {
        let end = starts.get(index + 1).map_or(text.len(), |next| next.1);
        (start.0, &text[start.1..end])
    });
    let documents: Vec<(usize, &str)> = documents.collect();
    for pair in documents.windows(2) {
        if !is_continued(pair[0].1, pair[1].1) {
            return Err(format!(
                "it has {} reports, which begin in lines {} and {} of standard output; print one, or name the number with \
                 --metric-regex",
                documents.len(),
                pair[0].0,
                pair[1].0
            ));
        }
    }
    // Text before the only document explains why there is no other.
    Ok(match &documents[..] {
        [.., _, (_, last)] => last,
        _ => text,
    })
}

/// The lines that are exactly `{`: their numbers, and where they start.
fn starts(text: &str) -> Vec<(usize, usize)> {
    let mut start = 0;
    let mut found = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "{" {
            found.push((index + 1, start));
        }
        start += line.len();
    }
    found
}

/// Values by which two documents of one run are known.
struct State {
    names: Vec<String>,
    bytes: f64,
    runtime_ms: f64,
    printed_ms: f64,
}

/// Whether the second document is of the same run, later: the same jobs have run for as long as lies between the two.
fn is_continued(first: &str, second: &str) -> bool {
    let (Some(first), Some(second)) = (state(first), state(second)) else {
        return false;
    };
    let between_ms = second.printed_ms - first.printed_ms;
    let ran_ms = second.runtime_ms - first.runtime_ms;
    first.names == second.names
        && first.bytes <= second.bytes
        && (0.0..=between_ms + SAME_RUN_MS).contains(&ran_ms)
        && between_ms - ran_ms <= SAME_RUN_MS
}

fn state(document: &str) -> Option<State> {
    let report = fio_result::parse(document.as_bytes()).ok()?;
    let directions = || report.jobs.iter().flat_map(|job| job.result.directions());
    Some(State {
        names: report
            .jobs
            .iter()
            .map(|job| job.result.name.clone())
            .collect(),
        bytes: directions().map(|of| of.bytes as f64).sum(),
        runtime_ms: directions()
            .map(|of| of.runtime_ms as f64)
            .fold(0.0, f64::max),
        printed_ms: report.summary.get("timestamp_ms").and_then(Value::as_f64)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str, at_ms: u64, runtime_ms: u64) -> String {
        format!(
            "{{\n  \"fio version\" : \"fio-3.33\",\n  \"timestamp_ms\" : {at_ms},\n  \"jobs\" : [ {{ \"jobname\" : \"{name}\", \
             \"error\" : 0, \"read\" : {{ \"io_bytes\" : {}, \"total_ios\" : {runtime_ms}, \"runtime\" : {runtime_ms} }} }} ]\n}}\n",
            runtime_ms * 4096
        )
    }

    #[test]
    fn documents_of_one_run_end_with_all_of_it() {
        let states = [
            document("a", 10_000, 1000),
            document("a", 11_000, 2001),
            document("a", 11_500, 2500),
        ];
        let text = format!("a: starting\n{}", states.concat());
        assert_eq!(only_run(&text).as_deref(), Ok(states[2].as_str()));
        // Printed at once after the last.
        let text = [document("a", 10_000, 1000), document("a", 10_002, 1000)].concat();
        assert!(only_run(&text).is_ok());
        for alone in [
            document("a", 10_000, 1000),
            "no JSON\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(only_run(&alone), Ok(alone.as_str()));
        }
    }

    #[test]
    fn documents_of_two_runs_are_refused_with_their_lines() {
        for second in [
            document("b", 11_000, 1000),
            document("a", 11_500, 1000),
            document("a", 12_000, 2200),
            document("a", 10_500, 400),
        ] {
            let text = [
                document("a", 10_000, 1000),
                "fio: a message\n".to_owned(),
                second,
            ]
            .concat();
            let why = only_run(&text).expect_err("two runs");
            assert!(
                why.contains("2 reports") && why.contains("lines 1 and 7"),
                "{why}"
            );
        }
    }
}
