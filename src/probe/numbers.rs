//! From the kernel's records to the numbers of a snapshot.

use anyhow::Result;
use iosched_bpf::{
    CLOCK_SHIFT, LOG2_CELLS, Latency, Tracer, device_stats, dispatch, inflight, order_stats, owner,
    owner_latency,
};

use super::raw::{RawDevice, RawOwner, Wide};
use super::status;
use crate::histogram::{DEVICE, GAP, Histogram, OWNER};
use crate::order::Dispatch;
use crate::snapshot::{
    DeviceNumbers, DeviceOp, InFlight, Log2Histogram, Merges, Op, Order, OwnerFairness, OwnerKey,
    OwnerKind, OwnerNumbers, OwnerOp, StatusCount,
};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

pub(super) fn device(name: &str, raw: &RawDevice, is_errno: bool) -> DeviceNumbers {
    let mut numbers = DeviceNumbers::new(name);
    for stats in &raw.stats {
        add_counters(&mut numbers, stats);
    }
    for code in 0..iosched_bpf::STATUSES {
        let count: u64 = raw
            .stats
            .iter()
            .map(|stats| u64::from(stats.statuses[code]))
            .sum();
        if count > 0 {
            numbers.statuses.push(StatusCount {
                status: status::name(code, is_errno),
                count,
            });
        }
    }
    numbers.edges.switches = raw.switches;
    numbers.in_flight = raw
        .inflight
        .as_ref()
        .map(|states| in_flight(states, raw.time_ns));
    numbers.order = (!raw.order.is_empty()).then(|| order(&raw.order));
    numbers
}

fn add_counters(numbers: &mut DeviceNumbers, stats: &device_stats) {
    for (op, counters) in numbers.ops.iter_mut().zip(stats.op) {
        op.ios += counters.ios;
        op.bytes += counters.bytes;
        op.bios += counters.ios + counters.more_bios;
        op.waits += counters.waits;
        op.q2d_sum_ns += counters.q2d_ns;
        op.d2c_sum_ns += counters.d2c_ns;
        op.q2c_sum_ns += counters.q2c_ns;
    }
    numbers.merges.back += stats.back_merges;
    numbers.merges.front += stats.front_merges;
    numbers.merges.rq += stats.rq_merges;
    let flushes = &mut numbers.flushes;
    flushes.asked += stats.flush_requests;
    flushes.before_data += stats.preflushes;
    flushes.before_data_ns += stats.preflush_ns;
    flushes.after_data += stats.postflushes;
    flushes.after_data_ns += stats.postflush_ns;
    flushes.journal_writes += stats.journal_ios;
    flushes.journal_ns += stats.journal_ns;
    let edges = &mut numbers.edges;
    edges.errors += stats.errors;
    edges.requeues += stats.requeues;
    edges.requeued_ns += stats.requeued_ns;
    edges.partial_completions += stats.partial_completions;
    edges.passthrough += stats.passthrough;
    edges.straddlers += stats.straddlers;
    edges.straddler_bytes += stats.straddler_bytes;
    let quality = &mut numbers.quality;
    quality.lost += stats.lost;
    quality.evicted += stats.evicted;
    quality.negative += stats.negative;
    quality.started_late += stats.started_late;
    quality.unseen += stats.unseen;
    quality.unissued += stats.unissued;
    quality.owner_overflow += stats.owner_overflow;
}

/// Puts the stages together from the histograms that the kernel keeps; see `enum latency` in bpf/wire.h.
pub(super) fn fill_stages(
    op: &mut DeviceOp,
    widened: &mut impl FnMut(Latency) -> Result<Histogram>,
) -> Result<()> {
    let direct = widened(Latency::Q2dDirect)?;
    let mut no_wait = vec![0; DEVICE.cells as usize];
    no_wait[0] = direct.count();
    op.q2g = Histogram::from_counts(DEVICE, no_wait)?;
    op.q2g.merge(&widened(Latency::Q2gWaited)?)?;
    op.q2d = direct.clone();
    op.q2d.merge(&widened(Latency::Q2dWaited)?)?;
    op.g2d = direct;
    op.g2d.merge(&widened(Latency::G2dWaited)?)?;
    op.g2d.merge(&widened(Latency::G2dAlone)?)?;
    op.d2c = widened(Latency::D2c)?;
    op.q2c = widened(Latency::Q2c)?;
    op.i2d = widened(Latency::I2d)?;
    op.merged_bios.q2d = widened(Latency::Q2dMerged)?;
    op.merged_bios.d2c = widened(Latency::D2cMerged)?;
    op.merged_bios.q2c = widened(Latency::Q2cMerged)?;
    Ok(())
}

