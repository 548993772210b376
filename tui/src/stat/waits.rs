//! Renders what I/Os wait for. Pure.

use iosched_result::measured::snapshot::CauseShare;
use iosched_result::report::page::{Column, Page};
use iosched_result::report::units;
use iosched_result::stat::{LiveDevice, LiveProcess};

use super::detail::named;

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

pub fn of_processes(page: &mut Page, rows: &[&LiveProcess]) {
    let columns = [
        Column::count("PID", 0),
        Column::name("COMM", 0),
        Column::quantity("PER I/O", 0),
        Column::list(HEADER, 0),
    ];
    let cells = rows.iter().filter_map(|row| {
        let [pid, name] = named(row);
        let causes = causes(&row.waits)?;
        Some(vec![pid, name, per_io(&row.waits, row.ios), causes])
    });
    page.table(&columns, &cells.collect::<Vec<_>>());
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
