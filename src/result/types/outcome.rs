//! The outcome of a workload in one round.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::raw::RawJson;
use crate::metric::reported::Reported;

/// The quantity that every round holds constant, which determines the possible metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fixed {
    /// Runs for ramp plus round time; the amount of work is the result.
    Time,
    /// Does a fixed amount of work; the elapsed time is the result.
    Work,
}

/// A control group of the workload, as the probe sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupRef {
    pub label: String,
    pub path: PathBuf,
    /// Inode of the directory, equal to `cgroup.kn->id` in the kernel.
    pub id: u64,
    /// Whether bios carry this id (`bio->bi_blkg`): false without an io controller.
    pub on_bios: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// From the program's first instruction to its end; the longest of several.
    pub elapsed_ns: u64,
    /// Over all processes of the control groups; absent if the kernel does not report it.
    pub user_cpu_ns: Option<u64>,
    pub system_cpu_ns: Option<u64>,
    pub jobs: Vec<JobResult>,
    /// The problem in words.
    pub problem: Option<String>,
    /// It ran longer than it may, and was ended.
    #[serde(default)]
    pub overran: bool,
    /// Somebody, or the kernel short of memory, ended it by a signal. Known of fio alone: a command may run `timeout`, which
    /// ends what an arm delays.
    #[serde(default)]
    pub ended_by_others: bool,
    pub raw: Option<RawJson>,
    /// Metrics that a command reported itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<Reported>,
    /// Why what the command printed cannot be used in any round: its number was cut, or there are several reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misread: Option<String>,
    /// The benchmark whose report the output looks like, if nothing reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resembles: Option<String>,
    /// Percentiles for which the command's log had too few samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_few_samples: Vec<String>,
    /// Bytes that the workload's own processes read and wrote, by disk; empty without an io controller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskBytes>,
    /// Output of a command, its beginning and its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

impl Outcome {
    /// Finite values that a command reports, by name.
    pub fn reported_values(&self) -> BTreeMap<String, f64> {
        let finite = self.reported.iter().filter(|it| it.value.is_finite());
        finite.map(|it| (it.name.clone(), it.value)).collect()
    }
}

/// Bytes that a control group reads and writes on a disk, by its `io.stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskBytes {
    pub device: String,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobResult {
    pub name: String,
    pub read: Option<DirectionResult>,
    pub write: Option<DirectionResult>,
    pub trim: Option<DirectionResult>,
    /// How long each fsync or fdatasync took. Absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_lat: Option<ProgramLatency>,
}

impl JobResult {
    /// Jobs of one name as one: fio reports each clone (`numjobs`) alone.
    pub fn by_name(jobs: &[JobResult]) -> Vec<JobResult> {
        let mut names: Vec<&String> = Vec::new();
        for job in jobs {
            if !names.contains(&&job.name) {
                names.push(&job.name);
            }
        }
        let of = |name: &String| {
            let own = || jobs.iter().filter(|job| job.name == *name);
            JobResult {
                name: name.clone(),
                read: DirectionResult::sum(own().filter_map(|job| job.read.as_ref())),
                write: DirectionResult::sum(own().filter_map(|job| job.write.as_ref())),
                trim: DirectionResult::sum(own().filter_map(|job| job.trim.as_ref())),
                sync_lat: ProgramLatency::pooled(own().filter_map(|job| job.sync_lat.as_ref())),
            }
        };
        names.into_iter().map(of).collect()
    }

    pub fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        [&self.read, &self.write, &self.trim].into_iter().flatten()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionResult {
    pub ios: u64,
    pub bytes: u64,
    pub runtime_ms: u64,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Completion latency: from submitted to completed as the program saw it, without the time inside the submission.
    pub clat: Option<ProgramLatency>,
    /// Total latency, including the submission. Absent if fio was told not to measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat: Option<ProgramLatency>,
}

impl DirectionResult {
    /// Sum of the jobs that run at the same time.
    fn sum<'a>(parts: impl Iterator<Item = &'a DirectionResult>) -> Option<DirectionResult> {
        let parts: Vec<&DirectionResult> = parts.collect();
        let all = || parts.iter().copied();
        (!parts.is_empty()).then(|| DirectionResult {
            ios: all().map(|it| it.ios).fold(0, u64::saturating_add),
            bytes: all().map(|it| it.bytes).fold(0, u64::saturating_add),
            runtime_ms: all().map(|it| it.runtime_ms).max().unwrap_or(0),
            iops: all().map(|it| it.iops).sum(),
            bytes_per_s: all().map(|it| it.bytes_per_s).sum(),
            clat: ProgramLatency::pooled(all().filter_map(|it| it.clat.as_ref())),
            lat: ProgramLatency::pooled(all().filter_map(|it| it.lat.as_ref())),
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramLatency {
    pub count: u64,
    pub mean_ns: f64,
    pub sd_ns: f64,
    pub min_ns: u64,
    pub max_ns: u64,
    /// Midpoint and count of each non-empty bin, ascending. To pool rounds, add bins; never average quantiles.
    pub bins: Vec<(u64, u64)>,
}

impl ProgramLatency {
    /// The latency of all these I/Os together.
    pub fn pooled<'a>(parts: impl Iterator<Item = &'a ProgramLatency>) -> Option<ProgramLatency> {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut count, mut sum_ns, mut squares) = (0_u64, 0.0, 0.0);
        let (mut min_ns, mut max_ns) = (u64::MAX, 0);
        for part in parts {
            count = count.checked_add(part.count)?;
            let own = part.count as f64;
            sum_ns += part.mean_ns * own;
            squares += own * (part.mean_ns.powi(2) + part.sd_ns.powi(2));
            min_ns = min_ns.min(part.min_ns);
            max_ns = max_ns.max(part.max_ns);
            for &(midpoint_ns, counted) in &part.bins {
                let bin = bins.entry(midpoint_ns).or_default();
                *bin = bin.checked_add(counted)?;
            }
        }
        let mean_ns = sum_ns / count as f64;
        (count > 0).then(|| ProgramLatency {
            count,
            mean_ns,
            sd_ns: (squares / count as f64 - mean_ns.powi(2)).max(0.0).sqrt(),
            min_ns,
            max_ns,
            bins: bins.into_iter().collect(),
        })
    }

    /// The smallest bin with at least a share `p` of all I/Os at or below it; None without bins or with an invalid `p`.
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

/// The output as it is kept in the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Output {
    pub stdout: Excerpt,
    pub stderr: Excerpt,
}

/// A text, or its beginning and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excerpt {
    /// Length of the whole text.
    pub bytes: u64,
    pub head: String,
    /// Absent if `head` is the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ranks_in_the_bins() {
        let latency = ProgramLatency {
            bins: vec![(10, 1), (20, 98), (500, 1)],
            ..ProgramLatency::default()
        };
        assert_eq!(latency.quantile_ns(0.0), Some(10));
        assert_eq!(latency.quantile_ns(0.01), Some(10));
        assert_eq!(latency.quantile_ns(0.011), Some(20));
        assert_eq!(latency.quantile_ns(0.99), Some(20));
        assert_eq!(latency.quantile_ns(1.0), Some(500));
        assert_eq!(latency.quantile_ns(1.1), None);
        assert_eq!(latency.quantile_ns(f64::NAN), None);
        assert_eq!(ProgramLatency::default().quantile_ns(0.5), None);
    }
}
