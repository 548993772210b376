use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::measured::order::{last_burst, reordering};
use crate::measured::snapshot::{Log2Histogram, Op};

const MS: u64 = 1_000_000;
const ALL: Kept = Kept {
    order: true,
    fairness: true,
};

/// A read of 4 KiB that got its request at once. Times are milliseconds; 0 for what has not happened.
fn read(owner: u32, g_ms: u64, d_ms: u64, c_ms: u64) -> Record {
    Record {
        q_ns: g_ms * MS,
        g_ns: g_ms * MS,
        owner,
        bytes: 4096,
        is_scheduled: true,
        ..Record::issued(Op::Read, d_ms * MS, c_ms * MS)
    }
}

fn advanced(records: &[Record]) -> Timeline {
    let mut timeline = Timeline::new(1, ALL);
    for record in records {
        timeline.add(record);
    }
    timeline.advance(u64::MAX / 2, []);
    timeline
}

fn order(records: &[Record]) -> Order {
    advanced(records).order(0).unwrap()
}

/// Requests that start one after another and are issued in this order.
fn permuted(issues: &[u32]) -> Vec<Record> {
    let issue = |(place, number): (usize, &u32)| {
        let at = 1000 + place as u64;
        read(0, u64::from(*number) + 1, at, at + 1000)
    };
    issues.iter().enumerate().map(issue).collect()
}

