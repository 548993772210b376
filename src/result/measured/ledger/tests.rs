use super::*;
use crate::measured::histogram::{DEVICE, Histogram, OWNER};
use crate::measured::snapshot::{DeviceNumbers, Place};

const ALL: Scope = Scope {
    layout: DEVICE,
    with_q: true,
    with_asked: true,
    with_owner_stages: true,
    owner_rows: 4,
};
const LITTLE: Scope = Scope {
    with_asked: false,
    with_owner_stages: false,
    ..ALL
};

/// A read that waited 300 ns for its tag, 2 us in the scheduler after 1 us before it, and 50 us in the device.
fn waited() -> Record {
    Record {
        a_ns: 9_000,
        q_ns: 10_000,
        g_ns: 10_300,
        i_ns: 11_300,
        owner: 1,
        ..Record::issued(Op::Read, 13_300, 63_300)
    }
}

/// One that got its tag at once.
fn direct() -> Record {
    Record {
        a_ns: 0,
        g_ns: 10_000,
        i_ns: 0,
        ..waited()
    }
}

struct Kept {
    device: DeviceNumbers,
    owners: Vec<[Vec<(usize, u64)>; OwnerLatency::COUNT]>,
}

fn kept(scope: Scope, records: &[Record]) -> Kept {
    let mut ledger = Ledger::new(1, scope);
    for record in records {
        ledger.add(record);
    }
    let mut device = DeviceNumbers::new("sda");
    ledger.add_to_device(0, &mut device);
    let owner = |row| {
        std::array::from_fn(|latency| {
            let mut lines = Vec::new();
            let latency = OwnerLatency::ALL[latency];
            let mut place = Place::default();
            place.occupied[latency as usize] = ledger.owner_lines(row, (latency, 0), &mut lines);
            cells(&place.since(&lines, Place::default(), &[], latency))
        })
    };
    Kept {
        device,
        owners: (0..4).map(owner).collect(),
    }
}

fn cells(histogram: &Histogram) -> Vec<(usize, u64)> {
    histogram.cells().collect()
}

fn once(ns: u64) -> Vec<(usize, u64)> {
    vec![(DEVICE.index(ns), 1)]
}

fn once_of_owner(ns: u64) -> Vec<(usize, u64)> {
    vec![(OWNER.index(ns), 1)]
}

#[test]
fn a_request_is_once_in_each_histogram_of_its_stages() {
    let Kept { device, owners } = kept(ALL, &[waited()]);
    let read = &device.ops[Op::Read as usize];
    assert_eq!(cells(&read.q2g), once(300));
    assert_eq!(cells(&read.g2d), once(3_000));
    assert_eq!(cells(&read.q2d), once(3_300));
    assert_eq!(cells(&read.i2d), once(2_000));
    assert_eq!(cells(&read.d2c), once(50_000));
    assert_eq!(cells(&read.q2c), once(53_300));
    let asked = read.asked.as_ref().expect("it was asked for");
    assert_eq!(cells(&asked.a2q), once(1_000));
    assert_eq!(cells(&asked.a2d), once(4_300));
    assert_eq!(cells(&asked.a2c), once(54_300));
    let merged = &read.merged_bios;
    assert!(
        [&merged.q2d, &merged.d2c, &merged.q2c]
            .iter()
            .all(|h| h.is_empty())
    );
    let own = |latency| owners[1][latency as usize].clone();
    assert_eq!(own(OwnerLatency::Q2d), []);
    assert_eq!(own(OwnerLatency::Q2dIndirect), once_of_owner(3_300));
    assert_eq!(own(OwnerLatency::Q2gIndirect), once_of_owner(300));
    assert_eq!(own(OwnerLatency::G2dIndirect), once_of_owner(3_000));
    assert_eq!(own(OwnerLatency::I2d), once_of_owner(2_000));
    assert_eq!(own(OwnerLatency::D2c), once_of_owner(50_000));
    assert_eq!(own(OwnerLatency::Q2c), once_of_owner(53_300));
    assert_eq!(own(OwnerLatency::A2d), once_of_owner(4_300));
    assert!(owners[0].iter().chain(&owners[2]).all(Vec::is_empty));
    let others = device.ops.iter().filter(|op| op.op != Op::Read);
    assert!(
        others
            .map(|op| op.d2c.count() + op.q2d.count())
            .sum::<u64>()
            == 0
    );
}

