//! Reports of the sampling thread become part of the model. Pure.

use iosched_measure::history::buffer::Block;
use iosched_result::stat::LiveProcess;

use super::compare::{Scope, ShownStage};
use super::heat::HeatColumn;
use super::model::{Access, DeviceModel, Dialog, HISTORY, Model, Moment};
use super::rows::Places;
use crate::ui::sampling::devices;
use crate::ui::sampling::sample::{Disk, Flip, Sample, SamplerReport, Side};

/// Moments of all devices together: their pictures over time take memory.
const MOMENTS: usize = 72_000;
/// Number of shares that a [`Moment`] keeps.
const SHARES: usize = 8;

pub fn take(model: &mut Model, report: SamplerReport) {
    match report {
        SamplerReport::Attached { notes, refused } => {
            model.notes = notes;
            model.access = refused.map_or(Access::Full, Access::Sysfs);
        }
        SamplerReport::Sample(sample, blocks) => keep(model, sample, blocks),
        SamplerReport::Flipped(flip) => note_flip(model, flip),
        SamplerReport::Rotating(rotating) => {
            model.rotating = rotating;
        }
        SamplerReport::Score(score) => {
            let device = model.devices.get_mut(score.device);
            // One that was on its way when the comparison was cleared is ignored.
            if let Some(device) = device.filter(|device| device.seen.score.is_some()) {
                device.seen.take(*score);
            }
        }
        SamplerReport::Added { place, disk } => add(model, place, disk),
        SamplerReport::Modified { device, put_back } => {
            if let Some(device) = model.devices.get_mut(device) {
                device.modified = Some(put_back);
            }
        }
        SamplerReport::Said(text) => model.message = Some(text),
    }
}

/// The past of a disk of the same name is not this one's.
fn add(model: &mut Model, place: usize, disk: Disk) {
    // A disk of its name was there before; it may be another one.
    let is_back = place < model.devices.len();
    let what = if is_back {
        "is there again"
    } else {
        "was plugged in"
    };
    model.message = Some(format!("{} {what}", disk.name));
    let device = DeviceModel {
        disk,
        is_new: true,
        ..DeviceModel::default()
    };
    if let Some(frozen) = &mut model.frozen
        && frozen.devices.len() == place
    {
        frozen.devices.push(device.clone());
    }
    if place == model.selected && place < model.devices.len() {
        if !matches!(model.dialog, Some(Dialog::Quit)) {
            model.dialog = None;
        }
        model.close_page();
    }
    devices::put(&mut model.devices, place, device);
    model.fold.clear(place, model.kept.last());
}

fn note_flip(model: &mut Model, flip: Flip) {
    let is_quiet = model.rotating.is_some() && flip.by_us;
    let Some(device) = model.devices.get_mut(flip.device) else {
        return;
    };
    device.seen.flips.push(flip.clone().into());
    if !flip.by_us {
        model.message = Some(format!(
            "{}: another program switched {} to {}",
            device.disk.name, flip.from, flip.to
        ));
    } else if !is_quiet {
        model.message = None;
        // A question that is open waits for its answer.
        if !matches!(model.dialog, Some(Dialog::Quit)) {
            model.dialog = Some(Dialog::Flipped(flip));
        }
    }
}

