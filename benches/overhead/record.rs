//! The raw numbers that `--json` writes.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde::Serialize;

use crate::fio::Outcome;
use crate::programs::{self, Account};

#[derive(Serialize)]
pub struct Record {
    pub kernel: String,
    pub cpus: usize,
    /// Load average of the last minute, before the first slice.
    pub load: f64,
    /// BPF programs that other processes had loaded before the first slice.
    pub foreign_programs: usize,
    pub seed: u64,
    pub slices: Vec<Slice>,
    pub cannot_run: Vec<CannotRun>,
}

#[derive(Serialize)]
pub struct CannotRun {
    pub variant: String,
    pub reason: String,
}

/// One run of fio. With `programs`, the kernel's run-time statistics were on, so its IOPS are not compared.
#[derive(Serialize)]
pub struct Slice {
    pub round: u32,
    pub scheduler: String,
    pub variant: String,
    pub iops: f64,
    pub ios: u64,
    pub programs: Option<Vec<Program>>,
    pub map_bytes: Option<u64>,
}

#[derive(Serialize)]
pub struct Program {
    pub name: String,
    pub run_time_ns: u64,
    pub runs: u64,
}

impl Record {
    pub fn new(seed: u64) -> Result<Record> {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Ok(Record {
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
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
        })
    }
}

pub fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

impl Slice {
    pub fn plain(round: u32, scheduler: &str, variant: &str, outcome: &Outcome) -> Slice {
        Slice {
            round,
            scheduler: scheduler.to_owned(),
            variant: variant.to_owned(),
            iops: outcome.iops,
            ios: outcome.ios,
            programs: None,
            map_bytes: None,
        }
    }

    pub fn counted(
        round: u32,
        scheduler: &str,
        variant: &str,
        outcome: &Outcome,
        before: &BTreeMap<u64, Account>,
        after: &BTreeMap<u64, Account>,
    ) -> Slice {
        let nothing = Account::default();
        let programs = after.iter().map(|(id, after)| {
            let before = before.get(id).unwrap_or(&nothing);
            Program {
                name: after.name.clone(),
                run_time_ns: after.run_time_ns.saturating_sub(before.run_time_ns),
                runs: after.runs.saturating_sub(before.runs),
            }
        });
        Slice {
            programs: Some(programs.collect()),
            ..Slice::plain(round, scheduler, variant, outcome)
        }
    }

    /// Sum over all its programs.
    pub fn runs(&self) -> u64 {
        self.programs
            .iter()
            .flatten()
            .map(|program| program.runs)
            .sum()
    }

    pub fn run_time_ns(&self) -> u64 {
        self.programs
            .iter()
            .flatten()
            .map(|program| program.run_time_ns)
            .sum()
    }
}
