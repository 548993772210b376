//! Accounts by others of the same I/Os, number by number. All that differs is collected, so that one run shows all of it.

use iosched_result::measured::histogram::Histogram;

/// A cell of fio's histogram is 1.6 % wide and stands for its middle, one of ours is 1.6 % wide. And what fio and the
/// system call take around the I/O.
pub const BY_FIO: f64 = 0.03;
/// A cell of ours; of the mean, to which every value counts as the middle of its cell, half of one at most.
const CELL: f64 = 0.016;
pub const MEAN: f64 = 0.01;
/// Two programs at one tracepoint read the clock one after the other, and ftrace writes microseconds.
const APART_NS: f64 = 10e3;
/// An interrupt between the two programs moves the last values of all, and no others.
const INTERRUPT_NS: f64 = 100e3;
const TAIL: f64 = 0.9;
/// The last of many processes that are answered at the same moment waits for the one CPU before it takes fio's clock.
const CPU_NS: f64 = 10e6;

/// Latencies of some I/Os by another, in ascending order.
pub struct Theirs {
    pub by: &'static str,
    pub times_ns: Vec<u64>,
}

impl Theirs {
    pub fn mean(&self) -> f64 {
        self.times_ns.iter().sum::<u64>() as f64 / self.times_ns.len().max(1) as f64
    }

    /// The two between which it is.
    fn percentile(&self, p: f64) -> (f64, f64) {
        let place = (p * self.times_ns.len() as f64) as usize;
        let ns = |place: usize| self.times_ns[place.min(self.times_ns.len() - 1)] as f64;
        (ns(place.saturating_sub(1)), ns(place))
    }
}

#[derive(Default)]
pub struct Judge {
    failures: Vec<String>,
    what: String,
}

impl Judge {
    pub fn begin(&mut self, what: String) {
        self.what = what;
    }

    pub fn expect(&mut self, is_met: bool, text: impl Fn() -> String) {
        if !is_met {
            self.failures.push(format!("{}: {}", self.what, text()));
        }
    }

    pub fn equal(&mut self, name: &str, ours: u64, theirs: u64) {
        self.expect(ours == theirs, || format!("{name}: {ours}, not {theirs}"));
    }

    pub fn near(&mut self, name: &str, one: f64, other: f64, tolerance: f64) {
        let is_met = (one - other).abs() <= other * tolerance + APART_NS;
        self.expect(is_met, || format!("{name}: {one:.0} ns, not {other:.0}"));
    }

    /// Count, mean, p50 and p99.
    pub fn same(&mut self, name: &str, ours: &Histogram, theirs: &Theirs) {
        let by = theirs.by;
        self.equal(
            &format!("{name}, count by {by}"),
            ours.count(),
            theirs.times_ns.len() as u64,
        );
        let Some(mean) = ours.mean_ns().filter(|_| !theirs.times_ns.is_empty()) else {
            return;
        };
        self.near(&format!("{name}, mean by {by}"), mean, theirs.mean(), MEAN);
        for p in [0.5, 0.99] {
            self.percentile(&format!("{name} by {by}"), ours, p, theirs.percentile(p));
        }
    }

    /// Latencies are multiples of the delay: where a percentile falls between two of them it may be either.
    fn percentile(&mut self, name: &str, ours: &Histogram, p: f64, theirs: (f64, f64)) {
        let places = 1.5 / ours.count() as f64;
        let ns = |p: f64| ours.quantile_ns(p.clamp(0.0, 1.0)).expect("values");
        let (low, high) = (ns(p - places), ns(p + places));
        let apart = if p < TAIL { APART_NS } else { INTERRUPT_NS };
        let least = theirs.0 * (1.0 - CELL) - apart;
        let most = theirs.1 * (1.0 + CELL) + apart;
        self.expect(least <= high && low <= most, || {
            format!(
                "{name}, p{}: {low:.0} to {high:.0} ns, not {theirs:?}",
                p * 100.0
            )
        });
    }

    /// A percentile of fio's, against those of the same I/Os: the least they can be, and the most.
    pub fn percentile_of_fio(&mut self, p: f64, fio_ns: f64, least: &Theirs, most: &Theirs) {
        let (low, high) = (least.percentile(p).0, most.percentile(p).1);
        let cpu = if p < TAIL { 0.0 } else { CPU_NS };
        let (least, most) = (low * (1.0 - BY_FIO), high * (1.0 + BY_FIO) + cpu);
        self.expect(least <= fio_ns && fio_ns <= most, || {
            format!("p{} by fio: {fio_ns:.0} ns, not {low} to {high}", p * 100.0)
        });
    }

    #[track_caller]
    pub fn is_satisfied(&self) {
        assert!(self.failures.is_empty(), "\n{}", self.failures.join("\n"));
    }
}
