//! Converts the kernel's records of a device to the numbers of a snapshot.

use std::collections::HashMap;

use iosched_bpf::enums::dispatch_kind;
use iosched_bpf::{LOG2_CELLS, device_stats, dispatch, inflight, order_stats};

use super::raw::RawDevice;
use super::status;
use iosched_result::measured::order::Dispatch;
use iosched_result::measured::snapshot::{
    DeviceNumbers, InFlight, Log2Histogram, Op, Order, StatusCount,
};

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
        .map(|states| in_flight(states, raw.inflight_ns));
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

/// Sorts by issue number, because the clocks of several CPUs may disagree. Removes the places that were given away and
/// renumbers the issues before them: any remaining gap is a lost issue.
pub(super) fn dispatches(raw: impl Iterator<Item = dispatch>) -> Vec<Dispatch> {
    let mut places: Vec<dispatch> = raw.collect();
    // Sequences wrap: compare them relative to any one of them.
    let base = places.first().map_or(0, |place| place.issue);
    places.sort_by_key(|place| place.issue.wrapping_sub(base).cast_signed());
    let mut given_away = 0;
    let issue = |d: &dispatch| {
        if u32::from(d.kind) == dispatch_kind::DISPATCH_GIVEN_AWAY.0 {
            given_away += 1;
            return None;
        }
        Some(Dispatch {
            start_ns: d.g_ns,
            issue_ns: d.d_ns,
            sector: d.sector,
            bytes: d.bytes,
            start_sequence: d.sequence,
            issue_sequence: d.issue.wrapping_add(given_away),
            hardware_queue: d.hardware_queue,
            op: Op::ALL[usize::from(d.op).min(Op::ALL.len() - 1)],
        })
    };
    let mut dispatches: Vec<Dispatch> = places.iter().rev().filter_map(issue).collect();
    dispatches.reverse();
    dispatches
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::order::last_burst;

    fn issued(issue: u32, d_ns: u64) -> dispatch {
        dispatch {
            kind: dispatch_kind::DISPATCH_ISSUED.0 as u8,
            issue,
            d_ns,
            ..dispatch::default()
        }
    }

    fn given_away(issue: u32) -> dispatch {
        dispatch {
            kind: dispatch_kind::DISPATCH_GIVEN_AWAY.0 as u8,
            ..issued(issue, 0)
        }
    }

    fn times(dispatches: &[Dispatch]) -> Vec<u64> {
        dispatches.iter().map(|d| d.issue_ns).collect()
    }

    /// As they are stored in a ring of 4; the clock of the CPU that issued the third is behind.
    #[test]
    fn the_order_of_the_issues_is_not_that_of_the_clocks() {
        let ring = [(0, 30), (1, 40), (u32::MAX - 1, 10), (u32::MAX, 20)];
        let found = dispatches(ring.into_iter().map(|(issue, ns)| issued(issue, ns)));
        assert_eq!(times(last_burst(&found)), [10, 20, 30, 40]);
        let ring = [(4, 35), (5, 50), (2, 40), (3, 30)];
        let found = dispatches(ring.into_iter().map(|(issue, ns)| issued(issue, ns)));
        assert_eq!(times(last_burst(&found)), [40, 30, 35, 50]);
    }

    #[test]
    fn a_place_given_away_is_no_gap() {
        let ring = [issued(7, 10), given_away(8), given_away(9), issued(10, 20)];
        let found = dispatches(ring.into_iter().chain([issued(11, 30)]));
        assert_eq!(times(last_burst(&found)), [10, 20, 30]);
        let sequences: Vec<u32> = found.iter().map(|d| d.issue_sequence).collect();
        assert_eq!(sequences, [9, 10, 11]);
        // But a lost issue beside it is a gap.
        let ring = [issued(7, 10), given_away(9), issued(10, 20)];
        assert_eq!(times(last_burst(&dispatches(ring.into_iter()))), [20]);
        assert_eq!(dispatches([given_away(3)].into_iter()), []);
    }
}
