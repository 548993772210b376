//! Counts that follow from how a workload is made: every round of an arm must have them exactly. Pure.

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::text::size;
use crate::types::result::ResultFile;

/// The count that a study's file asserts of every round of an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Its label.
    pub arm: String,
    pub metric: String,
    pub count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Number(u64),
    /// As many as pages of the machine's memory have room for so many bytes.
    PagesOf(u64),
}

impl Count {
    /// `4096`, or `16M/page`.
    pub fn parse(text: &str) -> Result<Count, String> {
        let count = match text.strip_suffix("/page") {
            Some(bytes) => size::bytes(bytes).ok().map(Count::PagesOf),
            None => text.parse().ok().map(Count::Number),
        };
        count.ok_or_else(|| format!("{text:?} is no count; write a number, or SIZE/page"))
    }

    fn value(self, page_bytes: u64) -> u64 {
        match self {
            Count::Number(number) => number,
            Count::PagesOf(bytes) => bytes.div_ceil(page_bytes),
        }
    }
}

impl Exact {
    /// Err: what cannot be counted in a round.
    pub fn new(arm: &str, metric: &str, count: &str) -> Result<Exact, String> {
        if Metric::named(metric).is_none_or(|metric| metric.unit != "1") {
            return Err(format!("{metric} is no count, so it has no exact value"));
        }
        Ok(Exact {
            arm: arm.to_owned(),
            metric: metric.to_owned(),
            count: Count::parse(count)?,
        })
    }
}

/// How many rounds had the count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// The label of the arm.
    pub arm: String,
    pub metric: String,
    pub expected: u64,
    /// The arm's rounds that count.
    pub rounds: usize,
    /// Rounds with exactly that.
    pub exact: usize,
    /// Rounds with less, and no less than by the events that the probe lost.
    #[serde(default)]
    pub incomplete: usize,
    /// The value of the first other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<f64>,
}

impl Counted {
    /// Whether a round had another count, or none.
    pub fn is_broken(&self) -> bool {
        self.exact + self.incomplete < self.rounds
    }

    /// `command.ios of off is 4096 in 6 of 6 rounds`
    pub fn sentence(&self) -> String {
        let Counted {
            arm,
            metric,
            expected,
            rounds,
            exact,
            ..
        } = self;
        let other = match self.other {
            Some(other) => format!(", and {other} in another"),
            None if self.is_broken() => ", and has no value in another".to_owned(),
            None => String::new(),
        };
        format!("{metric} of {arm} is {expected} in {exact} of {rounds} rounds{other}")
    }
}

/// An arm that was left out has nothing to count.
pub fn counted(exact: &[Exact], result: &ResultFile, page_bytes: u64) -> Vec<Counted> {
    let has = |it: &&Exact| result.design.arms.iter().any(|arm| arm.label == it.arm);
    let exact = exact.iter().filter(has);
    exact.map(|it| one(it, result, page_bytes)).collect()
}

enum Held {
    Exactly,
    /// The probe lost at least as many events as are missing, and each of them hides one.
    Incomplete,
    Not(Option<f64>),
}

fn one(exact: &Exact, result: &ResultFile, page_bytes: u64) -> Counted {
    let expected = exact.count.value(page_bytes);
    let rounds = result.rounds.iter();
    let rounds = rounds.filter(|round| round.arm == exact.arm && round.exclusion.is_none());
    let held: Vec<Held> = rounds
        .map(|round| {
            held(
                round.metrics.get(&exact.metric),
                expected,
                round.lost_events,
            )
        })
        .collect();
    let count = |is_it: fn(&&Held) -> bool| held.iter().filter(is_it).count();
    Counted {
        arm: exact.arm.clone(),
        metric: exact.metric.clone(),
        expected,
        rounds: held.len(),
        exact: count(|held| matches!(held, Held::Exactly)),
        incomplete: count(|held| matches!(held, Held::Incomplete)),
        other: held.iter().find_map(|held| match held {
            Held::Not(value) => *value,
            _ => None,
        }),
    }
}

fn held(value: Option<&f64>, expected: u64, lost: u64) -> Held {
    // Counts are whole numbers far below 2^53.
    match value.map(|value| expected as f64 - value) {
        Some(missing) if missing.abs() < 0.5 => Held::Exactly,
        Some(missing) if (0.0..=lost as f64).contains(&missing) => Held::Incomplete,
        _ => Held::Not(value.copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn counts_are_numbers_or_pages() {
        assert_eq!(Count::parse("12"), Ok(Count::Number(12)));
        let pages = Count::parse("16M/page").expect("pages");
        assert_eq!((pages.value(4096), pages.value(65536)), (4096, 256));
        for wrong in [
            "",
            "x",
            "-1",
            "1.5",
            "/page",
            "16M",
            "4q/page",
            "{size}/page",
        ] {
            assert!(Count::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Exact::new("a", "ios", "1").is_ok());
        assert!(Exact::new("a", "command.ios", "1").is_ok());
        for metric in ["throughput", "read_total_mean", "nothing"] {
            assert!(Exact::new("a", metric, "1").is_err(), "{metric}");
        }
    }

    #[test]
    fn every_round_that_counts_must_have_it() {
        let mut result = fixture::sample();
        let arm = result.design.arms[0].label.clone();
        let own = result.rounds.iter_mut().filter(|round| round.arm == arm);
        own.for_each(|round| _ = round.metrics.insert("ios".to_owned(), 7.0));
        let exact = [
            Exact::new(&arm, "ios", "7").expect("a count"),
            Exact::new("not here", "ios", "7").expect("a count"),
        ];
        let all = counted(&exact, &result, 4096);
        assert_eq!(all.len(), 1, "an arm that was left out is no failure");
        assert!(all[0].rounds > 1 && !all[0].is_broken(), "{all:?}");
        let mut own = result.rounds.iter_mut().filter(|round| round.arm == arm);
        let first = own.next().expect("a round");
        first.metrics.insert("ios".to_owned(), 8.0);
        let broken = counted(&exact, &result, 4096).remove(0);
        assert!(broken.is_broken());
        assert_eq!((broken.exact + 1, broken.other), (broken.rounds, Some(8.0)));
        let mut own = result.rounds.iter_mut().filter(|round| round.arm == arm);
        let first = own.next().expect("a round");
        first.metrics.insert("ios".to_owned(), 5.0);
        first.lost_events = 1;
        assert!(
            counted(&exact, &result, 4096)[0].is_broken(),
            "two are missing, one was lost"
        );
        let mut own = result.rounds.iter_mut().filter(|round| round.arm == arm);
        own.next().expect("a round").lost_events = 2;
        let explained = counted(&exact, &result, 4096).remove(0);
        assert_eq!((explained.incomplete, explained.is_broken()), (1, false));
        let mut own = result.rounds.iter_mut().filter(|round| round.arm == arm);
        own.next().expect("a round").metrics.remove("ios");
        let absent = counted(&exact, &result, 4096).remove(0);
        assert!(absent.is_broken(), "an absent number is not the right one");
        assert!(absent.sentence().ends_with("no value in another"));
    }
}
