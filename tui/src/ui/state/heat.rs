//! One column of the heatmap: the number of I/Os per latency, in steps of a quarter octave. Pure.

use iosched_result::measured::histogram::Histogram;

use super::compare::{Scope, ShownStage};
use crate::ui::sampling::sample::Stages;

/// Steps from 1 us to 17 s.
pub const ROWS: usize = 96;
const LOW_NS: f64 = 1000.0;

/// Indexed by stage, then by reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatColumn([[Vec<u32>; 2]; 3]);

impl HeatColumn {
    pub fn of(stages: &Stages) -> HeatColumn {
        let pair = |pair: &[Histogram; 2]| [rows(&pair[0]), rows(&pair[1])];
        HeatColumn([
            pair(&stages.wait),
            pair(&stages.device),
            pair(&stages.total),
        ])
    }

    pub fn rows(&self, stage: ShownStage, scope: Scope) -> Vec<u32> {
        let pair = &self.0[stage as usize];
        match scope {
            Scope::Reads => pair[0].clone(),
            Scope::Writes => pair[1].clone(),
            Scope::All if pair[0].is_empty() => pair[1].clone(),
            Scope::All if pair[1].is_empty() => pair[0].clone(),
            Scope::All => pair[0]
                .iter()
                .zip(&pair[1])
                .map(|(a, b)| a.saturating_add(*b))
                .collect(),
        }
    }
}

/// The step of a time, as a fraction.
pub fn step_of(ns: f64) -> f64 {
    (ns / LOW_NS).log2() * 4.0
}

/// The time at which a step begins.
pub fn ns_of(step: f64) -> f64 {
    LOW_NS * (step / 4.0).exp2()
}

/// Empty if there was no I/O, which is the usual case for most disks.
fn rows(histogram: &Histogram) -> Vec<u32> {
    if histogram.count() == 0 {
        return Vec::new();
    }
    let mut rows = vec![0u32; ROWS];
    for (cell, count) in histogram.cells() {
        let step = step_of(histogram.layout().mid_ns(cell)).max(0.0);
        let row = (step as usize).min(ROWS - 1);
        rows[row] = rows[row].saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::histogram::DEVICE;

    #[test]
    fn every_value_has_its_row() {
        let mut histogram = Histogram::new(DEVICE);
        for ns in [100, 1_500, 1_000_000, 100_000_000_000] {
            histogram.record(ns);
        }
        let found = rows(&histogram);
        assert_eq!(found.iter().sum::<u32>(), 4);
        assert_eq!((found[0], found[2], found[ROWS - 1]), (1, 1, 1));
        let millisecond = found[3..ROWS - 1].iter().position(|&n| n == 1).unwrap() + 3;
        assert_eq!(step_of(1e6) as usize, millisecond);
    }
}