/// The cells of a histogram that are not 0, with their counts.
fn cells(histogram: &Log2Histogram) -> Vec<(usize, u64)> {
    let cells = histogram.0.iter().copied().enumerate();
    cells.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn known_sequences() {
    let found = order(&permuted(&[1, 2, 0, 3, 4]));
    assert_eq!((found.issued, found.reordered), (5, 1));
    assert_eq!(cells(&found.early), [(1, 2)], "1 and 2 are a place early");
    assert_eq!(cells(&found.late), [(0, 2), (2, 1)], "0 is two places late");
    assert_eq!(order(&permuted(&[4, 3, 2, 1, 0])).reordered, 4);
    assert_eq!(order(&permuted(&[0, 3, 1, 2, 5, 4])).reordered, 3);
    assert_eq!(order(&permuted(&[0, 1, 2])).reordered, 0);
}

#[test]
fn requests_that_start_at_once_overtake_nobody() {
    let same = [read(0, 5, 9, 20), read(0, 5, 8, 20), read(0, 5, 7, 20)];
    let found = order(&same);
    assert_eq!((found.issued, found.reordered), (3, 0));
}

#[test]
fn seeks_and_the_schedulers_gain() {
    // The program asks for 0, 1000, 8, 1008, and the scheduler issues them sorted.
    let at = |sector, g_ms, d_ms| Record {
        sector,
        ..read(0, g_ms, d_ms, 100)
    };
    let all = [at(0, 1, 11), at(1000, 2, 13), at(8, 3, 12), at(1008, 4, 14)];
    let found = order(&all);
    assert_eq!(
        (found.insert_seeks, found.insert_sectors),
        (3, 992 + 1000 + 992)
    );
    assert_eq!((found.issue_seeks, found.issue_sectors), (3, 984));
    assert_eq!(cells(&found.issue_seek), [(0, 2), (10, 1)]);
    assert!(found.scheduler_gain().unwrap() > 3.0);
}

#[test]
fn a_seek_is_from_the_end_of_what_grew_by_merges() {
    let grown = Record {
        bytes: 3 * 4096,
        ..read(0, 1, 11, 100)
    };
    let next = Record {
        sector: 24,
        ..read(0, 2, 12, 100)
    };
    assert_eq!(cells(&order(&[grown, next]).insert_seek), [(0, 1)]);
}

#[test]
fn runs_end_with_the_change_of_direction() {
    let kinds = "rrrwwrw"; // the last two runs: one ended, one not
    let of = |(place, kind): (usize, char)| Record {
        op: if kind == 'r' { Op::Read } else { Op::Discard },
        ..read(0, place as u64 + 1, place as u64 + 20, 100)
    };
    let all: Vec<Record> = kinds.chars().enumerate().map(of).collect();
    let found = order(&all);
    assert_eq!((found.runs, found.run_ios), ([2, 1], [4, 2]));
    assert_eq!(cells(&found.run_length[0]), [(1, 1), (2, 1)]);
    assert_eq!(cells(&found.run_length[1]), [(2, 1)]);
}

/// One that is merged into another after it was seen gives its place away: those behind it are not early for ever.
#[test]
fn a_request_that_is_never_issued_leaves_no_trace() {
    let mut timeline = Timeline::new(1, ALL);
    let states = [read(0, 1, 0, 0), read(0, 2, 0, 0), read(0, 3, 0, 0)];
    timeline.advance(5 * MS, states);
    let ended = [
        read(0, 1, 8, 9),
        read(0, 3, 8, 9),
        read(0, 10, 11, 12),
        read(0, 11, 12, 13),
    ];
    for record in &ended {
        timeline.add(record);
    }
    timeline.advance(7 * MS, []);
    timeline.advance(20 * MS, []);
    let found = timeline.order(0).unwrap();
    assert_eq!((found.issued, found.reordered), (4, 0));
    assert_eq!(cells(&found.early), [], "{found:?}");
    let share = timeline.share(0).unwrap();
    assert_eq!(
        share.backlogged_ns(30 * MS, None),
        (8 + 3) * MS,
        "1 to 9, 10 to 13"
    );
}

#[test]
fn what_goes_past_the_scheduler_is_in_no_order_but_takes_the_devices_time() {
    let past = Record {
        is_scheduled: false,
        ..read(1, 1, 2, 4)
    };
    let timeline = advanced(&[past]);
    assert_eq!(timeline.order(0).unwrap().issued, 0);
    assert_eq!(timeline.share(1).unwrap().device_time_ns(), 2 * MS);
}

#[test]
fn the_last_issues_are_kept_and_a_loss_is_a_gap() {
    let mut timeline = Timeline::new(1, ALL);
    for record in &permuted(&[1, 0]) {
        timeline.add(record);
    }
    timeline.advance(1500 * MS, []);
    timeline.note_loss();
    timeline.add(&read(0, 3000, 3001, 3002));
    timeline.add(&read(0, 3001, 3002, 3003));
    timeline.advance(5000 * MS, []);
    let all = timeline.dispatches(0);
    assert_eq!(all.len(), 4);
    let burst = last_burst(&all);
    let starts: Vec<u64> = burst.iter().map(|of| of.start_ns / MS).collect();
    assert_eq!(starts, [3000, 3001]);
}

/// Device time, backlogged time and longest starvation of an owner in milliseconds, and its starvation times.
fn share(timeline: &mut Timeline, row: usize) -> [u64; 4] {
    let share = timeline.share(row).unwrap();
    let gaps = share.gaps().iter().map(|count| u64::from(*count)).sum();
    [
        share.device_time_ns() / MS,
        share.backlogged_ns(timeline.until_ns(), None) / MS,
        timeline.take_longest_starvation_ns(row) / MS,
        gaps,
    ]
}

#[test]
fn alone_an_owner_has_all_of_the_time() {
    let mut timeline = advanced(&[read(0, 1, 2, 12)]);
    assert_eq!(share(&mut timeline, 0), [10, 11, 1, 0]);
    assert_eq!(share(&mut timeline, 1), [0; 4]);
    assert_eq!(share(&mut timeline, 0)[2], 0, "since the last call");
}

/// The parts add up to the time that the device was busy: 2 to 22.
#[test]
fn together_the_time_is_shared() {
    let mut timeline = advanced(&[read(0, 1, 2, 22), read(1, 1, 12, 22)]);
    assert_eq!(share(&mut timeline, 0)[0], 15, "10 alone, half of 10");
    assert_eq!(
        share(&mut timeline, 1),
        [5, 21, 11, 1],
        "waited from 1 to 12"
    );
}

/// Starvation: a request waits, and none of the owner's is issued. While others of it are, it does not starve.
#[test]
fn a_gap_is_a_time_without_any_issue() {
    let mut timeline = advanced(&[read(0, 1, 10, 15), read(0, 1, 14, 16)]);
    assert_eq!(share(&mut timeline, 0)[2..], [9, 2], "9 ms, then 4 ms");
    // Another one than the one that is issued waits longest.
    let mut timeline = advanced(&[read(0, 1, 23, 24), read(0, 10, 20, 25)]);
    assert_eq!(share(&mut timeline, 0)[2..], [19, 2], "1 to 20, then 3 ms");
    // It waited for its request since before the others, and got it last.
    let late = Record {
        q_ns: MS,
        ..read(0, 6, 10, 12)
    };
    let mut timeline = advanced(&[read(0, 5, 9, 11), late]);
    assert_eq!(share(&mut timeline, 0)[2], 8, "1 to 9");
    // A time without any that waits is no gap.
    let mut timeline = advanced(&[read(0, 1, 3, 4), read(0, 50, 51, 52)]);
    assert_eq!(share(&mut timeline, 0)[2], 2, "1 to 3");
}

#[test]
fn busy_is_from_the_first_question_to_the_last_end() {
    let all = [read(0, 1, 1, 4), read(0, 3, 5, 6), read(0, 10, 10, 11)];
    assert_eq!(share(&mut advanced(&all), 0)[1], 6, "1 to 6, and 10 to 11");
    // A thread that waited for its request since before the owner's last one ended: it was never idle.
    let waited = Record {
        q_ns: 2 * MS,
        ..read(0, 7, 7, 9)
    };
    assert_eq!(share(&mut advanced(&[read(0, 1, 1, 4), waited]), 0)[1], 8);
}

#[test]
fn whoever_waits_now_is_backlogged_so_far() {
    let mut timeline = Timeline::new(1, ALL);
    timeline.advance(10 * MS, [read(0, 4, 0, 0)]);
    assert_eq!(share(&mut timeline, 0)[1], 6);
    // A thread waits for a request since then.
    let empty = Timeline::new(1, ALL).share(3).unwrap();
    assert_eq!(empty.backlogged_ns(10 * MS, Some(7 * MS)), 3 * MS);
}

#[test]
fn a_flush_command_takes_the_devices_time_and_is_nobodys() {
    let command = Record {
        is_flush_command: true,
        ..Record::issued(Op::Flush, 2 * MS, 12 * MS)
    };
    let mut timeline = advanced(&[command, read(1, 1, 2, 12)]);
    assert_eq!(share(&mut timeline, 0)[..2], [0, 0]);
    assert_eq!(share(&mut timeline, 1)[0], 5, "half of 10");
}

/// The data is complete, and a flush follows: the device and the owner are free.
#[test]
fn the_end_is_that_of_the_data() {
    let whole = Record {
        data_ns: 6 * MS,
        ..read(0, 1, 2, 30)
    };
    let mut timeline = Timeline::new(1, ALL);
    timeline.advance(10 * MS, [Record { c_ns: 0, ..whole }]);
    assert_eq!(share(&mut timeline, 0)[..2], [4, 5]);
    timeline.add(&whole);
    timeline.advance(40 * MS, []);
    assert_eq!(share(&mut timeline, 0)[..2], [4, 5]);
}

#[test]
fn records_without_a_place_in_time_or_of_unknown_devices_are_left_out() {
    let elsewhere = Record {
        device: 7,
        ..read(0, 1, 2, 3)
    };
    let never_seen = Record {
        q_ns: MS,
        ..Record::issued(Op::Flush, 0, 5 * MS)
    };
    let mut timeline = advanced(&[elsewhere, never_seen]);
    timeline.advance(u64::MAX / 2, [elsewhere]);
    assert_eq!(share(&mut timeline, 0), [0; 4]);
    assert_eq!(timeline.order(0).unwrap().issued, 0);
    assert!(timeline.ended.is_empty() && timeline.in_flight.is_empty());
}

/// Requests of some owners, as a device could have served them.
fn by_chance(random: &mut ChaCha8Rng, count: usize) -> Vec<Record> {
    let mut now_us = 1;
    let mut all = Vec::new();
    for index in 0..count as u64 {
        now_us += random.random_range(0..30);
        // No two events at the same moment, so that there is one order.
        let moment = |us: u64, kind: u64| us * 1000 + kind * 300 + index % 300;
        let was_issued = random.random_range(0..20) > 0;
        let issued_us = now_us + random.random_range(0..100);
        let done_us = issued_us + random.random_range(0..100);
        let data_ns = moment(done_us, 2);
        let flush_ns = if random.random_range(0..10) == 0 {
            7_000
        } else {
            0
        };
        let ops = [Op::Read, Op::WriteSync, Op::WriteAsync];
        let op = ops[random.random_range(0..3)];
        let d_ns = if was_issued { moment(issued_us, 1) } else { 0 };
        all.push(Record {
            q_ns: moment(now_us, 0),
            g_ns: moment(now_us, 0),
            data_ns,
            owner: random.random_range(0..4),
            bytes: 4096 * random.random_range(1..5),
            sector: random.random_range(0..1000) * 8,
            is_scheduled: was_issued && random.random_range(0..10) > 0,
            ..Record::issued(op, d_ns, data_ns + flush_ns)
        });
    }
    all
}

/// What is known of a request at a moment.
fn state_at(record: &Record, now_ns: u64) -> Option<Record> {
    let known = |ns: u64| if ns <= now_ns { ns } else { 0 };
    (record.g_ns <= now_ns && record.c_ns > now_ns).then(|| Record {
        d_ns: known(record.d_ns),
        data_ns: known(record.data_ns),
        c_ns: 0,
        ..*record
    })
}

fn everything(timeline: &mut Timeline) -> (Order, Vec<[u64; 4]>, Vec<Dispatch>) {
    let mut shares = Vec::new();
    for row in 0..4 {
        let share = timeline.share(row).unwrap();
        let gaps = share.gaps().iter().map(|count| u64::from(*count)).sum();
        shares.push([
            share.device_time_ns(),
            share.backlogged_ns(0, None),
            timeline.take_longest_starvation_ns(row),
            gaps,
        ]);
    }
    (timeline.order(0).unwrap(), shares, timeline.dispatches(0))
}

/// However often one looks, whenever, and whether a request that ends stands in both: the numbers are the same.
#[test]
fn looks_change_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for round in 0..60 {
        let all = by_chance(&mut random, 300);
        let mut by_end = all.clone();
        by_end.sort_by_key(|record| record.c_ns);
        let wanted = everything(&mut advanced(&by_end));

        let mut timeline = Timeline::new(1, ALL);
        let (mut now_ns, mut added) = (0, 0);
        let last_ns = by_end.last().unwrap().c_ns;
        while now_ns < last_ns {
            now_ns += random.random_range(1..400_000);
            let in_flight: Vec<Record> = all
                .iter()
                .filter_map(|record| state_at(record, now_ns))
                .collect();
            // Some end between the look at those in flight and the one at the records.
            let drained_ns = now_ns + random.random_range(0..3) * 5_000;
            while added < by_end.len() && by_end[added].c_ns <= drained_ns {
                timeline.add(&by_end[added]);
                added += 1;
            }
            timeline.advance(
                now_ns.saturating_sub(random.random_range(0..20_000)),
                in_flight,
            );
        }
        timeline.advance(last_ns, []);
        let found = everything(&mut timeline);
        assert_eq!(
            (&found.0, &found.1),
            (&wanted.0, &wanted.1),
            "round {round}"
        );
        assert!(found.2 == wanted.2, "round {round}");
        assert!(timeline.ended.is_empty() && timeline.in_flight.is_empty());
    }
}

