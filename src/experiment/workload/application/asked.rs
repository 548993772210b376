//! A metric of the application, as the user asks for it: `NAME:higher|lower[:counter|gauge][:UNIT]=SOURCE[#SERIES]`. Pure.

use std::path::PathBuf;

use anyhow::Result;
use iosched_result::failure::Failure;
use iosched_result::metric::reported::{Better, check_name};
use serde::{Deserialize, Serialize};

use super::reading::Take;
use super::selector::Selector;
use super::source::Source;
use crate::workload::reported::check_unit;

/// The value of an option, as a result file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    Cmd(String),
    File(String),
    Url(String),
}

/// What it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub name: String,
    pub better: Better,
    /// The unit of the value.
    pub unit: Option<String>,
    /// What the user says that a number is.
    pub take: Option<Take>,
    pub source: Source,
    /// None: the source is one number.
    pub selector: Option<Selector>,
}

impl Asked {
    pub fn option(&self) -> &'static str {
        match self {
            Asked::Cmd(_) => "--metric-cmd",
            Asked::File(_) => "--metric-file",
            Asked::Url(_) => "--metric-url",
        }
    }

    pub fn text(&self) -> &str {
        let (Asked::Cmd(text) | Asked::File(text) | Asked::Url(text)) = self;
        text
    }

    fn example(&self) -> &'static str {
        match self {
            Asked::Cmd(_) => {
                "--metric-cmd 'tps:higher:counter=psql -Atc \"select sum(xact_commit) from pg_stat_database\"'"
            }
            Asked::File(_) => "--metric-file 'lag:lower:gauge:s=/run/app/lag'",
            Asked::Url(_) => {
                "--metric-url 'wait:lower=http://127.0.0.1:9090/metrics#mean(request_seconds)'"
            }
        }
    }

    pub fn wanted(&self) -> Result<Wanted> {
        self.parse().map_err(|why| {
            Failure::usage(
                format!("{} {}: {why}", self.option(), self.text()),
                format!("for example {}", self.example()),
            )
        })
    }

    fn parse(&self) -> Result<Wanted, String> {
        let (head, place) = self
            .text()
            .split_once('=')
            .ok_or("there is no = after the name")?;
        let mut words = head.split(':');
        let name = words.next().unwrap_or_default();
        check_name(name)?;
        let (mut better, mut take, mut unit) = (None, None, None);
        for word in words {
            let is_new = match word {
                "higher" => better.replace(Better::Higher).is_none(),
                "lower" => better.replace(Better::Lower).is_none(),
                "counter" => take.replace(Take::Rate).is_none(),
                "gauge" => take.replace(Take::Gauge).is_none(),
                other => {
                    check_unit(other)?;
                    unit.replace(other.to_owned()).is_none()
                }
            };
            if !is_new {
                return Err(format!("{word:?} is one word too many"));
            }
        }
        let better =
            better.ok_or_else(|| format!("say which is better, {name}:higher or {name}:lower"))?;
        let (source, selector) = self.source(place)?;
        Ok(Wanted {
            name: name.to_owned(),
            better,
            unit,
            take,
            source,
            selector,
        })
    }

    fn source(&self, place: &str) -> Result<(Source, Option<Selector>), String> {
        let (place, series) = match self {
            Asked::Cmd(_) => without_comment(place),
            Asked::File(_) | Asked::Url(_) => match place.split_once('#') {
                Some((place, series)) => (place, Some(series)),
                None => (place, None),
            },
        };
        let (place, series) = (place.trim(), series.map(str::parse::<Selector>));
        let series = series.transpose()?;
        if place.is_empty() {
            return Err("there is nothing behind the =".to_owned());
        }
        let source = match self {
            Asked::Cmd(_) => {
                let words = shlex::split(place).filter(|words| !words.is_empty());
                let words = words.ok_or("the command has a quote without its end")?;
                if let Some(word) = words.iter().find(|word| is_for_a_shell(word)) {
                    return Err(format!(
                        "{word:?} is for a shell, and none reads it: write sh -c '...'"
                    ));
                }
                Source::Command(words)
            }
            Asked::File(_) => Source::File(PathBuf::from(place)),
            Asked::Url(_) if series.is_none() => {
                return Err("name a series of the page, behind a #".to_owned());
            }
            Asked::Url(_) if !place.starts_with("http://") => {
                return Err(
                    "only http:// is read here; for others there is --metric-cmd 'NAME:...=curl -s URL #SERIES'"
                        .to_owned(),
                );
            }
            Asked::Url(_) => Source::Url(place.to_owned()),
        };
        Ok((source, series))
    }
}

