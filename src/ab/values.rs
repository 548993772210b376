//! The numbers of one round, by metric. What was not measured is absent. Pure.

use std::collections::BTreeMap;

use super::metric::{ASKED, LONGEST_WAIT, PROGRAM, QUANTILES, SCOPES, STAGES};
use super::stats;
use crate::histogram::Histogram;
use crate::snapshot::{DeviceNumbers, Interval, Op, OwnerNumbers};
use crate::workload::{CgroupRef, DirectionResult, JobResult, Latency, Outcome};

/// What a round yields: the values, and which percentiles are missing or shaky.
#[derive(Debug, Default)]
pub struct Values {
    pub metrics: BTreeMap<String, f64>,
    pub insufficient_tail: Vec<String>,
    pub fragile_percentile: Vec<String>,
}

/// Every metric that the round's numbers support.
///
/// `window` is measured; `whole` is from the start of the workload to its end, as its CPU time is. The throughput of a
/// control group is the probe's, over the window; of a fio job without a group of its own, fio's.
pub fn values(
    window: &Interval,
    whole: Option<&Interval>,
    cgroups: &[CgroupRef],
    outcome: &Outcome,
    is_fixed_work: bool,
) -> Values {
    let device = &window.devices[0];
    let window_s = window.duration_s();
    let mut values = Values::default();
    if is_fixed_work {
        values.put("elapsed".into(), outcome.elapsed_ns as f64 / 1e9);
    } else {
        let (ios, bytes) = Op::DATA
            .iter()
            .map(|op| &device.ops[*op as usize])
            .fold((0, 0), |sum, op| (sum.0 + op.ios, sum.1 + op.bytes));
        values.put("iops".into(), ios as f64 / window_s);
        values.put("throughput".into(), bytes as f64 / window_s);
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
    values.put_program(&outcome.jobs);
    for job in &outcome.jobs {
        values.put_job(job);
    }
    let groups: Vec<Group> = cgroups
        .iter()
        .filter(|cgroup| cgroup.on_bios && window_s > 0.0)
        .map(|cgroup| Group::of(cgroup, window))
        .collect();
    for group in &groups {
        values.put(format!("{}.iops", group.label), group.ios as f64 / window_s);
        values.put(
            format!("{}.throughput", group.label),
            group.bytes as f64 / window_s,
        );
    }
    values.put_sharing(&groups);
    if let Some(whole) = whole.filter(|_| groups.len() == cgroups.len()) {
        let own = cgroups.iter().map(|cgroup| Group::of(cgroup, whole).ios);
        values.put_cpu(outcome, own.sum());
    }
    values
}

/// What a control group of the workload did in an interval.
struct Group<'a> {
    label: &'a str,
    ios: u64,
    bytes: u64,
    bytes_by_process: BTreeMap<(u32, u64), u64>,
    longest_wait_ns: Option<u64>,
}

impl<'a> Group<'a> {
    fn of(cgroup: &'a CgroupRef, interval: &Interval) -> Self {
        let mut group = Group {
            label: &cgroup.label,
            ios: 0,
            bytes: 0,
            bytes_by_process: BTreeMap::new(),
            longest_wait_ns: None,
        };
        let owners = interval.owners.iter();
        let is_of_group = |owner: &&OwnerNumbers| owner.key.cgroup_id == cgroup.id;
        for owner in owners.filter(is_of_group).filter(|owner| owner.ios() > 0) {
            group.ios += owner.ios();
            group.bytes += owner.bytes();
            let process = (owner.key.tgid, owner.key.start_ms);
            *group.bytes_by_process.entry(process).or_default() += owner.bytes();
            let longest = owner.ops.iter().filter_map(|op| op.q2d_max_ns).max();
            group.longest_wait_ns = group.longest_wait_ns.max(longest);
        }
        group
    }
}

impl Values {
    fn put(&mut self, name: String, value: f64) {
        if value.is_finite() {
            self.metrics.insert(name, value);
        }
    }

