//! Every number of a model in all forms that a screen may show, each with its unit.

use std::collections::HashSet;

use iosched_result::measured::histogram::Histogram;
use iosched_result::report::units;
use iosched_result::statistics::verdict::Reason;
use iosched_result::why::WhyOwner;

use crate::ui::sampling::parts::PartSums;
use crate::ui::sampling::sample::{Counters, DeviceSample, Measured};
use crate::ui::sampling::score::Score;
use crate::ui::state::axis::Axis;
use crate::ui::state::compare::{Scope, ShownStage};
use crate::ui::state::model::{DeviceModel, Dialog, Model};
use crate::ui::view::heatmap;

/// The percentiles that are shown.
const QUANTILES: [f64; 5] = [0.5, 0.95, 0.99, 0.999, 1.0];
const STAGES: [(ShownStage, Scope); 9] = [
    (ShownStage::Wait, Scope::All),
    (ShownStage::Wait, Scope::Reads),
    (ShownStage::Wait, Scope::Writes),
    (ShownStage::Device, Scope::All),
    (ShownStage::Device, Scope::Reads),
    (ShownStage::Device, Scope::Writes),
    (ShownStage::Total, Scope::All),
    (ShownStage::Total, Scope::Reads),
    (ShownStage::Total, Scope::Writes),
];

pub fn of(model: &Model) -> HashSet<(String, String)> {
    let mut numbers = Numbers(HashSet::new(), model.axis);
    numbers.of(model);
    numbers.0
}

struct Numbers(HashSet<(String, String)>, Option<Axis>);

impl Numbers {
    fn text(&mut self, text: &str) {
        let mut words = text.split(' ');
        let number = words.next().unwrap_or_default().to_owned();
        self.0
            .insert((number, words.next().unwrap_or_default().to_owned()));
    }

    /// In all forms that a screen may show.
    fn value(&mut self, value: f64) {
        for text in [
            units::time(Some(value)),
            units::throughput(value),
            units::count(value),
            units::count(value.round()),
            units::share(Some(value)),
            units::share(Some(value.min(1.0))),
            format!("{value:.0}"),
            format!("{value:.1}"),
            format!("{value:.2}"),
            format!("x{value:.2}"),
            format!("x{}", units::count(value)),
        ] {
            self.text(&text);
        }
    }

    fn whole(&mut self, n: u64) {
        self.value(n as f64);
        self.text(&n.to_string());
    }

    /// Disk sizes, in powers of ten.
    fn bytes(&mut self, bytes: f64) {
        self.text(&units::throughput(bytes).replace("/s", ""));
    }

