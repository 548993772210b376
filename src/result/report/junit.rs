//! JUnit's XML: one test case per primary comparison. Pure.

use std::fmt::Write;

use super::cases::{self, Case, State};
use super::escape::xml as escaped;
use super::{labels, words};
use crate::gate::Judgement;
use crate::types::result::ResultFile;

/// A suite for each result.
pub fn render(results: &[&ResultFile]) -> String {
    let suites = results.iter();
    report(suites.map(|result| suite(result, None, &cases::of_report(result))))
}

/// Findings of a gate on the results.
/// `files`: where each is from, if there are several. `broken`: counts that are not what the study asserts, which are cases of the
/// first result.
pub fn gate(judged: &[(&ResultFile, &Judgement)], files: &[String], broken: &[String]) -> String {
    let suites = judged.iter().enumerate();
    report(suites.map(|(index, (result, judgement))| {
        let mut cases = cases::of_gate(result, judgement);
        if index == 0 {
            cases.extend(broken.iter().map(|what| cases::broken(what)));
        }
        suite(result, files.get(index).map(String::as_str), &cases)
    }))
}

fn report(suites: impl Iterator<Item = String>) -> String {
    let suites: String = suites.collect();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

fn suite(result: &ResultFile, file: Option<&str>, cases: &[Case]) -> String {
    let count = |is: fn(State) -> bool| cases.iter().filter(|case| is(case.state)).count();
    let mut xml = String::new();
    let _ = write!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        escaped(&words::title(result)),
        cases.len(),
        count(|state| state == State::Failed),
        count(|state| matches!(state, State::Error(_))),
        count(|state| state == State::Skipped),
    );
    // Readers reject a whole report for a time that is none.
    if humantime::parse_rfc3339(&result.started).is_ok() {
        let _ = write!(xml, " timestamp=\"{}\"", escaped(&result.started));
    }
    if let Some(hostname) = &result.environment.hostname {
        let _ = write!(xml, " hostname=\"{}\"", escaped(hostname));
    }
    let _ = writeln!(xml, "{}>", time(cases::elapsed_s(result)));
    properties(&mut xml, result, file);
    let class = escaped(&format!("iosched-ab.{}", result.workload.name));
    for case in cases {
        testcase(&mut xml, &class, case);
    }
    xml + "  </testsuite>\n"
}

/// Says on what the result was measured, and names the scheduler of each arm.
fn properties(xml: &mut String, result: &ResultFile, file: Option<&str>) {
    let from = labels::series(result)
        .into_iter()
        .chain(labels::circumstances(result))
        .map(|(name, value)| (name.to_owned(), value));
    let arms = result.design.arms.iter();
    let schedulers = arms.map(|arm| (format!("scheduler of {}", arm.label), arm.scheduler.clone()));
    let file = file.map(|file| ("file".to_owned(), file.to_owned()));
    *xml += "    <properties>\n";
    for (name, value) in file.into_iter().chain(from).chain(schedulers) {
        let (name, value) = (escaped(&name), escaped(&value));
        let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{value}\"/>");
    }
    *xml += "    </properties>\n";
}

fn testcase(xml: &mut String, class: &str, case: &Case) {
    let (name, text) = (escaped(&case.name), escaped(&case.text));
    let _ = writeln!(
        xml,
        "    <testcase classname=\"{class}\" name=\"{name}\"{}>",
        time(case.seconds)
    );
    let _ = match case.state {
        State::Passed => writeln!(xml, "      <system-out>{text}</system-out>"),
        State::Failed => writeln!(xml, "      <failure type=\"worse\" message=\"{text}\"/>"),
        State::Skipped => writeln!(xml, "      <skipped message=\"{text}\"/>"),
        State::Error(kind) => writeln!(xml, "      <error type=\"{kind}\" message=\"{text}\"/>"),
    };
    *xml += "    </testcase>\n";
}

/// An unknown time is left out.
fn time(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!(" time=\"{seconds:.3}\""))
}
