//! Two opinions on the same requests, number by number. All that differs is collected, so that one run shows all of it.

use std::fmt::Debug;

use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::Stage;

use crate::stages::{Times, place};

/// Both read the same clock in programs of their own at the same tracepoint, one after the other. In `truth`, where an
/// instruction takes 2 ns, that is 1 to 3 us at each end of a stage.
pub const APART_NS: f64 = 5_000.0;

/// Q2G is 0 by definition where the thread stayed on its CPU from Q to the first request of a bio, and the instructions in
/// between belong to G2D. blktrace cannot see who stayed.
const ON_CPU_NS: f64 = 20_000.0;

/// An interrupt that comes between the two programs moves one value by what it takes, 10 to 50 us here and more where it
/// completes several requests.
const INTERRUPT_NS: f64 = 100_000.0;

/// So many requests may have been interrupted: a percentile may be as many places from where it should be, and a mean may
/// have as many interrupts in it. Up to 2 % are on 6.12, and up to 5 % on 7.3.
pub fn interrupted(requests: usize) -> usize {
    2 + requests / 16
}

const PERCENTS: [u32; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// A percentile of a device is somewhere in a cell of its histogram, which is 1/64 of an octave wide.
pub const DEVICE_CELL: f64 = 1.0 / 64.0;

/// A process's is the middle of its cell, which is 1/16 of an octave wide.
pub const OWNER_CELL: f64 = 1.0 / 32.0;

/// The opinions of blktrace and the probe on one stage.
pub struct Opinions<'a> {
    pub stage: Stage,
    pub theirs: &'a Times,
    pub ours: &'a Histogram,
    pub cell: f64,
}

#[derive(Default)]
pub struct Check {
    pub failures: Vec<String>,
    pub compared: u64,
}

/// How far apart the two may be, besides a histogram's cell.
fn apart_ns(stage: Stage) -> f64 {
    match stage {
        Stage::Q2g | Stage::G2d => APART_NS + ON_CPU_NS,
        _ => APART_NS,
    }
}

impl Opinions<'_> {
    /// Between which two values the probe's may be that the share `p` of all does not exceed.
    fn bounds(&self, p: f64) -> (f64, f64) {
        let times = &self.theirs.0;
        let (place, interrupted) = (place(times.len(), p), interrupted(times.len()));
        let apart = |value: f64| apart_ns(self.stage) + value * self.cell;
        let least = match place.checked_sub(interrupted) {
            Some(place) => times[place] as f64,
            None => times[0] as f64 - INTERRUPT_NS,
        };
        let most = match times.get(place + interrupted) {
            Some(&ns) => ns as f64,
            None => times[times.len() - 1] as f64 + INTERRUPT_NS,
        };
        (least - apart(least), most + apart(most))
    }
}

impl Check {
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, theirs: &T, ours: &T) {
        let text = || format!("{what}: {theirs:?} by blktrace, {ours:?} here");
        self.expect(theirs == ours, text);
    }

    /// Sums over the same `count` of requests, which are kept to the nanosecond: so are their means.
    pub fn sum(&mut self, what: &str, stage: Stage, count: usize, theirs: u64, ours: u64) {
        let mean = |sum: u64| sum as f64 / count.max(1) as f64;
        let (theirs, ours) = (mean(theirs), mean(ours));
        let text = || format!("{what} mean: {theirs:.0} ns by blktrace, {ours:.0} ns here");
        let interrupts = interrupted(count) as f64 * INTERRUPT_NS / count.max(1) as f64;
        let apart = apart_ns(stage) + interrupts;
        self.expect((theirs - ours).abs() <= apart, text);
    }

    /// How many, and their percentiles.
    pub fn stage(&mut self, what: &str, opinions: &Opinions) {
        let Opinions {
            stage,
            theirs,
            ours,
            ..
        } = *opinions;
        let what = format!("{what} {}", stage.name());
        self.equal(
            &format!("{what} count"),
            &(theirs.count() as u64),
            &ours.count(),
        );
        if theirs.is_empty() || ours.is_empty() {
            return;
        }
        for percent in PERCENTS {
            let p = f64::from(percent) / 100.0;
            let our = ours.quantile_ns(p).expect("values");
            let (least, most) = opinions.bounds(p);
            let text = || {
                format!("{what} p{percent}: {our:.0} ns here, not within {least:.0} to {most:.0}")
            };
            self.expect(least <= our && our <= most, text);
        }
    }

    pub fn expect(&mut self, is_met: bool, text: impl Fn() -> String) {
        self.compared += 1;
        if !is_met {
            self.failures.push(text());
        }
    }
}

/// Mean and two percentiles of both, to be read.
pub fn line(opinions: &Opinions) -> String {
    let Opinions { theirs, ours, .. } = *opinions;
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
    let pair =
        |their: f64, our: Option<f64>| format!("{}/{}", us(their), our.map_or("-".into(), us));
    format!(
        "{} of {}: mean {}, p50 {}, p99 {} us by blktrace/here",
        opinions.stage.name(),
        theirs.count(),
        pair(theirs.mean(), ours.mean_ns()),
        pair(theirs.percentile(0.5), ours.quantile_ns(0.5)),
        pair(theirs.percentile(0.99), ours.quantile_ns(0.99)),
    )
}
