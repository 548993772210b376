//! Reads a file of schema 2: the metrics of a round lay beside its fields, whoever had measured them, and a reported
//! metric that was called like one of iosched's own took its unit and its direction. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::analysis::conclude;
use crate::metric::reported::Reported;
use crate::metric::{Metric, Origin, full_name};
use crate::types::result::{
    Censored, Evidence, Exclusion, ResultFile, Round, SCHEMA, SCHEMA_VERSION,
};

/// The version that is read here.
pub const VERSION: u32 = 2;

/// A result of that version as one of this version.
#[derive(Debug, Deserialize)]
#[serde(try_from = "File")]
pub struct Converted(pub ResultFile);

#[derive(Deserialize)]
struct File {
    rounds: Vec<FlatRound>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct FlatRound {
    index: usize,
    block: usize,
    attempt: usize,
    position: usize,
    arm: String,
    scheduler: String,
    workload_seed: u64,
    started: String,
    window_s: f64,
    foreign_share: Option<f64>,
    lost_events: u64,
    busy_share: Option<f64>,
    steal_share: Option<f64>,
    exclusion: Option<Exclusion>,
    censored: Option<Censored>,
    problem: Option<String>,
    #[serde(flatten)]
    values: BTreeMap<String, f64>,
    evidence: Evidence,
}

/// The first report of each name in the whole run.
type ByName = BTreeMap<String, Reported>;

impl TryFrom<File> for Converted {
    type Error = serde_json::Error;

    fn try_from(file: File) -> Result<Self, Self::Error> {
        let mut rest = file.rest;
        rest.insert("rounds".to_owned(), Value::Array(Vec::new()));
        let mut result: ResultFile = serde_json::from_value(Value::Object(rest))?;
        SCHEMA.clone_into(&mut result.schema);
        result.schema_version = SCHEMA_VERSION;
        let mut reported = ByName::new();
        for round in &file.rounds {
            for metric in round
                .evidence
                .outcome
                .reported
                .iter()
                .filter(|it| round.has(it))
            {
                reported
                    .entry(metric.name.clone())
                    .or_insert_with(|| metric.clone());
            }
        }
        let rounds = file.rounds.into_iter();
        result.rounds = rounds.map(FlatRound::nested).collect();
        let was_mistaken = settle(&mut result, &reported);
        if was_mistaken {
            conclude::conclude(&mut result);
        }
        Ok(Converted(result))
    }
}

impl FlatRound {
    /// Whether the value of that name is what the command reported.
    fn has(&self, reported: &Reported) -> bool {
        let value = self.values.get(&reported.name);
        value.is_some_and(|value| value.total_cmp(&reported.value).is_eq())
    }

