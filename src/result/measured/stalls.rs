//! How long submitters were blocked waiting for another request, by the direction of their I/O. Pure.

use std::ops::AddAssign;

use super::snapshot::{DeviceNumbers, Op, OwnerNumbers};

/// The threads whose stalls are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    All,
    Readers,
    Writers,
}

/// Sums over threads in nanoseconds. A submitter that reads and writes is in all three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    all: u64,
    readers: u64,
    writers: u64,
}

/// A process with less than 1/1000 of the reads (writes) does not count as a reader (writer).
const COUNTS_FROM: u64 = 1000;

impl Stalls {
    /// For one or more devices and their owners. Stalls counted on the device but for no owner may belong to anybody,
    /// so they are added to both directions.
    pub fn of<'a>(
        device: &DeviceNumbers,
        owners: &(impl Iterator<Item = &'a OwnerNumbers> + Clone),
    ) -> Stalls {
        let known: u64 = owners.clone().map(|owner| owner.stalled_ns).sum();
        let unknown = device.stalled_ns.saturating_sub(known);
        let of = |ops: &[Op]| {
            let done = |owner: &OwnerNumbers| ops.iter().map(|op| owner.op(*op).ios).sum::<u64>();
            let all: u64 = owners.clone().map(done).sum();
            let counts = |owner: &&OwnerNumbers| {
                let done = done(owner);
                owner.ios() == 0 || (done > 0 && done.saturating_mul(COUNTS_FROM) >= all)
            };
            let counted = owners.clone().filter(counts);
            counted.map(|owner| owner.stalled_ns).sum::<u64>()
        };
        Stalls {
            all: device.stalled_ns,
            readers: unknown + of(&[Op::Read]),
            writers: unknown + of(&Op::WRITES),
        }
    }

    /// Stalls whose threads are unknown.
    pub fn of_all(ns: u64) -> Stalls {
        Stalls {
            all: ns,
            readers: ns,
            writers: ns,
        }
    }

    pub fn ns(&self, whose: Whose) -> u64 {
        match whose {
            Whose::All => self.all,
            Whose::Readers => self.readers,
            Whose::Writers => self.writers,
        }
    }
}

impl AddAssign for Stalls {
    fn add_assign(&mut self, other: Stalls) {
        self.all += other.all;
        self.readers += other.readers;
        self.writers += other.writers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::snapshot::{OwnerKey, OwnerKind};

    fn owner(tgid: u32, reads: u64, writes: u64, stalled_ns: u64) -> OwnerNumbers {
        let key = OwnerKey {
            device: "sda".to_owned(),
            kind: OwnerKind::Process,
            tgid,
            start_ms: 1,
            cgroup_id: 1,
            file: None,
        };
        let mut owner = OwnerNumbers::new(key, "fio");
        owner.ops[Op::Read as usize].ios = reads;
        owner.ops[Op::WriteSync as usize].ios = writes;
        owner.stalled_ns = stalled_ns;
        owner
    }

    fn by_direction(owners: &[OwnerNumbers], stalled_ns: u64) -> [u64; 3] {
        let mut device = DeviceNumbers::new("sda");
        device.stalled_ns = stalled_ns;
        let stalls = Stalls::of(&device, &owners.iter());
        [Whose::All, Whose::Readers, Whose::Writers].map(|of| stalls.ns(of))
    }

    #[test]
    fn a_writer_that_stalls_says_nothing_of_reads() {
        let probe = owner(1, 500, 0, 0);
        assert_eq!(
            by_direction(&[probe.clone(), owner(2, 0, 90, 7)], 7),
            [7, 0, 7]
        );
        assert_eq!(
            by_direction(&[probe.clone(), owner(2, 1, 90, 7)], 7),
            [7, 7, 7]
        );
        let many = owner(1, 5000, 0, 0);
        assert_eq!(by_direction(&[many, owner(2, 1, 90, 7)], 7), [7, 0, 7]);
        assert_eq!(
            by_direction(&[probe.clone(), owner(2, 0, 0, 7)], 7),
            [7, 7, 7]
        );
        assert_eq!(by_direction(&[probe], 7), [7, 7, 7]);
        assert_eq!(by_direction(&[], 7), [7, 7, 7]);
    }
}
