//! Renders what I/Os wait for. Pure.

use iosched_result::measured::snapshot::CauseShare;
use iosched_result::report::units;
use iosched_result::stat::{LiveDevice, LiveProcess};

use super::detail::{named, plain};

pub const HEADER: &str = "WAITS FOR";
/// A cause with less is not worth a word.
const LEAST_SHARE: f64 = 0.005;

pub fn of_device(device: &LiveDevice) -> String {
    let ios = device.ops.iter().map(|op| op.ios).sum();
    match causes(&device.waits) {
        None => String::new(),
        Some(causes) => format!(
            "  waits  {} per I/O: {causes}\n",
            per_io(&device.waits, ios)
        ),
    }
}

pub fn of_processes(rows: &[&LiveProcess]) -> String {
    let mut table = plain(["PID", "COMM", "PER I/O", HEADER]);
    for row in rows {
        if let Some(causes) = causes(&row.waits) {
            let [pid, name] = named(row);
            table.add_row([pid, name, per_io(&row.waits, row.ios), causes]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!("{table}\n")
}

/// All waits and the device time of an I/O, on average. Where none completed, somebody may wait all the same.
fn per_io(waits: &[CauseShare], ios: u64) -> String {
    let all: u64 = waits.iter().map(|wait| wait.ns).sum();
    units::time((ios > 0).then(|| all as f64 / ios as f64))
}

fn causes(waits: &[CauseShare]) -> Option<String> {
    let said = waits.iter().filter(|wait| wait.share >= LEAST_SHARE);
    let said = said.map(|wait| format!("{:.0} % {}", wait.share * 100.0, wait.cause.name()));
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}
