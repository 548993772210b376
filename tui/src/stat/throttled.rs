//! I/O that a limit of a control group held back. Pure.

use iosched_result::report::{escape, units};
use iosched_result::stat::{LiveDevice, LiveRecord};

/// How much a limit held back and whose it was; empty if nothing.
pub fn line(device: &LiveDevice, record: &LiveRecord) -> String {
    let edges = &device.edges;
    let all = edges.throttled + edges.throttled_unknown;
    if all == 0 {
        return String::new();
    }
    let mean = match edges.throttled {
        0 => "for how long is unknown on this kernel".to_owned(),
        known => format!(
            "for {} on average",
            units::time(Some(edges.throttled_ns as f64 / known as f64))
        ),
    };
    let rows = record.processes.iter();
    let whose = rows.filter(|row| row.device == device.device && row.throttled > 0);
    let whose: Vec<String> = whose
        .map(|row| {
            let group = row.cgroup.as_deref().unwrap_or("its control group");
            format!("{} by {group}", row.comm)
        })
        .collect();
    let whose = if whose.is_empty() {
        String::new()
    } else {
        format!(": {}", whose.join(", "))
    };
    let line = format!(
        "  {} I/Os held back by a limit before the queue wait, {mean}{whose}",
        units::count(all as f64)
    );
    escape::line(&line) + "\n"
}
