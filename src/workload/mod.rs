//! What is run under each arm, and what came of it. The only place that starts processes.
//!
//! Promises: a workload's processes are in a control group of their own before their first I/O, none of them
//! outlives its [`Running`], and an [`Outcome`] without a `problem` did the work that it was asked to do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::journal::Journal;
use crate::scratch_file::ScratchFile;

pub mod ask; // a short question to a program, and its bounded answer
pub mod catalogue; // the built-in workloads, by name
pub mod cgroup; // a control group per process group; its CPU time, and its end
pub(crate) mod cgroup_mounts; // where the hierarchies are mounted. Pure
pub mod command; // any command, run to its end
pub mod fake; // a recorded stand-in for tests
pub mod fio; // one or more fio processes, checked
mod fio_options; // the options that a job file may use. Pure
mod fio_process; // one fio: its argument vector, its files, what it handed in
pub mod fio_result; // fio's JSON, and whether it counts. Pure
mod fio_values; // and how their values are checked. Pure
mod in_file; // fio jobs in a file: what would reach beyond it. Pure
pub mod job_file; // fio job files: what is refused, what is ours. Pure
pub mod launch; // from a fork to the workload's first instruction, inside its group
pub(crate) mod names; // what may name files and groups. Pure
pub mod recorded; // out of a result file

/// What a round holds fixed, and so what its metrics can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fixed {
    /// Runs for ramp and time; the work done in them is the result.
    Time,
    /// Does its work and ends; the elapsed time is the result.
    Work,
}

pub trait Workload {
    fn name(&self) -> &str;
    /// What exactly is run, for the result file.
    fn description(&self) -> serde_json::Value;
    /// Whether it writes to what it is given: the device itself, or a scratch file.
    fn writes(&self) -> bool;
    /// Whether it may need the raw device for itself alone, as `mkfs` does: nobody else then holds it exclusively.
    fn may_claim_the_device(&self) -> bool {
        false
    }
    fn fixed(&self) -> Fixed;
    /// Whether it is known to hand in I/Os without waiting for the ones before.
    fn is_asynchronous(&self) -> bool {
        false
    }
    /// From `start` to the beginning of the ramp: processes that come earlier than the measured one.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }
    /// What must hold before the first round: programs present and new enough.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// The same where it is given a file of so many bytes instead of the device.
    fn check_in_file(&self, _size_bytes: u64) -> Result<()> {
        Ok(())
    }
    fn start(&mut self, round: &Round<'_>) -> Result<Box<dyn Running>>;
}

/// One execution under one arm.
pub struct Round<'a> {
    /// What the workload is for; at least one.
    pub device_nodes: &'a [PathBuf],
    pub arm_label: &'a str,
    pub index: usize,
    pub block: usize,
    pub seed: u64,
    pub ramp: Duration,
    pub time: Duration,
    /// Exists and is empty; the round's output files go here.
    pub directory: &'a Path,
    /// To be used instead of the device.
    pub scratch_file: Option<&'a ScratchFile>,
    pub journal: &'a Journal,
    /// A binary whose `main` calls [`launch::run_if_asked`].
    pub launcher: &'a Path,
}

/// A workload at work. Dropping it ends every process of it.
///
/// The thread that called `start` must live as long: the kernel ends the processes when it goes.
pub trait Running {
    /// The outcome, once it has ended by itself; the same again if asked again.
    fn poll(&mut self) -> Result<Option<Outcome>>;
    fn cgroups(&self) -> Vec<CgroupRef>;
    /// Ends it now, through its control groups.
    fn stop(&mut self);
}

/// A control group of the workload, as the probe sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupRef {
    pub label: String,
    pub path: PathBuf,
    /// Inode of the directory = `cgroup.kn->id` in the kernel.
    pub id: u64,
    /// Whether bios carry this id (`bio->bi_blkg`): false where no io controller could be had.
    pub on_bios: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// From the program's first instruction to its end; of several, the longest.
    pub elapsed_ns: u64,
    /// Of all processes of the control groups; absent where the kernel does not tell.
    pub user_cpu_ns: Option<u64>,
    pub system_cpu_ns: Option<u64>,
    pub jobs: Vec<JobResult>,
    /// Why this round does not count.
    pub problem: Option<String>,
    pub raw: Option<serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    pub name: String,
    pub read: Option<DirectionResult>,
    pub write: Option<DirectionResult>,
    pub trim: Option<DirectionResult>,
}

impl JobResult {
    pub fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        [&self.read, &self.write, &self.trim].into_iter().flatten()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    pub ios: u64,
    pub bytes: u64,
    pub runtime_ms: u64,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Submitted to completed as the program saw it: without the time that it stood in the submission.
    pub clat: Option<Latency>,
    /// With that time. Absent where fio was told not to measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat: Option<Latency>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    pub count: u64,
    pub mean_ns: f64,
    pub sd_ns: f64,
    pub min_ns: u64,
    pub max_ns: u64,
    /// Mid-point and count of each non-empty bin, ascending. To pool rounds, add bins; never average quantiles.
    pub bins: Vec<(u64, u64)>,
}

impl Latency {
    /// Of all these I/Os together; without a standard deviation.
    pub fn pooled<'a>(parts: impl Iterator<Item = &'a Latency>) -> Option<Latency> {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut count, mut sum_ns) = (0_u64, 0.0);
        let (mut min_ns, mut max_ns) = (u64::MAX, 0);
        for part in parts {
            count = count.checked_add(part.count)?;
            sum_ns += part.mean_ns * part.count as f64;
            min_ns = min_ns.min(part.min_ns);
            max_ns = max_ns.max(part.max_ns);
            for &(midpoint_ns, counted) in &part.bins {
                let bin = bins.entry(midpoint_ns).or_default();
                *bin = bin.checked_add(counted)?;
            }
        }
        (count > 0).then(|| Latency {
            count,
            mean_ns: sum_ns / count as f64,
            sd_ns: f64::NAN,
            min_ns,
            max_ns,
            bins: bins.into_iter().collect(),
        })
    }

    /// The smallest bin that at least a share `p` of all I/Os is at or below; None without bins or a valid `p`.
    pub fn quantile_ns(&self, p: f64) -> Option<u64> {
        let total: u64 = self.bins.iter().map(|(_, count)| count).sum();
        if total == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let rank = ((p * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        self.bins.iter().find_map(|&(midpoint_ns, count)| {
            seen += count;
            (seen >= rank).then_some(midpoint_ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ranks_in_the_bins() {
        let latency = Latency {
            bins: vec![(10, 1), (20, 98), (500, 1)],
            ..Latency::default()
        };
        assert_eq!(latency.quantile_ns(0.0), Some(10));
        assert_eq!(latency.quantile_ns(0.01), Some(10));
        assert_eq!(latency.quantile_ns(0.011), Some(20));
        assert_eq!(latency.quantile_ns(0.99), Some(20));
        assert_eq!(latency.quantile_ns(1.0), Some(500));
        assert_eq!(latency.quantile_ns(1.1), None);
        assert_eq!(latency.quantile_ns(f64::NAN), None);
        assert_eq!(Latency::default().quantile_ns(0.5), None);
    }
}
