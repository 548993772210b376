use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A request of an owner: when it was queued, issued and ended.
#[derive(Clone, Copy, Debug)]
struct Request {
    owner: u32,
    queued: u64,
    issued: u64,
    ended: u64,
}

fn request(owner: u32, queued: u64, issued: u64, ended: u64) -> Request {
    Request {
        owner,
        queued,
        issued,
        ended,
    }
}

fn charged(requests: &[Request], depth: Option<u32>) -> Charges {
    charged_within(requests, depth, None)
}

fn charged_within(
    requests: &[Request],
    depth: Option<u32>,
    time_ns: Option<Range<u64>>,
) -> Charges {
    let mut events: Vec<(u64, u8, Event)> = Vec::new();
    for &of in requests {
        let steps = [
            (of.queued, 0, Step::Wait),
            (of.issued, 1, Step::Issue),
            (of.ended, 2, Step::End),
        ];
        events.extend(steps.map(|(time_ns, order, step)| {
            let owner = of.owner;
            (
                time_ns,
                order,
                Event {
                    time_ns,
                    step,
                    owner,
                },
            )
        }));
    }
    events.sort_by_key(|(time_ns, order, _)| (*time_ns, *order));
    let charges = Charges::new(depth);
    let mut charges = match time_ns {
        Some(time_ns) => charges.within(time_ns),
        None => charges,
    };
    for (.., event) in events {
        charges.add(event);
    }
    charges
}

fn waiting(requests: &[Request], depth: Option<u32>) -> Vec<Waiting> {
    charged(requests, depth).waiting(0)
}

/// What an owner waited behind others, by their numbers.
fn behind(waiting: &Waiting) -> Vec<(u32, u64)> {
    waiting.behind.iter().map(|of| (of.owner, of.ns)).collect()
}

/// One slot: the second waits for all of the first.
#[test]
fn with_one_slot_each_waits_behind_the_other() {
    let found = waiting(&[request(1, 0, 0, 100), request(2, 10, 100, 150)], Some(1));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].owner, found[0].waits, found[0].wait_ns),
        (2, 1, 90)
    );
    assert_eq!(behind(&found[0]), [(1, 90)]);
    assert_eq!(found[0].device_idle_ns, 0);
    assert_eq!(found[0].slot_free_ns, Some(0));
}

#[test]
fn behind_several_it_is_shared_by_their_requests() {
    let all = [
        request(1, 0, 0, 100),
        request(1, 0, 0, 100),
        request(2, 0, 0, 100),
        request(3, 40, 100, 120),
    ];
    let found = waiting(&all, Some(3));
    assert_eq!(found[0].wait_ns, 60);
    assert_eq!(behind(&found[0]), [(1, 40), (2, 20)]);
}

/// As bfq does when it waits for the next read of the one that it serves.
#[test]
fn an_idle_device_is_nobody() {
    let found = waiting(&[request(1, 0, 0, 10), request(2, 5, 50, 60)], Some(4));
    assert_eq!(found[0].owner, 2);
    assert_eq!(behind(&found[0]), [(1, 5)]);
    assert_eq!(found[0].device_idle_ns, 40);
    assert_eq!(
        found[0].slot_free_ns,
        Some(45),
        "three slots were free, too"
    );
    let found = waiting(&[request(1, 0, 0, 10), request(2, 5, 50, 60)], None);
    assert_eq!(found[0].slot_free_ns, None);
}

#[test]
fn one_can_wait_behind_himself_and_more_than_once_at_a_time() {
    let all = [
        request(1, 0, 0, 30),
        request(1, 0, 30, 40),
        request(1, 10, 40, 50),
    ];
    let found = waiting(&all, Some(1));
    assert_eq!((found[0].waits, found[0].wait_ns), (3, 60));
    assert_eq!(behind(&found[0]), [(1, 60)]);
}

#[test]
fn what_waits_at_the_end_is_charged_so_far_and_what_leaves_until_then() {
    let mut charges = Charges::new(None);
    let event = |time_ns, step, owner| Event {
        time_ns,
        step,
        owner,
    };
    charges.add(event(0, Step::IssueAtOnce, 9));
    charges.add(event(10, Step::Wait, 1));
    charges.add(event(20, Step::Wait, 2));
    charges.add(event(30, Step::Leave, 2));
    let found = charges.waiting(50);
    assert_eq!((found[0].owner, found[0].wait_ns), (1, 40));
    assert_eq!((found[1].owner, found[1].wait_ns), (2, 10));
    assert_eq!(behind(&found[0]), [(9, 40)]);
}