/// The definitions, applied to all requests at once in the plainest way.
#[test]
fn the_numbers_are_those_of_the_definitions() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for round in 0..40 {
        let all = by_chance(&mut random, 150);
        let timeline = advanced(&all);
        // Order.
        let mut starts: Vec<&Record> = all.iter().filter(|record| record.is_scheduled).collect();
        starts.sort_by_key(|record| record.g_ns);
        let mut issues: Vec<(u64, u32)> = (0..).zip(&starts).map(|(n, r)| (r.d_ns, n)).collect();
        issues.sort_unstable();
        let sequences: Vec<u32> = issues.iter().map(|(_, number)| *number).collect();
        let found = timeline.order(0).unwrap();
        assert_eq!(found.issued as usize, starts.len());
        let wanted = reordering(&sequences).reordered;
        assert_eq!(found.reordered as usize, wanted, "round {round}");
        let seeks: u64 = starts
            .windows(2)
            .map(|pair| {
                pair[1]
                    .sector
                    .abs_diff(pair[0].sector + u64::from(pair[0].bytes) / 512)
            })
            .sum();
        assert_eq!(found.insert_sectors, seeks, "round {round}");
        // Shares: from one event to the next.
        let mut moments: Vec<u64> = all
            .iter()
            .flat_map(|r| [r.g_ns, r.d_ns, r.data_ns])
            .collect();
        moments.sort_unstable();
        for owner in 0..4 {
            let (mut device_ns, mut busy_ns) = (0.0, 0);
            for pair in moments.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let is_served = |r: &&Record| r.d_ns > 0 && r.d_ns <= from && r.data_ns >= to;
                let its = |r: &&Record| r.owner == owner;
                let served = all.iter().filter(is_served).count();
                let its_served = all.iter().filter(is_served).filter(its).count();
                if from < to && served > 0 {
                    device_ns += (to - from) as f64 * its_served as f64 / served as f64;
                }
                let is_busy = |r: &Record| r.owner == owner && r.g_ns <= from && r.data_ns >= to;
                if from < to && all.iter().any(is_busy) {
                    busy_ns += to - from;
                }
            }
            let share = timeline.share(owner as usize).unwrap();
            let off = share.device_time_ns() as f64 - device_ns;
            assert!(off.abs() < 200.0, "{device_ns}, {off} off");
            assert_eq!(share.backlogged_ns(0, None), busy_ns, "round {round}");
        }
    }
}

