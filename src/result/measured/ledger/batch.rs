//! Records on their way into the ledger. Each owner's numbers lie in memory of their own, which hundreds of others have
//! evicted from the caches by the time of its next record: so the records of many owners are entered owner by owner. Pure.

use super::Ledger;
use crate::measured::record::Record;

/// So many fit into the caches, and are several of each of hundreds of owners.
const MOST: usize = 4096;

#[derive(Default)]
pub struct Batch {
    records: Vec<Record>,
    /// The owner of each record, and its place in the lowest bits: so they sort as numbers.
    order: Vec<u64>,
}

impl Batch {
    pub fn add(&mut self, record: &Record) {
        let place = self.records.len() as u64;
        self.order.push(u64::from(record.owner) << 32 | place);
        self.records.push(*record);
    }

    /// Whether it is time to enter them.
    pub fn is_full(&self) -> bool {
        self.records.len() >= MOST
    }

    /// Enters all of them. All numbers of the ledger are sums and maxima, so the order does not matter to them.
    pub fn enter(&mut self, ledger: &mut Ledger) {
        self.order.sort_unstable();
        for key in self.order.drain(..) {
            let place = key as u32;
            ledger.add(&self.records[place as usize]);
        }
        self.records.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::histogram::DEVICE;
    use crate::measured::ledger::Scope;
    use crate::measured::snapshot::{DeviceNumbers, Op, OwnerId, OwnerKind, OwnerTotals};

    const SCOPE: Scope = Scope {
        layout: DEVICE,
        with_q: true,
        with_asked: false,
        with_owner_stages: false,
        owner_rows: 64,
    };

    fn record(owner: u32, start_ns: u64, length_ns: u64) -> Record {
        let op = [Op::Read, Op::WriteSync][owner as usize % 2];
        Record {
            owner,
            q_ns: start_ns,
            g_ns: start_ns,
            bytes: 4096,
            ..Record::issued(op, start_ns + length_ns / 3, start_ns + length_ns)
        }
    }

    fn numbers(ledger: &mut Ledger) -> (DeviceNumbers, Vec<String>) {
        let mut device = DeviceNumbers::new("sda");
        ledger.add_to_device(0, &mut device);
        let owner = |row| {
            let mut totals = OwnerTotals::new(OwnerId {
                device: Some(0),
                kind: OwnerKind::Process,
                tgid: 1,
                start_ms: 1,
                cgroup_id: 1,
                file: None,
            });
            ledger.add_to_owner(row, &mut totals);
            let mut lines = Vec::new();
            for latency in ledger.owner_latencies() {
                ledger.owner_lines(row, (latency, row % 2), &mut lines);
            }
            format!("{totals:?} {lines:?} {:?}", ledger.take_longest(row))
        };
        (device, (0..9).map(owner).collect())
    }

    #[test]
    fn records_give_the_same_numbers_one_by_one_and_in_batches() {
        let records: Vec<Record> = (0..3 * MOST as u64)
            .map(|n| record((n * 7 % 9) as u32, 1000 + n * 13, 200 + n * n % 90_000))
            .collect();
        let (mut alone, mut together) = (Ledger::new(1, SCOPE), Ledger::new(1, SCOPE));
        let (mut batch, mut entered) = (Batch::default(), 0);
        for record in &records {
            alone.add(record);
            batch.add(record);
            if batch.is_full() {
                batch.enter(&mut together);
                entered += 1;
            }
        }
        batch.enter(&mut together);
        assert_eq!(entered, 3);
        assert_eq!(numbers(&mut together), numbers(&mut alone));
        batch.enter(&mut together);
        assert_eq!(together.ios_of(0), alone.ios_of(0), "each only once");
    }
}
