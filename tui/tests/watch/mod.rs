//! One interval of `iosched stat`, which starts after it has attached.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::program::{Program, Started};

/// Starts one interval of `seconds` on the disk; returns when it has attached.
pub fn stat(program: &Program, device: &str, seconds: u32, rest: &[&str]) -> Started {
    let seconds = seconds.to_string();
    let start = ["stat", device, "-n", "1", "-i", &seconds];
    attached(program.start(&[&start, rest].concat()))
}

/// Waits until it has attached.
pub fn attached(mut started: Started) -> Started {
    // It is attached when it has opened its BPF links and sleeps; the time to load varies.
    let process = format!("/proc/{}", started.id());
    let links = || {
        let opened = fs::read_dir(format!("{process}/fd")).into_iter().flatten();
        let opened = opened.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        opened
            .filter(|link| link.to_string_lossy().contains("bpf_link"))
            .count()
    };
    let sleeps = || {
        let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        status.contains("State:\tS")
    };
    let last = std::cell::Cell::new((0, Instant::now()));
    started.until(Duration::from_secs(30), "it is attached", || {
        let (count, since) = last.get();
        if links() != count || !sleeps() {
            last.set((links(), Instant::now()));
        }
        count > 0 && since.elapsed() > Duration::from_millis(150)
    });
    started
}

/// Its only record. The work must be over by now, but not the interval.
pub fn record(started: Started) -> Value {
    let pid = started.id();
    assert!(
        fs::metadata(format!("/proc/{pid}/fd/0")).is_ok(),
        "the interval was too short"
    );
    let ended = started.end().ends(0, &[]);
    assert_eq!(ended.stdout.lines().count(), 1, "one line per interval");
    serde_json::from_str(&ended.stdout).expect("JSON")
}
