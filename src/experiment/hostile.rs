//! Properties that hold for any input from outside: nothing panics, and accepted input can be used completely. One
//! function per kind of input; tests call them with generated input, `fuzz/` with fuzzed input. Each returns whether
//! its input was accepted, because input that is always refused tests little.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use iosched_result::metric::Metric;
use iosched_result::metric::reported::check_name;
use serde_json::Value;

use crate::workload::application::page::Page;
use crate::workload::application::reading::{self, Reading};
use crate::workload::application::selector::Selector;
use crate::workload::job_file::{JobFile, Window};
use crate::workload::reported::output::Printed;
use crate::workload::reported::{Sources, programs};
use crate::workload::{Target, fio_result, names, recorded};

/// Output of fio.
pub fn fio_output(bytes: &[u8]) -> bool {
    let report = match fio_result::parse(bytes) {
        Ok(report) => report,
        Err(why) => {
            assert!(!why.is_empty());
            return false;
        }
    };
    let _ = fio_result::problem(&report, Duration::from_secs(1), Some(1));
    let _ = fio_result::one_line(&report.diagnostics);
    for direction in report.jobs.iter().flat_map(|job| job.result.directions()) {
        let numbers = [direction.iops, direction.bytes_per_s];
        assert!(numbers.iter().all(|x| x.is_finite()), "{direction:?}");
        if let Some(clat) = &direction.clat {
            let _ = clat.quantile_ns(0.99);
            assert!(clat.mean_ns.is_finite() && clat.sd_ns.is_finite());
        }
    }
    for sync in report
        .jobs
        .iter()
        .filter_map(|job| job.result.sync_lat.as_ref())
    {
        let _ = sync.quantile_ns(0.99);
        assert!(sync.mean_ns.is_finite() && sync.sd_ns.is_finite());
    }
    true
}

/// Labels of a workload's processes become part of names of files and control groups.
pub fn recorded_workload(description: &Value) -> bool {
    let Ok(workload) = recorded::workload(description, false) else {
        return false;
    };
    let again = workload.description();
    let labels = again["processes"].as_array().into_iter().flatten();
    let labels: Vec<&str> = labels.filter_map(|it| it["label"].as_str()).collect();
    assert!(names::check_labels(&labels).is_ok(), "{labels:?}");
    for label in labels {
        let file = Path::new(label).file_name();
        assert_eq!(file.and_then(OsStr::to_str), Some(label));
    }
    true
}

/// A job file: the one passed to fio contains nothing that the check refuses.
pub fn job_file(text: &str) -> bool {
    let parse = |text: &str| JobFile::parse("a.fio", text, &[]);
    let file = match parse(text) {
        Ok(file) => file,
        Err(error) => {
            assert!(error.to_string().starts_with("a.fio:"), "{error}");
            return false;
        }
    };
    let again = parse(&file.text()).expect("what was accepted is accepted again");
    assert_eq!(again.text(), file.text());
    assert_eq!(again.writes(), file.writes());
    assert_eq!(again.entries(), file.entries());
    let target = Target {
        bytes: 1 << 30,
        is_file: false,
        disks: 1,
    };
    let layout = file.lay_out("a.fio", &target).ok();
    assert!(file.replaced(&target).len() <= 2);
    let window = Window {
        targets: &["/dev/sdx".into()],
        ramp: Duration::from_secs(1),
        time: Duration::from_secs(2),
        lead: file.longest_start_delay(),
        layout: layout.as_ref(),
    };
    let round = file.for_round(&window);
    let of = |key: &str| round.lines().filter(|line| line.starts_with(key)).count();
    assert_eq!((of("filename="), of("runtime=")), (1, 1), "{round}");
    assert!(!round.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    round.lines().for_each(line_for_fio);
    parse(&round).expect("what fio is given passes the check too");
    true
}

/// Options whose values may contain a slash: the device, shares of sizes, and a text that fio only prints.
const WITH_SLASH: [&str; 5] = [
    "filename",
    "bssplit",
    "cmdprio_bssplit",
    "random_distribution",
    "description",
];

/// A line that names no path, that neither fio nor a shell evaluates, and that is one line for fio.
fn line_for_fio(line: &str) {
    assert!(line.len() < 4096 && !line.contains(['$', '`']), "{line}");
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    assert!(
        !key.contains(['/', ';', '#']) && !value.contains([';', '#']),
        "{line}"
    );
    assert!(!value.contains('/') || WITH_SLASH.contains(&key), "{line}");
    if !matches!(key, "filename" | "description") {
        assert!(
            !value.starts_with(['/', '.']) && !value.contains("/."),
            "{line}"
        );
        assert!(!value.contains(['\'', '(']), "{line}");
    }
}

/// Output of a command, on either stream and in the file of its metrics, and words of its command line. Returns whether any
/// parser takes metrics from it.
pub fn command_output(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let mut is_accepted = false;
    for name in programs::names() {
        let program = programs::find(name).expect("a parser");
        let mut words = words.clone();
        words.insert(words.len().min(1), name.to_owned());
        let _ = ((program.is_timed)(&words), (program.logs)(&words));
        let sources = Sources {
            program: Some(program),
            is_program_sure: true,
            ..Sources::default()
        };
        let _ = programs::resembling(&Printed {
            stdout: text.to_owned(),
            ..Printed::default()
        });
        let on_each_stream = [[text, "", ""], ["", text, ""], ["", "", text]];
        for [stdout, stderr, metrics_file] in on_each_stream {
            let printed = Printed {
                stdout: stdout.to_owned(),
                stderr: stderr.to_owned(),
                metrics_file: metrics_file.to_owned(),
                logs: Vec::new(),
            };
            let found = sources.find(&printed);
            assert!(found.problem.is_none_or(|why| !why.is_empty()));
            for metric in &found.metrics {
                let is_plain = check_name(&metric.name).is_ok();
                assert!(is_plain && metric.value.is_finite(), "{metric:?}");
                assert!(!metric.unit.is_empty(), "{metric:?}");
            }
            let parsed = (program.parse)(&printed);
            is_accepted |= parsed.is_ok();
            for metric in parsed.iter().flat_map(|found| &found.metrics) {
                assert!(Metric::named(&metric.name).is_none(), "{metric:?}");
                assert!(metric.value >= 0.0, "{metric:?}");
            }
        }
    }
    is_accepted
}

/// Two pages of an application's metrics, one after the other. Returns whether a metric has a value.
pub fn metrics_page(text: &str) -> bool {
    let (first, last) = text.split_once("----\n").unwrap_or((text, text));
    let asked = ["tx_total", "lag", "mean(w)", "p99(w)", "above(0.1,w)"];
    let values = asked.map(|series| {
        let selector: Selector = series.parse().expect("a series");
        let read = |seconds, text: &str| {
            let (take, value) = selector.find(&Page::parse(text)?, None)?;
            let at = Duration::from_secs(seconds);
            Ok::<_, String>(Reading { at, take, value })
        };
        let (first, last) = (read(1, first).ok()?, read(11, last).ok()?);
        let _ = reading::coarseness(&first, &last);
        reading::between(&first, &last).ok()
    });
    let values: Vec<f64> = values.into_iter().flatten().collect();
    assert!(values.iter().all(|value| value.is_finite()), "{values:?}");
    !values.is_empty()
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