fn in_flight(states: &[inflight], now_ns: u64) -> InFlight {
    let mut sum = InFlight::default();
    for state in states {
        let since = if state.q_ns > 0 {
            state.q_ns
        } else {
            state.g_ns
        };
        if state.d_ns > 0 {
            sum.issued += 1;
        } else {
            sum.queued += 1;
        }
        if since > 0 {
            sum.oldest_ns = sum.oldest_ns.max(now_ns.saturating_sub(since));
        }
    }
    sum
}

fn order(shards: &[order_stats]) -> Order {
    let sum = |field: fn(&order_stats) -> u64| shards.iter().map(field).sum();
    let cells = |field: &dyn Fn(&order_stats) -> [u32; LOG2_CELLS]| {
        let mut sums = vec![0u64; LOG2_CELLS];
        for shard in shards {
            for (sum, cell) in sums.iter_mut().zip(field(shard)) {
                *sum += u64::from(cell);
            }
        }
        Log2Histogram(sums)
    };
    Order {
        issued: sum(|s| s.issued),
        reordered: sum(|s| s.reordered),
        insert_seeks: sum(|s| s.insert_seeks),
        insert_sectors: sum(|s| s.insert_sectors),
        issue_seeks: sum(|s| s.issue_seeks),
        issue_sectors: sum(|s| s.issue_sectors),
        runs: [sum(|s| s.runs[0]), sum(|s| s.runs[1])],
        run_ios: [sum(|s| s.run_ios[0]), sum(|s| s.run_ios[1])],
        early: cells(&|s| s.early),
        late: cells(&|s| s.late),
        insert_seek: cells(&|s| s.insert_seek),
        issue_seek: cells(&|s| s.issue_seek),
        run_length: [cells(&|s| s.run_length[0]), cells(&|s| s.run_length[1])],
    }
}

/// The oldest first.
pub(super) fn dispatches(raw: impl Iterator<Item = dispatch>) -> Vec<Dispatch> {
    let mut dispatches: Vec<Dispatch> = raw
        .map(|d| Dispatch {
            start_ns: d.g_ns,
            issue_ns: d.d_ns,
            sector: d.sector,
            bytes: d.bytes,
            start_sequence: d.sequence,
            issue_sequence: d.issue,
            hardware_queue: d.hardware_queue,
            op: Op::ALL[usize::from(d.op).min(Op::ALL.len() - 1)],
        })
        .collect();
    dispatches.sort_by_key(|d| d.issue_ns);
    dispatches
}

/// What is true of all owners of a snapshot.
pub(super) struct Context<'a> {
    pub devices: &'a [String],
    pub time_ns: u64,
    pub has_fairness: bool,
}

/// The owners' widened histograms, and who has been idle since the last look.
#[derive(Default)]
pub(super) struct Owners {
    pub high: usize,
    wide: Vec<Option<Box<[Wide; 4]>>>,
    /// By index: what identifies the owner, and the I/O that it had at the last recycling.
    seen: Vec<Option<(OwnerKey, u64)>>,
}

impl Owners {
    pub fn numbers(
        &mut self,
        rows: &[RawOwner],
        context: &Context<'_>,
    ) -> Result<Vec<OwnerNumbers>> {
        rows.iter()
            .map(|raw| {
                if self.wide.len() <= raw.index {
                    self.wide.resize_with(raw.index + 1, || None);
                }
                let wide = &mut self.wide[raw.index];
                owner_numbers(raw, wide, context)
            })
            .collect()
    }

    /// An owner is recycled when its process (for writeback its cgroup, too) has gone, nothing was counted since the
    /// last call, and none of its requests is under way.
    pub fn recycle(&mut self, tracer: &Tracer, slots: usize) -> Result<usize> {
        let mut recycled = 0;
        let busy: Vec<u32> = (0..slots)
            .flat_map(|slot| tracer.inflight(slot).map(|state| state.owner))
            .collect();
        self.seen.resize(self.high + 1, None);
        for index in 1..=self.high {
            if !tracer.is_owner(index) {
                continue;
            }
            let row = tracer.owner(index);
            let key = owner_key(&row, "");
            let done = row.op.iter().map(|op| op.ios).sum::<u64>()
                + row.back_merges
                + row.front_merges
                + row.rq_merges;
            let was_idle = self.seen[index].as_ref() == Some(&(key.clone(), done));
            self.seen[index] = Some((key.clone(), done));
            let is_gone = key.kind == OwnerKind::Process && !is_alive(&key);
            if was_idle && is_gone && !busy.contains(&(index as u32)) {
                tracer.recycle(index)?;
                self.seen[index] = None;
                if let Some(wide) = self.wide.get_mut(index) {
                    *wide = None;
                }
                recycled += 1;
            }
        }
        Ok(recycled)
    }
}

