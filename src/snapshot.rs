//! What the kernel has counted. A [`Snapshot`] is cumulative since the probe was attached; an [`Interval`] is the
//! difference of two, and the only thing that rates and percentiles are made from. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{self, Histogram};

/// Operation classes, in the order of their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Read,
    Write,
    /// Flush commands; for an owner, the flushes that it waited for (several may share a command).
    Flush,
    Discard,
    Other,
}

impl Op {
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Other];

    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
            Op::Other => "other",
        }
    }
}

/// Stages of a request's life, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waiting for a request: a tag, a throttle, a frozen queue. 0 when the submitter did not have to sleep.
    Q2g,
    /// Request started to first issued.
    G2d,
    /// Queue wait: Q2G + G2D.
    Q2d,
    /// Device and driver: first issue to completion of the data.
    D2c,
    /// Total.
    Q2c,
}

impl Stage {
    pub const ALL: [Stage; 5] = [Stage::Q2g, Stage::G2d, Stage::Q2d, Stage::D2c, Stage::Q2c];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Q2g => "q2g",
            Stage::G2d => "g2d",
            Stage::Q2d => "q2d",
            Stage::D2c => "d2c",
            Stage::Q2c => "q2c",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merges {
    pub back: u64,
    pub front: u64,
    /// A request that joined another one.
    pub rq: u64,
}

/// One operation class of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceOp {
    pub op: Op,
    /// Completed requests.
    pub ios: u64,
    pub bytes: u64,
    pub q2g: Histogram,
    pub g2d: Histogram,
    pub q2d: Histogram,
    pub d2c: Histogram,
    pub q2c: Histogram,
}

impl DeviceOp {
    pub fn new(op: Op) -> Self {
        let empty = || Histogram::new(histogram::DEVICE);
        DeviceOp {
            op,
            ios: 0,
            bytes: 0,
            q2g: empty(),
            g2d: empty(),
            q2d: empty(),
            d2c: empty(),
            q2c: empty(),
        }
    }

    pub fn stage(&self, stage: Stage) -> &Histogram {
        match stage {
            Stage::Q2g => &self.q2g,
            Stage::G2d => &self.g2d,
            Stage::Q2d => &self.q2d,
            Stage::D2c => &self.d2c,
            Stage::Q2c => &self.q2c,
        }
    }
}

/// What happened to requests besides completing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edges {
    pub errors: u64,
    pub requeues: u64,
    pub partial_completions: u64,
    /// Issued but not measured: the driver's own commands and SG_IO.
    pub passthrough: u64,
    /// Empty flushes asked for, by fsync for instance.
    pub flush_requests: u64,
}

/// What the measurement itself missed. All zero is a clean measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quality {
    /// Events of requests outside the in-flight table.
    pub lost: u64,
    /// Requests whose completion was never seen.
    pub evicted: u64,
    /// Stages with a negative time, left out.
    pub negative: u64,
    /// Requests first seen at their issue: they have no queue wait.
    pub started_late: u64,
    /// Requests first seen at their completion: in flight when the probe was attached, or lost before.
    pub unseen: u64,
    /// Requests with data that completed without an issue seen.
    pub unissued: u64,
    /// I/Os charged to the owner `other`, because the table of owners is full.
    pub owner_overflow: u64,
    /// Runs of the probe's programs that the kernel skipped (`recursion_misses`); of all devices together.
    pub skipped: u64,
}

