//! Converts the kernel's records of a device to the numbers of a snapshot.

use std::collections::HashMap;

use iosched_bpf::{device_stats, inflight};

use super::raw::RawDevice;
use super::status;
use super::waits::{self, Told};
use iosched_result::measured::snapshot::{DeviceNumbers, InFlight, StatusCount};

pub(super) fn device(name: &str, raw: &RawDevice, is_errno: bool, told: Told) -> DeviceNumbers {
    let mut numbers = DeviceNumbers::new(name);
    for stats in &raw.stats {
        add_counters(&mut numbers, stats);
        numbers.waits += waits::of_kernel(&stats.waits, told);
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
        .map(|states| in_flight(states, raw.inflight_ns));
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
    numbers.stalled_ns += stats.stalled_ns;
    numbers.edges.nowait_retries += stats.nowait_retries;
    numbers.edges.failed_over += stats.failed_over;
    numbers.edges.throttled += stats.throttled;
    numbers.edges.throttled_ns += stats.throttled_ns;
    numbers.edges.throttled_unknown += stats.throttled_unknown;
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
    quality.started_before += stats.started_before;
    quality.unseen += stats.unseen;
    quality.unissued += stats.unissued;
    quality.owner_overflow += stats.owner_overflow;
    quality.unrecorded += stats.unrecorded;
}

fn in_flight(states: &[inflight], now_ns: u64) -> InFlight {
    let mut sum = InFlight::default();
    for state in states {
        add_in_flight(&mut sum, state, now_ns);
    }
    sum
}

/// Requests in flight by owner, on disks whose in-flight table is read.
pub(super) fn in_flight_of_owners(devices: &[RawDevice]) -> HashMap<usize, InFlight> {
    let mut owners: HashMap<usize, InFlight> = HashMap::new();
    for raw in devices {
        for state in raw.inflight.iter().flatten() {
            let sum = owners.entry(state.owner as usize).or_default();
            add_in_flight(sum, state, raw.inflight_ns);
        }
    }
    owners
}

fn add_in_flight(sum: &mut InFlight, state: &inflight, now_ns: u64) {
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
