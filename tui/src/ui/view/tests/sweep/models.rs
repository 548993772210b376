//! Models for the sweep: any number of arms with their own numbers, values at the limits, and nothing at all.

use std::sync::Arc;

use iosched_result::measured::histogram::DEVICE;
use iosched_result::measured::snapshot::{Merges, Quality};
use iosched_result::stat::{LatencySummary, LiveProcess};

use super::super::data::{self, Numbers};
use super::super::rounds::Rounds;
use crate::ui::sampling::sample::{
    Counters, Flip, Measured, Rotating, Sample, SamplerReport, Side,
};
use crate::ui::sampling::score::Score;
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::model::Model;
use crate::ui::state::update::update;

pub const ARMS: [&str; 8] = [
    "none",
    "mq-deadline",
    "kyber",
    "bfq",
    "mq-deadline,iosched/fifo_batch=3",
    "none,nr_requests=64",
    "bfq,iosched/low_latency=0",
    "an-out-of-tree-scheduler",
];
/// One queue wait per arm, from less than a microsecond to seconds.
const WAITS_NS: [u64; 8] = [
    217_000,
    9_100_000,
    31_700,
    1_130_000,
    47_300_000,
    530,
    3_310_000_000,
    77_700,
];
const BLOCKS: usize = 12;
/// A name need not run from left to right.
const HEBREW: &str = "\u{202e}סדרן-קלט-פלט";

fn long(letter: char) -> String {
    std::iter::repeat_n(letter, 300).collect()
}

/// In the middle of a rotation; the last arm takes part only in the last blocks.
pub fn rotated(arms: usize) -> Model {
    let labels: Vec<String> = ARMS[..arms].iter().map(|&arm| arm.to_owned()).collect();
    let empty = data::empty();
    let mut model = Model::new(vec![data::disk(); 3], empty.palette, 2);
    data::attached(&mut model);
    model.named_arms = ARMS[4..].iter().map(|&arm| arm.to_owned()).collect();
    data::report(
        &mut model,
        SamplerReport::Modified {
            device: 0,
            put_back: true,
        },
    );
    data::report(
        &mut model,
        SamplerReport::Rotating(Some(Rotating {
            device: 0,
            arms: labels.clone(),
            round: arms * BLOCKS,
            rounds: 600,
            block: BLOCKS,
            seconds: 10,
            now: Some(0),
            next: Some(1),
            left_s: 7,
            is_paused: false,
        })),
    );
    for (index, label) in labels.iter().enumerate() {
        data::report(&mut model, SamplerReport::Flipped(flip(index, label)));
        let mut sample = sample(index, label);
        if let Some(measured) = &mut sample.devices[0].measured {
            measured.live.quality.lost = 117;
            measured.live.quality.evicted = 3;
            measured.live.without_queue_wait = 31;
            for (index, process) in measured.processes.iter_mut().enumerate() {
                process.without_queue_wait = 7 * index as u64;
            }
            measured.edges.straddlers = 23;
        }
        data::report(
            &mut model,
            SamplerReport::Sample(Box::new(sample), Vec::new()),
        );
    }
    rounds().report(&mut model);
    model.message = None;
    model.dialog = None;
    model
}

fn sample(index: usize, label: &str) -> Sample {
    let active = label.split(',').next().unwrap_or(label);
    let side = Side::Of(label.to_owned());
    let mut numbers = Numbers(7 + index as u64);
    let mut sample = data::sample(&mut numbers, active, side, WAITS_NS[index], 5, 40 + index);
    if let Some(queue) = &mut sample.devices[0].queue {
        queue.available.push(ARMS[7].to_owned());
    }
    sample
}

pub fn flip(index: usize, label: &str) -> Flip {
    Flip {
        device: 0,
        time: "12:00:00".into(),
        from: "none".into(),
        to: label.into(),
        by_us: index != 2,
        switch_ns: Some(23_400_000 + index as u64 * 5_110_000),
        changes: vec!["nr_requests: 256 -> 64".into()],
    }
}

/// The fifth arm takes part only in the last blocks.
fn rounds() -> Rounds {
    Rounds {
        blocks: BLOCKS,
        reference: 0,
        value: |block, arm, metric| {
            let noise = 1.0 + (block % 5) as f64 / 50.0;
            let value = match arm {
                4 if block + 4 <= BLOCKS => return None,
                5 => WAITS_NS[0] as f64 * (0.9 + (block % 2) as f64 / 5.0), // no difference
                _ => WAITS_NS[arm] as f64 * noise,
            };
            Some(if metric == "jain_device_time" {
                0.9 - arm as f64 / 20.0 * noise
            } else {
                value
            })
        },
        stalled: Vec::new(),
        excluded: Some((3, 1)),
        short: &["read_queue_wait_p99", "write_total_p99"],
    }
}

