//! Adds up the numbers of several disks. Pure.

use super::device::{DeviceNumbers, InFlight, StatusCount};
use super::op::{Asked, DeviceOp};

/// The numbers of the disks as if they were one. Counts, times and histograms are added; of maxima the largest is kept.
pub(super) fn sum(name: &str, disks: &[DeviceNumbers]) -> DeviceNumbers {
    let mut sum = DeviceNumbers::new(name);
    for disk in disks {
        add(&mut sum, disk);
    }
    // Every disk has the total of all disks.
    sum.quality.skipped = disks.iter().map(|d| d.quality.skipped).max().unwrap_or(0);
    sum.in_flight = in_flight(disks);
    // Request numbers are relative to their own disk.
    sum.order = match disks {
        [only] => only.order.clone(),
        _ => None,
    };
    sum
}

/// Everything but what is of a moment, and what is of one disk.
pub(super) fn add(sum: &mut DeviceNumbers, other: &DeviceNumbers) {
    for (sum, op) in sum.ops.iter_mut().zip(&other.ops) {
        add_op(sum, op);
    }
    sum.merges += other.merges;
    sum.flushes += other.flushes;
    sum.edges += other.edges;
    for status in &other.statuses {
        add_status(&mut sum.statuses, status);
    }
    sum.quality += other.quality;
    sum.stalled_ns += other.stalled_ns;
    sum.waits += other.waits;
}

fn add_op(sum: &mut DeviceOp, op: &DeviceOp) {
    add_asked(&mut sum.asked, op.asked.as_ref());
    sum.ios += op.ios;
    sum.bytes += op.bytes;
    sum.bios += op.bios;
    sum.waits += op.waits;
    sum.q2d_sum_ns += op.q2d_sum_ns;
    sum.d2c_sum_ns += op.d2c_sum_ns;
    sum.q2c_sum_ns += op.q2c_sum_ns;
    let (merged, more) = (&mut sum.merged_bios, &op.merged_bios);
    for (histogram, other) in [
        (&mut sum.q2g, &op.q2g),
        (&mut sum.g2d, &op.g2d),
        (&mut sum.q2d, &op.q2d),
        (&mut sum.d2c, &op.d2c),
        (&mut sum.q2c, &op.q2c),
        (&mut sum.i2d, &op.i2d),
        (&mut merged.q2d, &more.q2d),
        (&mut merged.d2c, &more.d2c),
        (&mut merged.q2c, &more.q2c),
    ] {
        // The layouts are always the same.
        let _ = histogram.merge(other);
    }
}

fn add_asked(sum: &mut Option<Asked>, asked: Option<&Asked>) {
    match (sum, asked) {
        (Some(sum), Some(asked)) => sum.add(asked),
        (sum, asked) => *sum = asked.cloned(),
    }
}

fn add_status(sum: &mut Vec<StatusCount>, status: &StatusCount) {
    match sum.iter_mut().find(|known| known.status == status.status) {
        Some(known) => known.count += status.count,
        None => sum.push(status.clone()),
    }
}

/// Known only if it is known for each disk.
fn in_flight(disks: &[DeviceNumbers]) -> Option<InFlight> {
    let each: Option<Vec<InFlight>> = disks.iter().map(|disk| disk.in_flight).collect();
    each?.into_iter().reduce(InFlight::with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::histogram::Histogram;
    use crate::measured::snapshot::{Op, Order, Stage};

    /// Every count differs between two disks, so that a test notices if one is left out or counted twice.
    fn disk(name: &str, n: u64) -> DeviceNumbers {
        let mut disk = DeviceNumbers::new(name);
        for (op, place) in disk.ops.iter_mut().zip(1..) {
            let count = n * place;
            (op.ios, op.bytes, op.bios, op.waits) = (count, 10 * count, 2 * count, 3 * count);
            (op.q2d_sum_ns, op.d2c_sum_ns, op.q2c_sum_ns) = (4 * count, 5 * count, 9 * count);
            let merged = &mut op.merged_bios;
            for (histogram, times) in [
                (&mut op.q2g, 1),
                (&mut op.g2d, 2),
                (&mut op.q2d, 3),
                (&mut op.d2c, 4),
                (&mut op.q2c, 5),
                (&mut op.i2d, 6),
                (&mut merged.q2d, 7),
                (&mut merged.d2c, 8),
                (&mut merged.q2c, 9),
            ] {
                histogram.record_n(1000 * n, times * count);
            }
        }
        (disk.merges.back, disk.merges.front, disk.merges.rq) = (n, 2 * n, 3 * n);
        disk.flushes.asked = n;
        disk.edges.errors = n;
        disk.quality.lost = n;
        disk.quality.skipped = 7;
        disk.statuses = vec![StatusCount {
            status: if n > 1 { "ioerr" } else { "medium" }.into(),
            count: n,
        }];
        disk.in_flight = Some(InFlight {
            queued: n,
            blocked: None,
            issued: 2 * n,
            oldest_ns: Some(100 / n),
        });
        disk.order = Some(Order::default());
        disk
    }

    #[test]
    fn several_disks_are_counted_as_one() {
        let disks = [disk("sda", 1), disk("sdb", 2), disk("sdc", 4)];
        let sum = sum("md0", &disks);
        assert_eq!(sum.name, "md0");
        let names: Vec<Op> = sum.ops.iter().map(|op| op.op).collect();
        assert_eq!(names, Op::ALL);
        for (op, place) in sum.ops.iter().zip(1..) {
            let count = 7 * place;
            assert_eq!((op.ios, op.bytes), (count, 10 * count));
            assert_eq!((op.bios, op.waits), (2 * count, 3 * count));
            assert_eq!((op.q2d_sum_ns, op.d2c_sum_ns), (4 * count, 5 * count));
            assert_eq!(op.q2c_sum_ns, 9 * count);
            for (stage, times) in Stage::ALL.into_iter().zip(1..) {
                assert_eq!(op.stage(stage).count(), times * count, "{stage:?}");
            }
            let merged = &op.merged_bios;
            let counts = [&merged.q2d, &merged.d2c, &merged.q2c].map(Histogram::count);
            assert_eq!(counts, [7 * count, 8 * count, 9 * count]);
        }
        assert_eq!((sum.merges.back, sum.merges.rq), (7, 21));
        assert_eq!((sum.flushes.asked, sum.edges.errors), (7, 7));
        assert_eq!(
            (sum.quality.lost, sum.quality.skipped),
            (7, 7),
            "skipped is of all"
        );
        let statuses: Vec<(&str, u64)> = sum
            .statuses
            .iter()
            .map(|status| (status.status.as_str(), status.count))
            .collect();
        assert_eq!(statuses, [("medium", 1), ("ioerr", 6)]);
        let in_flight = sum.in_flight.unwrap();
        assert_eq!((in_flight.queued, in_flight.issued), (7, 14));
        assert_eq!(in_flight.oldest_ns, Some(100));
        assert_eq!(sum.order, None);
    }

    #[test]
    fn one_disk_alone_stays_what_it_is() {
        let one = disk("sda", 3);
        assert_eq!(sum("sda", std::slice::from_ref(&one)), one);
    }

    #[test]
    fn what_one_does_not_know_is_known_of_none() {
        let mut other = disk("sdb", 2);
        other.in_flight = None;
        assert_eq!(sum("x", &[disk("sda", 1), other]).in_flight, None);
    }
}
