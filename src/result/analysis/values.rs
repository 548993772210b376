//! The values of one round, by metric. A metric that was not measured is absent. Pure.

mod parts; // I/O of the parts of a workload

use crate::statistics::beyond;
use std::collections::BTreeMap;

use self::parts::{GroupNumbers, Rates, device_times, shares_of, sum_of};
use super::losses::Losses;
use crate::measured::fairness::jain;
use crate::measured::histogram::{Histogram, OWNER};
use crate::measured::snapshot::{DeviceNumbers, Interval, Op, OwnerNumbers};
use crate::metric::{ASKED, LONGEST_WAIT, PROGRAM, QUANTILES, SCOPES, STAGES, full_name};
use crate::types::outcome::{CgroupRef, DirectionResult, JobResult, Outcome, ProgramLatency};
use crate::types::participant::Participant;

/// The values of a round, and which percentiles are missing or fragile.
#[derive(Debug, Default)]
pub struct Values {
    pub metrics: BTreeMap<String, f64>,
    pub insufficient_tail: Vec<String>,
    pub fragile_percentile: Vec<String>,
    /// Left out because the requests that the probe lost could change them.
    pub doubtful: Vec<String>,
    losses: Losses,
}

/// The statistics of a histogram that every request changes.
const OF_ALL: [&str; 3] = ["mean", "sd", "spread"];

/// Every metric of iosched's own that the round's numbers support.
///
/// `window` is the measured interval; `whole` lasts from the start of the workload to its end and matches its CPU time.
/// The throughput of a control group is the probe's, over the window; that of a fio job without its own group is fio's.
pub fn values(
    window: &Interval,
    whole: Option<&Interval>,
    cgroups: &[CgroupRef],
    participants: &[Participant],
    outcome: &Outcome,
    with_elapsed: bool,
) -> Values {
    let device = &window.devices[0];
    let window_s = window.duration_s();
    let mut values = Values {
        losses: Losses::of(device),
        ..Values::default()
    };
    if with_elapsed {
        values.put("elapsed".into(), outcome.elapsed_ns as f64 / 1e9);
    }
    if window_s > 0.0 {
        for (scope, ops) in SCOPES {
            let (ios, bytes) = sum_of(ops, |op| (device.ops[op].ios, device.ops[op].bytes));
            values.put_sum(format!("{scope}iops"), ios as f64 / window_s, ios);
            values.put_sum(format!("{scope}throughput"), bytes as f64 / window_s, ios);
        }
        let (ios, _) = sum_of(&Op::DATA, |op| (device.ops[op].ios, 0));
        let merges = device.merges.bios() + device.merges.rq;
        values.put_sum("ios".into(), ios as f64, ios);
        values.put_sum("merges".into(), merges as f64, ios);
    }
    for (scope, ops) in SCOPES {
        for (name, stage) in STAGES {
            values.put_histogram(&format!("{scope}{name}"), &device.stage(stage, ops));
        }
        if let Some(asked) = device.asked(ops) {
            for (name, histogram) in ASKED.into_iter().zip([&asked.a2q, &asked.a2d, &asked.a2c]) {
                values.put_histogram(&format!("{scope}{name}"), histogram);
            }
        }
    }
    values.put_requests(device);
    values.put_order(device);
    values.put_program(&outcome.jobs);
    let reported = outcome.too_few_samples.iter();
    values
        .insufficient_tail
        .extend(reported.map(|name| full_name(name)));
    for job in JobResult::by_name(&outcome.jobs) {
        values.put_job(&job);
    }
    let groups: Vec<GroupNumbers> = cgroups
        .iter()
        .filter(|cgroup| cgroup.on_bios && window_s > 0.0)
        .map(|cgroup| GroupNumbers::of(cgroup, window))
        .collect();
    for group in &groups {
        values.put_sum(
            format!("{}.ios", group.label),
            group.ios() as f64,
            group.ios(),
        );
        values.put_rates(group.label, group.rates, window_s);
    }
    for participant in participants {
        values.put_participant(participant, window);
    }
    let ios = device.ios();
    values.put_sharing(&groups, &shares_of(participants, window), ios);
    let times = device_times(cgroups, participants, window);
    if let Some(index) = times.as_deref().and_then(jain) {
        values.put_sum("jain_device_time".into(), index, ios);
    }
    // The CPU time of participants is unknown.
    if let Some(whole) = whole.filter(|_| groups.len() == cgroups.len() && participants.is_empty())
    {
        let own = cgroups
            .iter()
            .map(|cgroup| GroupNumbers::of(cgroup, whole).ios());
        values.put_cpu(outcome, own.sum());
    }
    values
}

impl Values {
    fn put(&mut self, name: String, value: f64) {
        if value.is_finite() {
            self.metrics.insert(name, value);
        }
    }

