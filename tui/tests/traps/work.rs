//! Workloads for the tests, and what `iosched stat` reports about them.

use std::fs;
use std::time::Duration;

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::Device;
use iosched_result::types::scratch::model::DiskModel;
use serde_json::Value;

use crate::BINARY;
use crate::exact::number;
use crate::support::program::Program;
use crate::support::run;
use crate::watch::stat;

/// The last record of a watch, and its notes.
#[derive(Debug)]
pub struct Seen {
    pub record: Value,
    pub notes: String,
}

impl Seen {
    /// Watches the work for one interval, which ends after the work.
    pub fn of<T>(device: &str, rest: &[&str], work: impl FnOnce() -> T) -> (Seen, T) {
        let program = Program::new(BINARY);
        let rest = [&["--output", "json"], rest].concat();
        let started = stat(&program, device, 3600, &rest);
        let result = work();
        // Completions become visible a moment later.
        std::thread::sleep(Duration::from_millis(100));
        run("kill", &["-INT", &started.id().to_string()]);
        let ended = started.end().ends(130, &[]);
        assert_eq!(ended.stdout.lines().count(), 1, "one line per interval");
        let record = serde_json::from_str(&ended.stdout).expect("JSON");
        let notes = ended.stderr;
        (Seen { record, notes }, result)
    }

    pub fn device(&self) -> &Value {
        &self.record["devices"][0]
    }

    pub fn rows(&self) -> &[Value] {
        self.record["processes"].as_array().expect("a list")
    }

    pub fn named(&self, comm: &str) -> Vec<&Value> {
        let rows = self.rows().iter();
        rows.filter(|row| row["comm"] == comm).collect()
    }

    /// The sum over the rows of that process; 0 if there is none.
    pub fn of_pid(&self, pid: u32, field: &str) -> u64 {
        let rows = self.rows().iter().filter(|row| row["pid"] == pid);
        rows.map(|row| number(row, &format!("/{field}"))).sum()
    }

    pub fn op(&self, name: &str) -> Option<&Value> {
        let mut ops = self.device()["ops"].as_array().expect("a list").iter();
        ops.find(|op| op["op"] == name)
    }

    /// Requests that are still counted as in flight.
    pub fn left_over(&self) -> u64 {
        ["queued", "issued"]
            .map(|kind| number(self.device(), &format!("/in_flight/{kind}")))
            .iter()
            .sum()
    }
}

/// A simulated SSD: four requests at a time, 1 ms each, so that further requests wait and can be merged or straddle a
/// switch.
pub struct Ssd {
    pub device: Device,
    _scratch: Scratch,
    _journal: Journal,
}

impl Ssd {
    /// None, and a message, if it cannot be simulated.
    pub fn new(size_bytes: u64) -> Option<Ssd> {
        let journal = Journal::create().expect("a journal");
        let scratch =
            Scratch::create(DiskModel::Ssd, size_bytes, &journal).expect("a scratch device");
        if let Some(why) = scratch.fallback() {
            println!("skipped: {why}");
            return None;
        }
        let device = Device::resolve(scratch.device_name()).expect("the new device");
        Some(Ssd {
            device: device.device,
            _scratch: scratch,
            _journal: journal,
        })
    }

    pub fn node(&self) -> String {
        self.device.node().display().to_string()
    }

    pub fn set(&self, attribute: &str, value: &str) {
        let path = self.device.sysfs("queue").join(attribute);
        fs::write(&path, value)
            .unwrap_or_else(|error| panic!("{} = {value}: {error}", path.display()));
    }
}
