//! The owners' rows: read, named, and given back when their owners have gone.

use std::collections::HashMap;

use anyhow::Result;
use iosched_bpf::{CLOCK_SHIFT, Tracer, inflight, owner};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::wide::advance_owner;
use crate::histogram::{GAP, Histogram, OWNER};
use crate::snapshot::{Merges, Op, OwnerFairness, OwnerKey, OwnerKind, OwnerNumbers, OwnerOp};

/// Owners' places are handed out in order; the few that two threads fought over are left empty for the time being.
const HOLES: usize = 64;

/// What is true of all owners of a snapshot.
pub(super) struct Context<'a> {
    pub devices: &'a [String],
    pub time_ns: u64,
    pub has_fairness: bool,
    /// Whether the histograms are wanted, too.
    pub has_histograms: bool,
    /// Of owners with requests that were not issued yet: when the oldest was asked for. Only where fairness is measured.
    pub oldest_ns: HashMap<usize, u64>,
}

/// See [`Context`].
pub(super) fn oldest_ns<'a>(under_way: impl Iterator<Item = &'a inflight>) -> HashMap<usize, u64> {
    let mut oldest = HashMap::new();
    for request in under_way.filter(|request| request.d_ns == 0 && request.g_ns > 0) {
        let asked_ns = match request.q_ns {
            0 => request.g_ns,
            ns => ns,
        };
        let known = oldest.entry(request.owner as usize).or_insert(asked_ns);
        *known = asked_ns.min(*known);
    }
    oldest
}

/// Q2D of reads and of writes, D2C of reads and of writes.
struct OwnerLatency {
    totals: [Histogram; 4],
    /// Reads and all others when the histograms were last looked at.
    ios: [u64; 2],
    /// Whether they were the same at the look before. The kernel counts an I/O a moment before it fills the cells.
    is_settled: [bool; 2],
}

impl OwnerLatency {
    fn new() -> Self {
        OwnerLatency {
            totals: std::array::from_fn(|_| Histogram::new(OWNER)),
            ios: [0; 2],
            is_settled: [true; 2],
        }
    }

    /// Looks only at histograms that may have changed.
    fn advance(&mut self, tracer: &Tracer, index: usize, row: &owner) {
        let reads = row.op[Op::Read as usize].ios;
        let all: u64 = row.op.iter().map(|op| op.ios).sum();
        for (direction, ios) in [reads, all - reads].into_iter().enumerate() {
            let is_same = ios == self.ios[direction];
            if !is_same || !self.is_settled[direction] {
                for which in [direction, direction + 2] {
                    advance_owner(&mut self.totals[which], tracer, index, which);
                }
            }
            self.ios[direction] = ios;
            self.is_settled[direction] = is_same;
        }
    }
}

/// Since when an owner has done nothing.
#[derive(Clone, Copy)]
struct Idle {
    /// Its I/Os and merges.
    done: u64,
    /// Recyclings ago.
    rests: u32,
}

/// What a process has dirtied may be written long after its end.
const RESTS_OF_WRITEBACK: u32 = 60;

/// The owners' widened histograms, and who has been idle since the last look.
#[derive(Default)]
pub(super) struct Owners {
    /// Above it no owner was seen so far.
    high: usize,
    /// By index; none before its first I/O, and where there is no room for histograms.
    latencies: Vec<Option<Box<OwnerLatency>>>,
    /// By index; none before its first I/O.
    idle: Vec<Option<Idle>>,
    /// By index: how often the row was given to another.
    generations: Vec<u32>,
    /// An old snapshot's, to be filled anew: most owners find their place, and all memory taken.
    spare: Vec<OwnerNumbers>,
}

impl Owners {
    pub fn reuse(&mut self, old: Vec<OwnerNumbers>) {
        self.spare = old;
    }

    pub fn read(&mut self, tracer: &Tracer, context: &Context<'_>) -> Result<Vec<OwnerNumbers>> {
        let mut owners = std::mem::take(&mut self.spare);
        let mut count = 0;
        let mut holes = 0;
        for index in 0..tracer.owner_count() {
            if index > 0 && !tracer.is_owner(index) {
                holes += usize::from(index > self.high);
                if holes > HOLES {
                    break;
                }
                continue;
            }
            self.high = index.max(self.high);
            if self.latencies.len() <= index {
                self.latencies.resize_with(index + 1, || None);
                self.generations.resize(index + 1, 0);
            }
            let row = tracer.owner(index);
            let latency = &mut self.latencies[index];
            let has_histograms = context.has_histograms && tracer.has_latency(index);
            if has_histograms {
                latency
                    .get_or_insert_with(|| Box::new(OwnerLatency::new()))
                    .advance(tracer, index, &row);
            }
            if owners.len() == count {
                owners.push(OwnerNumbers::new(owner_key(&row, ""), ""));
            }
            let latency = latency.as_deref().filter(|_| has_histograms);
            fill(&mut owners[count], &row, latency, index, context)?;
            owners[count].row.generation = self.generations[index];
            count += 1;
        }
        owners.truncate(count);
        Ok(owners)
    }

    /// An owner is recycled when its process or thread has gone, nothing was counted since the last call (of writeback: for
    /// many), and none of its requests is under way.
    pub fn recycle(&mut self, tracer: &Tracer, slots: usize) -> Result<usize> {
        let mut recycled = 0;
        let busy: Vec<u32> = (0..slots)
            .flat_map(|slot| tracer.inflight(slot).map(|state| state.owner))
            .collect();
        self.idle.resize(self.high + 1, None);
        for index in 1..=self.high {
            if !tracer.is_owner(index) {
                continue;
            }
            let row = tracer.owner(index);
            let rests = self.rests(index, &row);
            let has_rested = match kind_of(&row) {
                OwnerKind::Process | OwnerKind::KernelThread => rests > 0,
                OwnerKind::Writeback => rests >= RESTS_OF_WRITEBACK,
                OwnerKind::Workqueue | OwnerKind::Other => false,
            };
            if has_rested && !is_alive(row.key.tgid) && !busy.contains(&(index as u32)) {
                tracer.recycle(index)?;
                self.idle[index] = None;
                if let Some(latency) = self.latencies.get_mut(index) {
                    *latency = None;
                }
                self.generations[index] += 1;
                recycled += 1;
            }
        }
        Ok(recycled)
    }

