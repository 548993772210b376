//! A frozen screen goes back and forth through the intervals that are held; a replay is always frozen. Pure.

use std::collections::VecDeque;

use iosched_measure::history::buffer::{Block, Buffer, SPANS};

use super::chosen::Page;
use super::compare::Seen;
use super::load::Load;
use super::model::{DeviceModel, Model};
use super::rows::Places;
use crate::ui::sampling::sample::{DeviceSample, Sample};

/// The state that the screens show while they are frozen.
#[derive(Clone, Debug)]
pub struct Frozen {
    pub devices: Vec<DeviceModel>,
    pub last: Option<Box<Sample>>,
    /// The number of the interval; None if no interval is held.
    pub number: Option<u64>,
    /// How many intervals it is.
    pub span: u64,
    /// Where it was frozen, and the comparison there.
    origin: Option<(u64, Vec<Seen>)>,
}

impl Frozen {
    /// Whether another interval is shown than the one at which the screen was frozen.
    pub fn is_past(&self) -> bool {
        let origin = self.origin.as_ref().map(|(number, _)| *number);
        origin.is_some() && self.number != origin
    }
}

/// A file in place of this machine's disks.
#[derive(Clone, Debug)]
pub struct Replay {
    pub is_playing: bool,
}

/// All intervals by their scheduler, up to any of them: the comparison without the rounds of a rotation.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    now: Vec<Seen>,
    /// The sums before some intervals, so that few have to be added to reach any other.
    marks: VecDeque<(u64, Vec<Seen>)>,
    /// Before which intervals the comparison of a device was cleared.
    clearings: Vec<(u64, usize)>,
}

/// At least so many intervals are between two marks.
const MARK_EVERY: u64 = 64;
/// Moments that count for how busy a disk was lately.
const HEAVY: usize = 200;

impl Fold {
    /// An interval, after the blocks that ended before it or with it. `can_mark`: every interval is a block.
    pub fn add(&mut self, number: u64, sample: &Sample, blocks: &[Block], can_mark: bool) {
        // A longest block can be reached only from where it begins.
        let ends = |number| {
            let mut longest = blocks.iter().filter(|block| block.tier == SPANS.len() - 1);
            can_mark || longest.any(|block| block.last + 1 == number)
        };
        if ends(number) {
            self.mark(number);
        }
        add(&mut self.now, sample);
        if ends(number + 1) {
            self.mark(number + 1);
        }
    }

    fn mark(&mut self, at: u64) {
        let last = self.marks.back().map(|(at, _)| *at);
        if last.is_none_or(|last| at >= last + MARK_EVERY) {
            self.marks.push_back((at, self.now.clone()));
        }
    }

    /// One mark before the first interval that is held is enough.
    pub fn forget_before(&mut self, first: u64) {
        while self.marks.get(1).is_some_and(|(at, _)| *at <= first) {
            self.marks.pop_front();
        }
        self.clearings.retain(|(at, _)| *at >= first);
    }

    /// The comparison of this device was cleared after this interval.
    pub fn clear(&mut self, device: usize, number: Option<u64>) {
        if let Some(seen) = self.now.get_mut(device) {
            *seen = Seen::default();
        }
        self.clearings
            .push((number.map_or(0, |number| number + 1), device));
    }

    /// Up to the end of this block. A clearing within a block takes effect after it.
    fn up_to(&self, block: &Block, kept: &Buffer) -> Vec<Seen> {
        let begins = |at: u64| kept.at_or_after(at).is_some_and(|block| block.first == at);
        let mut marks = self.marks.iter().rev();
        let mark = marks.find(|(at, _)| *at <= block.first && begins(*at));
        let (mut from, mut seen) = match mark {
            Some((at, seen)) => (*at, seen.clone()),
            None => (kept.first(), Vec::new()),
        };
        let blocks = kept.since(from);
        for earlier in blocks.take_while(|earlier| earlier.last <= block.last) {
            for (_, device) in self
                .clearings
                .iter()
                .filter(|(at, _)| from < *at && *at <= earlier.first)
            {
                if let Some(seen) = seen.get_mut(*device) {
                    *seen = Seen::default();
                }
            }
            from = earlier.first;
            if let Ok(frame) = earlier.packed.frame() {
                add(&mut seen, &Sample::of(frame, false));
            }
        }
        seen
    }
}

fn add(seen: &mut Vec<Seen>, sample: &Sample) {
    seen.resize_with(sample.devices.len().max(seen.len()), Seen::default);
    for (seen, device) in seen.iter_mut().zip(&sample.devices) {
        if let Some(measured) = device.measured.as_deref() {
            seen.add(measured, &device.side, sample.seconds, false);
        }
    }
    for flip in &sample.flips {
        if let Some(seen) = seen.get_mut(flip.device) {
            seen.flips.push(flip.clone().into());
        }
    }
}