    /// A value that is a sum over `ios` requests, or follows from one.
    fn put_sum(&mut self, name: String, value: f64, ios: u64) {
        self.put_if(self.losses.leave_sum(ios), name, value);
    }

    fn put_if(&mut self, is_certain: bool, name: String, value: f64) {
        if is_certain {
            self.put(name, value);
        } else {
            self.doubtful.push(name);
        }
    }

    fn put_histogram(&mut self, name: &str, histogram: &Histogram) {
        // One lost request can have taken any time.
        if self.losses.leave_histograms() {
            self.put_whole(name, histogram);
        } else {
            self.doubtful
                .extend(OF_ALL.map(|suffix| format!("{name}_{suffix}")));
        }
        for (suffix, p, _) in QUANTILES {
            let metric = format!("{name}_{suffix}");
            // The lost requests may be what is missing: that must not count for or against the arm.
            if !self.losses.leave_quantile(histogram, p) {
                self.doubtful.push(metric);
                continue;
            }
            if histogram.count() > 0 && !histogram.supports_quantile(p) {
                self.insufficient_tail.push(metric);
                continue;
            }
            if histogram.quantile_is_fragile(p) == Some(true) {
                self.fragile_percentile.push(metric.clone());
            }
            if let Some(ns) = histogram.quantile_ns(p) {
                self.put(metric, ns);
            }
        }
    }

    /// The values that every request changes.
    fn put_whole(&mut self, name: &str, histogram: &Histogram) {
        if let Some(mean) = histogram.mean_ns() {
            self.put(format!("{name}_mean"), mean);
        }
        if let Some(sd) = histogram.sd_ns() {
            self.put(format!("{name}_sd"), sd);
        }
        // The standard deviation depends mostly on the tail.
        if histogram.supports_quantile(0.9) {
            let middle = histogram.quantile_ns(0.9).zip(histogram.quantile_ns(0.1));
            if let Some((high, low)) = middle {
                self.put(format!("{name}_spread"), high - low);
            }
        }
    }

    /// Nothing that follows from this histogram is known.
    fn doubt_histogram(&mut self, name: &str) {
        let quantiles = QUANTILES.iter().map(|(suffix, ..)| *suffix);
        let suffixes = OF_ALL.into_iter().chain(quantiles);
        self.doubtful
            .extend(suffixes.map(|suffix| format!("{name}_{suffix}")));
    }

    /// A part that only discards has no rate of data.
    fn put_rates(&mut self, label: &str, rates: Rates, window_s: f64) {
        let discards = rates.discards.0 > 0;
        for (scope, (ios, bytes), is_there) in [
            ("", rates.data, rates.data.0 > 0 || !discards),
            ("discard_", rates.discards, discards),
        ] {
            if is_there {
                self.put_sum(format!("{label}.{scope}iops"), ios as f64 / window_s, ios);
                self.put_sum(
                    format!("{label}.{scope}throughput"),
                    bytes as f64 / window_s,
                    ios,
                );
            }
        }
    }

    /// I/O of processes that ran before, from their own histograms.
    fn put_participant(&mut self, participant: &Participant, window: &Interval) {
        let window_s = window.duration_s();
        let own = || {
            window
                .owners
                .iter()
                .filter(|owner| participant.owns(&owner.key))
        };
        if window_s <= 0.0 {
            return;
        }
        let mut rates = Rates::default();
        own().for_each(|owner| rates.add(owner));
        let label = &participant.label;
        self.put_rates(label, rates, window_s);
        // If one owner has no histograms, the percentiles of the whole are unknown.
        let are_known = own().all(|owner| owner.ios() == 0 || owner.has_histograms);
        for (scope, directions) in [("", 0..2), ("read_", 0..1), ("write_", 1..2)] {
            if !are_known {
                self.doubt_histogram(&format!("{label}.{scope}queue_wait"));
                self.doubt_histogram(&format!("{label}.{scope}device"));
                continue;
            }
            let sum = |of: fn(&OwnerNumbers) -> &[Histogram; 2]| {
                let mut sum = Histogram::new(OWNER);
                let parts = own().flat_map(|owner| &of(owner)[directions.clone()]);
                // The layouts are equal by construction.
                parts.for_each(|part| _ = sum.merge(part));
                sum
            };
            self.put_histogram(
                &format!("{label}.{scope}queue_wait"),
                &sum(|owner| &owner.q2d),
            );
            self.put_histogram(&format!("{label}.{scope}device"), &sum(|owner| &owner.d2c));
        }
    }

    /// How requests were made from bios.
    fn put_requests(&mut self, device: &DeviceNumbers) {
        let merging = device.merging();
        let ios = device.ios();
        for (name, value) in [
            ("merge_ratio", merging.merge_ratio),
            ("request_size", merging.mean_request_bytes),
        ] {
            if let Some(value) = value {
                self.put_sum(name.into(), value, ios);
            }
        }
    }