/// Requests that come into the table too late for a look, and ones whose record is lost: whatever they are counted as, it is
/// over when they are.
#[test]
fn what_comes_late_or_never_leaves_nothing_behind() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..40 {
        let mut by_end = by_chance(&mut random, 300);
        by_end.sort_by_key(|record| record.c_ns);
        let is_late: Vec<u64> = by_end
            .iter()
            .map(|_| random.random_range(0..10) / 9 * 30_000)
            .collect();
        let mut timeline = Timeline::new(1, ALL);
        let (mut now_ns, mut added) = (0, 0);
        while added < by_end.len() {
            now_ns += random.random_range(1..200_000);
            let seen = by_end.iter().zip(&is_late).filter_map(|(record, late_ns)| {
                state_at(record, now_ns).filter(|_| record.g_ns + late_ns <= now_ns)
            });
            let in_flight: Vec<Record> = seen.collect();
            while added < by_end.len() && by_end[added].c_ns <= now_ns {
                if random.random_range(0..10) > 0 {
                    timeline.add(&by_end[added]);
                }
                added += 1;
            }
            timeline.advance(now_ns, in_flight);
        }
        timeline.advance(now_ns + 1, []);
        let order = timeline.order(0).unwrap();
        let (_, shares, dispatches) = everything(&mut timeline);
        assert_eq!(order.issued as usize, dispatches.len());
        for (row, before) in shares.iter().enumerate() {
            let later = timeline.share(row).unwrap().backlogged_ns(u64::MAX, None);
            assert_eq!(later, before[1], "it is not busy any more");
        }
        // The next one has the device for itself, and is neither early nor late.
        let late = timeline.order(0).unwrap().late.0[0];
        let device_ns = timeline.share(0).unwrap().device_time_ns();
        let at_ms = now_ns / MS + 10;
        timeline.add(&read(0, at_ms, at_ms + 1, at_ms + 3));
        timeline.advance((at_ms + 5) * MS, []);
        assert_eq!(
            timeline.share(0).unwrap().device_time_ns(),
            device_ns + 2 * MS
        );
        assert_eq!(timeline.order(0).unwrap().late.0[0], late + 1);
    }
}

#[test]
fn what_is_not_kept_costs_no_memory() {
    let mut timeline = Timeline::new(1, Kept::default());
    timeline.add(&read(0, 1, 2, 3));
    assert!(timeline.ended.is_empty() && !timeline.is_kept());
    assert_eq!(
        (timeline.order(0), timeline.share(0).is_none()),
        (None, true)
    );
    let mut timeline = Timeline::new(1, ALL);
    (0..MANY).for_each(|_| timeline.add(&read(0, 1, 2, 3)));
    assert!(timeline.is_due(0) && !timeline.is_due(MANY + 1));
}
