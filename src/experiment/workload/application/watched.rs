//! What was read of the application before the first switch: a metric that says nothing there says nothing later either. Pure.

use std::time::Duration;

use anyhow::Result;
use iosched_result::metric::reported::{Better, Reported};
use iosched_result::statistics::beyond;
use iosched_result::statistics::estimate::median;
use iosched_result::types::live::WatchedMetric;

use super::asked::Wanted;
use super::reading::{self, NoValue, Reading, Take, Value};
use super::{Application, Read, refuse, shown};

impl Application {
    /// `readings`: in equal steps. `window`: of a round. Err: why there is no use to begin.
    pub fn watched(&self, readings: &[Vec<Read>], window: Duration) -> Result<Vec<WatchedMetric>> {
        let of = |index: usize| -> Vec<&Read> { readings.iter().map(|all| &all[index]).collect() };
        let mut whys = Vec::new();
        let mut watched = Vec::new();
        for (index, wanted) in self.wanted.iter().enumerate() {
            match self.watched_one(index, &of(index), readings, window) {
                Ok(metric) => watched.push(metric),
                Err((why, hint)) => {
                    let source = shown(wanted);
                    whys.push(format!(
                        "{}, read from {source}, {why}: {hint}",
                        wanted.name
                    ));
                }
            }
        }
        refuse(&whys, "no scheduler was switched")?;
        Ok(watched)
    }

    fn watched_one(
        &self,
        index: usize,
        own: &[&Read],
        readings: &[Vec<Read>],
        window: Duration,
    ) -> Result<WatchedMetric, Refusal> {
        let wanted = &self.wanted[index];
        let read = all_read(own)?;
        ensure_known(wanted, &read)?;
        let values = self.values_of(index, readings, window);
        let values = values.map_err(|why| unusable(read[0].take, why))?;
        ensure_enough(&read, window)?;
        ensure_fine(&read)?;
        ensure_alive(wanted, &values)?;
        let numbers: Vec<f64> = values.iter().map(|it| it.value).collect();
        Ok(WatchedMetric {
            name: wanted.name.clone(),
            source: shown(wanted),
            unit: values[0].unit.clone(),
            low: numbers.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(&numbers).unwrap_or_default(),
            high: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Between readings that lie about one window apart, or as far as there are readings.
    fn values_of(
        &self,
        index: usize,
        readings: &[Vec<Read>],
        window: Duration,
    ) -> Result<Vec<Reported>, NoValue> {
        let at = |reading: &[Read]| reading[index].as_ref().map_or(Duration::ZERO, |it| it.at);
        let last = readings.len().saturating_sub(1);
        let first = readings.iter().map(|it| at(it)).next().unwrap_or_default();
        let is_far = |to: &usize| at(&readings[*to]).saturating_sub(first) >= window;
        let step = (1..=last).find(is_far).unwrap_or(last).max(1);
        let pairs = (step..readings.len()).map(|to| (&readings[to - step], &readings[to]));
        let value =
            |(first, last): (&Vec<Read>, &Vec<Read>)| self.values(first, last).swap_remove(index);
        let values = pairs
            .map(value)
            .collect::<Result<Vec<Reported>, NoValue>>()?;
        if values.is_empty() {
            return Err(NoValue::Problem("was read once".to_owned()));
        }
        Ok(values)
    }
}

type Refusal = (String, String);

fn all_read<'a>(own: &[&'a Read]) -> Result<Vec<&'a Reading>, Refusal> {
    let failed: Vec<&String> = own.iter().filter_map(|read| read.as_ref().err()).collect();
    match failed.first() {
        None => Ok(own.iter().filter_map(|read| read.as_ref().ok()).collect()),
        Some(why) => Err((
            format!(
                "could not be read {} of {} times: {why}",
                failed.len(),
                own.len()
            ),
            "see to it that it can always be read".to_owned(),
        )),
    }
}

/// A number of which nobody said what it is, and that only grows, would be compared as a gauge.
fn ensure_known(wanted: &Wanted, read: &[&Reading]) -> Result<(), Refusal> {
    const FEWEST: usize = 3;
    let numbers: Vec<f64> = read
        .iter()
        .filter_map(|reading| match reading.value {
            Value::Number(number) => Some(number),
            _ => None,
        })
        .collect();
    let is_said = wanted.take.is_some() || wanted.selector.is_some();
    let rises = numbers.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let falls = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if is_said || falls > 0 || rises < FEWEST {
        return Ok(());
    }
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    Err((
        format!("only grew, from {first} to {last}"),
        format!(
            "say {0}:counter, for what it grows in a second, or {0}:gauge",
            wanted.name
        ),
    ))
}

fn unusable(take: Take, why: NoValue) -> Refusal {
    match (why, take) {
        (NoValue::TooFew(count), Take::Quantile(p)) => {
            let needed = beyond::TO_REPORT / (1.0 - p);
            (
                format!("had {count} observations between two readings"),
                format!(
                    "this percentile needs {needed:.0} in a window: choose a lower one, the mean, or a longer --round-time"
                ),
            )
        }
        (NoValue::TooFew(count), _) => (format!("had {count} observations"), String::new()),
        (NoValue::Problem(why), _) => (
            format!("has no value: {why}"),
            "see to it that it has one, or leave it out".to_owned(),
        ),
    }
}

/// A window that has too few observations for its percentile counts against its arm, so a load that varies must not make it so.
fn ensure_enough(read: &[&Reading], window: Duration) -> Result<(), Refusal> {
    const RESERVE: f64 = 1.5;
    let [first, .., last] = read else {
        return Ok(());
    };
    let (Take::Quantile(p), Some(count)) = (last.take, reading::observed(first, last)) else {
        return Ok(());
    };
    let seconds = last.at.saturating_sub(first.at).as_secs_f64();
    let in_window = count * window.as_secs_f64() / seconds;
    let needed = beyond::TO_REPORT / (1.0 - p) * RESERVE;
    if in_window >= needed {
        return Ok(());
    }
    Err((
        format!("has about {in_window:.0} observations in a window"),
        format!(
            "this percentile needs {needed:.0}: choose a lower one, the mean, or a longer --round-time"
        ),
    ))
}

/// Two percentiles in one wide bucket look alike, whatever they are.
fn ensure_fine(read: &[&Reading]) -> Result<(), Refusal> {
    const WIDEST: f64 = 0.1;
    let [first, .., last] = read else {
        return Ok(());
    };
    let width = reading::coarseness(first, last).unwrap_or_default();
    if width <= WIDEST {
        return Ok(());
    }
    Err((
        format!(
            "lies in a bucket that is {:.0} % wide, so that it would seem to be the same under each arm",
            width * 100.0
        ),
        "take the mean, or the share above a bound that matters, above(BOUND,SERIES)".to_owned(),
    ))
}

/// A rate of 0 under a load compares nothing; fewer errors than none are not possible, so a count of what should be low may
/// be zero.
fn ensure_alive(wanted: &Wanted, values: &[Reported]) -> Result<(), Refusal> {
    let is_rate = |take: Option<Take>| take == Some(Take::Rate);
    let is_zero = values.iter().all(|it| it.value == 0.0);
    if !is_zero || (wanted.better == Better::Lower && values[0].unit != "ns") {
        return Ok(());
    }
    let what = if is_rate(wanted.take) {
        "did not grow"
    } else {
        "was 0 all the time"
    };
    Err((
        what.to_owned(),
        "see to it that the application works, or leave it out".to_owned(),
    ))
}
