//! A metric from a regular expression: `NAME=REGEX[:higher|lower[:UNIT]]`. The last match in the output counts. Pure.

use std::ops::Range;
use std::str::FromStr;

use anyhow::Result;
use regex::{Captures, Regex, RegexBuilder};

use super::output::Printed;
use super::protocol::better;
use super::source::Around;
use super::{check_unit, nearest};
use iosched_result::failure::Failure;
use iosched_result::metric::reported::{Better, Reported, check_name};
use iosched_result::text::{number, unit};

/// Maximum size of the compiled expression, in bytes.
const LARGEST: usize = 1 << 20;

#[derive(Clone, Debug)]
pub struct Pattern {
    /// As the user wrote it.
    text: String,
    name: String,
    regex: Regex,
    better: Option<Better>,
    /// Absent: the one behind the number, if the group has one.
    unit: Option<String>,
    around: Around,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// Nothing matched, or not a number.
    Absent(String),
    /// There is a number, and the expression does not read it as it is.
    Misread(String),
}

impl Pattern {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Searches standard output, then standard error.
    pub fn find(&self, printed: &Printed) -> Result<Reported, NoValue> {
        let of = |text: &'_ _| last(&self.regex, text);
        let found = of(&printed.stdout).map(|range| (printed.stdout.as_str(), range));
        let found = found.or_else(|| Some((printed.stderr.as_str(), of(&printed.stderr)?)));
        let Some((text, group)) = found else {
            return Err(NoValue::Absent(self.no_match(printed)));
        };
        let group = trimmed(text, group);
        let found = self.with_unit(text, &group);
        if let Some(whole) = self.cut(text, &group) {
            return Err(NoValue::Misread(format!(
                "--metric-regex {} matched {} of {:?}: put the whole number, and its unit if that changes, into the group, as in \
                 ([-+0-9.,eE]+ *[a-zA-Z/]*); if the number ends there, name what follows it",
                self.name, &text[group], &text[whole]
            )));
        }
        let (value, unit) = match found {
            Ok(found) => found,
            Err(why) if number::read(&text[group]).is_err() => {
                return Err(NoValue::Absent(format!("{}: {why}", self.name)));
            }
            Err(why) => return Err(NoValue::Misread(format!("{}: {why}", self.name))),
        };
        check_unit(&unit)
            .map_err(|why| NoValue::Misread(format!("{}: {unit:?}: {why}", self.name)))?;
        Ok(Reported::new(self.name.clone(), value, &unit, self.better).headline())
    }

    /// The number with the unit in the group, or else with the one that follows it: 900 us and 1.2 ms are 900 and 1.2 of
    /// nothing.
    fn with_unit(&self, text: &str, group: &Range<usize>) -> Result<(f64, String), String> {
        let (own, wanted) = (&text[group.clone()], self.unit.as_deref());
        let found = unit::read(own, wanted);
        if number::read(own).is_ok_and(|own| own.unit.is_empty())
            && let Some(behind) = unit::behind(&text[group.end..])
        {
            // Text that is no such unit is a word of its own.
            return unit::read(&format!("{own} {behind}"), wanted).or(found);
        }
        found
    }

    /// Text that the group should have matched, if that is more: the rest of a number, or a unit that is glued to it.
    fn cut(&self, text: &str, group: &Range<usize>) -> Option<Range<usize>> {
        let own = number::at(text, group.start);
        if own.is_empty() {
            return None;
        }
        let mut whole = number::whole(text, own.start..own.end.min(group.end));
        let Around {
            before,
            after,
            is_ended,
        } = &self.around;
        // Text that the expression itself names beside the group is no part of the number.
        if whole.start < group.start && before.is_some_and(|c| text[..group.start].ends_with(c)) {
            whole.start = group.start;
        }
        if whole.end > group.end && text[group.end..].starts_with(',') && after.starts_with(',') {
            whole.end = group.end;
        }
        whole.end = whole.end.max(group.end);
        let is_number_cut = whole.start < group.start || whole.end > group.end;
        let word = glued(&text[whole.end..]);
        let is_named = !after.is_empty() && starts_with_any_case(&text[group.end..], after);
        if is_number_cut || !(word.is_empty() || is_named) {
            return Some(whole.start..whole.end + word.len());
        }
        let more = number::doubtful(&text[..whole.end], &text[whole.end..]);
        (more > 0 && !is_ended).then(|| whole.start..whole.end + more)
    }