#[test]
fn whoever_got_a_tag_at_once_waited_0_for_it() {
    let Kept { device, owners } = kept(ALL, &[direct()]);
    let read = &device.ops[Op::Read as usize];
    assert_eq!(cells(&read.q2g), once(0));
    assert_eq!(
        (cells(&read.g2d), cells(&read.q2d)),
        (once(3_300), once(3_300))
    );
    assert_eq!(owners[1][OwnerLatency::Q2d as usize], once_of_owner(3_300));
    assert_eq!(owners[1][OwnerLatency::Q2dIndirect as usize], []);
    let asked = read.asked.as_ref().expect("it was asked for");
    assert_eq!(cells(&asked.a2q), once(0), "A is Q if nobody asked before");
}

#[test]
fn without_the_other_stages_an_owner_has_one_histogram_for_all_waits() {
    let Kept { device, owners } = kept(LITTLE, &[waited(), direct()]);
    assert_eq!(
        owners[1][OwnerLatency::Q2d as usize],
        [(OWNER.index(3_300), 2)]
    );
    assert_eq!(
        owners[1][OwnerLatency::D2c as usize],
        [(OWNER.index(50_000), 2)]
    );
    assert!(owners[1][2..].iter().all(Vec::is_empty));
    let read = &device.ops[Op::Read as usize];
    assert_eq!((read.q2d.count(), &read.asked), (2, &None));
}

#[test]
fn a_wait_that_was_not_seen_whole_is_no_queue_wait() {
    let unseen = Record {
        q_ns: 0,
        ..direct()
    };
    let late = Record { g_ns: 0, ..unseen };
    let Kept { device, owners } = kept(ALL, &[unseen, late]);
    let read = &device.ops[Op::Read as usize];
    assert_eq!((cells(&read.g2d), read.q2d.count()), (once(3_300), 0));
    assert_eq!((read.q2g.count(), read.q2c.count()), (0, 0));
    assert_eq!(read.d2c.count(), 2);
    let waits = [
        OwnerLatency::Q2d,
        OwnerLatency::Q2dIndirect,
        OwnerLatency::G2dIndirect,
    ];
    assert!(
        waits
            .iter()
            .all(|&wait| owners[1][wait as usize].is_empty())
    );
    // Where Q is not measured at all, the queue wait is G2D.
    let scope = Scope {
        with_q: false,
        ..LITTLE
    };
    let Kept { device, owners } = kept(scope, &[unseen]);
    assert_eq!(device.ops[Op::Read as usize].q2d.count(), 0);
    assert_eq!(owners[1][OwnerLatency::Q2d as usize], once_of_owner(3_300));
}

#[test]
fn clocks_that_disagree_make_no_stage() {
    let backwards = Record {
        q_ns: 70_000,
        g_ns: 69_000,
        ..direct()
    };
    let Kept { device, owners } = kept(ALL, &[backwards]);
    let read = &device.ops[Op::Read as usize];
    assert_eq!(
        read.q2d.count() + read.g2d.count() + read.q2g.count() + read.q2c.count(),
        0
    );
    assert_eq!(
        (
            read.d2c.count(),
            owners[1][OwnerLatency::D2c as usize].len()
        ),
        (1, 1)
    );
    let before_q = Record {
        g_ns: 9_999,
        ..direct()
    };
    let Kept { device, .. } = kept(ALL, &[before_q]);
    let read = &device.ops[Op::Read as usize];
    assert_eq!(
        (read.q2d.count(), read.g2d.count()),
        (0, 1),
        "as if Q was not seen"
    );
}

#[test]
fn a_wait_for_a_flush_is_no_wait_for_the_scheduler() {
    let write = Record {
        op: Op::WriteSync,
        is_preflush: true,
        data_ns: 60_000,
        ..waited()
    };
    let command = Record {
        is_flush_command: true,
        ..Record::issued(Op::Flush, 20_000, 30_000)
    };
    let empty = Record {
        q_ns: 1_000,
        op: Op::Flush,
        ..Record::issued(Op::Flush, 0, 5_000)
    };
    let Kept { device, .. } = kept(ALL, &[write, command, empty]);
    let flush = &device.ops[Op::Flush as usize];
    assert_eq!(cells(&flush.q2d), once(3_000), "until the write was issued");
    assert_eq!(
        (cells(&flush.d2c), cells(&flush.q2c)),
        (once(10_000), once(4_000))
    );
    let write = &device.ops[Op::WriteSync as usize];
    assert_eq!(write.q2d.count() + write.g2d.count() + write.q2g.count(), 0);
    assert_eq!(
        cells(&write.d2c),
        once(46_700),
        "until its data was complete"
    );
    assert_eq!(
        cells(&write.q2c),
        once(53_300),
        "until the flush after it was over"
    );
}

