//! Makes of each interval what is kept of it: the interval, and now and then several as one. Pure.

use anyhow::Result;

use super::buffer::{Block, SPANS};
use super::frame::{Counters, Frame};
use super::packed::Packed;

/// The intervals since the last block of each tier.
#[derive(Default)]
pub struct Blocks {
    few: Option<Open>,
    many: Option<Open>,
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
        let is_other = |open: &mut Open| !is_of_one_kind(&open.sum, frame);
        if let Some(few) = self.few.take_if(is_other) {
            ended.push(few.block(1)?);
            few.join(&mut self.many);
        }
        if let Some(many) = self.many.take_if(is_other) {
            ended.push(many.block(2)?);
        }
        let alone = |sum| Open {
            first: number,
            count: 1,
            sum,
        };
        match &mut self.few {
            Some(few) => few.extend(1, frame),
            None => self.few = Some(alone(without_single_requests(frame))),
        }
        // The sum of many is made of sums of few, and not of each interval once more.
        if let Some(few) = self.few.take_if(|few| few.count == SPANS[1]) {
            ended.push(few.block(1)?);
            few.join(&mut self.many);
        }
        if let Some(many) = self.many.take_if(|many| many.count >= SPANS[2]) {
            ended.push(many.block(2)?);
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
    fn extend(&mut self, count: u64, later: &Frame) {
        extend(&mut self.sum, later);
        self.count += count;
    }

    /// Becomes the last part of a longer one.
    fn join(self, longer: &mut Option<Open>) {
        match longer {
            Some(longer) => longer.extend(self.count, &self.sum),
            None => *longer = Some(self),
        }
    }

    fn block(&self, tier: usize) -> Result<Block> {
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