    fn no_match(&self, printed: &Printed) -> String {
        let text = format!("no match for {} ({})", self.name, self.regex);
        match nearest::line(self.regex.as_str(), &[&printed.stdout, &printed.stderr]) {
            Some(line) => format!("{text}; the nearest line is {line:?}"),
            None => text,
        }
    }

    fn parse(text: &str) -> Result<Pattern, String> {
        let (name, rest) = text.split_once('=').ok_or("there is no = after the name")?;
        check_name(name)?;
        // An expression may contain colons; only a known word ends it.
        let (expression, better, unit) = split(rest);
        let regex = RegexBuilder::new(expression)
            .multi_line(true)
            // Lines may end in \r\n, and progress in \r.
            .crlf(true)
            .size_limit(LARGEST)
            .build()
            .map_err(|error| format!("the regular expression is invalid: {error}"))?;
        if regex.captures_len() != 2 {
            return Err(format!(
                "the regular expression has {} groups; the number must be in the only one: ([0-9.,]+), and a group that is \
                 no number is (?:...)",
                regex.captures_len() - 1
            ));
        }
        unit.map_or(Ok(()), check_unit)?;
        Ok(Pattern {
            text: text.to_owned(),
            name: name.to_owned(),
            around: Around::group_of(expression),
            regex,
            better,
            unit: unit.map(str::to_owned),
        })
    }
}

/// The last group that took part in a match.
fn last(regex: &Regex, text: &str) -> Option<Range<usize>> {
    let group = |found: Captures<'_>| found.get(1).map(|group| group.range());
    regex.captures_iter(text).filter_map(group).last()
}

/// Without the blanks at both ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

/// The word that is glued to a number: a unit, which may be another one where the number is larger. `/s` and `%` stay.
fn glued(rest: &str) -> &str {
    let is_end = |c: char| c.is_whitespace() || ",;:|()[]{}<>\"'=".contains(c);
    let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
    if word.starts_with(char::is_alphabetic) {
        word
    } else {
        ""
    }
}

fn starts_with_any_case(text: &str, literal: &str) -> bool {
    let start: String = text.chars().take(literal.chars().count()).collect();
    start.to_lowercase() == literal.to_lowercase()
}

fn split(text: &str) -> (&str, Option<Better>, Option<&str>) {
    if let Some((expression, word)) = text.rsplit_once(':')
        && let Some(better) = better(word)
    {
        return (expression, Some(better), None);
    }
    if let Some((before, unit)) = text.rsplit_once(':')
        && let Some((expression, word)) = before.rsplit_once(':')
        && let Some(better) = better(word)
    {
        return (expression, Some(better), Some(unit));
    }
    (text, None, None)
}

impl FromStr for Pattern {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Pattern> {
        Pattern::parse(text).map_err(|why| {
            Failure::usage(
                format!("--metric-regex {text}: {why}"),
                "for example --metric-regex 'tps=tps = ([0-9.]+):higher:1/s'",
            )
        })
    }
}

/// Expressions that users write, with the features of regex that they take, and a line that each matches.
const PROMISED: [(&str, &str); 8] = [
    (r"x=tps (\d+)", "tps 5"),
    (r"x=tps\s+(\S+)", "tps\t5"),
    (r"x=\btps\b\W+(\d+)", "the tps: 5"),
    (r"x=^\w+ (\d+)$", "größe 5\r\n"),
    (r"x=(?i)GRÖSSE (\d+)", "größe 5 Grösse 5"),
    (r"x=\p{Lu}\p{Greek} ([[:digit:]]+)", "Δσ 5"),
    (r"x=(?m)^[[:alpha:]]+ = ([0-9.]+)$", "a = 5\nb"),
    (r"x=(?x) tps \s (\d{1,9})", "tps 5"),
];

/// Whether this build can compile them: the number of expressions. They depend on its features of regex.
pub fn self_check() -> Result<usize, String> {
    for (text, line) in PROMISED {
        let pattern = Pattern::parse(text)?;
        let printed = Printed {
            stdout: line.to_owned(),
            ..Printed::default()
        };
        let found = pattern.find(&printed);
        if !found.is_ok_and(|metric| (metric.value - 5.0).abs() < 1e-9) {
            return Err(format!("{text} does not find its number in {line:?}"));
        }
    }
    Ok(PROMISED.len())
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
