//! The order in which a device's requests were issued, compared with the order in which they started. Pure.
//!
//! A request is *reordered* if one that started after it was issued before it (RFC 4737's type-P-reordered). Its
//! *displacement* is its issue number minus its start number: negative is early, positive late. *Seek* is the distance
//! in sectors from the end of one request to the start of the next; 0 is sequential.

use serde::{Deserialize, Serialize};

/// Cell 0 counts zeroes, cell n the values with n binary digits: 1, 2-3, 4-7, ...
pub const LOG2_CELLS: usize = 48;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Log2Histogram(pub Vec<u64>);

impl Default for Log2Histogram {
    fn default() -> Self {
        Log2Histogram(vec![0; LOG2_CELLS])
    }
}

impl Log2Histogram {
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The range of values, both ends included, that contains the quantile.
    pub fn quantile_range(&self, p: f64) -> Option<(u64, u64)> {
        let total = self.count();
        let wanted = ((p * total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let cell = self.0.iter().position(|&count| {
            seen += count;
            seen >= wanted
        })?;
        Some(match cell {
            0 => (0, 0),
            n => (1 << (n - 1), (1 << n) - 1),
        })
    }

    pub(in crate::measured) fn count_value(&mut self, value: u64) {
        let digits = (u64::BITS - value.leading_zeros()) as usize;
        self.0.resize(LOG2_CELLS, 0);
        self.0[digits.min(LOG2_CELLS - 1)] += 1;
    }

    fn add(&mut self, later: &Log2Histogram) {
        self.0.resize(self.0.len().max(later.0.len()), 0);
        for (sum, count) in self.0.iter_mut().zip(&later.0) {
            *sum += count;
        }
    }

    fn since(&self, earlier: &Log2Histogram) -> Log2Histogram {
        let before = earlier.0.iter().copied().chain(std::iter::repeat(0));
        let difference = |(later, earlier): (&u64, u64)| later - earlier;
        Log2Histogram(self.0.iter().zip(before).map(difference).collect())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Order {
    pub issued: u64,
    pub reordered: u64,
    /// Pairs of successive starts and pairs of successive issues, with the sums of their seeks.
    pub insert_seeks: u64,
    pub insert_sectors: u64,
    pub issue_seeks: u64,
    pub issue_sectors: u64,
    /// Completed runs of successive reads and of successive writes, and the issues in them.
    pub runs: [u64; 2],
    pub run_ios: [u64; 2],
    /// Number of places by which requests were issued early, or late (0: in order).
    pub early: Log2Histogram,
    pub late: Log2Histogram,
    pub insert_seek: Log2Histogram,
    pub issue_seek: Log2Histogram,
    pub run_length: [Log2Histogram; 2],
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Order {
    /// Whether its histograms have at most the cells that a value can fall into.
    pub fn has_known_cells(&self) -> bool {
        let [reads, writes] = &self.run_length;
        let all = [
            &self.early,
            &self.late,
            &self.insert_seek,
            &self.issue_seek,
            reads,
            writes,
        ];
        all.into_iter()
            .all(|histogram| histogram.0.len() <= LOG2_CELLS)
    }

    pub fn reordered_share(&self) -> Option<f64> {
        share(self.reordered, self.issued)
    }

    /// Share of issues that began where the previous one ended.
    pub fn sequential_share(&self) -> Option<f64> {
        share(*self.issue_seek.0.first()?, self.issue_seeks)
    }

    pub fn mean_insert_seek_sectors(&self) -> Option<f64> {
        share(self.insert_sectors, self.insert_seeks)
    }

    pub fn mean_issue_seek_sectors(&self) -> Option<f64> {
        share(self.issue_sectors, self.issue_seeks)
    }

    /// Mean seek in start order divided by that in issue order: how much the scheduler shortened the seeks,
    /// independently of the workload.
    pub fn scheduler_gain(&self) -> Option<f64> {
        let issue = self.mean_issue_seek_sectors().filter(|&mean| mean > 0.0)?;
        Some(self.mean_insert_seek_sectors()? / issue)
    }

    /// Mean length of the runs of reads (0) or writes (1).
    pub fn mean_run(&self, kind: usize) -> Option<f64> {
        share(self.run_ios[kind], self.runs[kind])
    }

    /// Adds a later interval of the same disk.
    pub(super) fn add(&mut self, later: &Order) {
        self.issued += later.issued;
        self.reordered += later.reordered;
        self.insert_seeks += later.insert_seeks;
        self.insert_sectors += later.insert_sectors;
        self.issue_seeks += later.issue_seeks;
        self.issue_sectors += later.issue_sectors;
        for kind in 0..2 {
            self.runs[kind] += later.runs[kind];
            self.run_ios[kind] += later.run_ios[kind];
            self.run_length[kind].add(&later.run_length[kind]);
        }
        self.early.add(&later.early);
        self.late.add(&later.late);
        self.insert_seek.add(&later.insert_seek);
        self.issue_seek.add(&later.issue_seek);
    }

    pub(super) fn since(&self, earlier: &Order) -> Order {
        let pair = |l: [u64; 2], e: [u64; 2]| [l[0] - e[0], l[1] - e[1]];
        Order {
            issued: self.issued - earlier.issued,
            reordered: self.reordered - earlier.reordered,
            insert_seeks: self.insert_seeks - earlier.insert_seeks,
            insert_sectors: self.insert_sectors - earlier.insert_sectors,
            issue_seeks: self.issue_seeks - earlier.issue_seeks,
            issue_sectors: self.issue_sectors - earlier.issue_sectors,
            runs: pair(self.runs, earlier.runs),
            run_ios: pair(self.run_ios, earlier.run_ios),
            early: self.early.since(&earlier.early),
            late: self.late.since(&earlier.late),
            insert_seek: self.insert_seek.since(&earlier.insert_seek),
            issue_seek: self.issue_seek.since(&earlier.issue_seek),
            run_length: [
                self.run_length[0].since(&earlier.run_length[0]),
                self.run_length[1].since(&earlier.run_length[1]),
            ],
        }
    }
}
