//! The raw numbers that `--json` writes.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde::Serialize;

use crate::load::Kind;
use crate::programs::{self, Program};

#[derive(Serialize)]
pub struct Record {
    pub kernel: String,
    pub processor: String,
    pub cpus: usize,
    /// Load average of the last minute, before the first slice.
    pub load: f64,
    /// BPF programs that other processes had loaded before the first slice.
    pub foreign_programs: usize,
    pub seed: u64,
    pub slices: Vec<Slice>,
    pub cannot_run: Vec<CannotRun>,
    /// Slices left out because other disks had more than 1 % of the load's I/Os.
    pub refused: u32,
}

#[derive(Serialize)]
pub struct CannotRun {
    pub variant: String,
    pub reason: String,
}

/// Load and scheduler: two numbers are compared only within one condition.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Condition {
    pub load: Kind,
    pub scheduler: &'static str,
}

/// A time of one variant beside the load. Times in nanoseconds.
#[derive(Serialize)]
pub struct Slice {
    pub round: u32,
    #[serde(flatten)]
    pub condition: Condition,
    pub variant: String,
    /// The window with the kernel's BPF statistics off, as users have it.
    pub plain: Window,
    /// The window with the statistics on; None where nothing is attached.
    pub counted: Option<Counted>,
}

#[derive(Clone, Copy, Serialize)]
pub struct Window {
    pub time_ns: u64,
    /// I/Os of the load's disk, by the disk's own statistics.
    pub ios: u64,
    pub foreign_ios: u64,
    /// CPU time of the load and of the kernel's threads; None if the kernel does not tell.
    pub load_cpu_ns: Option<u64>,
    /// CPU time of the tool's process.
    pub tool_cpu_ns: Option<u64>,
}

#[derive(Serialize)]
pub struct Counted {
    #[serde(flatten)]
    pub window: Window,
    pub programs: Vec<Program>,
    pub map_bytes: u64,
}

impl Record {
    pub fn new(seed: u64) -> Result<Record> {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors
            .lines()
            .find(|line| line.starts_with("model name"));
        let model = model.and_then(|line| line.split_once(": "));
        Ok(Record {
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            processor: model
                .map_or("unknown processor", |(_, name)| name)
                .to_owned(),
            cpus: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            load: load
                .split(' ')
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or(f64::NAN),
            foreign_programs: programs::loaded()?,
            seed,
            slices: Vec::new(),
            cannot_run: Vec::new(),
            refused: 0,
        })
    }
}

pub fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

impl Window {
    /// Subtracts an earlier reading of the same counters.
    pub fn since(self, before: Window) -> Window {
        let between =
            |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        Window {
            time_ns: self.time_ns - before.time_ns,
            ios: self.ios - before.ios,
            foreign_ios: self.foreign_ios.saturating_sub(before.foreign_ios),
            load_cpu_ns: between(self.load_cpu_ns, before.load_cpu_ns),
            tool_cpu_ns: between(self.tool_cpu_ns, before.tool_cpu_ns),
        }
    }

    pub fn iops(&self) -> f64 {
        self.ios as f64 * 1e9 / self.time_ns as f64
    }

    pub fn has_foreign_load(&self) -> bool {
        self.foreign_ios * 100 > self.ios
    }

    /// CPU time of the load, the kernel's threads and the tool, per I/O.
    pub fn cpu_ns_per_io(&self) -> Option<f64> {
        let tool = self.tool_cpu_ns.unwrap_or(0);
        self.load_cpu_ns
            .map(|ns| (ns + tool) as f64 / self.ios as f64)
    }

    pub fn tool_ns_per_io(&self) -> Option<f64> {
        self.tool_cpu_ns.map(|ns| ns as f64 / self.ios as f64)
    }
}

impl Counted {
    pub fn runs(&self) -> u64 {
        self.programs.iter().map(|program| program.runs).sum()
    }

    pub fn ns_per_io(&self) -> f64 {
        let ns: u64 = self.programs.iter().map(|p| p.run_time_ns).sum();
        ns as f64 / self.window.ios as f64
    }
}
