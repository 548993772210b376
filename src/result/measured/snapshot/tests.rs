use super::*;
use crate::measured::histogram::{Histogram, OWNER};

/// Reads with these queue waits, and the lines of their histogram.
fn owner(waits: &[u64]) -> (OwnerTotals, Vec<Line>) {
    let mut owner = OwnerTotals::new(OwnerId {
        device: Some(0),
        kind: OwnerKind::Process,
        tgid: 7,
        start_ms: 1,
        cgroup_id: 1,
        file: None,
    });
    owner.comm[..2].copy_from_slice(b"dd");
    owner.ops[0].ios = waits.len() as u64;
    owner.ops[0].q2d_ns = waits.iter().sum();
    let longest_ns = waits.iter().copied().max().unwrap_or(0);
    owner.ops[0].q2d_longest.look(longest_ns);
    let mut lines = Vec::new();
    let mut histogram = Histogram::new(OWNER);
    for &wait in waits {
        histogram.record(wait);
    }
    let cells: Vec<_> = histogram.cells().map(|(i, n)| (i, n as u32)).collect();
    let reads = lines::kept(&[(OwnerLatency::Q2d, &cells)], &mut lines);
    owner.lines = Some([reads, Place::default()]);
    (owner, lines)
}

fn snapshot(time_ns: u64, owners: Vec<(OwnerTotals, Vec<Line>)>) -> Snapshot {
    let mut lines = Vec::new();
    let placed = owners.into_iter().map(|(mut owner, own)| {
        for place in owner.lines.iter_mut().flatten() {
            place.first += lines.len() as u32;
        }
        lines.extend(own);
        owner
    });
    Snapshot {
        time_ns,
        number: 2 * time_ns, // other snapshots were taken in between
        window: 0,
        devices: vec![DeviceNumbers::new("sda")],
        owners: placed.collect(),
        lines: lines.into(),
        skipped: time_ns / 10,
    }
}