/// Eight disks; every number is as large as its type allows, and every name extremely long.
pub fn extreme(arms: usize) -> Model {
    let mut model = rotated(arms);
    let all = model.devices.remove(0);
    model.devices = vec![all; 8];
    let rotating = model.rotating.as_mut().expect("a rotation");
    (rotating.round, rotating.block) = (usize::MAX, usize::MAX);
    rotating.left_s = u64::MAX;
    model.named_arms = vec![long('w'), HEBREW.repeat(20)];
    model.notes = vec![long('n'), "a note ".repeat(60)];
    model.demo = Some("Demo ".repeat(60));
    model.table.filter = String::new();
    let device = &mut model.devices[0];
    device.quality = Quality::default();
    (device.quality.evicted, device.ios) = (u64::MAX, u64::MAX);
    device.disk.name = long('d');
    device.disk.model = Some(HEBREW.repeat(20));
    device.disk.path_of = Some(HEBREW.repeat(20));
    device.disk.size_bytes = Some(u64::MAX);
    device.disk.hardware_queues = usize::MAX;
    let seen = &mut device.seen;
    seen.left_out.straddlers = u64::MAX;
    seen.left_out.settling = u64::MAX;
    seen.left_out.disturbed = u64::MAX;
    seen.left_out.without_queue_wait = u64::MAX;
    for flip in &mut seen.flips {
        Arc::make_mut(flip).switch_ns = Some(u64::MAX);
    }
    for (index, arm) in seen.arms.iter_mut().enumerate() {
        let old = std::mem::replace(&mut arm.label, format!("{}{index}", long('a')));
        arm.sums.bytes = [u64::MAX as f64; 2];
        arm.sums.seconds = 1.0;
        arm.sums.stalls = data::stalls_of(index as f64 * 4096.0);
        arm.sums.stages.wait[0].record_n(u64::MAX, 1 << 47);
        arm.sums.stages.wait[0].record_n(1, 1 << 47);
        let score = seen.score.as_mut().expect("a score");
        stretch(score, &old, &arm.label, index);
    }
    for moment in &mut device.history {
        moment.scheduler = long('s');
        moment.shares = vec![(long('m'), 1.0), (HEBREW.repeat(9), 0.5)];
    }
    let mut last = model.last.take().expect("a sample");
    let sampled = &mut last.devices[0];
    sampled.counters = Counters {
        reads_per_s: u64::MAX as f64,
        read_bytes_per_s: u64::MAX as f64,
        read_mean_ns: Some(u64::MAX as f64),
        in_flight: u64::MAX,
        ..sampled.counters
    };
    if let Some(queue) = &mut sampled.queue {
        queue.active = long('k');
        queue.available.extend([long('k'), long('l')]);
        queue
            .settings
            .insert(format!("iosched/{}", long('i')), long('v'));
        queue
            .settings
            .insert("nr_requests".into(), u64::MAX.to_string());
    }
    widen(sampled.measured.as_mut().expect("measured"));
    model.last = Some(last);
    model
}

/// The largest and the smallest changes.
fn stretch(score: &mut Score, old: &str, label: &str, index: usize) {
    for arm in score.arms.iter_mut().filter(|arm| arm.label == old) {
        label.clone_into(&mut arm.label);
        arm.counted = usize::MAX / 2;
        arm.excluded = vec![(long('e'), 99_999), (HEBREW.to_owned(), 1)];
    }
    for waiter in &mut score.waiters {
        waiter.name = long('w');
        waiter.mean_ns.fill(Some(1e300));
        for (name, shares) in &mut waiter.behind {
            *name = long('b');
            shares.fill(Some(1.0));
        }
    }
    let ratio = if index.is_multiple_of(3) {
        1e-300
    } else {
        1e300
    };
    for row in score.rows.iter_mut().chain(&mut score.chosen) {
        if row.reference == old {
            label.clone_into(&mut row.reference);
            row.reference_median = row.reference_median.map(|_| 1.0);
        }
        if row.arm == old {
            label.clone_into(&mut row.arm);
            row.arm_median = Some(if row.metric.unit == "1" { 1.0 } else { 1e300 });
            let comparison = &mut row.comparison;
            comparison.blocks = usize::MAX;
            let is_ratio = comparison.ratio.is_some();
            comparison.estimate = Some(if is_ratio { 1e300 } else { -1.0 });
            comparison.ratio = comparison.ratio.map(|_| ratio);
            if let Some(interval) = &mut comparison.ratio_interval {
                (interval.lower, interval.upper) = (ratio, ratio * 1.01);
            }
        }
    }
}

fn latency() -> LatencySummary {
    LatencySummary {
        count: u64::MAX,
        mean_ns: Some(u64::MAX as f64),
        p50_ns: Some(u64::MAX as f64),
        p99_ns: Some(u64::MAX as f64),
        p50_is_of_few: true,
        p99_is_of_few: true,
        max_ns: Some(u64::MAX as f64),
    }
}

