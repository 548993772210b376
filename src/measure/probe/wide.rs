//! Widens histograms: the kernel's cells have 32 bits and wrap.

use iosched_bpf::{Cells, Tracer};

use iosched_result::measured::histogram::{Histogram, Layout};

/// The counts of one histogram since the attach, over all shards.
#[derive(Clone)]
pub(super) struct Wide {
    /// By shard; empty before the first read.
    last: Vec<Cells>,
    pub total: Histogram,
}

impl Wide {
    pub fn new(layout: Layout) -> Self {
        Wide {
            last: Vec::new(),
            total: Histogram::new(layout),
        }
    }

    pub fn advance(&mut self, tracer: &Tracer, slot: usize, row: usize) {
        let Wide { last, total } = self;
        last.resize_with(tracer.shard_count(), Cells::default);
        for (shard, last) in last.iter_mut().enumerate() {
            let mut counts = total.ascending();
            tracer.new_counts((slot, shard, row), last, |cell, n| {
                counts.update(cell, |count| count + u64::from(n));
            });
        }
    }
}