fn by_chance(random: &mut ChaCha8Rng, count: usize, owners: u32) -> Vec<Request> {
    let mut now = 0;
    let next = |_| {
        now += random.random_range(0..40);
        let issued = now + random.random_range(0..200) * u64::from(random.random::<bool>());
        let ended = issued + 1 + random.random_range(0..150);
        request(random.random_range(0..owners), now, issued, ended)
    };
    (0..count).map(next).collect()
}

const FREE: Option<u32> = Some(u32::MAX);

/// From moment to moment, by the definition.
fn by_definition(all: &[Request], depth: u64) -> HashMap<(u32, Option<u32>), f64> {
    let mut moments: Vec<u64> = all
        .iter()
        .flat_map(|r| [r.queued, r.issued, r.ended])
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let mut sums = HashMap::new();
    for pair in moments.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let served: Vec<u32> = all
            .iter()
            .filter(|r| r.issued <= from && r.ended >= to)
            .map(|r| r.owner)
            .collect();
        for waits in all.iter().filter(|r| r.queued <= from && r.issued >= to) {
            let ns = (to - from) as f64;
            if served.is_empty() {
                *sums.entry((waits.owner, None)).or_default() += ns;
            }
            if (served.len() as u64) < depth {
                *sums.entry((waits.owner, FREE)).or_default() += ns;
            }
            for other in &served {
                *sums.entry((waits.owner, Some(*other))).or_default() += ns / served.len() as f64;
            }
        }
    }
    sums
}

#[test]
fn any_load_is_charged_as_the_definition_says_and_adds_up() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for round in 0..60 {
        let (count, owners) = (random.random_range(1..200), random.random_range(1..6));
        let all = by_chance(&mut random, count, owners);
        let wanted = by_definition(&all, 3);
        let queue_waits = |owner| -> u64 {
            let its = all.iter().filter(|r| r.owner == owner);
            its.map(|r| r.issued - r.queued).sum()
        };
        let found = waiting(&all, Some(3));
        let waited = (0..owners).filter(|owner| queue_waits(*owner) > 0).count();
        assert_eq!(found.len(), waited, "round {round}");
        for of in &found {
            assert_eq!(of.wait_ns, queue_waits(of.owner), "to the nanosecond");
            let parts: u64 = of.behind.iter().map(|part| part.ns).sum();
            assert_eq!(parts + of.device_idle_ns, of.wait_ns);
            let wanted = |part| wanted.get(&(of.owner, part)).copied().unwrap_or(0.0);
            let is_near = |ns: u64, wanted: f64| (ns as f64 - wanted).abs() < 1.5;
            for part in &of.behind {
                assert!(is_near(part.ns, wanted(Some(part.owner))), "{part:?}");
            }
            assert!(is_near(of.device_idle_ns, wanted(None)));
            assert!(is_near(of.slot_free_ns.unwrap(), wanted(Some(u32::MAX))));
        }
    }
}

/// A device with one slot, first come first served: behind whom each waits can be written down.
#[test]
fn a_queue_of_which_the_order_is_known() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let (mut free_at, mut now) = (0, 0);
    let mut all: Vec<Request> = Vec::new();
    let mut wanted: HashMap<(u32, u32), u64> = HashMap::new();
    for _ in 0..500 {
        now += random.random_range(0..12);
        let (owner, takes) = (random.random_range(0..3), random.random_range(1..20));
        for before in all.iter().filter(|r| r.ended > now) {
            let ns = before.ended - before.issued.max(now);
            *wanted.entry((owner, before.owner)).or_default() += ns;
        }
        let issued = now.max(free_at);
        free_at = issued + takes;
        all.push(request(owner, now, issued, free_at));
    }
    for of in waiting(&all, Some(1)) {
        for part in &of.behind {
            assert_eq!(part.ns, wanted[&(of.owner, part.owner)], "{of:?}");
        }
    }
}

