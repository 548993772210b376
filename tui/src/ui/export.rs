//! Exports the processes on the screen as CSV, with the most used columns of `iosched stat --output csv`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use iosched_files::output::write_whole_in;
use iosched_result::report::escape;
use iosched_result::stat::LiveProcess;

use super::place;
use super::state::model::Model;

const HEADER: [&str; 17] = [
    "device",
    "pid",
    "comm",
    "cgroup",
    "iops",
    "bytes_per_s",
    "reads",
    "writes",
    "device_time_share",
    "queue_wait_p50_ns",
    "queue_wait_p99_ns",
    "queue_wait_max_ns",
    "device_p50_ns",
    "device_p99_ns",
    "device_max_ns",
    "merged_share",
    "starvation_max_ns",
];

/// The rows of the interval, filtered and sorted as shown.
pub fn processes(model: &Model) -> Result<PathBuf> {
    let mut rows = model.processes();
    rows.retain(|row| !row.is_idle);
    ensure!(!rows.is_empty(), "there is no process to export");
    let path = place::file(&model.directory, "processes", "csv");
    write_whole_in(&path, &csv(rows.iter().map(|row| row.process))?)?;
    Ok(path)
}

fn csv<'a>(rows: impl Iterator<Item = &'a LiveProcess>) -> Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(HEADER)?;
    let number = |value: Option<f64>| value.map(|value| format!("{value:.0}")).unwrap_or_default();
    let share = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    for process in rows {
        let fairness = process.fairness.as_ref();
        out.write_record([
            escape::cell(&process.device),
            process.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            escape::cell(&process.comm),
            escape::cell(process.cgroup.as_deref().unwrap_or_default()),
            format!("{:.2}", process.iops),
            format!("{:.0}", process.bytes_per_s),
            process.reads.to_string(),
            process.writes.to_string(),
            share(fairness.and_then(|fairness| fairness.device_time_share)),
            number(process.queue_wait.p50_ns),
            number(process.queue_wait.p99_ns),
            number(process.queue_wait.max_ns),
            number(process.device_time.p50_ns),
            number(process.device_time.p99_ns),
            number(process.device_time.max_ns),
            share(process.merge_ratio),
            fairness
                .and_then(|f| f.starvation_max_ns)
                .map(|ns| ns.to_string())
                .unwrap_or_default(),
        ])?;
    }
    Ok(out.into_inner()?)
}

#[cfg(test)]
mod tests {
    use iosched_result::measured::snapshot::{Interval, OwnerKey, OwnerKind, OwnerNumbers};
    use iosched_result::stat::{Selection, record};

    use super::*;

    struct Hostile;

    impl Selection for Hostile {
        fn cgroup_path(&self, _: u64) -> Option<String> {
            Some("/a\u{202e},\"b\"".to_owned())
        }
    }

    #[test]
    fn a_hostile_name_is_a_cell_of_text() {
        let key = OwnerKey {
            device: "sda".into(),
            kind: OwnerKind::Process,
            tgid: 7,
            start_ms: 1,
            cgroup_id: 1,
            file: None,
        };
        let interval = Interval {
            start_ns: 0,
            end_ns: 1_000_000_000,
            owners: vec![OwnerNumbers::new(key, "=1+\u{1b}[2J\n,;")],
            ..Interval::nothing("sda")
        };
        let processes = record(&interval, String::new(), false, &[], &Hostile).processes;
        let bytes = csv(processes.iter()).expect("CSV");
        let text = String::from_utf8(bytes).expect("text");
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), 2, "{text}");
        assert!(
            rows[1].starts_with("sda,7,\"'=1+?[2J?,;\",\"/a?,\"\"b\"\"\","),
            "{text}"
        );
    }
}
