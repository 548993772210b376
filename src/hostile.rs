//! Properties that hold for any input from outside: nothing panics, and accepted input can be used completely. One
//! function per kind of input; tests call them with generated input, `fuzz/` with fuzzed input. Each returns whether
//! its input was accepted, because input that is always refused tests little.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::ab::metric::Metric;
use crate::ab::result::{identity, read};
use crate::ab::{gate, turn};
use crate::history;
use crate::machine::cgroup::mounts::Mounts;
use crate::machine::cgroup::names::weight_of;
use crate::machine::device;
use crate::machine::environment;
use crate::measure::snapshot::by_cgroup;
use crate::measure::stalls::Stalls;
use crate::persist;
use crate::report::characters::Form;
use crate::report::{
    self, benchfmt, bmf, csv, github_benchmark, html, junit, ktap, markdown, openmetrics, text,
};
use crate::safety::journal;
use crate::scheduler;
use crate::scheduler::arm::Arm;
use crate::stat;
use crate::workload::job_file::{JobFile, Window};
use crate::workload::reported::output::Printed;
use crate::workload::reported::{self, Sources, programs};
use crate::workload::{Target, cgroup, fio_result, names, recorded};

/// Lines of a history, not yet compressed.
pub fn history(lines: &[u8]) -> bool {
    let mut file = GzEncoder::new(Vec::new(), Compression::fast());
    file.write_all(lines).expect("memory");
    let Ok(history) = history::file::parse(&file.finish().expect("memory")) else {
        return false;
    };
    for packed in &history.frames {
        let frame = packed.frame().expect("what was kept");
        let Some(interval) = &frame.interval else {
            continue;
        };
        let states = vec![stat::DeviceState::default(); frame.devices.len()];
        let time = frame.time_of_day().to_owned();
        let record = stat::record(interval, time, !frame.measures_q2g, &states, &frame);
        assert_eq!(record.devices.len(), history.head.disks.len());
        let _ = by_cgroup(&interval.owners);
        for device in &interval.devices {
            let _ = Stalls::of(device, &interval.owners.iter());
        }
    }
    true
}

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

/// A result file: once read, it can be rendered in every format, judged, and resumed.
pub fn result_file(bytes: &[u8]) -> bool {
    let Ok(result) = read::parse(bytes) else {
        return false;
    };
    let traced = report::traces::of(&result, None);
    assert!(traced.is_empty() || !report::perfetto::render(&result, &traced).is_empty());
    for of in &traced {
        let shown = report::blkparse::render(&result, *of).replace('\n', "");
        assert!(!shown.contains(char::is_control), "{shown:?}");
    }
    for text in formats(&result) {
        assert!(!text.is_empty());
        let shown = text.replace("\r\n", "\n");
        assert!(
            !shown.contains(|c: char| c != '\n' && c.is_control()),
            "{text:?}"
        );
    }
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    let page = markdown::render(&result);
    let mut rows = page.lines().filter(|line| line.starts_with('|'));
    assert!(rows.all(|row| bars(row) == 9), "{page}");
    for mode in [
        gate::Mode::Worse,
        gate::Mode::BeyondMargin,
        gate::Mode::Noninferior,
    ] {
        let rules = gate::Rules {
            mode,
            require_verdict: true,
            other_kernel: false,
        };
        for baselines in [&[][..], &[("it".to_owned(), result.clone())]] {
            let judgement = gate::judge(&result, baselines, rules, gate::Selection::default());
            for text in findings(&result, &judgement) {
                let hidden = |c: char| c != '\n' && c.is_control();
                assert!(!text.is_empty() && !text.contains(hidden), "{text:?}");
            }
        }
    }
    for arm in &result.design.arms {
        let wanted = persist::Wanted {
            arm: Some(&arm.label),
            ..persist::Wanted::default()
        };
        let _ = persist::decide(&result, wanted);
    }
    let _ = identity::changes(&result, &result.environment, &result.device);
    let _ = turn::next(&result);
    recorded_workload(&result.workload.description);
    for seconds in [result.design.ramp_s, result.design.round_time_s] {
        let _ = Duration::from_secs_f64(seconds);
    }
    let again = serde_json::to_vec(&result).expect("JSON");
    let again = read::parse(&again).expect("what was written is read");
    assert!(again == result, "written and read, it is another one");
    true
}