fn keep(model: &mut Model, sample: Box<Sample>, blocks: Vec<Block>) {
    // The interval itself is the last of its blocks.
    let number = blocks.last().map(|block| block.last);
    let rotating = model
        .rotating
        .as_ref()
        .filter(|rotating| !rotating.is_paused);
    let rotating = rotating.map(|rotating| rotating.device);
    let most = (MOMENTS / model.devices.len().max(1)).clamp(600, HISTORY);
    let devices = model.devices.iter_mut().zip(&sample.devices);
    for (index, (device, now)) in devices.enumerate() {
        let scheduler = now.queue.as_ref().map_or("gone", |queue| &queue.active);
        let is_settling = now.side == Side::Settling;
        let is_flip = device.history.back().is_some_and(|before| {
            before.scheduler != scheduler || (is_settling && !before.is_settling)
        }) || now.side == Side::Disturbed;
        device.load.add(now.counters.busy_share, sample.seconds);
        let measured = now.measured.as_deref();
        if let Some(measured) = measured {
            let is_rotating = rotating == Some(index);
            device
                .seen
                .add(measured, &now.side, sample.seconds, is_rotating);
            device.turn_page(measured, sample.seconds);
            if index == model.selected {
                let of = (model.table.sort, model.table.by_cgroup);
                let before = model.last.as_ref().and_then(|last| last.devices.get(index));
                let before = before.and_then(|before| before.measured.as_deref());
                device.places.add(of, before, measured, sample.seconds);
            }
            let ios = measured
                .stages
                .histogram(ShownStage::Device, Scope::All)
                .count();
            device.quality += measured.live.quality;
            device.ios = device.ios.saturating_add(ios);
        }
        if index != model.selected || measured.is_none() {
            device.places = Places::default();
        }
        let fairness = measured.and_then(|measured| measured.live.fairness.as_ref());
        let processes = measured.map_or(&[][..], |measured| &measured.processes);
        device.history.push_back(Moment {
            number,
            time: sample.time.clone(),
            scheduler: scheduler.to_owned(),
            is_flip,
            is_settling,
            column: measured.map(|measured| HeatColumn::of(&measured.stages)),
            busy_share: now.counters.busy_share,
            seconds: sample.seconds,
            jain_device_time: fairness.and_then(|fairness| fairness.jain_device_time),
            quality: device.quality,
            ios: device.ios,
            shares: largest_shares(processes),
        });
        while device.history.len() > most {
            device.history.pop_front();
        }
    }
    if !model.is_selected {
        model.is_selected = true;
        model.selected = busiest(&sample);
        model.disk_row = model.selected;
    }
    if let Some(number) = number {
        let can_mark = model.replay.is_some();
        model.fold.add(number, &sample, &blocks, can_mark);
    }
    for block in blocks {
        model.kept.push(block);
        model.fold.forget_before(model.kept.first());
    }
    model.last = Some(sample);
    let rows = model.processes();
    let last = rows.len().saturating_sub(1);
    model.table.row = model
        .chosen_row(&rows)
        .unwrap_or_else(|| model.table.row.min(last));
}

/// The largest shares of the device's time, with the row's name. Only as many as a picture shows, because every
/// sample keeps them.
fn largest_shares(processes: &[LiveProcess]) -> Vec<(String, f64)> {
    let share = |process: &LiveProcess| process.fairness.as_ref()?.device_time_share;
    let mut shares: Vec<(f64, &LiveProcess)> = processes
        .iter()
        .filter_map(|process| Some((share(process)?, process)))
        .collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let largest = shares.into_iter().take(SHARES);
    largest
        .map(|(share, process)| (name_of(process), share))
        .collect()
}

/// The busiest device; the first one if there is no I/O.
fn busiest(sample: &Sample) -> usize {
    let rate = |index: usize| {
        let counters = &sample.devices[index].counters;
        counters.reads_per_s + counters.writes_per_s
    };
    let indices = 0..sample.devices.len();
    indices.fold(
        0,
        |best, next| if rate(next) > rate(best) { next } else { best },
    )
}

/// The name of a row in the pictures over time.
pub fn name_of(process: &LiveProcess) -> String {
    let group = process
        .cgroup
        .as_deref()
        .map(last_component)
        .filter(|group| !group.is_empty() && *group != "/");
    match (process.pid, group) {
        (Some(pid), Some(group)) => format!("{group}: {} {pid}", process.comm),
        (Some(pid), None) => format!("{} {pid}", process.comm),
        (None, Some(group)) => format!("{group}: {}", process.comm),
        (None, None) => process.comm.clone(),
    }
}

pub fn last_component(path: &str) -> &str {
    match path.rsplit('/').next() {
        None | Some("") => path,
        Some(last) => last,
    }
}