    /// Request sizes, in powers of two.
    fn size(&mut self, bytes: f64) {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].into_iter();
        for (unit, power) in units.zip(1..) {
            self.text(&format!("{:.1} {unit}", bytes / 1024f64.powi(power)));
        }
    }

    fn json(&mut self, json: &serde_json::Value) {
        match json {
            serde_json::Value::Number(number) => {
                self.value(number.as_f64().unwrap_or(0.0));
                self.text(&number.to_string());
            }
            serde_json::Value::Array(all) => all.iter().for_each(|one| self.json(one)),
            serde_json::Value::Object(all) => all.values().for_each(|one| self.json(one)),
            _ => {}
        }
    }

    fn histogram(&mut self, histogram: &Histogram) {
        self.whole(histogram.count());
        for p in QUANTILES {
            self.value(histogram.quantile_ns(p).unwrap_or(0.0));
        }
        self.value(histogram.end_ns().unwrap_or(0) as f64);
        if let Some(axis) = self.1 {
            self.value(axis.beyond(histogram).iter().sum());
        }
    }

    /// The share of the I/Os of the last columns of the heatmap that a chosen axis leaves out, for any number of columns.
    fn beyond(&mut self, model: &Model, axis: Axis) {
        let history = &model.device().history;
        for first in 0..history.len() {
            let cells: Vec<Vec<u32>> = history
                .range(first..)
                .map(|moment| heatmap::cells(model, moment))
                .collect();
            self.value(heatmap::beyond(&cells, axis).unwrap_or(0.0));
        }
    }

    fn of(&mut self, model: &Model) {
        for n in 0..=12 {
            self.value(f64::from(n));
        }
        self.text(&format!("{} s", model.interval_s()));
        if let Some(axis) = model.axis.filter(|_| !model.devices.is_empty()) {
            self.beyond(model, axis);
        }
        if let Some(rotating) = &model.rotating {
            self.text(&units::duration(rotating.left_s as f64));
            // Until the next verdict.
            for blocks in 0..=100 {
                self.text(&units::duration(f64::from(blocks) * rotating.block_s()));
            }
            self.whole(rotating.block as u64);
        }
        match &model.dialog {
            Some(Dialog::Flipped(flip)) => self.value(flip.switch_ns.unwrap_or(0) as f64),
            Some(Dialog::Rotate { arms, seconds, .. }) => {
                let block = arms.len() as u64 * (seconds + 1);
                self.text(&format!("{seconds} s"));
                self.text(&format!("{block} s"));
            }
            _ => {}
        }
        if let Some(device) = model.devices.get(model.selected) {
            self.of_device(model, device);
        }
        for device in model.last.iter().flat_map(|last| &last.devices) {
            self.of_sample(device);
        }
        self.of_disks(model);
    }

    /// The totals of all disks, and the length of the pictures beside them.
    fn of_disks(&mut self, model: &Model) {
        let known = model.last.iter().flat_map(|last| &last.devices);
        let there = known.filter(|device| device.queue.is_some());
        let newcomers = model.last.iter().flat_map(|last| &last.newcomers);
        let all: Vec<_> = (there.map(|it| &it.counters))
            .chain(newcomers.map(|it| &it.counters))
            .collect();
        let sum = |of: fn(&Counters) -> f64| all.iter().map(|it| of(it)).sum::<f64>();
        self.value(sum(|c| c.reads_per_s + c.writes_per_s));
        self.value(sum(|c| c.read_bytes_per_s));
        self.value(sum(|c| c.write_bytes_per_s));
        self.whole(all.len() as u64);
        for device in model.shown_devices() {
            let lately = device.history.iter().rev().take(16);
            let seconds: f64 = lately.map(|moment| moment.seconds).sum();
            self.text(&format!("{seconds:.0} s"));
        }
    }

    fn of_sample(&mut self, device: &DeviceSample) {
        let c = &device.counters;
        let means = c.read_mean_ns.into_iter().chain(c.write_mean_ns);
        let rates = [
            c.reads_per_s,
            c.writes_per_s,
            c.read_bytes_per_s,
            c.write_bytes_per_s,
        ];
        let iops = c.reads_per_s + c.writes_per_s;
        let mean_s = |mean: Option<f64>| mean.unwrap_or(0.0) / 1e9;
        let depth =
            c.reads_per_s * mean_s(c.read_mean_ns) + c.writes_per_s * mean_s(c.write_mean_ns);
        for value in means.chain(rates).chain([c.busy_share, iops, depth]) {
            self.value(value);
        }
        self.whole(c.in_flight);
        if let Some(queue) = &device.queue {
            self.whole(queue.hardware_depth.map_or(0, |it| it.depth.into()));
            self.whole(queue.settings.len() as u64);
            for value in queue.settings.values() {
                self.text(value);
            }
        }
        if let Some(measured) = &device.measured {
            self.of_measured(measured);
        }
    }

    fn of_device(&mut self, model: &Model, device: &DeviceModel) {
        for process in device.page.iter().flat_map(|page| &page.process) {
            self.json(&serde_json::to_value(process).expect("JSON"));
        }
        self.bytes(device.disk.size_bytes.unwrap_or(0) as f64);
        self.whole(device.disk.hardware_queues as u64);
        let lost = device.quality.lost_events();
        self.whole(lost);
        self.value(lost as f64 / (lost as f64 + device.ios as f64));
        device
            .quality
            .losses()
            .iter()
            .for_each(|(count, _)| self.whole(*count));
        let seen = &device.seen;
        let out = &seen.left_out;
        for n in [
            out.straddlers,
            out.settling,
            out.disturbed,
            out.without_queue_wait,
        ] {
            self.whole(n);
        }
        for ns in seen.flips.iter().filter_map(|flip| flip.switch_ns) {
            self.value(ns as f64);
        }
        for arm in &seen.arms {
            let sums = &arm.sums;
            let [read, written] = sums.bytes;
            for bytes in [read, written, read + written] {
                self.value(bytes / sums.seconds);
            }
            let stalled = sums.stalled_share(model.compare.scope.whose());
            self.value(stalled.unwrap_or(0.0));
            for (stage, scope) in STAGES {
                let histogram = sums.stages.histogram(stage, scope);
                self.value(histogram.count() as f64 / sums.seconds);
                self.histogram(&histogram);
            }
        }
        if let Some(score) = &seen.score {
            self.of_score(score);
        }
    }

    fn of_score(&mut self, score: &Score) {
        for arm in &score.arms {
            self.whole(arm.counted as u64);
            self.whole(arm.all() as u64);
            arm.excluded
                .iter()
                .for_each(|(_, count)| self.whole(*count as u64));
        }
        self.whole(score.arms.iter().map(|arm| arm.with_others as u64).sum());
        for part in &score.parts {
            for (sums, arm) in part.by_arm.iter().zip(&score.arms) {
                self.of_part(sums.as_ref(), arm.sums.seconds);
            }
        }
        for waiter in &score.waiters {
            let means = waiter.mean_ns.iter().flatten();
            means.for_each(|ns| self.value(*ns));
            let shares = waiter.behind.iter().flat_map(|(_, shares)| shares);
            shares.flatten().for_each(|share| self.value(*share));
        }
        for count in score.told.iter().flatten() {
            self.whole(*count as u64);
        }
        self.whole(score.rows.len() as u64);
        self.whole(score.chosen.len() as u64);
        (0..score.rows.len()).for_each(|n| self.whole(n as u64));
        for row in score.rows.iter().chain(&score.chosen) {
            let comparison = &row.comparison;
            for value in [row.arm_median, row.reference_median].into_iter().flatten() {
                self.text(&units::value(Some(value), &row.metric.unit));
            }
            self.whole(comparison.blocks as u64);
            self.whole(comparison.question.blocks_needed() as u64);
            for reason in &comparison.reasons {
                if let Reason::NeedsRounds {
                    at_least,
                    projected,
                } = reason
                {
                    self.whole(*at_least as u64);
                    self.whole(projected.unwrap_or(0) as u64);
                }
            }
            let ends = comparison.ratio_interval.map(|i| [i.lower, i.upper]);
            for ratio in comparison
                .ratio
                .into_iter()
                .chain(ends.into_iter().flatten())
            {
                self.ratio(ratio);
            }
            let ends = comparison.interval.map(|i| [i.lower, i.upper]);
            for d in comparison
                .estimate
                .into_iter()
                .chain(ends.into_iter().flatten())
            {
                self.text(&format!("{d:+.3}"));
                self.text(&format!("{:.3}", d.abs()));
            }
        }
    }

    fn of_part(&mut self, sums: Option<&PartSums>, seconds: f64) {
        let Some(sums) = sums else { return };
        for counts in [sums.ios, sums.bytes] {
            for count in [counts[0], counts[1], counts[0] + counts[1]] {
                self.value(count as f64 / seconds);
            }
        }
        for histogram in sums.wait.iter().chain(&sums.device) {
            self.histogram(histogram);
        }
    }

    /// As a factor and as a percentage.
    fn ratio(&mut self, x: f64) {
        for factor in [x, 1.0 / x] {
            for text in [
                format!("{factor:.1}x"),
                format!("{factor:.0}x"),
                format!("{factor:.1e}x"),
            ] {
                self.text(&text);
            }
        }
        for decimals in 0..2 {
            let percent = (x - 1.0).abs() * 100.0;
            self.text(&format!("{percent:.decimals$} %"));
        }
    }

    fn of_measured(&mut self, measured: &Measured) {
        let live = &measured.live;
        self.json(&serde_json::to_value(live).expect("JSON"));
        for process in &measured.processes {
            self.json(&serde_json::to_value(process).expect("JSON"));
            self.whole(process.merges.bios());
        }
        let processes = measured.processes.iter();
        let unknown = processes.map(|process| process.without_queue_wait);
        self.whole(unknown.fold(0, u64::saturating_add));
        self.value(live.mean_waiting / (live.mean_waiting + live.mean_at_device));
        for op in &live.ops {
            self.size(op.bytes as f64 / op.ios as f64);
        }
        for (stage, scope) in STAGES {
            self.histogram(&measured.stages.histogram(stage, scope));
        }
        for owner in &measured.owners {
            for histogram in owner.q2d.iter().chain(&owner.d2c) {
                self.histogram(histogram);
            }
            let longest = owner
                .ops
                .iter()
                .flat_map(|op| [op.q2d_max_ns, op.d2c_max_ns]);
            longest.flatten().for_each(|ns| self.value(ns as f64));
        }
        if let Some(order) = &live.order {
            let late = order.late.quantile_range(0.99).map(|(_, high)| high);
            self.whole(late.unwrap_or(0));
            let seeks = [
                order.mean_insert_seek_sectors,
                order.mean_issue_seek_sectors,
            ];
            for sectors in seeks.into_iter().flatten() {
                self.bytes(sectors * 512.0);
            }
        }
        if let Some(fairness) = &live.fairness {
            self.text(&format!("1/{}", fairness.flows.max(1)));
        }
        self.whole(measured.why.as_ref().map_or(0, |why| why.missing));
        let waits = measured.processes.iter().flat_map(|process| &process.waits);
        for wait in waits {
            self.value(wait.share);
        }
        for process in measured
            .processes
            .iter()
            .filter(|process| process.pid.is_some())
        {
            let own = || {
                let owners = measured.why.iter().flat_map(|why| &why.owners);
                owners.filter(|owner| Some(owner.pid) == process.pid)
            };
            let sum = |of: fn(&WhyOwner) -> u64| own().map(of).fold(0, u64::saturating_add) as f64;
            let wait_ns = sum(|owner| owner.wait_ns);
            self.value(sum(|owner| owner.device_idle_ns) / wait_ns);
            let mut sums = std::collections::HashMap::<_, u64>::new();
            for of in own().flat_map(|owner| &owner.behind) {
                let sum = sums.entry((of.pid, of.label(), of.does)).or_default();
                *sum = sum.saturating_add(of.ns);
            }
            for ns in sums.values() {
                self.value(*ns as f64 / wait_ns);
            }
        }
        for owner in measured.why.iter().flat_map(|why| &why.owners) {
            self.value(owner.wait_ns as f64 / owner.waits.max(1) as f64);
            let parts = owner.behind.iter().map(|of| of.ns);
            for ns in parts.chain([owner.device_idle_ns]) {
                self.value(ns as f64 / owner.wait_ns.max(1) as f64);
            }
        }
        let sectors = measured.dispatches.iter().map(|dispatch| dispatch.sector);
        self.bytes(sectors.max().unwrap_or(0) as f64 * 512.0);
        let issues = || measured.dispatches.iter().map(|dispatch| dispatch.issue_ns);
        let span = issues().max().unwrap_or(0) - issues().min().unwrap_or(0);
        self.value(span.clamp(1, 200_000_000) as f64);
    }
}