/// What a gate says, in every format.
fn findings(result: &crate::ab::result::ResultFile, judgement: &gate::Judgement) -> Vec<String> {
    vec![
        report::gate::text(judgement),
        report::gate::json(result, judgement).expect("JSON"),
        report::gate::markdown(result, judgement),
        junit::gate(&[(result, judgement)], &[]),
    ]
}

/// Labels of a workload's processes become part of names of files and control groups.
fn recorded_workload(description: &Value) -> bool {
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

/// The result in every format.
pub fn formats(result: &crate::ab::result::ResultFile) -> Vec<String> {
    let files = github_benchmark::render(&[result]);
    vec![
        text::render(
            result,
            true,
            Some(Form {
                width: 80,
                is_ascii: true,
            }),
        ),
        text::render(
            result,
            false,
            Some(Form {
                width: 20,
                is_ascii: false,
            }),
        ),
        html::render(result),
        csv::render(&[result]),
        markdown::render(result),
        junit::render(&[result]),
        ktap::render(&[result]),
        benchfmt::render(&[result]),
        bmf::render(&[result]),
        openmetrics::render(&[result]),
        files.smaller,
        files.bigger,
    ]
}

/// The journal of a killed process.
pub fn journal(bytes: &[u8]) -> bool {
    match journal::parse(Path::new("/journal/1-2.json"), bytes) {
        Ok(left) => {
            assert!(left.describe().iter().all(|line| !line.is_empty()));
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("journal"));
            false
        }
    }
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

pub fn arm(text: &str) -> bool {
    let arm = text.parse::<Arm>();
    if let Ok(arm) = &arm {
        assert!(!arm.label.is_empty() && !arm.label.contains(char::is_control));
        assert!(
            arm.settings
                .iter()
                .all(|(name, _)| !name.contains("..") || name.split('/').all(|part| part != ".."))
        );
        let again: Arm = arm.to_string().parse().expect("it parses back");
        assert_eq!(again.scheduler, arm.scheduler);
        assert_eq!(again.settings, arm.settings);
    }
    arm.is_ok()
}

/// The kernel's tables of mounts and of control groups. Returns whether a parser found an entry.
pub fn tables(text: &str) -> bool {
    let mounts = device::mounts::parse(text);
    assert!(mounts.len() <= text.lines().count());
    let _ = Mounts::among(&mounts);
    for mount in &mounts {
        let _ = device::mounts::above(&mounts, &mount.point);
    }
    let cpu_times = environment::parse_cpu_times(text);
    if let Some(times) = &cpu_times
        && let Some(load) = times.until(times)
    {
        assert!(load.busy_share.is_finite() && load.steal_share.is_finite());
    }
    let weight = weight_of(text, Some("8:0"));
    if let Some(weight) = weight {
        assert!(weight.is_finite() && weight > 0.0, "{weight}");
    }
    !mounts.is_empty()
        || cpu_times.is_some()
        || weight.is_some()
        || cgroup::cpu_stat(text).is_some()
        || environment::memory_bytes(text).is_some()
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
                let is_plain = reported::check_name(&metric.name).is_ok();
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

/// Attributes of a disk. The first line is the attribute's name, the second the value written to it.
pub fn attributes(text: &str) -> bool {
    let choice = scheduler::state::parse_choice(text);
    if let Some(choice) = &choice {
        assert!(!choice.active.is_empty(), "{choice:?}");
        assert!(choice.available.contains(&choice.active), "{choice:?}");
    }
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (name, written, read_back) = (next(), next(), next());
    let kept = scheduler::value::kept(name, written, read_back, 4_000_000);
    let same = scheduler::value::kept(name, written, written, 4_000_000);
    assert_eq!(same, scheduler::value::Kept::AsWritten);
    choice.is_some()
        || (!written.is_empty() && kept != scheduler::value::Kept::Not)
        || device::io_stat::parse(text).is_ok()
        || device::hardware_depth::parse_tags(text).is_some()
        || device::parse_dev(text).is_some()
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
