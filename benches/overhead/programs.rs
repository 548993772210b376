//! The kernel's statistics of BPF programs: number of runs and run time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// `kernel.bpf_stats_enabled`: off by default; restored when dropped.
pub struct Statistics {
    original: String,
}

/// The statistics are on while this lives.
pub struct On;

impl Statistics {
    pub fn off() -> Result<Statistics> {
        let original = fs::read_to_string(SWITCH).with_context(|| format!("reading {SWITCH}"))?;
        let statistics = Statistics { original };
        write("0")?;
        Ok(statistics)
    }

    #[allow(clippy::unused_self)] // only the owner of the original value may change it
    pub fn on(&self) -> Result<On> {
        write("1")?;
        Ok(On)
    }
}

impl Drop for On {
    fn drop(&mut self) {
        complain(write("0"));
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        complain(write(self.original.trim_end()));
    }
}

fn write(value: &str) -> Result<()> {
    fs::write(SWITCH, value).with_context(|| format!("writing {value} to {SWITCH}"))
}

fn complain(outcome: Result<()>) {
    if let Err(error) = outcome {
        eprintln!("overhead: {error:#}");
    }
}

/// A program's runs between two readings.
#[derive(Serialize)]
pub struct Program {
    pub name: String,
    pub run_time_ns: u64,
    pub runs: u64,
}

#[derive(Clone, Default)]
pub struct Account {
    pub name: String,
    pub run_time_ns: u64,
    pub runs: u64,
}

/// The loaded programs, by id.
fn all() -> Result<BTreeMap<u64, Account>> {
    let output = Command::new("bpftool")
        .args(["-j", "prog", "show"])
        .output();
    let output = output.context("starting bpftool (package bpftool)")?;
    ensure!(
        output.status.success(),
        "`bpftool prog show` ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    let listed: Vec<Value> =
        serde_json::from_slice(&output.stdout).context("`bpftool -j prog show` is not JSON")?;
    let number = |program: &Value, key: &str| program.get(key).and_then(Value::as_u64);
    let account = |program: &Value| {
        let name = program.get("name").and_then(Value::as_str);
        Account {
            name: name.unwrap_or("(unnamed)").to_owned(),
            // bpftool omits both while they are 0.
            run_time_ns: number(program, "run_time_ns").unwrap_or(0),
            runs: number(program, "run_cnt").unwrap_or(0),
        }
    };
    Ok(listed
        .iter()
        .filter_map(|program| Some((number(program, "id")?, account(program))))
        .collect())
}

pub fn loaded() -> Result<usize> {
    Ok(all()?.len())
}

/// The runs of these programs between two readings.
pub fn between(before: &BTreeMap<u64, Account>, after: &BTreeMap<u64, Account>) -> Vec<Program> {
    let nothing = Account::default();
    let programs = after.iter().map(|(id, after)| {
        let before = before.get(id).unwrap_or(&nothing);
        Program {
            name: after.name.clone(),
            run_time_ns: after.run_time_ns.saturating_sub(before.run_time_ns),
            runs: after.runs.saturating_sub(before.runs),
        }
    });
    programs.collect()
}

pub fn read(ids: &BTreeSet<u64>) -> Result<BTreeMap<u64, Account>> {
    let mut programs = all()?;
    programs.retain(|id, _| ids.contains(id));
    Ok(programs)
}