impl Quality {
    /// Requests that a histogram lacks because of us, without those in flight at the attach.
    pub fn lost_events(&self) -> u64 {
        self.lost + self.evicted + self.negative + self.started_late + self.unissued + self.skipped
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceNumbers {
    pub name: String,
    /// In the order of [`Op::ALL`].
    pub ops: Vec<DeviceOp>,
    pub merges: Merges,
    pub edges: Edges,
    pub quality: Quality,
}

impl DeviceNumbers {
    pub fn new(name: &str) -> Self {
        DeviceNumbers {
            name: name.to_owned(),
            ops: Op::ALL.into_iter().map(DeviceOp::new).collect(),
            merges: Merges::default(),
            edges: Edges::default(),
            quality: Quality::default(),
        }
    }

    /// The histogram of a stage over the given operations.
    pub fn stage(&self, stage: Stage, ops: &[Op]) -> Histogram {
        let mut sum = Histogram::new(histogram::DEVICE);
        for op in ops {
            // The layouts are the same by construction.
            let _ = sum.merge(self.ops[*op as usize].stage(stage));
        }
        sum
    }
}

/// One process on one device in one cgroup. `tgid` 0 is `other`: everyone for whom the table had no room.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OwnerKey {
    pub device: String,
    pub tgid: u32,
    /// Start of the process, CLOCK_BOOTTIME: tells it from a later one with the same number.
    pub start_ns: u64,
    /// Of the cgroup that pays for the I/O; for writeback the one that dirtied the pages.
    pub cgroup_id: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerOp {
    pub ios: u64,
    pub bytes: u64,
    /// I/Os whose queue wait is known.
    pub waits: u64,
    pub q2d_sum_ns: u64,
    pub d2c_sum_ns: u64,
    pub q2c_sum_ns: u64,
    /// In an interval: exact when it is the longest since the attach, else the upper end of its histogram cell
    /// (at most 6.3 % above); absent where it is not known.
    pub q2d_max_ns: Option<u64>,
    pub d2c_max_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerNumbers {
    pub key: OwnerKey,
    pub comm: String,
    pub is_kernel_thread: bool,
    /// In the order of [`Op::ALL`].
    pub ops: Vec<OwnerOp>,
    pub merges: Merges,
    /// Queue wait of reads and of writes.
    pub q2d: [Histogram; 2],
    /// Device time of reads and of writes.
    pub d2c: [Histogram; 2],
}

impl OwnerNumbers {
    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }
    pub fn bytes(&self) -> u64 {
        self.ops.iter().map(|op| op.bytes).sum()
    }
    fn add(&mut self, other: &OwnerNumbers) {
        for (sum, op) in self.ops.iter_mut().zip(&other.ops) {
            sum.ios += op.ios;
            sum.bytes += op.bytes;
            sum.waits += op.waits;
            sum.q2d_sum_ns += op.q2d_sum_ns;
            sum.d2c_sum_ns += op.d2c_sum_ns;
            sum.q2c_sum_ns += op.q2c_sum_ns;
            sum.q2d_max_ns = sum.q2d_max_ns.max(op.q2d_max_ns);
            sum.d2c_max_ns = sum.d2c_max_ns.max(op.d2c_max_ns);
        }
        self.merges.back += other.merges.back;
        self.merges.front += other.merges.front;
        self.merges.rq += other.merges.rq;
        for (sum, histogram) in self
            .q2d
            .iter_mut()
            .chain(&mut self.d2c)
            .zip(other.q2d.iter().chain(&other.d2c))
        {
            // The layouts are the same by construction.
            let _ = sum.merge(histogram);
        }
    }
    fn is_idle(&self) -> bool {
        self.ios() == 0 && self.merges == Merges::default()
    }
}

/// One row per device and cgroup: the processes in it added up. Such a row has no `tgid`.
pub fn by_cgroup(owners: &[OwnerNumbers]) -> Vec<OwnerNumbers> {
    let mut groups: Vec<(OwnerNumbers, u32)> = Vec::new();
    for owner in owners {
        let same = |group: &OwnerNumbers| {
            group.key.device == owner.key.device && group.key.cgroup_id == owner.key.cgroup_id
        };
        match groups.iter_mut().find(|(group, _)| same(group)) {
            Some((group, processes)) => {
                group.add(owner);
                *processes += 1;
            }
            None => groups.push((owner.clone(), 1)),
        }
    }
    let named = groups.into_iter().map(|(mut group, processes)| {
        group.key.tgid = 0;
        group.key.start_ns = 0;
        group.is_kernel_thread = false;
        group.comm = format!(
            "{processes} process{}",
            if processes == 1 { "" } else { "es" }
        );
        group
    });
    named.collect()
}

/// Everything counted since the probe was attached.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub devices: Vec<DeviceNumbers>,
    pub owners: Vec<OwnerNumbers>,
    pub skipped: u64,
}

/// What was counted between two snapshots.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    pub devices: Vec<DeviceNumbers>,
    /// Owners with at least one I/O or merge.
    pub owners: Vec<OwnerNumbers>,
}

