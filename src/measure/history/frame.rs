//! One interval of all watched disks: everything from which the terminal UI makes its screens. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::buffer::SPANS;
use iosched_result::measured::histogram::{DEVICE, OWNER};
use iosched_result::measured::order::Dispatch;
use iosched_result::measured::snapshot::{DeviceNumbers, Interval, Op, Order, OwnerNumbers, Stage};
use iosched_result::stat::Selection;
use iosched_result::types::queue::State;
use iosched_result::why::WhyDevice;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    /// End of the interval, RFC 3339, UTC.
    pub time: String,
    /// Length of the interval in seconds.
    pub interval_s: f64,
    /// Number of intervals of which this is the sum.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub intervals: u64,
    /// False if this kernel does not show when a bio was queued: queue waits are then G2D alone.
    pub measures_q2g: bool,
    /// Counts of the BPF programs; absent without the privileges to load them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// In the order of the file's disks; without the last of them until they were plugged in.
    pub devices: Vec<DeviceFrame>,
    /// The control groups of the interval's owners.
    pub groups: Vec<Group>,
    /// Switches since the previous interval.
    pub flips: Vec<Flip>,
    /// Disks that appeared after the start and are not measured by the BPF programs, which had no room for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newcomers: Vec<Newcomer>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Newcomer {
    pub name: String,
    pub scheduler: String,
    pub counters: Counters,
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde wants it
fn is_one(intervals: &u64) -> bool {
    *intervals == 1
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFrame {
    /// Absent if the disk was removed.
    pub queue: Option<State>,
    pub side: Side,
    pub counters: Counters,
    /// The last issues, only while the screen Order was open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dispatches: Vec<Dispatch>,
    /// Who waited behind whom, only while the screen Fairness or Processes was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Box<WhyDevice>>,
}

/// Which arm an interval belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Side {
    /// The whole interval was under this arm, after it had settled.
    Of(String),
    /// The interval contains a switch by iosched, or the new scheduler was settling.
    Settling,
    /// Another program changed the scheduler.
    Disturbed,
}

/// Counters from sysfs, which every user can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// Mean time from request start to completion; absent if none completed. The kernel sums in milliseconds: 0 means that
    /// all together took less than one.
    pub read_mean_ns: Option<f64>,
    pub write_mean_ns: Option<f64>,
    pub in_flight: u64,
    /// Share of the interval with at least one request in flight.
    pub busy_share: f64,
}

/// A switch of the scheduler, by iosched or by another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flip {
    /// Index of the disk.
    pub device: usize,
    /// Time of day in UTC: `HH:MM:SS`.
    pub time: String,
    pub from: String,
    pub to: String,
    /// False: another program switched.
    pub by_us: bool,
    /// How long the queue was frozen.
    pub switch_ns: Option<u64>,
    /// Other changes, according to sysfs.
    pub changes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    pub id: u64,
    /// Below the control group file system; absent if the group is gone.
    pub path: Option<String>,
    /// Its weight by disk, where that is not 100.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
}

impl Group {
    /// The control groups of the owners, as they are named now.
    pub fn by_cgroup(owners: &[OwnerNumbers], names: &dyn Selection) -> Vec<Group> {
        let mut groups = BTreeMap::<u64, Group>::new();
        for key in owners.iter().map(|owner| &owner.key) {
            let group = groups.entry(key.cgroup_id).or_insert_with(|| Group {
                id: key.cgroup_id,
                path: names.cgroup_path(key.cgroup_id),
                weights: BTreeMap::new(),
            });
            let weight = names.cgroup_weight(key.cgroup_id, &key.device);
            if (weight - 100.0).abs() > f64::EPSILON && !group.weights.contains_key(&key.device) {
                group.weights.insert(key.device.clone(), weight);
            }
        }
        groups.into_values().collect()
    }
}

/// The control groups are named as they were then.
impl Selection for Frame {
    fn cgroup_path(&self, id: u64) -> Option<String> {
        self.group(id)?.path.clone()
    }

    fn cgroup_weight(&self, id: u64, device: &str) -> f64 {
        let weight = self.group(id).and_then(|group| group.weights.get(device));
        weight.copied().unwrap_or(100.0)
    }
}

/// Up to here every JSON reader represents a count exactly, and sums of an hour do not overflow.
const LARGEST_COUNT: u64 = 1 << 53;
/// Far longer than any interval.
const LONGEST_S: f64 = 1e8;
/// The last issues of an interval: more than a picture has dots.
pub const MOST_DISPATCHES: usize = 4096;

