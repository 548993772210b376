//! A metric from a regular expression: `NAME=REGEX[:higher|lower[:UNIT]]`. The last match in the output counts. Pure.

use std::str::FromStr;

use anyhow::Result;
use regex::{Regex, RegexBuilder};

use super::output::Printed;
use super::protocol::better;
use super::{Better, Reported, check_name, check_unit, check_value};
use crate::failure::Failure;

/// Maximum size of the compiled expression, in bytes.
const LARGEST: usize = 1 << 20;

#[derive(Clone, Debug)]
pub struct Pattern {
    /// As the user wrote it.
    text: String,
    name: String,
    regex: Regex,
    better: Option<Better>,
    unit: String,
}

impl Pattern {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Searches standard output, then standard error.
    pub fn find(&self, printed: &Printed) -> Result<Reported, String> {
        let last = |text| self.regex.captures_iter(text).last();
        let found = last(&printed.stdout).or_else(|| last(&printed.stderr));
        let Some(found) = found else {
            return Err(format!("no match for {} ({})", self.name, self.regex));
        };
        let group = found.get(1).map_or("", |group| group.as_str());
        let value =
            check_value(&group.replace(',', "")).map_err(|why| format!("{}: {why}", self.name))?;
        let metric = Reported::new(self.name.clone(), value, &self.unit, self.better);
        Ok(metric.headline())
    }

    fn parse(text: &str) -> Result<Pattern, String> {
        let (name, rest) = text.split_once('=').ok_or("there is no = after the name")?;
        check_name(name)?;
        // An expression may contain colons; only a known word ends it.
        let (expression, better, unit) = split(rest);
        let regex = RegexBuilder::new(expression)
            .multi_line(true)
            .size_limit(LARGEST)
            .build()
            .map_err(|error| format!("the regular expression is invalid: {error}"))?;
        if regex.captures_len() != 2 {
            return Err(format!(
                "the regular expression has {} groups; the number must be in the only one: ([0-9.]+)",
                regex.captures_len() - 1
            ));
        }
        check_unit(unit)?;
        Ok(Pattern {
            text: text.to_owned(),
            name: name.to_owned(),
            regex,
            better,
            unit: unit.to_owned(),
        })
    }
}

fn split(text: &str) -> (&str, Option<Better>, &str) {
    if let Some((expression, word)) = text.rsplit_once(':')
        && let Some(better) = better(word)
    {
        return (expression, Some(better), "1");
    }
    if let Some((before, unit)) = text.rsplit_once(':')
        && let Some((expression, word)) = before.rsplit_once(':')
        && let Some(better) = better(word)
    {
        return (expression, Some(better), unit);
    }
    (text, None, "1")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stdout: &str) -> Printed {
        Printed {
            stdout: stdout.to_owned(),
            ..Printed::default()
        }
    }

    #[test]
    fn the_last_match_counts() {
        let pattern: Pattern = "tps=tps = ([0-9.]+):higher:1/s".parse().unwrap();
        let found = pattern
            .find(&of("tps = 5\ntps = 7.5 (including)\n"))
            .unwrap();
        assert_eq!(
            found,
            Reported::new("tps", 7.5, "1/s", Some(Better::Higher)).headline()
        );
        let printed = Printed {
            stderr: "tps = 8\n".to_owned(),
            ..Printed::default()
        };
        assert!((pattern.find(&printed).unwrap().value - 8.0).abs() < 1e-12);
        assert!(
            pattern
                .find(&of("nothing"))
                .unwrap_err()
                .contains("no match for tps")
        );
        let time: Pattern = r"wait=at ([0-9,]+):00:lower".parse().unwrap();
        let found = time.find(&of("at 1,204:00")).unwrap();
        assert_eq!(
            found,
            Reported::new("wait", 1204.0, "1", Some(Better::Lower)).headline()
        );
        let lines: Pattern = "x=^x ([0-9]+)$".parse().unwrap();
        assert_eq!(lines.find(&of("y\nx 4\ny")).unwrap().better, None);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, says) in [
            ("tps", "no = after the name"),
            ("=x", "the name of a metric"),
            ("a=(", "the regular expression is invalid"),
            ("a=tps = [0-9]+", "has 0 groups"),
            ("a=(1)(2)", "has 2 groups"),
            ("a=(x{1000}){1000}", "is invalid"),
        ] {
            let error = text.parse::<Pattern>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let words: Pattern = "a=(.*)".parse().unwrap();
        assert!(
            words
                .find(&of("fast"))
                .unwrap_err()
                .contains("not a finite number")
        );
    }
}