/// Is there still a process of that number? If it is a younger one the owner stays a while longer, no harm done.
/// Asked by a signal that is none: /proc may be mounted so that it hides the processes of others.
fn is_alive(key: &OwnerKey) -> bool {
    let pid = Pid::from_raw(key.tgid.cast_signed());
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn owner_key(row: &owner, device: &str) -> OwnerKey {
    OwnerKey {
        device: device.to_owned(),
        kind: match row.key.kind {
            1 => OwnerKind::Process,
            2 => OwnerKind::KernelThread,
            3 => OwnerKind::Workqueue,
            4 => OwnerKind::Writeback,
            _ => OwnerKind::Other,
        },
        tgid: row.key.tgid,
        // JSON's readers hold integers below 2^53 exactly.
        start_ms: match row.key.kind {
            3 => row.key.start_ns >> 11,
            _ => row.key.start_ns / 1_000_000,
        },
        cgroup_id: row.key.cgroup_id,
    }
}

fn owner_numbers(
    raw: &RawOwner,
    wide: &mut Option<Box<[Wide; 4]>>,
    context: &Context<'_>,
) -> Result<OwnerNumbers> {
    let row = &raw.row;
    let key = if raw.index == 0 {
        owner_key(row, "")
    } else {
        owner_key(row, &context.devices[usize::from(row.key.slot)])
    };
    let name: Vec<u8> = row
        .comm
        .iter()
        .map(|&byte| byte.cast_unsigned())
        .take_while(|&byte| byte != 0)
        .collect();
    let [q2d, d2c] = match &raw.latency {
        Some(latency) => histograms(latency, wide)?,
        None => std::array::from_fn(|_| std::array::from_fn(|_| Histogram::new(OWNER))),
    };
    Ok(OwnerNumbers {
        comm: if key.kind == OwnerKind::Other {
            "other".to_owned()
        } else {
            String::from_utf8_lossy(&name).into_owned()
        },
        key,
        has_io_workers: row.flags & 1 != 0,
        ioprio: ((row.ioprio >> 13) as u8 & 7, row.ioprio as u8 & 7),
        ops: row.op.iter().map(owner_op).collect(),
        merges: Merges {
            back: row.back_merges,
            front: row.front_merges,
            rq: row.rq_merges,
        },
        has_histograms: raw.latency.is_some(),
        q2d,
        d2c,
        fairness: context
            .has_fairness
            .then(|| fairness(row, context.time_ns))
            .transpose()?,
    })
}

fn histograms(
    latency: &owner_latency,
    wide: &mut Option<Box<[Wide; 4]>>,
) -> Result<[[Histogram; 2]; 2]> {
    let wide =
        wide.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Wide::new(OWNER.cells))));
    let mut widened = |place: usize, cells: &[u32]| {
        wide[place].advance(cells);
        Histogram::from_counts(OWNER, wide[place].total.clone())
    };
    Ok([
        [
            widened(0, &latency.q2d[0].cells)?,
            widened(1, &latency.q2d[1].cells)?,
        ],
        [
            widened(2, &latency.d2c[0].cells)?,
            widened(3, &latency.d2c[1].cells)?,
        ],
    ])
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

fn fairness(row: &owner, now_ns: u64) -> Result<OwnerFairness> {
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
        starvation: Histogram::from_counts(
            GAP,
            row.gaps.iter().map(|&cell| u64::from(cell)).collect(),
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lives_is_told_without_proc() {
        let of = |tgid: u32| OwnerKey {
            device: "x".to_owned(),
            kind: OwnerKind::Process,
            tgid,
            start_ms: 0,
            cgroup_id: 0,
        };
        let mut child = std::process::Command::new("true").spawn().unwrap();
        // One that has not been waited for has its number still.
        assert!(is_alive(&of(child.id())));
        child.wait().unwrap();
        assert!(!is_alive(&of(child.id())));
        // Somebody else's, perhaps.
        assert!(is_alive(&of(1)) && !is_alive(&of(0)));
    }
}