fn since_the_attach(owners: Vec<(OwnerTotals, Vec<Line>)>) -> Vec<OwnerNumbers> {
    let interval = Interval::between(&snapshot(1, Vec::new()), &snapshot(2, owners));
    interval.unwrap().owners
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

/// A disk is unplugged, and another one gets its number: the kernel counts the switches of a queue.
#[test]
fn switches_of_another_disk_under_the_same_number_are_its_own() {
    let at = |time, switches| {
        let mut snapshot = snapshot(time, Vec::new());
        snapshot.devices[0].edges.switches = switches;
        snapshot
    };
    let switches = |earlier, later| {
        let interval = Interval::between(&at(100, earlier), &at(200, later)).unwrap();
        interval.devices[0].edges.switches
    };
    assert_eq!([switches(3, 5), switches(3, 1), switches(3, 0)], [2, 1, 0]);
}

/// But for maxima, which are exact only between consecutive snapshots.
#[test]
fn two_intervals_as_one_are_the_interval_of_both() {
    let waits = [1_000, 9_000_000, 5_000, 70_000, 300];
    let at = |time, reads: usize| snapshot(time, vec![owner(&waits[..reads])]);
    let (first, second, third) = (at(100, 1), at(250, 3), at(400, 5));
    let mut sum = Interval::between(&first, &second).unwrap();
    sum.extend(&Interval::between(&second, &third).unwrap());
    let both = Interval::between(&first, &third).unwrap();
    assert_eq!((sum.start_ns, sum.end_ns), (both.start_ns, both.end_ns));
    assert_eq!(sum.devices, both.devices);
    assert_eq!(sum.owners.len(), 1);
    let (mine, theirs) = (&sum.owners[0], &both.owners[0]);
    assert_eq!(mine.q2d, theirs.q2d);
    let numbers = |owner: &OwnerNumbers| (owner.ops[0].ios, owner.ops[0].q2d_sum_ns);
    assert_eq!(numbers(mine), numbers(theirs));
    assert!(mine.ops[0].q2d_max_ns >= Some(9_000_000));
}

/// One after the other, an owner is backlogged for both times; and what is partly unknown is unknown.
#[test]
fn an_owner_of_two_intervals_is_backlogged_in_both() {
    let part = |backlogged_ns, starving_ns, has_histograms| {
        let earlier = snapshot(100, Vec::new());
        let mut interval =
            Interval::between(&earlier, &snapshot(200, vec![owner(&[1_000])])).unwrap();
        let one = &mut interval.owners[0];
        one.has_histograms = has_histograms;
        one.fairness = Some(OwnerFairness {
            backlogged_ns,
            starving_ns,
            ..OwnerFairness::new()
        });
        interval
    };
    let mut sum = part(60, Some(9), true);
    sum.extend(&part(50, None, false));
    let fairness = sum.owners[0].fairness.as_ref().unwrap();
    assert_eq!((fairness.backlogged_ns, fairness.starving_ns), (110, None));
    assert_eq!(
        (sum.owners[0].ops[0].ios, sum.owners[0].q2d[0].count()),
        (2, 0)
    );
    let mut alone = part(60, Some(9), true);
    alone.extend(&Interval::nothing("sda"));
    let fairness = alone.owners[0].fairness.as_ref().unwrap();
    assert_eq!((fairness.backlogged_ns, fairness.starving_ns), (60, None));
}

#[test]
fn the_longest_between_a_snapshot_and_the_next_is_exact() {
    let earlier = snapshot(1, vec![owner(&[1_000, 9_000_000])]);
    let mut now = owner(&[1_000, 9_000_000, 4_340_000]);
    let longest = &mut now.0.ops[0].q2d_longest;
    (longest.ever_ns, longest.new_ns) = (9_000_000, 4_340_000);
    let mut later = snapshot(2, vec![now]);
    let longest_ns = |later: &Snapshot| {
        let interval = Interval::between(&earlier, later).unwrap();
        interval.owners[0].ops[0].q2d_max_ns.unwrap()
    };
    assert!(longest_ns(&later) > 4_340_000, "only its cell is known");
    later.number = earlier.number + 1;
    assert_eq!(longest_ns(&later), 4_340_000);
}

#[test]
fn the_longest_of_a_window_is_exact_whatever_was_looked_at_in_it() {
    let mut before = owner(&[1_000, 9_000_000]);
    before.0.ops[0].q2d_longest.begin_window();
    let mut now = owner(&[1_000, 9_000_000, 4_340_000, 2_000]);
    now.0.ops[0].q2d_longest = before.0.ops[0].q2d_longest;
    for ns in [4_340_000, 2_000] {
        now.0.ops[0].q2d_longest.look(ns);
    }
    let (earlier, mut later) = (snapshot(1, vec![before]), snapshot(3, vec![now]));
    for (window, is_exact) in [(earlier.number, true), (earlier.number + 1, false)] {
        later.window = window;
        let interval = Interval::between(&earlier, &later).unwrap();
        let longest_ns = interval.owners[0].ops[0].q2d_max_ns.unwrap();
        assert_eq!(longest_ns == 4_340_000, is_exact, "{longest_ns}");
    }
}

#[test]
fn a_look_between_two_words_breaks_nothing() {
    let earlier = owner(&[1_000, 2_000]);
    let mut later = owner(&[1_000, 2_000, 3_000]);
    // Two I/Os of unknown queue wait were counted after the I/Os were read and before these fields.
    later.0.ops[0].unwaited = 2;
    later.0.ops[0].unwaited_d2c_ns = 8_000;
    let interval =
        Interval::between(&snapshot(1, vec![earlier]), &snapshot(2, vec![later])).unwrap();
    let op = &interval.owners[0].ops[0];
    assert_eq!((op.ios, op.waits, op.q2c_sum_ns), (1, 0, 0));
}

#[test]
fn an_end_that_was_seen_after_all_is_no_loss() {
    let (mut earlier, mut later) = (snapshot(1, Vec::new()), snapshot(2, Vec::new()));
    earlier.devices[0].quality.evicted = 3;
    later.devices[0].quality.evicted = 2;
    let interval = Interval::between(&earlier, &later).unwrap();
    assert_eq!(interval.devices[0].quality.evicted, 0);
    later.devices[0].quality.evicted = 5;
    let interval = Interval::between(&earlier, &later).unwrap();
    assert_eq!(interval.devices[0].quality.evicted, 2);
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
    second.0.id.tgid = 8;
    let mut elsewhere = owner(&[1]);
    elsewhere.0.id.cgroup_id = 2;
    let groups = by_cgroup(&since_the_attach(vec![owner(&[1_000]), second, elsewhere]));
    assert_eq!(groups.len(), 2);
    assert_eq!((groups[0].ios(), groups[0].q2d[0].count()), (3, 3));
    assert_eq!(groups[0].ops[0].q2d_max_ns, Some(50_000));
    assert_eq!(groups[0].comm, "2 processes");
}

/// 5 direct reads, 1 that waited for its request, and 1 whose bio was not seen.
fn with_stages() -> (OwnerTotals, Vec<Line>) {
    use OwnerLatency::{D2c, G2dIndirect, I2d, Q2c, Q2d, Q2dIndirect, Q2gIndirect};
    let (mut owner, _) = owner(&[1_000; 7]);
    let mut lines = Vec::new();
    let cells: [(OwnerLatency, &[(usize, u32)]); 7] = [
        (Q2d, &[(3, 5)]),
        (D2c, &[(40, 7)]),
        (Q2dIndirect, &[(3, 1), (20, 1)]),
        (Q2gIndirect, &[(10, 1)]),
        (G2dIndirect, &[(3, 1), (15, 1)]),
        (Q2c, &[(50, 6)]),
        (I2d, &[(2, 4)]),
    ];
    let reads = lines::kept(&cells, &mut lines);
    owner.lines = Some([reads, Place::default()]);
    owner.has_stages = true;
    (owner, lines)
}

#[test]
fn the_stages_of_an_owner_are_put_together() {
    let cells = |histogram: &Histogram| histogram.cells().collect::<Vec<_>>();
    let found = since_the_attach(vec![with_stages()]);
    let stages = found[0].stages.as_ref().unwrap();
    assert_eq!(cells(&found[0].q2d[0]), [(3, 6), (20, 1)]);
    assert_eq!(cells(&found[0].d2c[0]), [(40, 7)]);
    assert_eq!(cells(&stages.q2g[0]), [(0, 5), (10, 1)]);
    assert_eq!(cells(&stages.g2d[0]), [(3, 6), (15, 1)]);
    assert_eq!(cells(&stages.q2c[0]), [(50, 6)]);
    assert_eq!(cells(&stages.i2d[0]), [(2, 4)]);
    assert!(stages.q2g[1].is_empty() && stages.g2d[1].is_empty());

    let groups = by_cgroup(&since_the_attach(vec![with_stages(), with_stages()]));
    assert_eq!(groups.len(), 1);
    let stages = groups[0].stages.as_ref().unwrap();
    assert_eq!(cells(&stages.q2g[0]), [(0, 10), (10, 2)]);
    assert_eq!(cells(&stages.i2d[0]), [(2, 8)]);
}

#[test]
fn a_group_has_the_histograms_of_all_or_of_none() {
    let mut no_room = with_stages();
    no_room.0.lines = None;
    let groups = by_cgroup(&since_the_attach(vec![with_stages(), no_room]));
    assert_eq!((groups.len(), groups[0].ios()), (1, 14));
    let group = &groups[0];
    assert!(!group.has_histograms && group.d2c[0].is_empty());
    assert_eq!(group.stages, None);
    assert_eq!(group.ops[0].q2d_sum_ns, 14_000);
}

#[test]
fn a_group_has_the_priority_that_all_have() {
    let of = |priorities: [(u8, u8); 2]| {
        let owners = priorities.map(|ioprio| {
            let mut owner = owner(&[1_000]);
            owner.0.ioprio = ioprio;
            owner
        });
        by_cgroup(&since_the_attach(owners.to_vec()))[0].ioprio
    };
    assert_eq!(of([(2, 7), (2, 7)]), (2, 7));
    assert_eq!(of([(1, 0), (2, 7)]), (0, 0));
}

#[test]
fn other_is_no_group() {
    let mut other = owner(&[1_000]);
    other.0.id.kind = OwnerKind::Other;
    let groups = by_cgroup(&since_the_attach(vec![other, owner(&[1_000])]));
    let labels: Vec<String> = groups.iter().map(OwnerNumbers::label).collect();
    assert_eq!(labels, ["other", "1 process"]);
}

#[test]
fn stages_that_nobody_asked_for_are_absent() {
    let found = since_the_attach(vec![owner(&[1_000])]);
    assert_eq!(found[0].stages, None);
    let mut counters = with_stages();
    counters.0.lines = None;
    let found = since_the_attach(vec![counters]);
    assert_eq!(found[0].stages, None, "no histograms, no stages");
}

#[test]
fn without_histograms_on_one_side_there_are_none_between() {
    let mut counters = owner(&[1_000, 70_000]);
    counters.0.lines = None;
    let (some, more) = (owner(&[1_000]), owner(&[1_000, 70_000, 2_000]));
    for (earlier, later, max) in [
        (&some, &counters, Some(70_000)),
        (&counters, &more, None), // not the longest so far, and not known
    ] {
        let (earlier, later) = (vec![earlier.clone()], vec![later.clone()]);
        let interval = Interval::between(&snapshot(1, earlier), &snapshot(2, later)).unwrap();
        let found = &interval.owners[0];
        assert_eq!((found.ios(), found.has_histograms), (1, false));
        assert_eq!(found.q2d[0].count(), 0);
        assert_eq!(found.ops[0].q2d_max_ns, max);
    }
}

#[test]
fn more_than_a_cell_holds_is_no_histogram() {
    let before = vec![owner(&[1_000])];
    for (ios, has_histograms) in [(1 << 32, true), ((1 << 32) + 1, false)] {
        let mut later = owner(&[1_000, 70_000]);
        later.0.ops[0].ios = ios;
        let interval =
            Interval::between(&snapshot(1, before.clone()), &snapshot(2, vec![later])).unwrap();
        let found = &interval.owners[0];
        assert_eq!(
            (found.ios(), found.has_histograms),
            (ios - 1, has_histograms)
        );
        assert_eq!(found.q2d[0].count(), u64::from(has_histograms));
    }
}

#[test]
fn owners_are_found_wherever_they_stand() {
    let with = |tgid, waits: &[u64]| {
        let mut owner = owner(waits);
        owner.0.id.tgid = tgid;
        owner
    };
    let earlier = vec![with(7, &[1]), with(8, &[1, 1]), with(9, &[1])];
    // 7 has ended, and its row went to a new owner.
    let later = vec![with(10, &[1]), with(9, &[1, 1]), with(8, &[1, 1, 1, 1])];
    let interval = Interval::between(&snapshot(1, earlier), &snapshot(2, later)).unwrap();
    let found = interval.owners.iter();
    let found: Vec<_> = found.map(|owner| (owner.key.tgid, owner.ios())).collect();
    assert_eq!(found, [(10, 1), (9, 1), (8, 2)]);
}

#[test]
fn who_comes_back_has_begun_anew() {
    let earlier = snapshot(1, vec![owner(&[10, 20, 30])]);
    let mut again = owner(&[40]);
    again.0.row.generation = 1;
    let interval = Interval::between(&earlier, &snapshot(2, vec![again])).unwrap();
    assert_eq!(interval.owners[0].ios(), 1);
}

#[test]
fn who_has_something_under_way_is_listed_and_idle_ones_are_not() {
    let in_flight = |queued, issued, oldest_ns| {
        let mut owner = owner(&[10]);
        owner.0.in_flight = Some(InFlight {
            queued,
            blocked: None,
            issued,
            oldest_ns: Some(oldest_ns),
        });
        owner
    };
    let (idle, waits) = (in_flight(0, 0, 0), in_flight(1, 2, 7));
    let mut second = in_flight(0, 4, 9);
    second.0.id.tgid = 8;
    let mut flush = in_flight(0, 1, 3);
    flush.0.id.device = None;
    let earlier = snapshot(1, vec![idle.clone(), second.clone(), flush.clone()]);
    let between = |later| Interval::between(&earlier, &later).unwrap().owners;
    assert!(between(snapshot(2, vec![idle])).is_empty());
    let found = between(snapshot(2, vec![waits, second, flush]));
    assert_eq!((found.len(), found[0].ios(), found[1].ios()), (2, 0, 0));
    let sum = by_cgroup(&found)[0].in_flight.expect("known of both");
    assert_eq!((sum.queued, sum.issued, sum.oldest_ns), (1, 6, Some(9)));
}

#[test]
fn idle_owners_are_left_out_and_new_ones_are_whole() {
    let idle = snapshot(1, vec![owner(&[10])]);
    assert!(Interval::between(&idle, &idle).unwrap().owners.is_empty());
    let mut other = owner(&[20]);
    other.0.id.tgid = 8;
    let later = snapshot(2, vec![owner(&[10]), other]);
    let interval = Interval::between(&idle, &later).unwrap();
    assert_eq!(interval.owners.len(), 1);
    assert_eq!(
        (interval.owners[0].key.tgid, interval.owners[0].ios()),
        (8, 1)
    );
}

/// The longest of them is in no histogram.
#[test]
fn a_request_without_a_record_is_the_longest_all_the_same() {
    let with = |unrecorded, waits: &[u64], longest_ns| {
        let (mut owner, lines) = owner(waits);
        owner.ops[0].ios += unrecorded;
        owner.unrecorded = unrecorded;
        owner.ops[0].q2d_longest.look(longest_ns);
        (owner, lines)
    };
    let between = |later| {
        let (mut before, mut after) = (
            snapshot(100, vec![with(0, &[1_000], 1_000)]),
            snapshot(200, vec![later]),
        );
        (before.number, after.number) = (1, 2);
        Interval::between(&before, &after).unwrap().owners.remove(0)
    };
    let many: Vec<u64> = vec![1_000; 3_000];
    let owner = between(with(1, &many, 5_000_000_000));
    assert_eq!(owner.ops[0].q2d_max_ns, Some(5_000_000_000));
    assert_eq!((owner.unrecorded, owner.has_histograms), (1, true));
    // Too many are missing: what is there would be taken for all.
    let owner = between(with(4, &many, 5_000_000_000));
    assert_eq!(owner.ops[0].q2d_max_ns, Some(5_000_000_000));
    assert_eq!((owner.unrecorded, owner.has_histograms), (4, false));
    assert!(owner.q2d[0].is_empty());
    // Nothing was lost: a maximum outside of the histogram is no request's.
    let owner = between(with(0, &many, 5_000_000_000));
    assert!(owner.ops[0].q2d_max_ns < Some(2_000));
}