impl Frame {
    /// Sorted by id, see [`Group::of`].
    fn group(&self, id: u64) -> Option<&Group> {
        let at = self
            .groups
            .binary_search_by_key(&id, |group| group.id)
            .ok()?;
        Some(&self.groups[at])
    }

    /// Time of day in UTC: `HH:MM:SS`.
    pub fn time_of_day(&self) -> &str {
        self.time.get(11..19).unwrap_or_default()
    }

    /// Whether an interval from a file is one of these disks, and one that the screens can show. Err: what is wrong.
    pub fn check(&mut self, disks: &[String]) -> Result<(), String> {
        let is_time = |seconds: f64| seconds > 0.0 && seconds <= LONGEST_S;
        require(is_time(self.interval_s), "interval_s is out of range")?;
        let most = SPANS[SPANS.len() - 1];
        require(
            (1..=most).contains(&self.intervals),
            "intervals is out of range",
        )?;
        let mut dispatches = self.devices.iter().map(|device| device.dispatches.len());
        require(
            dispatches.all(|count| count <= MOST_DISPATCHES),
            "there are too many dispatches",
        )?;
        let mut whys = self.devices.iter().filter_map(|of| of.why.as_deref());
        whys.try_for_each(WhyDevice::check)
            .map_err(|what| format!("devices.why: {what}"))?;
        let count = self.devices.len();
        require(
            (1..=disks.len()).contains(&count),
            "devices are not those of the file's disks",
        )?;
        let flips_fit = self.flips.iter().all(|flip| flip.device < count);
        require(flips_fit, "flips have a device that is not in the interval")?;
        self.groups.sort_by_key(|group| group.id);
        let mut weights = self.groups.iter().flat_map(|group| group.weights.values());
        require(
            weights.all(|weight| (1.0..=1e4).contains(weight)),
            "a weight is out of range",
        )?;
        let newcomers = self.newcomers.iter().map(|newcomer| &newcomer.counters);
        let devices = self.devices.iter().map(|device| &device.counters);
        for counters in devices.chain(newcomers) {
            let numbers = [
                counters.reads_per_s,
                counters.writes_per_s,
                counters.read_bytes_per_s,
                counters.write_bytes_per_s,
                counters.busy_share,
            ];
            let means = [counters.read_mean_ns, counters.write_mean_ns];
            let mut numbers = numbers.into_iter().chain(means.into_iter().flatten());
            require(
                numbers.all(|x| (0.0..=1e18).contains(&x)),
                "counters are out of range",
            )?;
        }
        let Some(interval) = &self.interval else {
            return Ok(());
        };
        require(
            interval.start_ns < interval.end_ns,
            "interval ends before it begins",
        )?;
        let names = interval.devices.iter().map(|device| &device.name);
        require(
            names.eq(&disks[..count]),
            "interval.devices are not the file's disks",
        )?;
        interval.devices.iter().try_for_each(check_device)?;
        let orders = interval
            .devices
            .iter()
            .filter_map(|device| device.order.as_ref());
        require(
            orders.clone().all(Order::has_known_cells),
            "an order has other cells",
        )?;
        interval.owners.iter().try_for_each(check_owner)
    }
}

fn check_device(device: &DeviceNumbers) -> Result<(), String> {
    require(
        device.ops.iter().map(|op| op.op).eq(Op::ALL),
        "interval.devices.ops are not those of this version",
    )?;
    for op in &device.ops {
        let stages = Stage::ALL.map(|stage| op.stage(stage));
        let mut stages = stages.iter();
        require(
            stages.all(|stage| stage.layout() == DEVICE && stage.count() <= LARGEST_COUNT),
            "a histogram of interval.devices has other cells, or too large a count",
        )?;
        require(
            op.ios.max(op.bytes) <= LARGEST_COUNT,
            "interval.devices.ops has too large a number",
        )?;
    }
    Ok(())
}

fn check_owner(owner: &OwnerNumbers) -> Result<(), String> {
    require(
        owner.ops.len() == Op::ALL.len(),
        "interval.owners.ops are not those of this version",
    )?;
    let mut stages = owner.q2d.iter().chain(&owner.d2c);
    require(
        stages.all(|stage| stage.layout() == OWNER && stage.count() <= LARGEST_COUNT),
        "a histogram of interval.owners has other cells, or too large a count",
    )?;
    let mut ops = owner.ops.iter();
    require(
        ops.all(|op| op.ios.max(op.bytes).max(op.bios) <= LARGEST_COUNT),
        "interval.owners.ops has too large a number",
    )
}

fn require(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}