    fn put_histogram(&mut self, name: &str, histogram: &Histogram) {
        if let Some(mean) = histogram.mean_ns() {
            self.put(format!("{name}_mean"), mean);
        }
        if let Some(sd) = histogram.sd_ns() {
            self.put(format!("{name}_sd"), sd);
        }
        // The standard deviation is mostly its tail.
        if histogram.supports_quantile(0.9) {
            let middle = histogram.quantile_ns(0.9).zip(histogram.quantile_ns(0.1));
            if let Some((high, low)) = middle {
                self.put(format!("{name}_spread"), high - low);
            }
        }
        for (suffix, p, _) in QUANTILES {
            let metric = format!("{name}_{suffix}");
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

    /// How requests were made from bios.
    fn put_requests(&mut self, device: &DeviceNumbers) {
        let merging = device.merging();
        for (name, value) in [
            ("merge_ratio", merging.merge_ratio),
            ("request_size", merging.mean_request_bytes),
        ] {
            if let Some(value) = value {
                self.put(name.into(), value);
            }
        }
    }

    /// Between the control groups of the workload, or between its processes where there is one group.
    fn put_sharing(&mut self, groups: &[Group<'_>]) {
        let shares: Vec<f64> = match groups {
            [one] => one.bytes_by_process.values().map(|b| *b as f64).collect(),
            many => many.iter().map(|group| group.bytes as f64).collect(),
        };
        if let Some(index) = stats::jain(&shares) {
            self.put("jain_bytes".into(), index);
        }
        if let Some(longest) = groups.iter().filter_map(|g| g.longest_wait_ns).max() {
            self.put(LONGEST_WAIT.into(), longest as f64);
        }
    }

    /// Of the workload's processes, from their first instruction to their end, by all I/Os that they did meanwhile.
    fn put_cpu(&mut self, outcome: &Outcome, ios: u64) {
        let cpu_ns = outcome.user_cpu_ns.zip(outcome.system_cpu_ns);
        if let Some((user, system)) = cpu_ns.filter(|_| ios > 0) {
            let per_io = (user + system) as f64 / ios as f64;
            self.put("cpu_per_1000_ios".into(), 1000.0 * per_io);
        }
    }

    /// The latency that fio measured itself, over all jobs together.
    fn put_program(&mut self, jobs: &[JobResult]) {
        let reads = || {
            jobs.iter()
                .filter_map(|job| job.read.as_ref()?.lat.as_ref())
        };
        let writes = || {
            jobs.iter()
                .filter_map(|job| job.write.as_ref()?.lat.as_ref())
        };
        for (scope, pooled) in [
            ("", Latency::pooled(reads().chain(writes()))),
            ("read_", Latency::pooled(reads())),
            ("write_", Latency::pooled(writes())),
        ] {
            let Some(pooled) = pooled else {
                continue;
            };
            let name = format!("{scope}{PROGRAM}");
            self.put(format!("{name}_mean"), pooled.mean_ns);
            self.put_quantiles(&name, &pooled);
        }
    }

    fn put_quantiles(&mut self, name: &str, latency: &Latency) {
        for (suffix, p, _) in QUANTILES {
            let metric = format!("{name}_{suffix}");
            if latency.count as f64 * (1.0 - p) < 99.999 {
                self.insufficient_tail.push(metric);
            } else if let Some(ns) = latency.quantile_ns(p) {
                self.put(metric, ns as f64);
            }
        }
    }

    fn put_job(&mut self, job: &JobResult) {
        let name = &job.name;
        let sum = |value: fn(&DirectionResult) -> f64| job.directions().map(value).sum::<f64>();
        self.put(format!("{name}.iops"), sum(|direction| direction.iops));
        self.put(
            format!("{name}.throughput"),
            sum(|direction| direction.bytes_per_s),
        );
        for (scope, direction) in [("read", &job.read), ("write", &job.write)] {
            let Some(clat) = direction
                .as_ref()
                .and_then(|direction| direction.clat.as_ref())
            else {
                continue;
            };
            self.put(format!("{name}.{scope}_clat_mean"), clat.mean_ns);
            self.put(format!("{name}.{scope}_clat_sd"), clat.sd_ns);
            self.put_quantiles(&format!("{name}.{scope}_clat"), clat);
        }
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