#[test]
fn further_bios_have_the_times_of_their_request() {
    let request = Record {
        bios: 5,
        ..waited()
    };
    let Kept { device, .. } = kept(ALL, &[request]);
    let merged = &device.ops[Op::Read as usize].merged_bios;
    let four = |ns| vec![(DEVICE.index(ns), 4)];
    assert_eq!(cells(&merged.q2d), four(3_300));
    assert_eq!(
        (cells(&merged.d2c), cells(&merged.q2c)),
        (four(50_000), four(53_300))
    );
}

#[test]
fn what_counts_nowhere_is_in_no_histogram() {
    let straddler = Record {
        is_straddler: true,
        ..waited()
    };
    let elsewhere = Record {
        device: 7,
        ..waited()
    };
    let nobody = Record {
        owner: 4,
        ..waited()
    };
    let Kept { device, owners } = kept(ALL, &[straddler, elsewhere, nobody]);
    assert_eq!(device.ops[Op::Read as usize].d2c.count(), 1);
    assert!(owners.iter().flatten().all(Vec::is_empty));
    let unknown_a = Record {
        a_ns: Record::A_UNKNOWN,
        ..waited()
    };
    let Kept { device, .. } = kept(ALL, &[unknown_a]);
    let read = &device.ops[Op::Read as usize];
    assert_eq!(read.q2c.count(), 1);
    assert_eq!(read.asked.as_ref().expect("kept").a2c.count(), 0);
}

#[test]
fn other_operations_have_the_whole_wait_only() {
    let discard = Record {
        op: Op::Discard,
        ..waited()
    };
    let Kept { device, owners } = kept(ALL, &[discard]);
    let op = &device.ops[Op::Discard as usize];
    assert_eq!(
        (cells(&op.q2d), cells(&op.d2c)),
        (once(3_300), once(50_000))
    );
    assert_eq!(op.g2d.count() + op.q2g.count() + op.i2d.count(), 0);
    assert!(owners.iter().flatten().all(Vec::is_empty));
}

#[test]
fn a_row_given_to_another_owner_begins_anew() {
    let mut ledger = Ledger::new(1, LITTLE);
    ledger.add(&direct());
    ledger.forget_owner(1);
    ledger.forget_owner(99);
    ledger.add(&Record {
        d_ns: 10_100,
        ..direct()
    });
    let mut lines = Vec::new();
    ledger.owner_lines(1, (OwnerLatency::Q2d, 0), &mut lines);
    assert_eq!(lines.iter().flatten().sum::<u32>(), 1);
    assert_eq!(ledger.owner_lines(3, (OwnerLatency::Q2d, 0), &mut lines), 0);
    assert_eq!(ledger.owner_lines(1, (OwnerLatency::A2q, 0), &mut lines), 0);
}

/// However often they are looked at in between.
#[test]
fn totals_grow_by_what_is_new() {
    let mut ledger = Ledger::new(1, LITTLE);
    let mut look = |records: &[Record]| {
        for record in records {
            ledger.add(record);
        }
        let mut device = DeviceNumbers::new("sda");
        ledger.add_to_device(0, &mut device);
        device.ops.swap_remove(Op::Read as usize)
    };
    for (n, ns) in [10, 1_000_000, 400, 400, u64::MAX / 2, 0]
        .into_iter()
        .enumerate()
    {
        let read = look(&[Record::issued(Op::Read, 1, 1 + ns)]);
        assert_eq!((read.d2c.count(), read.ios), (n as u64 + 1, n as u64 + 1));
    }
    let read = look(&[]);
    let last = DEVICE.cells as usize - 1;
    assert_eq!(
        (read.d2c.count(), read.d2c.cells().next_back()),
        (6, Some((last, 1)))
    );
}

#[test]
fn counts_bytes_and_sums_are_those_of_the_records() {
    let request = Record {
        bytes: 8192,
        bios: 2,
        ..waited()
    };
    let unwaited = Record {
        g_ns: 0,
        q_ns: 0,
        ..request
    };
    let mut ledger = Ledger::new(1, ALL);
    for record in [request, unwaited] {
        ledger.add(&record);
    }
    let mut device = DeviceNumbers::new("sda");
    device.ops[0].ios = 100;
    ledger.add_to_device(0, &mut device);
    let read = &device.ops[0];
    assert_eq!(
        (read.ios, read.bytes, read.bios, read.waits),
        (102, 16_384, 4, 1)
    );
    assert_eq!(
        (read.q2d_sum_ns, read.d2c_sum_ns, read.q2c_sum_ns),
        (3_300, 100_000, 53_300)
    );
    assert_eq!(ledger.ios_of(1), 2);
    assert_eq!(ledger.take_longest(1)[0], (3_300, 50_000));
    assert_eq!(ledger.take_longest(1)[0], (0, 0));
    assert_eq!((ledger.ios_of(9), ledger.take_longest(9)[0]), (0, (0, 0)));
}
