//! pg_test_fsync: operations per second of each way to sync. All tests run for a fixed time (`-s`).

use super::{Metrics, Program, first_number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static PG_TEST_FSYNC: Program = Program {
    name: "pg_test_fsync",
    parse,
    is_timed: |_| true,
    logs: |_| false,
};

/// The beginnings of the sections' titles, and of their metrics' names.
const SECTIONS: [(&str, &str); 5] = [
    ("Compare file sync methods using one ", "one_write_"),
    ("Compare file sync methods using two ", "two_writes_"),
    ("Compare open_sync with different write sizes", ""),
    ("Test if fsync on non-write file descriptor", ""),
    ("Non-sync'ed ", "unsynced_"),
];
/// The default of wal_sync_method on Linux.
const DEFAULT: &str = "one_write_fdatasync";

fn parse(printed: &Printed) -> Result<Found, String> {
    let mut metrics = Metrics::of("pg_test_fsync");
    let mut section = None;
    let mut has_default = false;
    for line in printed.stdout.lines() {
        let started = SECTIONS
            .iter()
            .position(|(title, _)| line.starts_with(title));
        section = started.or(section);
        let Some(now) = section else { continue };
        // A method that the file system does not have has "n/a" in place of its rate.
        let Some((method, rate)) = line
            .split_once(" ops/sec")
            .and_then(|(before, _)| split(before))
        else {
            continue;
        };
        let name = format!("{}{}", SECTIONS[now].1, method_name(method));
        metrics.per_second(&name, rate);
        if name == DEFAULT {
            metrics.headline();
            has_default = true;
        }
    }
    if section != Some(SECTIONS.len() - 1) {
        return Err("it ended before its last test".to_owned());
    }
    if !has_default {
        return Err("there is no rate of fdatasync for one write".to_owned());
    }
    metrics.end()
}

/// The name of a method and its rate.
fn split(text: &str) -> Option<(&str, f64)> {
    let (method, rate) = text.trim().rsplit_once(' ')?;
    Some((method.trim(), first_number(rate)?))
}

/// `open_sync_2x8kB` of "2 *  8kB open_sync writes"; `write_fsync_close` of "write, fsync, close".
fn method_name(method: &str) -> String {
    let words: Vec<&str> = method.split_whitespace().collect();
    match words[..] {
        [count, "*", size, how, _] => plain(&format!("{how}_{count}x{size}")),
        _ => plain(method),
    }
}