/// Busy periods that are all alike leave no doubt, few of them or of the waits say nothing, and the error is that of the share
/// when the same is done many times over.
#[test]
fn the_error_is_what_repetitions_show() {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    let mut run = |periods: u64| {
        let mut all = Vec::new();
        for period in 0..periods {
            let at = period * 10_000;
            let (first, second) = (random.random_range(10..300), random.random_range(10..300));
            all.push(request(1, at, at, at + first));
            all.push(request(2, at, at + first, at + first + second));
            all.push(request(3, at, at + first + second, at + first + second + 5));
        }
        let found = charged(&all, Some(1));
        assert_eq!(found.busy_periods(), periods);
        let found = found.waiting(0);
        let third = found.into_iter().find(|of| of.owner == 3).unwrap();
        let first = third
            .behind
            .iter()
            .find(|of| of.owner == 1)
            .copied()
            .unwrap();
        (third.share(first.ns).unwrap(), first.error)
    };
    assert_eq!(run(FEWEST_WAITS - 1).1, None);
    let many: Vec<(f64, f64)> = (0..300)
        .map(|_| run(150))
        .map(|(share, error)| (share, error.unwrap()))
        .collect();
    let mean = many.iter().map(|(share, _)| share).sum::<f64>() / 300.0;
    let square = many
        .iter()
        .map(|(share, _)| (share - mean).powi(2))
        .sum::<f64>()
        / 299.0;
    let stated = many.iter().map(|(_, error)| error).sum::<f64>() / 300.0;
    assert!(
        (stated / square.sqrt() - 1.0).abs() < 0.15,
        "{stated} {square}"
    );
}

/// The disk is never without a request of owner 9: there is no busy period, and parts of the time are the units. Shares that
/// drift have no error.
#[test]
fn under_a_load_that_never_pauses_the_error_is_that_between_parts_of_the_time() {
    let mut random = ChaCha8Rng::seed_from_u64(31);
    let mut run = |drifts: bool| {
        let mut all = Vec::new();
        let mut at = 0;
        for turn in 0..400 {
            let least = if drifts { turn } else { 0 };
            let (first, second) = (
                random.random_range(10..300) + least,
                random.random_range(10..300),
            );
            all.push(request(1, at, at, at + first));
            all.push(request(2, at, at + first, at + first + second));
            all.push(request(3, at, at + first + second, at + first + second + 5));
            at += first + second + 5;
        }
        all.push(request(9, 0, 0, at));
        let found = charged_within(&all, Some(2), Some(0..at));
        let found = found.waiting(at);
        let third = found.into_iter().find(|of| of.owner == 3).unwrap();
        assert!(third.is_by_batches);
        let mut parts = third.behind.iter();
        let first = parts.find(|of| of.owner == 1).copied().unwrap();
        (third.share(first.ns).unwrap(), first.error)
    };
    let many: Vec<(f64, Option<f64>)> = (0..300).map(|_| run(false)).collect();
    let known: Vec<f64> = many.iter().filter_map(|(_, error)| *error).collect();
    assert!(known.len() > 270, "{} of 300", known.len());
    let mean = many.iter().map(|(share, _)| share).sum::<f64>() / 300.0;
    let squares = many.iter().map(|(share, _)| (share - mean).powi(2));
    let true_error = (squares.sum::<f64>() / 299.0).sqrt();
    let stated = known.iter().sum::<f64>() / known.len() as f64;
    assert!(
        (stated / true_error - 1.0).abs() < 0.15,
        "{stated} {true_error}"
    );
    let drifting = (0..50).filter(|_| run(true).1.is_none()).count();
    assert!(drifting > 45, "{drifting} of 50");
}

/// Twelve short busy periods, and one that has nearly all of the waiting: first behind 1, then behind 2.
#[test]
fn short_busy_periods_do_not_make_a_long_one_sure() {
    let mut all = Vec::new();
    for period in 0..12 {
        let at = period * 100;
        all.push(request(1, at, at, at + 10));
        all.push(request(3, at, at + 10, at + 11));
    }
    let (begin, middle, end) = (10_000, 60_000, 110_000);
    all.push(request(1, begin, begin, middle));
    all.push(request(2, middle, middle, end));
    for turn in 0..200 {
        let at = begin + turn * 500;
        all.push(request(3, at, at + 499, at + 500));
    }
    let found = charged_within(&all, Some(1), Some(0..end + 1)).waiting(end + 1);
    let third = found.into_iter().find(|of| of.owner == 3).unwrap();
    assert!(third.is_by_batches && third.behind.len() >= 2);
    assert!(
        third.behind.iter().all(|of| of.error.is_none()),
        "{third:?}"
    );
}
