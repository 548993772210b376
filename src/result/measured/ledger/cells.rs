//! A histogram to which values are added often and that is read rarely. Pure.

use crate::measured::histogram::{Histogram, Layout};

/// Memory is allocated at the first value.
#[derive(Default)]
pub struct Cells {
    /// Values since the last read, by cell.
    fresh: Vec<u32>,
    /// The cells that are not 0 are from here...
    low: usize,
    /// ...up to here, exclusively.
    high: usize,
    total: Option<Histogram>,
}

impl Cells {
    /// Adds the value; nothing if there is none.
    #[inline]
    pub fn add(&mut self, layout: Layout, ns: Option<u64>) {
        self.add_n(layout, ns, 1);
    }

    /// Adds the value `n` times.
    #[inline]
    pub fn add_n(&mut self, layout: Layout, ns: Option<u64>, n: u64) {
        let Some(ns) = ns else { return };
        if self.fresh.is_empty() {
            self.fresh.resize(layout.cells as usize, 0);
        }
        let cell = layout.index(ns);
        if self.low >= self.high {
            (self.low, self.high) = (cell, cell + 1);
        } else {
            self.low = self.low.min(cell);
            self.high = self.high.max(cell + 1);
        }
        let count = u64::from(self.fresh[cell]) + n;
        self.fresh[cell] = u32::try_from(count).unwrap_or_else(|_| {
            // Nobody has looked for billions of values.
            let total = self.total.get_or_insert_with(|| Histogram::new(layout));
            total.add_to_cell(cell, count);
            0
        });
    }

    /// Everything so far.
    pub fn total(&mut self, layout: Layout) -> &Histogram {
        let total = self.total.get_or_insert_with(|| Histogram::new(layout));
        let mut counts = total.ascending();
        for (cell, fresh) in (self.low..self.high).zip(&mut self.fresh[self.low..self.high]) {
            if *fresh > 0 {
                counts.update(cell, |count| count + u64::from(*fresh));
                *fresh = 0;
            }
        }
        (self.low, self.high) = (0, 0);
        total
    }
}