    fn nested(mut self) -> Round {
        let all = &self.evidence.outcome.reported;
        let of_command: Vec<String> = all
            .iter()
            .filter(|it| self.has(it))
            .map(|it| it.name.clone())
            .collect();
        // A value that was taken back, because its unit had changed, is in the evidence alone.
        let mut reported = self.evidence.outcome.reported_values();
        reported.retain(|name, _| self.values.contains_key(name));
        for name in &of_command {
            self.values.remove(name);
        }
        let is_whole = self.censored.is_none();
        let mut evidence = self.evidence;
        for name in &mut evidence.insufficient_tail {
            if evidence.outcome.too_few_samples.contains(name) {
                *name = full_name(name);
            }
        }
        Round {
            index: self.index,
            block: self.block,
            attempt: self.attempt,
            position: self.position,
            arm: self.arm,
            scheduler: self.scheduler,
            workload_seed: self.workload_seed,
            started: self.started,
            window_s: self.window_s,
            foreign_share: self.foreign_share,
            lost_events: self.lost_events,
            busy_share: self.busy_share,
            steal_share: self.steal_share,
            exclusion: self.exclusion,
            censored: self.censored,
            problem: self.problem,
            metrics: self.values,
            reported: if is_whole { reported } else { BTreeMap::new() },
            evidence,
        }
    }
}

/// Says of each metric who measured it. Returns whether one had the unit and direction of another.
fn settle(result: &mut ResultFile, reported: &ByName) -> bool {
    let primary = result.design.primary.iter_mut();
    let rows = result.comparisons.iter_mut().map(|row| &mut row.metric);
    let mut was_mistaken = false;
    for metric in primary.chain(&mut result.metrics).chain(rows) {
        let Some(known) = reported.get(&metric.name) else {
            if metric.is_open() {
                metric.origin = Origin::Reported;
            }
            continue;
        };
        if Metric::named(&metric.name).is_some() {
            was_mistaken = true;
            *metric = Metric {
                margin: metric.margin,
                ..Metric::reported(known)
            };
        } else {
            metric.origin = Origin::Reported;
        }
    }
    let noise = result.noise.iter_mut().flat_map(|noise| &mut noise.metrics);
    let names = noise.map(|noise| &mut noise.metric);
    for name in names.filter(|name| reported.contains_key(*name)) {
        *name = full_name(name);
    }
    was_mistaken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::reported::Better;
    use crate::read;
    use crate::report::fixture;
    use crate::statistics::scale::Direction;
    use crate::statistics::verdict::Verdict;

    const OLD: &[u8] = include_bytes!("../../../tests/data/report/result-of-schema-2.json");

    #[test]
    fn an_old_file_says_the_same_as_a_new_one() {
        let read = read::parse(OLD).expect("a result of schema 2");
        let mut new = fixture::sample();
        new.design.why = false;
        for round in &mut new.rounds {
            // Nobody said that then.
            round.evidence.why = None;
            round.evidence.parts.clear();
        }
        new.levels = None;
        assert_eq!(read.rounds, new.rounds);
        assert_eq!((&read.schema, read.schema_version), (&new.schema, 3));
        // The file keeps the verdicts of the version that wrote it, which did not say whether its user named the metric.
        let mut again = read.clone();
        again.design.elapsed_is_named = new.design.elapsed_is_named;
        conclude::conclude(&mut again);
        assert_eq!(again, new);
        assert!(read.rounds.iter().all(|round| round.reported.is_empty()));
    }

    /// An old file in which a command reported `name`, half as many under bfq, and less is better.
    fn with_report(name: &str) -> Vec<u8> {
        let mut file: Value = serde_json::from_slice(OLD).expect("JSON");
        let rounds = file["rounds"].as_array_mut().expect("rounds");
        for round in rounds
            .iter_mut()
            .filter(|round| round["exclusion"].is_null())
        {
            let value = if round["arm"] == "bfq" { 50.0 } else { 100.0 };
            let report = Reported::new(name, value, "vain/s", Some(Better::Lower));
            round["evidence"]["outcome"]["reported"] = serde_json::json!([report]);
            round[name] = value.into();
        }
        for metric in ["/design/primary/0", "/metrics/0"] {
            let metric = file.pointer_mut(metric).expect("the first metric");
            metric["name"] = name.into();
        }
        for row in file["comparisons"].as_array_mut().expect("rows") {
            if row["metric"]["name"] == "throughput" {
                row["metric"]["name"] = name.into();
            }
        }
        serde_json::to_vec(&file).expect("JSON")
    }

    #[test]
    fn what_a_command_reported_is_its_own() {
        let read = read::parse(&with_report("vanity")).expect("a result");
        let round = &read.rounds[0];
        assert!(!round.metrics.contains_key("vanity") && round.metrics.contains_key("throughput"));
        assert!(round.reported.contains_key("vanity"));
        assert_eq!(read.design.primary[0].origin, Origin::Reported);
        assert_eq!(read.design.primary[1].origin, Origin::Measured);
    }

    /// `iops` was the command's number with the unit and direction of the kernel's.
    #[test]
    fn a_name_of_iosched_was_the_commands() {
        let read = read::parse(&with_report("iops")).expect("a result");
        let of = &read.design.primary[0];
        assert_eq!(
            (of.name.as_str(), of.plain_name()),
            ("reported:iops", "iops")
        );
        assert_eq!(
            (of.unit.as_str(), of.direction),
            ("vain/s", Direction::LowerIsBetter)
        );
        let row = read
            .comparisons
            .iter()
            .find(|row| row.arm == "bfq")
            .expect("a row");
        assert_eq!(row.metric.name, "reported:iops");
        assert_eq!(
            row.comparison.verdict,
            Verdict::Better,
            "half as many is better here"
        );
        assert_eq!(
            read.rounds[0].value(of),
            read.rounds[0].reported.get("iops").copied()
        );
    }

    /// A run that ended because the unit changed left the last value out.
    #[test]
    fn a_value_that_was_taken_back_stays_so() {
        let mut file: Value = serde_json::from_slice(&with_report("vanity")).expect("JSON");
        let round = file["rounds"][3].as_object_mut().expect("a round");
        assert!(round.remove("vanity").is_some());
        let bytes = serde_json::to_vec(&file).expect("JSON");
        let read = read::parse(&bytes).expect("a result");
        assert_eq!(read.rounds[3].reported, BTreeMap::new());
        assert_eq!(read.rounds[3].evidence.outcome.reported.len(), 1);
        assert!(read.rounds[2].reported.contains_key("vanity"));
    }

    #[test]
    fn what_it_writes_is_of_the_new_schema() {
        let read = read::parse(&with_report("iops")).expect("a result");
        let bytes = serde_json::to_vec(&read).expect("JSON");
        assert_eq!(read::parse(&bytes).expect("a result"), read);
    }
}
