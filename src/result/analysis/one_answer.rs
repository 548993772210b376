//! Reports of commands have one meaning in all rounds of a run: one unit and one direction for each metric, and one answer
//! in each output. Pure.

use anyhow::Result;

use crate::failure::Failure;
use crate::metric::reported::{Better, Reported};
use crate::text::unit;
use crate::types::outcome::Outcome;
use crate::types::result::{ResultFile, Round};

/// Called after each round. An error ends the run, and nothing is left in the round that it would be judged by.
pub fn ensure(result: &mut ResultFile) -> Result<()> {
    let Some((last, earlier)) = result.rounds.split_last_mut() else {
        return Ok(());
    };
    if let Some(why) = &last.evidence.outcome.misread {
        return Err(Failure::invalid(
            format!("in round {} ({}): {why}", last.index + 1, last.arm),
            "the run has ended, because a round without its metric would count against its arm",
        ));
    }
    let mut reported = std::mem::take(&mut last.evidence.outcome.reported);
    let mut refused = None;
    for metric in &mut reported {
        match in_first_unit(metric, earlier) {
            Ok(factor) if (factor - 1.0).abs() > f64::EPSILON => {
                if let Some(value) = last.reported.get_mut(&metric.name) {
                    *value *= factor;
                }
            }
            Ok(_) => {}
            Err(what) => {
                last.reported.remove(&metric.name);
                let (arm, index) = (&last.arm, last.index + 1);
                refused.get_or_insert(format!(
                    "{} has {what} in round {index} ({arm})",
                    metric.name
                ));
            }
        }
    }
    last.evidence.outcome.reported = reported;
    match refused {
        None => Ok(()),
        Some(what) => Err(Failure::invalid(
            what,
            "report it in the same unit and direction in every round; units of one kind, such as us and ms, are converted",
        )),
    }
}

/// Converts a metric to the unit of the first round that has it. The factor, or what has changed.
fn in_first_unit(metric: &mut Reported, earlier: &[Round]) -> Result<f64, String> {
    let first = earlier.iter().find_map(|round| {
        let mut reported = round.evidence.outcome.reported.iter();
        Some((round, reported.find(|other| other.name == metric.name)?))
    });
    let Some((round, first)) = first else {
        return Ok(1.0);
    };
    let place = format!("in round {} ({})", round.index + 1, round.arm);
    if first.better != metric.better {
        return Err(format!(
            "{} {place}, and {}",
            direction(first.better),
            direction(metric.better)
        ));
    }
    let factor = unit::factor(&metric.unit, &first.unit)
        .ok_or_else(|| format!("the unit {} {place}, and {}", first.unit, metric.unit))?;
    if metric.unit != first.unit {
        metric.value *= factor;
        metric.unit.clone_from(&first.unit);
    }
    Ok(factor)
}

fn direction(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => "the direction higher",
        Some(Better::Lower) => "the direction lower",
        None => "no direction",
    }
}

/// Refuses to compare by its time a command whose report is there to be read: most benchmarks run for a fixed time.
pub fn ensure_read(name: &str, outcome: &Outcome) -> Result<()> {
    match &outcome.resembles {
        None => Ok(()),
        Some(program) => Err(Failure::invalid(
            format!(
                "the output of {name} looks like the report of {program}, and nothing reads it"
            ),
            format!("add --parse {program}; or --parse none to compare {name} by its elapsed time"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::turn::{Next, next};
    use crate::report::fixture::{empty, round};
    use crate::statistics::stopping::Stopping;

    /// Rounds that report `lag` like this, until one is refused.
    fn play(reports: &[(f64, &str, Option<Better>)]) -> (ResultFile, Option<String>) {
        let blocks = reports.len().div_ceil(2);
        let mut result = empty(&["none", "bfq"], Stopping::Fixed { blocks }, &[]);
        for (value, unit, better) in reports {
            let Next::Round(turn) = next(&result) else {
                panic!("no more rounds")
            };
            let mut round = round(&result, &turn, Ok(BTreeMap::new()));
            round.evidence.outcome.reported = vec![Reported::new("lag", *value, unit, *better)];
            round.reported = round.evidence.outcome.reported_values();
            result.rounds.push(round);
            if let Err(error) = ensure(&mut result) {
                return (result, Some(error.to_string()));
            }
        }
        (result, None)
    }

    fn values(result: &ResultFile) -> Vec<Option<f64>> {
        let rounds = result.rounds.iter();
        rounds
            .map(|round| round.reported.get("lag").copied())
            .collect()
    }

    #[test]
    fn units_of_one_kind_are_those_of_the_first_round() {
        let lower = Some(Better::Lower);
        let (result, refused) = play(&[
            (900.0, "us", lower),
            (1.2, "ms", lower),
            (900_000.0, "ns", lower),
        ]);
        assert_eq!(refused, None);
        assert_eq!(values(&result), [Some(900.0), Some(1200.0), Some(900.0)]);
        for round in &result.rounds {
            assert_eq!(round.evidence.outcome.reported[0].unit, "us");
        }
        assert!((result.rounds[1].evidence.outcome.reported[0].value - 1200.0).abs() < 1e-9);
    }

    #[test]
    fn another_kind_of_unit_or_another_direction_ends_the_run() {
        let lower = Some(Better::Lower);
        for (second, says) in [
            ((1.2, "ms", lower), "lag has the unit 1 in round 1 ("),
            (
                (900.0, "1", Some(Better::Higher)),
                "lag has the direction lower in round 1 (",
            ),
            ((900.0, "1", None), "and no direction in round 2 ("),
        ] {
            let (result, refused) = play(&[(900.0, "1", lower), second]);
            let why = refused.expect("a refusal");
            assert!(why.contains(says), "{why}");
            assert_eq!(values(&result), [Some(900.0), None], "it would be judged");
        }
        let (_, refused) = play(&[(900.0, "us", lower), (1.2, "MB/s", lower)]);
        let why = refused.expect("a refusal");
        assert!(why.contains("the unit us") && why.contains("MB/s"), "{why}");
    }

    #[test]
    fn a_number_that_was_cut_ends_the_run() {
        let (mut result, _) = play(&[(5.0, "1", None)]);
        result.rounds[0].evidence.outcome.misread = Some("matched 12 of \"12k\"".to_owned());
        let why = ensure(&mut result).expect_err("a refusal").to_string();
        assert!(
            why.contains("matched 12 of \"12k\"") && why.contains("round 1"),
            "{why}"
        );
    }

    #[test]
    fn a_report_that_nothing_reads_is_named() {
        let outcome = Outcome {
            resembles: Some("pgbench".to_owned()),
            ..Outcome::default()
        };
        let why = format!(
            "{:#}",
            ensure_read("run.sh", &outcome).expect_err("a refusal")
        );
        assert!(why.contains("--parse pgbench"), "{why}");
        ensure_read("run.sh", &Outcome::default()).expect("nothing to read");
    }
}
