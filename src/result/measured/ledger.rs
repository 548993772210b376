//! Makes numbers from records: histograms, counts, bytes and sums. Pure.

mod batch; // records on their way into it
mod cells; // a histogram that grows often
mod device;
mod owner;
mod parts; // of the queue wait
mod stages; // of a record

use super::histogram::Layout;
use super::record::Record;
use super::snapshot::{DeviceNumbers, Line, Op, OwnerLatency, OwnerTotals};
pub use batch::Batch;
use device::DeviceBook;
pub use owner::Maxima;
use owner::OwnerBook;
use stages::Stages;

/// Says what a ledger keeps.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// Layout of the devices' histograms.
    pub layout: Layout,
    /// Whether Q is measured; otherwise the queue wait is G2D.
    pub with_q: bool,
    /// A2Q, A2D and A2C.
    pub with_asked: bool,
    /// All stages of owners, not only Q2D and D2C.
    pub with_owner_stages: bool,
    /// Owners in rows from here on have no histograms.
    pub owner_rows: usize,
}

/// Everything since the attach.
pub struct Ledger {
    scope: Scope,
    devices: Vec<DeviceBook>,
    /// By row; as many as there were records of.
    owners: Vec<OwnerBook>,
}

impl Ledger {
    pub fn new(devices: usize, scope: Scope) -> Ledger {
        Ledger {
            scope,
            devices: (0..devices).map(|_| DeviceBook::default()).collect(),
            owners: Vec::new(),
        }
    }

    /// A record of an unknown device is left out.
    pub fn add(&mut self, record: &Record) {
        let Some(device) = self.devices.get_mut(usize::from(record.device)) else {
            return;
        };
        if record.is_straddler {
            device.add_straddler(record);
            return;
        }
        let stages = Stages::of(record, self.scope.with_q, self.scope.with_asked);
        device.add(record, &stages, self.scope.layout);
        // The command is nobody's: whoever waits for it has a record of his own.
        if record.is_flush_command {
            return;
        }
        let row = record.owner as usize;
        if row >= self.owners.len() {
            self.owners.resize_with(row + 1, OwnerBook::default);
        }
        let owner = &mut self.owners[row];
        owner.add(record, &stages);
        if row < self.scope.owner_rows && Op::DATA.contains(&record.op) {
            owner.add_latencies(record, &stages, &self.scope);
        }
    }

    /// Adds everything about a device to what the kernel side has counted itself.
    pub fn add_to_device(&mut self, device: usize, numbers: &mut DeviceNumbers) {
        self.devices[device].add_to(numbers, self.scope.layout, self.scope.with_asked);
    }

    /// Adds everything about the owner in this row, except for its histograms and longest times.
    pub fn add_to_owner(&self, row: usize, totals: &mut OwnerTotals) {
        if let Some(owner) = self.owners.get(row) {
            owner.add_to(totals);
        }
    }

    /// The owner's longest times since the last call.
    pub fn take_longest(&mut self, row: usize) -> Maxima {
        self.owners
            .get_mut(row)
            .map_or_else(Maxima::default, OwnerBook::take_longest)
    }

    /// I/Os of the owner in this row.
    pub fn ios_of(&self, row: usize) -> u64 {
        self.owners.get(row).map_or(0, OwnerBook::ios)
    }

    /// Whether the owner in this row has histograms.
    pub fn has_histograms(&self, row: usize) -> bool {
        row < self.scope.owner_rows
    }

    /// The histograms that are kept of each owner, in the order of their places.
    pub fn owner_latencies(&self) -> impl Iterator<Item = OwnerLatency> + use<> {
        use OwnerLatency::{A2c, A2d, A2q, D2c, Q2d};
        let scope = self.scope;
        let is_kept = move |latency: &OwnerLatency| match latency {
            Q2d | D2c => true,
            A2q | A2d | A2c => scope.with_asked,
            _ => scope.with_owner_stages,
        };
        OwnerLatency::ALL.into_iter().filter(is_kept)
    }

    /// Appends the non-empty lines of one of the owner's histograms, of reads (0) or of writes (1). Returns one bit for each
    /// line, ascending. Cells wrap at 2^32.
    pub fn owner_lines(
        &self,
        row: usize,
        histogram: (OwnerLatency, usize),
        lines: &mut Vec<Line>,
    ) -> u32 {
        self.owners
            .get(row)
            .map_or(0, |owner| owner.lines(histogram, lines))
    }

    /// The row is given to another owner.
    pub fn forget_owner(&mut self, row: usize) {
        if let Some(owner) = self.owners.get_mut(row) {
            *owner = OwnerBook::default();
        }
    }
}

#[cfg(test)]
mod tests;