    /// For how many calls it has done nothing.
    fn rests(&mut self, index: usize, row: &owner) -> u32 {
        let ios: u64 = row.op.iter().map(|op| op.ios).sum();
        let done = ios + row.back_merges + row.front_merges + row.rq_merges;
        let rests = match self.idle[index] {
            Some(idle) if idle.done == done => idle.rests + 1,
            _ => 0,
        };
        self.idle[index] = Some(Idle { done, rests });
        rests
    }
}

/// Is there still a process of that number? If it is a younger one the owner stays a while longer, no harm done.
/// Asked by a signal that is none: /proc may be mounted so that it hides the processes of others.
fn is_alive(tgid: u32) -> bool {
    let pid = Pid::from_raw(tgid.cast_signed());
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn kind_of(row: &owner) -> OwnerKind {
    match row.key.kind {
        1 => OwnerKind::Process,
        2 => OwnerKind::KernelThread,
        3 => OwnerKind::Workqueue,
        4 => OwnerKind::Writeback,
        _ => OwnerKind::Other,
    }
}

fn owner_key(row: &owner, device: &str) -> OwnerKey {
    let mut key = OwnerKey {
        device: String::new(),
        kind: OwnerKind::Other,
        tgid: 0,
        start_ms: 0,
        cgroup_id: 0,
    };
    fill_key(&mut key, row, device);
    key
}

fn fill_key(key: &mut OwnerKey, row: &owner, device: &str) {
    device.clone_into(&mut key.device);
    key.kind = kind_of(row);
    key.tgid = row.key.tgid;
    // JSON's readers hold integers below 2^53 exactly.
    key.start_ms = match row.key.kind {
        3 => row.key.start_ns >> 11,
        _ => row.key.start_ns / 1_000_000,
    };
    key.cgroup_id = row.key.cgroup_id;
}

/// Every field, whoever's numbers stood there before.
fn fill(
    numbers: &mut OwnerNumbers,
    row: &owner,
    latency: Option<&OwnerLatency>,
    index: usize,
    context: &Context<'_>,
) -> Result<()> {
    let OwnerNumbers {
        key,
        row: place,
        comm,
        has_io_workers,
        ioprio,
        ops,
        merges,
        has_histograms,
        q2d,
        d2c,
        fairness,
    } = numbers;
    let device = match index {
        0 => "",
        _ => &context.devices[usize::from(row.key.slot)],
    };
    fill_key(key, row, device);
    place.index = index;
    comm.clear();
    if key.kind == OwnerKind::Other {
        comm.push_str("other");
    } else {
        let name = row.comm.map(i8::cast_unsigned);
        let length = name.iter().position(|&byte| byte == 0);
        comm.push_str(&String::from_utf8_lossy(
            &name[..length.unwrap_or(name.len())],
        ));
    }
    *has_io_workers = row.flags & 1 != 0;
    *ioprio = ((row.ioprio >> 13) as u8 & 7, row.ioprio as u8 & 7);
    ops.clear();
    ops.extend(row.op.iter().map(owner_op));
    *merges = Merges {
        back: row.back_merges,
        front: row.front_merges,
        rq: row.rq_merges,
    };
    *has_histograms = latency.is_some();
    for (which, histogram) in q2d.iter_mut().chain(d2c).enumerate() {
        match latency {
            Some(latency) => histogram.clone_from(&latency.totals[which]),
            None => *histogram = Histogram::new(OWNER),
        }
    }
    *fairness = context
        .has_fairness
        .then(|| fairness_of(row, context.time_ns, context.oldest_ns.get(&index).copied()))
        .transpose()?;
    Ok(())
}

fn owner_op(op: &iosched_bpf::owner_op) -> OwnerOp {
    OwnerOp {
        ios: op.ios,
        bytes: op.bytes,
        bios: op.ios + op.more_bios,
        // Words are read moments apart.
        waits: op.ios.saturating_sub(op.unwaited),
        q2d_sum_ns: op.q2d_ns,
        d2c_sum_ns: op.d2c_ns,
        q2c_sum_ns: (op.q2d_ns + op.d2c_ns).saturating_sub(op.unwaited_d2c_ns),
        flush_sum_ns: op.flush_ns,
        q2d_max_ns: Some(op.q2d_max_ns).filter(|&ns| ns > 0),
        d2c_max_ns: Some(op.d2c_max_ns).filter(|&ns| ns > 0),
    }
}

/// `oldest_ns`: when the request was asked for that waits longest.
fn fairness_of(row: &owner, now_ns: u64, oldest_ns: Option<u64>) -> Result<OwnerFairness> {
    let is_busy = row.started != row.ended;
    let present = if is_busy {
        now_ns.saturating_sub(row.busy_since_ns)
    } else {
        0
    };
    Ok(OwnerFairness {
        device_time_ns: row.device_time >> CLOCK_SHIFT,
        backlogged_ns: row.busy_ns + present,
        starvation_max_ns: Some(row.gap_max_ns).filter(|&ns| ns > 0),
        starvation: Histogram::from_counts(GAP, &row.gaps)?,
        starving_ns: oldest_ns.map(|ns| now_ns.saturating_sub(ns.max(row.last_issue_ns))),
    })
}
