//! From the kernel's records of a device to the numbers of a snapshot.

use anyhow::Result;
use iosched_bpf::{LOG2_CELLS, Latency, device_stats, dispatch, inflight, order_stats};

use super::raw::RawDevice;
use super::status;
use crate::histogram::Histogram;
use crate::order::Dispatch;
use crate::snapshot::{DeviceNumbers, DeviceOp, InFlight, Log2Histogram, Op, Order, StatusCount};

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
pub(super) fn fill_stages<'a>(
    op: &mut DeviceOp,
    of: &impl Fn(Latency) -> &'a Histogram,
) -> Result<()> {
    let direct = of(Latency::Q2dDirect);
    op.q2d.clone_from(direct);
    // Of the others Q2D is not split.
    if Op::DATA.contains(&op.op) {
        op.q2g = Histogram::new(direct.layout());
        op.q2g.record_n(0, direct.count());
        op.q2g.merge(of(Latency::Q2gWaited))?;
        op.q2d.merge(of(Latency::Q2dWaited))?;
        op.g2d.clone_from(direct);
        op.g2d.merge(of(Latency::G2dWaited))?;
        op.g2d.merge(of(Latency::G2dAlone))?;
    }
    op.d2c.clone_from(of(Latency::D2c));
    op.q2c.clone_from(of(Latency::Q2c));
    op.i2d.clone_from(of(Latency::I2d));
    op.merged_bios.q2d.clone_from(of(Latency::Q2dMerged));
    op.merged_bios.d2c.clone_from(of(Latency::D2cMerged));
    op.merged_bios.q2c.clone_from(of(Latency::Q2cMerged));
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
            sum.oldest_ns = sum.oldest_ns.max(Some(now_ns.saturating_sub(since)));
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
