//! A study as it is written. The descriptions here are those of its schema, for editors.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::stages::StageFile;
use crate::study::axes::Axes;
use iosched_result::study::times::Times;
use iosched_result::types::cold::Cold;

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// Names result files; `iosched-ab study NAME` for built-in ones.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// One line.
    pub title: String,
    /// The question, and why it is asked so.
    #[serde(default)]
    pub about: String,
    /// The simulated disk it runs on if no device is named: `ssd`, `hdd+ext4`, `ssd*8`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub device: Spanned<String>,
    /// As `--arm` of `run`: `none`, `kyber,nr_requests=64`, `calm=bfq,iosched/low_latency=0`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub arms: Vec<Spanned<String>>,
    /// Compared too where the disks have their schedulers and settings; of those with one label, the first that fits.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub optional_arms: Vec<Spanned<String>>,
    /// The label of the arm that the others are compared with; else the first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reference: Option<Spanned<String>>,
    /// As `--metric` of `run`, with the margin in per cent: `throughput:5`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub metrics: Vec<Spanned<String>>,
    /// As `--prefer` of `run`: the metric that should get better.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub prefer: Option<Spanned<String>>,
    /// As `--keep` of `run`: `throughput:5`, `read_total_p99:at most 10ms`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub keep: Vec<Spanned<String>>,
    /// As `--why` of `run`: each round says who waited behind whom.
    #[serde(default)]
    pub why: bool,
    /// The times of a round, and the number of blocks.
    pub times: Times,
    /// The same for `--quick`.
    #[serde(default)]
    pub quick: Option<Times>,
    /// Lists of values that expand the cells that name them.
    #[serde(default)]
    pub axes: Axes,
    /// Commands that run once before the first round, with the places of commands.
    #[serde(default)]
    pub prepare: Vec<Vec<String>>,
    /// States of the disk, made one after the other.
    #[serde(default, rename = "stage")]
    pub stages: Vec<StageFile>,
    /// Workloads, each compared under all arms.
    #[serde(rename = "cell")]
    pub cells: Vec<CellFile>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CellFile {
    /// The name contains `{axis}` for each axis that expands the cell, and `{stage}` if there are stages.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Options of fio by process; each process gets its own control group.
    #[serde(default)]
    pub fio: Option<BTreeMap<String, String>>,
    /// A built-in workload.
    #[serde(default)]
    pub workload: Option<String>,
    /// Program and arguments, with places such as `{scratch}`.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// As `--parse` of `run`: how its output is read.
    #[serde(default)]
    pub parse: Option<String>,
    /// Instead of those of the study.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub metrics: Option<Vec<Spanned<String>>>,
    /// Instead of that of the study.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub prefer: Option<Spanned<String>>,
    /// Instead of those of the study.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub keep: Option<Vec<Spanned<String>>>,
    /// Options of fio by process, which loads the disk while the command runs.
    #[serde(default)]
    pub beside: Option<BTreeMap<String, String>>,
    /// How long that runs before the command starts.
    #[serde(default = "usual_lead_s")]
    pub lead_s: f64,
    /// Its processes of `fio` run on the first so many of the disks; else on all.
    #[serde(default)]
    pub disks: Option<String>,
    /// By process of `fio`, its share of the device under bfq; 100 is usual.
    #[serde(default)]
    pub weight: BTreeMap<String, u16>,
    /// By process of `fio`, its limits on each device, as in `io.max` of its control group.
    #[serde(default)]
    pub io_max: BTreeMap<String, String>,
    /// By process of `fio`, the target of `io.latency` of its control group.
    #[serde(default)]
    pub io_latency_us: BTreeMap<String, u32>,
    /// Instead of that of the study's times, also with `--quick`: 0 measures the first seconds of the last process to
    /// start.
    #[serde(default)]
    pub ramp_s: Option<f64>,
    /// Caches that are dropped before each round.
    #[serde(default)]
    pub cold: Option<Cold>,
    /// Counts that each round of an arm must have exactly.
    #[serde(default)]
    pub exact: Vec<ExactFile>,
    /// The expected result, and why.
    #[serde(default)]
    pub expect: String,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactFile {
    /// Its label.
    pub arm: String,
    /// One that counts: `ios`, `merges`, `GROUP.ios`.
    pub metric: String,
    /// A number, or `SIZE/page`: how many pages of this machine's memory that is.
    pub count: String,
}

/// Services do not start together with what loads their disk.
fn usual_lead_s() -> f64 {
    3.0
}
