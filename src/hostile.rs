//! What must hold whatever comes from outside: nothing panics, and what is accepted can be used to the end.
//! One function for each kind of input. Tests give them what a grammar makes, `fuzz/` what a fuzzer finds.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::ab::{gate, identity, turn};
use crate::arm::Arm;
use crate::report::{
    self, benchfmt, bmf, csv, github_benchmark, junit, ktap, markdown, openmetrics, text,
};
use crate::workload::cgroup_mounts::Mounts;
use crate::workload::job_file::{JobFile, Window};
use crate::workload::{cgroup, fio_result, names, recorded};
use crate::{cgroups, device, environment, journal, scheduler};

/// What fio wrote.
pub fn fio_output(bytes: &[u8]) {
    let report = match fio_result::parse(bytes) {
        Ok(report) => report,
        Err(why) => return assert!(!why.is_empty()),
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
}

/// A result file: what is read can be shown in every format, judged, and gone on with.
pub fn result_file(bytes: &[u8]) {
    let Ok(result) = report::read::parse(bytes) else {
        return;
    };
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
            if let Ok(checks) = gate::check(&result, baselines, rules) {
                let _ = (report::gate::render(&checks), gate::overall(&checks));
            }
        }
    }
    let _ = identity::changes(&result, &result.environment, &result.device);
    let _ = turn::next(&result);
    recorded_workload(&result.workload.description);
    for seconds in [result.design.ramp_s, result.design.round_time_s] {
        let _ = Duration::from_secs_f64(seconds);
    }
    let again = serde_json::to_vec(&result).expect("JSON");
    let again = report::read::parse(&again).expect("what was written is read");
    assert!(again == result, "written and read, it is another one");
}

/// The processes of a workload give their labels to files and control groups.
fn recorded_workload(description: &Value) {
    let Ok(workload) = recorded::workload(description, false) else {
        return;
    };
    let again = workload.description();
    let labels = again["processes"].as_array().into_iter().flatten();
    let labels: Vec<&str> = labels.filter_map(|it| it["label"].as_str()).collect();
    assert!(names::check_labels(&labels).is_ok(), "{labels:?}");
    for label in labels {
        let file = Path::new(label).file_name();
        assert_eq!(file.and_then(OsStr::to_str), Some(label));
    }
}

/// The result in every format.
pub fn formats(result: &report::result::ResultFile) -> Vec<String> {
    let files = github_benchmark::render(result);
    vec![
        text::render(result, true),
        text::render(result, false),
        csv::render(result),
        markdown::render(result),
        junit::render(result),
        ktap::render(result),
        benchfmt::render(result),
        bmf::render(result),
        openmetrics::render(result),
        files.smaller,
        files.bigger,
    ]
}

/// What a killed process left behind.
pub fn journal(bytes: &[u8]) {
    match journal::parse(Path::new("/journal/1-2.json"), bytes) {
        Ok(left) => assert!(left.describe().iter().all(|line| !line.is_empty())),
        Err(error) => assert!(error.to_string().contains("journal")),
    }
}

/// A job file: what fio is given does nothing that the check refuses.
pub fn job_file(text: &str) {
    let parse = |text: &str| JobFile::parse("a.fio", text, &[PathBuf::from("/dev/sdx")]);
    let file = match parse(text) {
        Ok(file) => file,
        Err(error) => return assert!(error.to_string().starts_with("a.fio:"), "{error}"),
    };
    let again = parse(&file.text()).expect("what was accepted is accepted again");
    assert_eq!(again.text(), file.text());
    assert_eq!(again.writes(), file.writes());
    assert_eq!(again.entries(), file.entries());
    let window = Window {
        targets: &["/dev/sdx".into()],
        ramp: Duration::from_secs(1),
        time: Duration::from_secs(2),
        lead: file.longest_start_delay(),
    };
    let round = file.for_round(&window);
    let of = |key: &str| round.lines().filter(|line| line.starts_with(key)).count();
    assert_eq!((of("filename="), of("runtime=")), (1, 1), "{round}");
    assert!(!round.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    round.lines().for_each(line_for_fio);
    parse(&round).expect("what fio is given passes the check too");
}

/// Options whose values may have a slash: the device, shares of sizes, and a text that fio only shows.
const WITH_SLASH: [&str; 5] = [
    "filename",
    "bssplit",
    "cmdprio_bssplit",
    "random_distribution",
    "description",
];

/// A line that names no path, is worked out by nobody, and is one line for fio.
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

pub fn arm(text: &str) {
    if let Ok(arm) = text.parse::<Arm>() {
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
}

/// The kernel's tables of mounts and of control groups.
pub fn tables(text: &str) {
    let mounts = device::mounts::parse(text);
    assert!(mounts.len() <= text.lines().count());
    let _ = Mounts::among(&mounts);
    for mount in &mounts {
        let _ = device::mounts::above(&mounts, &mount.point);
    }
    let _ = cgroup::cpu_stat(text);
    let _ = environment::memory_bytes(text);
    if let Some(times) = environment::parse_cpu_times(text)
        && let Some(load) = times.until(&times)
    {
        assert!(load.busy_share.is_finite() && load.steal_share.is_finite());
    }
    if let Some(weight) = cgroups::weight_of(text, Some("8:0")) {
        assert!(weight.is_finite() && weight > 0.0, "{weight}");
    }
}

/// Attributes of a disk. The first line is the attribute's name, the second what was written to it.
pub fn attributes(text: &str) {
    if let Some(choice) = scheduler::state::parse_choice(text) {
        assert!(!choice.active.is_empty(), "{choice:?}");
        assert!(choice.available.contains(&choice.active), "{choice:?}");
    }
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (name, written, read_back) = (next(), next(), next());
    let _ = scheduler::value::kept(name, written, read_back, 4_000_000);
    let same = scheduler::value::kept(name, written, written, 4_000_000);
    assert_eq!(same, scheduler::value::Kept::AsWritten);
    let _ = device::io_stat::parse(text);
    let _ = device::hardware_depth::parse_tags(text);
    let _ = device::parse_dev(text);
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