fn widen(measured: &mut Measured) {
    let live = &mut measured.live;
    (live.mean_waiting, live.mean_at_device) = (u64::MAX as f64, 1e6);
    live.stalled_share = 32_768.0;
    live.without_queue_wait = u64::MAX;
    if let Some(now) = &mut live.in_flight {
        (now.queued, now.issued, now.oldest_ns) = (u64::MAX, u64::MAX, Some(u64::MAX));
    }
    for op in &mut live.ops {
        (op.iops, op.bytes_per_s) = (u64::MAX as f64, u64::MAX as f64);
        (op.queue_wait, op.device) = (latency(), latency());
        op.bytes = u64::MAX;
    }
    if let Some(order) = &mut live.order {
        order.issued = u64::MAX;
        order.mean_issue_seek_sectors = Some(u64::MAX as f64 / 512.0);
        order.scheduler_gain = Some(u64::MAX as f64);
        order.mean_read_run = Some(u64::MAX as f64);
        if let Some(burst) = &mut order.burst {
            burst.issued = u64::MAX;
            burst.overtakes_mean = Some(u64::MAX as f64);
            burst.overtakes_p99 = Some(u64::MAX);
            burst.extent_max = Some(u64::MAX);
        }
    }
    for (index, process) in measured.processes.iter_mut().enumerate() {
        let name = if index % 2 == 0 {
            long('c')
        } else {
            HEBREW.repeat(3)
        };
        *process = LiveProcess {
            pid: Some(u32::MAX - index as u32),
            comm: name.clone(),
            cgroup: Some(format!("/{name}/{name}")),
            reads: u64::MAX,
            writes: u64::MAX,
            iops: u64::MAX as f64,
            bytes_per_s: u64::MAX as f64,
            queue_wait: latency(),
            device_time: latency(),
            stalled_share: 4096.0,
            without_queue_wait: u64::MAX / (1 + index as u64),
            ..process.clone()
        };
        process.merges.back = u64::MAX;
        if let Some(fairness) = &mut process.fairness {
            fairness.starvation_max_ns = Some(u64::MAX);
            (fairness.starved_100ms, fairness.starved_1s) = (u64::MAX, u64::MAX);
        }
    }
    for owner in &mut measured.owners {
        owner.q2d[0].record_n(u64::MAX, 1 << 47);
        owner.key.tgid = u32::MAX;
    }
    for owner in measured.why.iter_mut().flat_map(|why| &mut why.owners) {
        (owner.waits, owner.pid) = (1, u32::MAX);
        owner.wait_ns = u64::MAX;
    }
    for (index, dispatch) in measured.dispatches.iter_mut().enumerate() {
        dispatch.sector = u64::MAX;
        if index % 2 == 0 {
            (dispatch.start_ns, dispatch.issue_ns) = (u64::MAX, u64::MAX);
        }
    }
}

/// Models with little or no data.
pub fn poor() -> Vec<(&'static str, Model)> {
    let palette = data::empty().palette;
    let mut waiting = data::empty();
    data::attached(&mut waiting);
    let with = |change: fn(&mut Sample), owners: u64| {
        let mut model = data::empty();
        data::attached(&mut model);
        let side = Side::Of("none".into());
        let mut sample = data::sample(&mut Numbers(1), "none", side, 1000, owners, 0);
        change(&mut sample);
        data::report(
            &mut model,
            SamplerReport::Sample(Box::new(sample), Vec::new()),
        );
        model
    };
    let waits = |owners| {
        let still = |sample: &mut Sample| {
            let measured = sample.devices[0].measured.as_mut().expect("measured");
            for process in &mut measured.processes {
                (process.ios, process.merges) = (0, Merges::default());
            }
        };
        with(still, owners)
    };
    let mut busy = with(|_| {}, 1);
    busy.devices[0].disk.hardware_queues = 4;
    let mut cleared = with(|_| {}, 2);
    update(&mut cleared, Action::Do(KeyCommand::Show(Screen::Compare)));
    update(&mut cleared, Action::Do(KeyCommand::Clear));
    vec![
        ("no disk", Model::new(Vec::new(), palette, 2)),
        ("no sample", data::empty()),
        ("no sample yet", waiting),
        ("no root", data::without_root()),
        ("no I/O", with(|_| {}, 0)),
        ("one process", busy),
        ("one that waits", waits(1)),
        ("all wait", waits(3)),
        (
            "nothing measured",
            with(|sample| sample.devices[0].measured = None, 1),
        ),
        (
            "no disk any more",
            with(|sample| sample.devices[0].queue = None, 1),
        ),
        ("no device in it", with(|sample| sample.devices.clear(), 1)),
        (
            "no histograms",
            with(
                |sample| {
                    let measured = sample.devices[0].measured.as_mut().expect("measured");
                    measured.owners.clear();
                    let empty = || {
                        [DEVICE, DEVICE].map(iosched_result::measured::histogram::Histogram::new)
                    };
                    measured.stages.wait = empty();
                    measured.stages.device = empty();
                    measured.processes[0].cgroup = None;
                },
                3,
            ),
        ),
        ("nothing to compare", cleared),
    ]
}
