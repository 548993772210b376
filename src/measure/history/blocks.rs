//! Makes of each interval what is kept of it: the interval, and now and then several as one. Pure.

use anyhow::Result;

use super::buffer::{Block, SPANS};
use super::frame::{Counters, Frame};
use super::packed::Packed;

/// The intervals since the last block of each tier.
#[derive(Default)]
pub struct Blocks {
    open: [Option<Open>; 2],
    next: u64,
}

struct Open {
    first: u64,
    count: u64,
    sum: Frame,
}

impl Blocks {
    /// A block never spans a switch or a change of settings.
    pub fn add(&mut self, frame: &Frame) -> Result<Vec<Block>> {
        let number = self.next;
        self.next += 1;
        let mut ended = Vec::new();
        for (open, tier) in self.open.iter_mut().zip(1..) {
            if let Some(old) = open.take_if(|open| !is_of_one_kind(&open.sum, frame)) {
                ended.push(old.end(tier)?);
            }
            let block = match open.as_mut() {
                Some(open) => {
                    extend(&mut open.sum, frame);
                    open.count += 1;
                    open
                }
                None => open.insert(Open {
                    first: number,
                    count: 1,
                    sum: without_single_requests(frame),
                }),
            };
            if block.count == SPANS[tier] {
                ended.extend(open.take().map(|old| old.end(tier)).transpose()?);
            }
        }
        ended.push(Block {
            first: number,
            last: number,
            tier: 0,
            packed: Packed::of(frame)?,
        });
        Ok(ended)
    }
}

impl Open {
    fn end(self, tier: usize) -> Result<Block> {
        Ok(Block {
            first: self.first,
            last: self.first + self.count - 1,
            tier,
            packed: Packed::of(&self.sum)?,
        })
    }
}

/// What is about single requests is not added up.
fn without_single_requests(frame: &Frame) -> Frame {
    let mut frame = frame.clone();
    for device in &mut frame.devices {
        device.dispatches.clear();
        device.why = None;
    }
    frame
}

/// Processes in a sum: each that ever did I/O in its time has a row.
const OWNERS: usize = 4096;

/// Whether both are of the same disks and arms, and the sum has room.
fn is_of_one_kind(sum: &Frame, frame: &Frame) -> bool {
    let mut devices = sum.devices.iter().zip(&frame.devices);
    let owners = |frame: &Frame| frame.interval.as_ref().map_or(0, |of| of.owners.len());
    owners(sum) <= OWNERS
        && sum.interval.is_some() == frame.interval.is_some()
        && sum.devices.len() == frame.devices.len()
        && devices.all(|(one, other)| one.side == other.side && one.queue == other.queue)
}

fn extend(sum: &mut Frame, frame: &Frame) {
    if let (Some(sum), Some(interval)) = (&mut sum.interval, &frame.interval) {
        sum.extend(interval);
    }
    for (device, later) in sum.devices.iter_mut().zip(&frame.devices) {
        device.counters = mean(
            &device.counters,
            sum.interval_s,
            &later.counters,
            frame.interval_s,
        );
    }
    sum.time.clone_from(&frame.time);
    sum.interval_s += frame.interval_s;
    sum.intervals += frame.intervals;
    sum.groups.extend(frame.groups.iter().cloned());
    sum.groups.sort_by_key(|group| group.id);
    sum.groups.dedup_by_key(|group| group.id);
    sum.flips.extend(frame.flips.iter().cloned());
    // They come and go, and are of the last interval alone.
    sum.newcomers.clear();
}

/// Rates and means of both times.
fn mean(one: &Counters, one_s: f64, other: &Counters, other_s: f64) -> Counters {
    let all_s = one_s + other_s;
    let rate = |of: fn(&Counters) -> f64| (of(one) * one_s + of(other) * other_s) / all_s;
    let latency = |of: fn(&Counters) -> Option<f64>, ios: fn(&Counters) -> f64| {
        let parts = [(one, one_s), (other, other_s)];
        let known = parts.map(|(counters, s)| Some((of(counters)?, ios(counters) * s)));
        let known = || known.into_iter().flatten();
        let ios: f64 = known().map(|(_, ios)| ios).sum();
        (ios > 0.0).then(|| known().map(|(mean, ios)| mean * ios).sum::<f64>() / ios)
    };
    Counters {
        reads_per_s: rate(|c| c.reads_per_s),
        writes_per_s: rate(|c| c.writes_per_s),
        read_bytes_per_s: rate(|c| c.read_bytes_per_s),
        write_bytes_per_s: rate(|c| c.write_bytes_per_s),
        read_mean_ns: latency(|c| c.read_mean_ns, |c| c.reads_per_s),
        write_mean_ns: latency(|c| c.write_mean_ns, |c| c.writes_per_s),
        in_flight: other.in_flight,
        busy_share: rate(|c| c.busy_share),
    }
}
