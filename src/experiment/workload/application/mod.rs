//! Metrics of the application whose load a live run compares: read at both ends of each window.

pub mod asked; // what the user asks for. Pure
pub mod page; // the text format of Prometheus. Pure
pub mod reading; // from two readings to a value. Pure
pub mod selector; // which series of a page. Pure
mod source; // a command, a file, a page
pub mod watched; // what is read before the first switch. Pure

use std::time::Duration;

use anyhow::Result;
use iosched_result::failure::Failure;
use iosched_result::metric::reported::Reported;
use iosched_result::text::unit;

use self::asked::{Asked, Wanted};
use self::page::Page;
use self::reading::{NoValue, Reading, Take, Value};
use self::selector::Selector;
use self::source::Source;
use super::reported::{Found, MOST, check_unit, without_a_time};

/// Each is read at the same moments as all others.
#[derive(Default)]
pub struct Application {
    asked: Vec<Asked>,
    wanted: Vec<Wanted>,
    /// Each once.
    sources: Vec<Source>,
}

/// A metric at one moment, or why it could not be read.
pub type Read = Result<Reading, String>;

impl Application {
    pub fn new(asked: Vec<Asked>) -> Result<Application> {
        let wanted = asked.iter().map(Asked::wanted);
        let wanted = wanted.collect::<Result<Vec<Wanted>>>()?;
        let refuse = |why: String| Err(Failure::usage(why, "leave one of them out"));
        if wanted.len() > MOST {
            return refuse(format!("{} metrics are more than {MOST}", wanted.len()));
        }
        let mut sources: Vec<Source> = Vec::new();
        for (index, it) in wanted.iter().enumerate() {
            if wanted[..index].iter().any(|other| other.name == it.name) {
                return refuse(format!(
                    "two metrics of the application are called {}",
                    it.name
                ));
            }
            if !sources.contains(&it.source) {
                sources.push(it.source.clone());
            }
        }
        Ok(Application {
            asked,
            wanted,
            sources,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    pub fn names(&self) -> Vec<String> {
        self.wanted.iter().map(|it| it.name.clone()).collect()
    }

    /// What each is read from, for people.
    pub fn shown(&self) -> Vec<String> {
        self.wanted.iter().map(shown).collect()
    }

    /// Commands among the sources.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        let commands = self.sources.iter();
        commands
            .filter(|source| matches!(source, Source::Command(_)))
            .map(Source::to_string)
    }

    /// One reading of each. `now`: a clock. Err: this program was interrupted.
    pub fn read(&self, now: &dyn Fn() -> Duration) -> Result<Vec<Read>> {
        let texts = self.sources.iter().map(|source| {
            let begin = now();
            let text = source.read()?;
            // It was read somewhere between.
            let at = begin + now().saturating_sub(begin) / 2;
            Ok((at, text))
        });
        let texts = texts.collect::<Result<Vec<(Duration, Result<String, String>)>>>()?;
        let read = |wanted: &Wanted| {
            let index = self.sources.iter().position(|it| *it == wanted.source);
            let (at, text) = &texts[index.unwrap_or_default()];
            let (take, value) = text.clone().and_then(|text| value(wanted, &text))?;
            Ok(Reading {
                at: *at,
                take,
                value,
            })
        };
        Ok(self.wanted.iter().map(read).collect())
    }

    /// What cannot be read at all ends what has not begun.
    pub fn ensure_read(&self, read: &[Read]) -> Result<()> {
        let pairs = self.wanted.iter().zip(read);
        let whys = pairs.filter_map(|(wanted, read)| {
            let why = match read {
                Ok(reading) => reading::ensure_usable(reading).err(),
                Err(why) => Some(why.clone()),
            };
            let why = why?;
            let (name, source) = (&wanted.name, shown(wanted));
            Some(format!("{name} cannot be read from {source}: {why}"))
        });
        refuse(
            &whys.collect::<Vec<_>>(),
            "see to it that it can be read, or leave it out; nothing was changed",
        )
    }

    /// What each was between two readings.
    pub fn values(&self, first: &[Read], last: &[Read]) -> Vec<Result<Reported, NoValue>> {
        let pairs = self.wanted.iter().zip(first.iter().zip(last));
        pairs
            .map(|(wanted, (first, last))| reported(wanted, first, last))
            .collect()
    }

    /// What the application reports of the time between two readings.
    pub fn between(&self, first: &[Read], last: &[Read]) -> Found {
        let mut found = Found::default();
        let mut problems = Vec::new();
        for (wanted, value) in self.wanted.iter().zip(self.values(first, last)) {
            match value {
                Ok(metric) => found.metrics.push(metric),
                Err(why) => {
                    problems.push(format!("{} ({}): {why}", wanted.name, shown(wanted)));
                }
            }
        }
        if let Some(why) = without_a_time(&found.metrics) {
            found.misread = Some(why.clone());
            problems.push(why);
        }
        found.problem = (!problems.is_empty()).then(|| problems.join("; "));
        found
    }
}

/// All reasons at once: each attempt costs a minute.
fn refuse(whys: &[String], hint: &str) -> Result<()> {
    match whys {
        [] => Ok(()),
        whys => Err(Failure::refused(whys.join("\n  "), hint)),
    }
}

fn shown(wanted: &Wanted) -> String {
    match &wanted.selector {
        Some(selector) => format!("{} #{selector}", wanted.source),
        None => wanted.source.to_string(),
    }
}

fn value(wanted: &Wanted, text: &str) -> Result<(Take, Value), String> {
    if let Some(selector) = &wanted.selector {
        return selector.find(&Page::parse(text)?, wanted.take);
    }
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.lines().count() > 1 {
        return Err(format!(
            "there are {} lines, of which none is named: name a series behind a #",
            text.lines().count()
        ));
    }
    // The unit of a counter is not that of its rate.
    let take = wanted.take.unwrap_or(Take::Gauge);
    let unit = wanted.unit.as_deref().filter(|_| take == Take::Gauge);
    let (value, unit) = unit::read(text, unit)?;
    check_unit(&unit)?;
    Ok((take, Value::Number(value)))
}

fn reported(wanted: &Wanted, first: &Read, last: &Read) -> Result<Reported, NoValue> {
    let of = |read: &Read| read.clone().map_err(NoValue::Problem);
    let (first, last) = (of(first)?, of(last)?);
    let value = reading::between(&first, &last)?;
    let unit = unit_of(wanted, last.take);
    // As the readers of benchmarks have them.
    let common = ["ns", "bytes/s"].into_iter();
    let mut common = common.filter_map(|to| Some((unit::factor(&unit, to)?, to)));
    let (factor, unit) = common.next().unwrap_or((1.0, &unit));
    Ok(Reported::new(&wanted.name, value * factor, unit, Some(wanted.better)).headline())
}

/// The user's, or that of the name.
fn unit_of(wanted: &Wanted, take: Take) -> String {
    if let Some(unit) = &wanted.unit {
        return unit.clone();
    }
    if matches!(take, Take::Above(_)) {
        return "%".to_owned();
    }
    let own = wanted.selector.as_ref().and_then(Selector::unit);
    match (take, own) {
        (Take::Rate, Some(own)) => format!("{own}/s"),
        (Take::Rate, None) => "1/s".to_owned(),
        (_, own) => own.unwrap_or("1").to_owned(),
    }
}

#[cfg(test)]
mod tests;