/// Freezes the screens, or lets them follow again. A replay plays, or stops.
pub fn freeze(model: &mut Model) {
    if let Some(replay) = &mut model.replay {
        replay.is_playing = !replay.is_playing;
        return;
    }
    if model.frozen.take().is_none() {
        freeze_here(model);
    }
}

pub fn freeze_here(model: &mut Model) {
    let number = model.kept.last();
    let seen = || model.devices.iter().map(|device| device.seen.clone());
    model.frozen = Some(Box::new(Frozen {
        devices: model.devices.clone(),
        last: model.last.clone(),
        number,
        span: 1,
        origin: number.map(|number| (number, seen().collect())),
    }));
}

/// Why no interval is held.
pub fn nothing_held(model: &Model) -> &'static str {
    if model.has_history {
        "no interval is held yet"
    } else {
        "no interval is held: the history is off, by --no-history or the configuration"
    }
}

/// Goes this many intervals forth, or back.
pub fn step(model: &mut Model, steps: i64) {
    let number = model.frozen.as_ref().and_then(|frozen| frozen.number);
    let (Some(number), Some(last)) = (number, model.kept.last()) else {
        model.message = Some(nothing_held(model).to_owned());
        return;
    };
    let ends: Vec<u64> = model.kept.since(0).map(|block| block.last).collect();
    let here = ends.partition_point(|end| *end < number);
    let place = here.saturating_add_signed(steps as isize);
    let to = ends.get(place).copied().unwrap_or(last);
    if to == number {
        if let Some(replay) = &mut model.replay {
            replay.is_playing = false;
        }
        let which = if steps < 0 { "first" } else { "last" };
        model.message = Some(format!("this is the {which} interval that is held"));
        return;
    }
    show(model, to);
}

/// The frozen interval again, by process or by control group.
pub fn show_again(model: &mut Model) {
    let number = model.frozen.as_ref().and_then(|frozen| frozen.number);
    if let Some(number) = number {
        show(model, number);
    }
}

fn show(model: &mut Model, number: u64) {
    let block = model.kept.since(0).find(|block| block.last >= number);
    let (Some(block), Some(frozen)) = (block, &model.frozen) else {
        return;
    };
    let number = block.last;
    let frame = match block.packed.frame() {
        Ok(frame) => frame,
        Err(error) => {
            model.message = Some(format!("{error:#}"));
            return;
        }
    };
    let sample = Sample::of(frame, model.table.by_cgroup);
    let seen = match &frozen.origin {
        Some((at, seen)) if *at == number => seen.clone(),
        _ => model.fold.up_to(block, &model.kept),
    };
    let seen = seen
        .into_iter()
        .chain(std::iter::repeat_with(Seen::default));
    let devices = model.devices.iter().enumerate().zip(seen);
    let devices = devices
        .map(|((index, device), seen)| {
            let then = sample.devices.get(index);
            at(device, number, seen, then, sample.seconds)
        })
        .collect();
    model.frozen = Some(Box::new(Frozen {
        devices,
        last: Some(Box::new(sample)),
        number: Some(number),
        span: block.last - block.first + 1,
        origin: frozen.origin.clone(),
    }));
    let rows = model.processes();
    let row = model.chosen_row(&rows);
    let last = rows.len().saturating_sub(1);
    model.table.row = row.unwrap_or_else(|| model.table.row.min(last));
}

/// The device at this interval, in which it may not have been there. An open page shows the interval alone.
fn at(
    device: &DeviceModel,
    number: u64,
    seen: Seen,
    then: Option<&DeviceSample>,
    seconds: f64,
) -> DeviceModel {
    let until = device.history.partition_point(|moment| {
        // Moments without a number are older than all that are held.
        moment.number.is_none_or(|other| other <= number)
    });
    let history: VecDeque<_> = device.history.range(..until).cloned().collect();
    let (quality, ios) = history
        .back()
        .map_or_else(Default::default, |moment| (moment.quality, moment.ios));
    let mut load = Load::default();
    // What was before these has hardly a weight.
    for moment in history.iter().skip(history.len().saturating_sub(HEAVY)) {
        load.add(moment.busy_share, moment.seconds);
    }
    let mut past = DeviceModel {
        disk: device.disk.clone(),
        is_new: device.is_new,
        history,
        seen,
        quality,
        ios,
        modified: device.modified,
        page: device.page.as_ref().map(|page| Page::new(page.id.clone())),
        places: Places::default(),
        load,
    };
    if let Some(measured) = then.and_then(|then| then.measured.as_deref()) {
        past.turn_page(measured, seconds);
    }
    past
}
