//! Metrics that a command reports itself, in its output or in the file `$IOSCHED_METRICS`. Pure, except [`output`].

use std::collections::BTreeMap;

pub mod known; // names that a benchmark can report
mod nearest; // the line that comes nearest to an expression
pub mod output; // output and files of a command, read with limits
pub mod pattern; // metrics by a regular expression
pub mod programs; // parsers for well-known benchmarks
mod protocol; // the lines of $IOSCHED_METRICS
mod source; // what stands beside the group of an expression

use iosched_result::metric::reported::Reported;
use iosched_result::text::hidden::is_hidden;
use output::Printed;
use pattern::{NoValue, Pattern};
use programs::Program;

const LONGEST_UNIT: usize = 16;
/// Maximum number of metrics per round.
pub const MOST: usize = 500;

pub(super) fn check_unit(unit: &str) -> Result<(), String> {
    let is_printable = |c: char| !is_hidden(c) && !c.is_whitespace();
    if unit.is_empty() || unit.chars().count() > LONGEST_UNIT || !unit.chars().all(is_printable) {
        return Err(format!("a unit has 1 to {LONGEST_UNIT} characters"));
    }
    Ok(())
}

/// Where to look for metrics.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub program: Option<&'static Program>,
    /// The user named the program. Otherwise a program without output reports nothing.
    pub is_program_sure: bool,
    /// The program was found in the line of a shell: output of another form reports nothing.
    pub is_in_shell: bool,
    /// Whether to say which program's report it looks like, if there is no program.
    pub looks_for_reports: bool,
    pub patterns: Vec<Pattern>,
}

/// The metrics of one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub metrics: Vec<Reported>,
    /// Metrics with too few samples for their percentile.
    pub insufficient_tail: Vec<String>,
    /// Why a requested metric is missing.
    pub problem: Option<String>,
    /// The output has an answer that is not read as it is: a part of a number, or two reports. The run ends, because a round
    /// without its metric would count against an arm that did nothing wrong.
    pub misread: Option<String>,
    /// The program whose report it looks like, if nothing reads it.
    pub resembles: Option<String>,
}

impl Found {
    pub fn because(problem: String) -> Found {
        Found {
            problem: Some(problem),
            ..Found::default()
        }
    }
}

impl Sources {
    /// All metrics that the command reported. Invalid input is a problem of the round, never ignored.
    pub fn find(&self, printed: &Printed) -> Found {
        let mut found = Found::default();
        let mut problems = Vec::new();
        let is_silent = printed.stdout.is_empty() && printed.stderr.is_empty();
        if let Some(program) = self.program.filter(|_| self.is_program_sure || !is_silent) {
            match programs::read(program, printed) {
                Ok(of_program) => found = of_program,
                Err(NoValue::Absent(_)) if self.is_in_shell => {}
                Err(NoValue::Absent(why)) => problems.push(format!(
                    "its output is not that of {}: {why} (--parse none takes no metrics from it)",
                    program.name
                )),
                Err(NoValue::Misread(why)) => {
                    let why = format!("{}: {why}", program.name);
                    found.misread = Some(why.clone());
                    problems.push(why);
                }
            }
        }
        if self.program.is_none() && self.looks_for_reports {
            found.resembles = programs::resembling(printed).map(str::to_owned);
        }
        // With --parse none, nothing is taken from the output.
        if self.program.is_some() || !self.is_program_sure {
            let beside = programs::wrappers::find(printed, self.program);
            found.metrics.extend(beside);
        }
        let of_programs = found.metrics.len();
        for pattern in &self.patterns {
            match pattern.find(printed) {
                Ok(metric) => found.metrics.push(metric),
                Err(NoValue::Absent(why)) => problems.push(why),
                Err(NoValue::Misread(why)) => {
                    found.misread = Some(why.clone());
                    problems.push(why);
                }
            }
        }
        match protocol::parse(&printed.metrics_file) {
            Ok(metrics) => found.metrics.extend(metrics),
            Err(why) => problems.push(format!("the file $IOSCHED_METRICS: {why}")),
        }
        if let Some(why) = without_a_time(&found.metrics[of_programs..]) {
            found.misread.get_or_insert(why.clone());
            problems.push(why);
        }
        if let Some(why) = twice(&found.metrics) {
            found.misread.get_or_insert(why.clone());
            problems.push(why);
        }
        problems.extend(too_many(&found.metrics));
        found.problem = found
            .problem
            .or_else(|| (!problems.is_empty()).then(|| problems.join("; ")));
        found
    }
}

fn too_many(metrics: &[Reported]) -> Option<String> {
    let count = metrics.len();
    (count > MOST).then(|| format!("it reported {count} metrics, more than {MOST}"))
}

/// A time of 0 says that nothing was measured, that the digits do not show it, or that there was none (of stalls). Nobody
/// knows which, and it would win against every other value, so the run ends.
pub(super) fn without_a_time(metrics: &[Reported]) -> Option<String> {
    let metric = metrics
        .iter()
        .find(|metric| metric.value == 0.0 && iosched_result::text::unit::is_time(&metric.unit))?;
    Some(format!(
        "it reported {} as 0 {}: print more digits, or leave out the unit of time if it can be 0",
        metric.name, metric.unit
    ))
}

/// A metric with two answers.
fn twice(metrics: &[Reported]) -> Option<String> {
    let mut seen = BTreeMap::new();
    let (first, second) = metrics
        .iter()
        .find_map(|metric| Some((seen.insert(&metric.name, metric)?, metric)))?;
    Some(format!(
        "it reported {} twice, {} {} and {} {}",
        first.name, first.value, first.unit, second.value, second.unit
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_0_is_no_time() {
        let of_file = |text: &str| {
            let printed = Printed {
                metrics_file: text.to_owned(),
                ..Printed::default()
            };
            Sources::default().find(&printed)
        };
        let found = of_file("lat 0 us lower\n");
        let why = found.problem.expect("a problem");
        assert!(why.contains("it reported lat as 0 us"), "{why}");
        assert_eq!(found.misread, Some(why), "no arm is judged by it");
        // A count may be 0, and so may what is no time.
        for text in [
            "errors 0 lower\n",
            "rate 0 1/s higher\n",
            "lat 1 us lower\n",
        ] {
            assert_eq!(of_file(text).problem, None, "{text}");
        }
        let why = of_file("lat 1e-400 us lower\n").problem.expect("a problem");
        assert!(why.contains("is not a finite number"), "{why}");
        let why = of_file("x 5..2\n").problem.expect("a problem");
        assert!(why.contains("is not a whole number"), "{why}");
    }

    #[test]
    fn what_is_reported_twice_is_a_problem() {
        let printed = Printed {
            metrics_file: "tps 5 1/s higher\ntps 6 1/s higher\n".to_owned(),
            ..Printed::default()
        };
        let found = Sources::default().find(&printed);
        let why = "it reported tps twice, 5 1/s and 6 1/s";
        assert_eq!(found.problem.as_deref(), Some(why));
        assert_eq!(found.misread.as_deref(), Some(why));
    }
}