/// What a shell takes for a comment is the series; there may be # in quotes.
fn without_comment(line: &str) -> (&str, Option<&str>) {
    let mut marks = line.match_indices(" #").map(|(at, _)| at);
    let is_outside = |at: &usize| shlex::split(&line[..*at]).is_some();
    match marks.find(is_outside) {
        Some(at) => (&line[..at], Some(&line[at + 2..])),
        None => (line, None),
    }
}

/// A word that would be an argument here, and something else in a shell. In quotes it may be meant.
fn is_for_a_shell(word: &str) -> bool {
    let is_redirection = |word: &str| {
        let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(['>', '<']) && !word.contains(' ')
    };
    ["|", "||", "&", "&&", ";"].contains(&word) || is_redirection(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_says_what_is_read() {
        let cmd = Asked::Cmd("tps:higher:counter:1/s=psql -Atc 'select 5 # x'".to_owned());
        let wanted = cmd.wanted().unwrap();
        let words = ["psql", "-Atc", "select 5 # x"].map(str::to_owned);
        assert_eq!(wanted.source, Source::Command(words.to_vec()));
        assert_eq!((wanted.selector, wanted.take), (None, Some(Take::Rate)));
        let cmd = Asked::Cmd("p:lower=curl -s http://h/m #p99(lat{a=\"b\"})".to_owned());
        let wanted = cmd.wanted().unwrap();
        let words = ["curl", "-s", "http://h/m"].map(str::to_owned);
        assert_eq!(wanted.source, Source::Command(words.to_vec()));
        assert_eq!(wanted.selector.unwrap().to_string(), "p99(lat{a=\"b\"})");
        let url = Asked::Url("p:lower:ms=http://[::1]:9/m#lag".to_owned());
        let wanted = url.wanted().unwrap();
        assert_eq!(wanted.source, Source::Url("http://[::1]:9/m".to_owned()));
        assert_eq!(wanted.unit.as_deref(), Some("ms"));
        let file = Asked::File("lag:gauge:lower=/run/a".to_owned());
        let wanted = file.wanted().unwrap();
        assert_eq!(
            (wanted.take, wanted.better),
            (Some(Take::Gauge), Better::Lower)
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (asked, says) in [
            (Asked::Cmd("tps".to_owned()), "no = after the name"),
            (
                Asked::Cmd("a b:higher=x".to_owned()),
                "the name of a metric",
            ),
            (Asked::Cmd("tps=x".to_owned()), "tps:higher or tps:lower"),
            (Asked::Cmd("tps:higher:=x".to_owned()), "a unit has"),
            (
                Asked::Cmd("tps:higher:higher=x".to_owned()),
                "one word too many",
            ),
            (
                Asked::Cmd("tps:higher:a:b=x".to_owned()),
                "one word too many",
            ),
            (Asked::Cmd("tps:higher=".to_owned()), "nothing behind the ="),
            (Asked::Cmd("tps:higher=a 'b".to_owned()), "without its end"),
            (Asked::Cmd("tps:higher=a #p99(".to_owned()), "is no series"),
            (Asked::Cmd("tps:higher=cat a | wc -l".to_owned()), "sh -c"),
            (
                Asked::Cmd("tps:higher=cat a 2>/dev/null".to_owned()),
                "sh -c",
            ),
            (Asked::Url("tps:higher=http://h/m".to_owned()), "behind a #"),
            (
                Asked::Url("tps:higher=https://h/m#x".to_owned()),
                "only http://",
            ),
        ] {
            let error = asked.wanted().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