    /// Fairness between the participants, if there are several; else between the control groups of the workload; else
    /// between the processes of its only group.
    fn put_sharing(&mut self, groups: &[GroupNumbers<'_>], participants: &[f64], ios: u64) {
        let shares: Vec<f64> = match groups {
            _ if participants.len() > 1 => participants.to_vec(),
            [one] => one.bytes_by_process.values().map(|b| *b as f64).collect(),
            many => many.iter().map(|group| group.bytes as f64).collect(),
        };
        if let Some(index) = jain(&shares) {
            self.put_sum("jain_bytes".into(), index, ios);
        }
        if let Some(longest) = groups.iter().filter_map(|g| g.longest_wait_ns).max() {
            self.put_if(
                self.losses.leave_counts(),
                LONGEST_WAIT.into(),
                longest as f64,
            );
        }
    }

    /// CPU time of the workload's processes, from start to end, divided by all their I/Os in that time.
    fn put_cpu(&mut self, outcome: &Outcome, ios: u64) {
        let cpu_ns = outcome.user_cpu_ns.zip(outcome.system_cpu_ns);
        if let Some((user, system)) = cpu_ns {
            self.put("user_cpu".into(), user as f64);
            self.put("system_cpu".into(), system as f64);
        }
        if let Some((user, system)) = cpu_ns.filter(|_| ios > 0) {
            let per_io = (user + system) as f64 / ios as f64;
            self.put_sum("cpu_per_1000_ios".into(), 1000.0 * per_io, ios);
        }
    }

    /// The dispatch order, if it was measured.
    fn put_order(&mut self, device: &DeviceNumbers) {
        let Some(order) = &device.order else {
            return;
        };
        let ios = device.ios();
        for (name, value) in [
            (
                "seeks",
                order
                    .mean_issue_seek_sectors()
                    .map(|sectors| sectors * 512.0),
            ),
            ("reordered", order.reordered_share()),
        ] {
            if let Some(value) = value {
                self.put_sum(name.into(), value, ios);
            }
        }
    }

    /// Latency measured by fio, over all jobs.
    fn put_program(&mut self, jobs: &[JobResult]) {
        let reads = || {
            jobs.iter()
                .filter_map(|job| job.read.as_ref()?.lat.as_ref())
        };
        let writes = || {
            jobs.iter()
                .filter_map(|job| job.write.as_ref()?.lat.as_ref())
        };
        let discards = || {
            jobs.iter()
                .filter_map(|job| job.trim.as_ref()?.lat.as_ref())
        };
        let all = reads().chain(writes()).chain(discards());
        for (scope, pooled) in [
            ("", ProgramLatency::pooled(all)),
            ("read_", ProgramLatency::pooled(reads())),
            ("write_", ProgramLatency::pooled(writes())),
            ("discard_", ProgramLatency::pooled(discards())),
        ] {
            let Some(pooled) = pooled else {
                continue;
            };
            let name = format!("{scope}{PROGRAM}");
            self.put(format!("{name}_mean"), pooled.mean_ns);
            self.put_quantiles(&name, &pooled);
        }
    }

    fn put_quantiles(&mut self, name: &str, latency: &ProgramLatency) {
        for (suffix, p, _) in QUANTILES {
            let metric = format!("{name}_{suffix}");
            if !beyond::has(latency.count as f64, p, beyond::TO_REPORT) {
                self.insufficient_tail.push(metric);
            } else if let Some(ns) = latency.quantile_ns(p) {
                self.put(metric, ns as f64);
            }
        }
    }

    fn put_job(&mut self, job: &JobResult) {
        let name = &job.name;
        let data: Vec<&DirectionResult> = [&job.read, &job.write].into_iter().flatten().collect();
        let discards: Vec<&DirectionResult> = job.trim.iter().collect();
        for (scope, directions) in [("", data), ("discard_", discards)] {
            if directions.is_empty() {
                continue;
            }
            let iops = directions.iter().map(|it| it.iops).sum();
            let bytes_per_s = directions.iter().map(|it| it.bytes_per_s).sum();
            self.put(format!("{name}.{scope}iops"), iops);
            self.put(format!("{name}.{scope}throughput"), bytes_per_s);
        }
        for (what, latency) in [
            ("read_clat", clat_of(job.read.as_ref())),
            ("write_clat", clat_of(job.write.as_ref())),
            ("trim_clat", clat_of(job.trim.as_ref())),
            ("sync_lat", job.sync_lat.as_ref()),
        ] {
            let Some(latency) = latency else {
                continue;
            };
            let metric = format!("{name}.{what}");
            self.put(format!("{metric}_mean"), latency.mean_ns);
            self.put(format!("{metric}_sd"), latency.sd_ns);
            self.put_quantiles(&metric, latency);
        }
    }
}

fn clat_of(direction: Option<&DirectionResult>) -> Option<&ProgramLatency> {
    direction?.clat.as_ref()
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