impl Interval {
    pub fn duration_s(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// An interval without length, for a round that was not measured.
    pub fn nothing(device: &str) -> Interval {
        Interval {
            start_ns: 0,
            end_ns: 0,
            devices: vec![DeviceNumbers::new(device)],
            owners: Vec::new(),
        }
    }

    pub fn between(earlier: &Snapshot, later: &Snapshot) -> anyhow::Result<Interval> {
        let skipped = later.skipped - earlier.skipped;
        let devices = later
            .devices
            .iter()
            .zip(&earlier.devices)
            .map(|(later, earlier)| device_difference(earlier, later, skipped))
            .collect::<anyhow::Result<_>>()?;
        let mut owners = Vec::new();
        // Owners keep their place, new ones are appended.
        for (index, later) in later.owners.iter().enumerate() {
            let known = earlier
                .owners
                .get(index)
                .filter(|earlier| earlier.key == later.key);
            let numbers = match known {
                Some(earlier) => owner_difference(earlier, later)?,
                None => later.clone(),
            };
            if !numbers.is_idle() {
                owners.push(numbers);
            }
        }
        Ok(Interval {
            start_ns: earlier.time_ns,
            end_ns: later.time_ns,
            devices,
            owners,
        })
    }
}

impl std::ops::Sub for Merges {
    type Output = Merges;
    fn sub(self, earlier: Merges) -> Merges {
        Merges {
            back: self.back - earlier.back,
            front: self.front - earlier.front,
            rq: self.rq - earlier.rq,
        }
    }
}

fn device_difference(
    earlier: &DeviceNumbers,
    later: &DeviceNumbers,
    skipped: u64,
) -> anyhow::Result<DeviceNumbers> {
    let op = |later: &DeviceOp, earlier: &DeviceOp| -> anyhow::Result<DeviceOp> {
        Ok(DeviceOp {
            op: later.op,
            ios: later.ios - earlier.ios,
            bytes: later.bytes - earlier.bytes,
            q2g: later.q2g.subtract(&earlier.q2g)?,
            g2d: later.g2d.subtract(&earlier.g2d)?,
            q2d: later.q2d.subtract(&earlier.q2d)?,
            d2c: later.d2c.subtract(&earlier.d2c)?,
            q2c: later.q2c.subtract(&earlier.q2c)?,
        })
    };
    let (e, f) = (later.edges, earlier.edges);
    let (q, r) = (later.quality, earlier.quality);
    Ok(DeviceNumbers {
        name: later.name.clone(),
        ops: later
            .ops
            .iter()
            .zip(&earlier.ops)
            .map(|(l, e)| op(l, e))
            .collect::<anyhow::Result<_>>()?,
        merges: later.merges - earlier.merges,
        edges: Edges {
            errors: e.errors - f.errors,
            requeues: e.requeues - f.requeues,
            partial_completions: e.partial_completions - f.partial_completions,
            passthrough: e.passthrough - f.passthrough,
            flush_requests: e.flush_requests - f.flush_requests,
        },
        quality: Quality {
            lost: q.lost - r.lost,
            evicted: q.evicted - r.evicted,
            negative: q.negative - r.negative,
            started_late: q.started_late - r.started_late,
            unseen: q.unseen - r.unseen,
            unissued: q.unissued - r.unissued,
            owner_overflow: q.owner_overflow - r.owner_overflow,
            skipped,
        },
    })
}

fn owner_difference(earlier: &OwnerNumbers, later: &OwnerNumbers) -> anyhow::Result<OwnerNumbers> {
    let pair = |l: &[Histogram; 2], e: &[Histogram; 2]| -> anyhow::Result<[Histogram; 2]> {
        Ok([l[0].subtract(&e[0])?, l[1].subtract(&e[1])?])
    };
    let q2d = pair(&later.q2d, &earlier.q2d)?;
    let d2c = pair(&later.d2c, &earlier.d2c)?;
    let ops = later
        .ops
        .iter()
        .zip(&earlier.ops)
        .enumerate()
        .map(|(index, (l, e))| OwnerOp {
            ios: l.ios - e.ios,
            bytes: l.bytes - e.bytes,
            waits: l.waits - e.waits,
            q2d_sum_ns: l.q2d_sum_ns - e.q2d_sum_ns,
            d2c_sum_ns: l.d2c_sum_ns - e.d2c_sum_ns,
            q2c_sum_ns: l.q2c_sum_ns - e.q2c_sum_ns,
            q2d_max_ns: maximum(e.q2d_max_ns, l.q2d_max_ns, q2d.get(index)),
            d2c_max_ns: maximum(e.d2c_max_ns, l.d2c_max_ns, d2c.get(index)),
        })
        .collect();
    Ok(OwnerNumbers {
        key: later.key.clone(),
        comm: later.comm.clone(),
        is_kernel_thread: later.is_kernel_thread,
        ops,
        merges: later.merges - earlier.merges,
        q2d,
        d2c,
    })
}

/// The kernel keeps the maximum since the attach. When that did not rise, the interval's own is known only as
/// closely as its histogram is.
fn maximum(earlier: Option<u64>, later: Option<u64>, interval: Option<&Histogram>) -> Option<u64> {
    if later > earlier {
        return later;
    }
    let histogram = interval?;
    let last = histogram.counts().iter().rposition(|&count| count > 0)?;
    let end = histogram.layout().upper_ns(last) - 1;
    Some(later.map_or(end, |ever| ever.min(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(waits: &[u64]) -> OwnerNumbers {
        let mut q2d = [
            Histogram::new(histogram::OWNER),
            Histogram::new(histogram::OWNER),
        ];
        for &wait in waits {
            q2d[0].record(wait);
        }
        let mut ops = vec![OwnerOp::default(); 5];
        ops[0].ios = waits.len() as u64;
        ops[0].waits = waits.len() as u64;
        ops[0].q2d_sum_ns = waits.iter().sum();
        ops[0].q2d_max_ns = waits.iter().copied().max();
        OwnerNumbers {
            key: OwnerKey {
                device: "sda".into(),
                tgid: 7,
                start_ns: 1,
                cgroup_id: 1,
            },
            comm: "dd".into(),
            is_kernel_thread: false,
            ops,
            merges: Merges::default(),
            d2c: [
                Histogram::new(histogram::OWNER),
                Histogram::new(histogram::OWNER),
            ],
            q2d,
        }
    }

    fn snapshot(time_ns: u64, owners: Vec<OwnerNumbers>) -> Snapshot {
        Snapshot {
            time_ns,
            devices: vec![DeviceNumbers::new("sda")],
            owners,
            skipped: time_ns / 10,
        }
    }

    #[test]
    fn an_interval_holds_only_what_happened_in_it() {
        let earlier = snapshot(100, vec![owner(&[1_000, 9_000_000])]);
        let later = snapshot(250, vec![owner(&[1_000, 9_000_000, 5_000])]);
        let interval = Interval::between(&earlier, &later).unwrap();
        let op = &interval.owners[0].ops[0];
        assert_eq!((op.ios, op.q2d_sum_ns), (1, 5_000));
        let max = op.q2d_max_ns.unwrap();
        assert!(
            (5_000..5_000 * 17 / 16).contains(&max),
            "{max}: not the 9 ms of before"
        );
        assert_eq!(interval.devices[0].quality.skipped, 15);
        assert_eq!(interval.end_ns - interval.start_ns, 150);
    }

    #[test]
    fn a_new_longest_wait_is_exact() {
        let earlier = snapshot(1, vec![owner(&[1_000])]);
        let later = snapshot(2, vec![owner(&[1_000, 77_777])]);
        let interval = Interval::between(&earlier, &later).unwrap();
        assert_eq!(interval.owners[0].ops[0].q2d_max_ns, Some(77_777));
        assert_eq!(
            interval.owners[0].ops[1].q2d_max_ns, None,
            "no write: N/A, not 0"
        );
    }

    #[test]
    fn processes_of_a_cgroup_add_up() {
        let mut second = owner(&[3_000, 50_000]);
        second.key.tgid = 8;
        let mut elsewhere = owner(&[1]);
        elsewhere.key.cgroup_id = 2;
        let groups = by_cgroup(&[owner(&[1_000]), second, elsewhere]);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].ios(), groups[0].q2d[0].count()), (3, 3));
        assert_eq!(groups[0].ops[0].q2d_max_ns, Some(50_000));
        assert_eq!(groups[0].comm, "2 processes");
    }

    #[test]
    fn idle_owners_are_left_out_and_new_ones_are_whole() {
        let idle = snapshot(1, vec![owner(&[10])]);
        assert!(Interval::between(&idle, &idle).unwrap().owners.is_empty());
        let mut other = owner(&[20]);
        other.key.tgid = 8;
        let later = snapshot(2, vec![owner(&[10]), other]);
        let interval = Interval::between(&idle, &later).unwrap();
        assert_eq!(interval.owners.len(), 1);
        assert_eq!(
            (interval.owners[0].key.tgid, interval.owners[0].ios()),
            (8, 1)
        );
    }
}
