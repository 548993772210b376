//! Each number of the probe that blktrace can have an opinion on, of the device and of each owner.

use std::collections::BTreeMap;

use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{
    Merges, Op, OwnerKind, OwnerNumbers, OwnerOp, Quality, Stage,
};
use iosched_vmtest::Seen;

use crate::check::{Check, DEVICE_CELL, OWNER_CELL, Opinions, line};
use crate::load::Processes;
use crate::rebuild::{Merge, Rebuilt, Request};
use crate::stages::{Times, flush_ns, has_postflush, op_of, preflush_ns};

/// Whom I/O is charged to, as far as blktrace can tell: the kernel's workers are one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Process(u32),
    Workers,
}

/// Everything that both know; what differs is in the result.
pub fn compare(rebuilt: &Rebuilt, processes: &Processes, seen: &Seen) -> Check {
    let mut check = Check::default();
    for op in Op::ALL {
        match op {
            Op::Flush => flushes(&mut check, rebuilt, seen),
            _ => operation(&mut check, op, &of_op(&rebuilt.requests, op), seen),
        }
    }
    let theirs = merges(rebuilt.merges.iter().map(|(_, merge)| *merge));
    check.equal("merges", &theirs, &seen.device().merges);
    let requeues = seen.device().edges.requeues;
    check.equal("requeues", &rebuilt.requeues, &requeues);
    owners(&mut check, rebuilt, processes, seen);
    let quality = &seen.device().quality;
    check.equal("what was missed", &Quality::default(), quality);
    check
}

/// Requests that the probe has counted; empty flushes are some, the commands that they become are not.
pub fn requests(seen: &Seen) -> u64 {
    let counted = Op::ALL.into_iter().filter(|op| *op != Op::Flush);
    let counted: u64 = counted.map(|op| seen.op(op).ios).sum();
    counted + seen.device().flushes.asked
}

fn of_op<'a>(requests: impl IntoIterator<Item = &'a Request>, op: Op) -> Vec<&'a Request> {
    let requests = requests.into_iter();
    requests.filter(|request| op_of(request) == op).collect()
}

fn bytes_of(requests: &[&Request]) -> u64 {
    requests.iter().map(|request| request.bytes).sum()
}

fn bios_of(requests: &[&Request]) -> u64 {
    requests.iter().map(|request| request.bios).sum()
}

fn flush_sum_ns(requests: &[&Request]) -> u64 {
    requests
        .iter()
        .filter_map(|request| flush_ns(request))
        .sum()
}

fn merges(of: impl Iterator<Item = Merge>) -> Merges {
    let mut merges = Merges::default();
    for merge in of {
        match merge {
            Merge::Back => merges.back += 1,
            Merge::Front => merges.front += 1,
            Merge::Request => merges.rq += 1,
        }
    }
    merges
}

/// One operation of the device, but for flushes.
fn operation(check: &mut Check, op: Op, requests: &[&Request], seen: &Seen) {
    let (name, ours) = (op.name(), seen.op(op));
    let of = |what: &str| format!("{name} {what}");
    check.equal(&of("requests"), &(requests.len() as u64), &ours.ios);
    check.equal(&of("bytes"), &bytes_of(requests), &ours.bytes);
    if !Op::DATA.contains(&op) {
        return;
    }
    let sums = [
        (Stage::Q2d, ours.q2d_sum_ns),
        (Stage::D2c, ours.d2c_sum_ns),
        (Stage::Q2c, ours.q2c_sum_ns),
    ];
    for (stage, sum) in sums {
        let times = Times::of(requests, stage);
        check.sum(&of(stage.name()), stage, times.count(), times.sum(), sum);
    }
    let waits = Times::of(requests, Stage::Q2d).count();
    check.equal(&of("bios"), &bios_of(requests), &ours.bios);
    check.equal(&of("queue waits"), &(waits as u64), &ours.waits);
    for stage in Stage::ALL {
        let times = Times::of(requests, stage);
        device_stage(check, name, stage, &times, ours.stage(stage));
    }
}

fn device_stage(check: &mut Check, name: &str, stage: Stage, theirs: &Times, ours: &Histogram) {
    let cell = DEVICE_CELL;
    let opinions = Opinions {
        stage,
        theirs,
        ours,
        cell,
    };
    check.stage(name, &opinions);
    if !theirs.is_empty() {
        println!("  {name} {}", line(&opinions));
    }
}

fn flushes(check: &mut Check, rebuilt: &Rebuilt, seen: &Seen) {
    let (flushes, ours) = (&seen.device().flushes, seen.op(Op::Flush));
    let empty = of_op(&rebuilt.requests, Op::Flush);
    let waits = Times::from(rebuilt.requests.iter().filter_map(preflush_ns));
    let commands = rebuilt.commands.iter();
    let commands = commands.filter_map(|command| Some(command.end_ns? - command.issued_ns));
    let totals = empty.iter().filter_map(|request| flush_ns(request));
    check.equal("flushes asked for", &(empty.len() as u64), &flushes.asked);
    check.equal(
        "flush commands",
        &(rebuilt.commands.len() as u64),
        &ours.ios,
    );
    check.equal(
        "flushes before data",
        &(waits.count() as u64),
        &flushes.before_data,
    );
    let behind = rebuilt.requests.iter();
    let behind = behind.filter(|request| has_postflush(request, &rebuilt.commands));
    check.equal(
        "flushes after data",
        &(behind.count() as u64),
        &flushes.after_data,
    );
    let (what, sum) = ("flushes before data", flushes.before_data_ns);
    check.sum(what, Stage::G2d, waits.count(), waits.sum(), sum);
    for (stage, times) in [
        (Stage::Q2d, waits),
        (Stage::D2c, Times::from(commands)),
        (Stage::Q2c, Times::from(totals)),
    ] {
        device_stage(check, "flush", stage, &times, ours.stage(stage));
    }
}

fn owners(check: &mut Check, rebuilt: &Rebuilt, processes: &Processes, seen: &Seen) {
    let who = |tid: u32, command: &str| {
        if command.starts_with("kworker") {
            return Who::Workers;
        }
        Who::Process(*processes.get(&tid).unwrap_or(&tid))
    };
    let mut theirs: BTreeMap<Who, Vec<&Request>> = BTreeMap::new();
    for request in &rebuilt.requests {
        let who = who(request.tid, &request.command);
        theirs.entry(who).or_default().push(request);
    }
    let mut ours: BTreeMap<Who, Vec<&OwnerNumbers>> = BTreeMap::new();
    for owner in &seen.0.owners {
        let who = match owner.key.kind {
            OwnerKind::Workqueue => Who::Workers,
            _ => Who::Process(owner.key.tgid),
        };
        ours.entry(who).or_default().push(owner);
    }
    let list = |names: Vec<&Who>| format!("{names:?}");
    let (their_names, our_names) = (theirs.keys().collect(), ours.keys().collect());
    check.equal("owners", &list(their_names), &list(our_names));
    for (who_it_is, requests) in theirs {
        let Some(rows) = ours.get(&who_it_is) else {
            continue; // which is a failure already
        };
        let name = format!("{who_it_is:?} {}", requests[0].command);
        let of_it = rebuilt.merges.iter();
        let of_it = of_it.filter(|(by, _)| who(by.tid, &by.command) == who_it_is);
        let our_merges = rows.iter().fold(Merges::default(), |sum, row| Merges {
            back: sum.back + row.merges.back,
            front: sum.front + row.merges.front,
            rq: sum.rq + row.merges.rq,
        });
        let their_merges = merges(of_it.map(|(_, merge)| *merge));
        check.equal(&format!("{name} merges"), &their_merges, &our_merges);
        for op in Op::ALL {
            let of_it = of_op(requests.iter().copied(), op);
            owner_operation(check, &format!("{name} {}", op.name()), op, &of_it, rows);
        }
        for (direction, ops) in [&[Op::Read][..], &Op::WRITES].into_iter().enumerate() {
            let of_it = requests.iter().copied();
            let of_it: Vec<&Request> = of_it
                .filter(|request| ops.contains(&op_of(request)))
                .collect();
            let name = format!("{name} {}", ["reads", "writes"][direction]);
            for stage in Stage::ALL {
                let opinions = Opinions {
                    stage,
                    theirs: &Times::of(&of_it, stage),
                    ours: &together(rows, direction, stage),
                    cell: OWNER_CELL,
                };
                check.stage(&name, &opinions);
            }
        }
    }
}

/// One operation of an owner, which has several rows where blktrace cannot tell them apart.
fn owner_operation(
    check: &mut Check,
    name: &str,
    op: Op,
    requests: &[&Request],
    rows: &[&OwnerNumbers],
) {
    let sum = |number: fn(&OwnerOp) -> u64| rows.iter().map(|row| number(row.op(op))).sum();
    let of = |what: &str| format!("{name} {what}");
    check.equal(&of("requests"), &(requests.len() as u64), &sum(|op| op.ios));
    check.equal(&of("bytes"), &bytes_of(requests), &sum(|op| op.bytes));
    let (count, ns) = (requests.len(), flush_sum_ns(requests));
    check.sum(
        &of("flush time"),
        Stage::G2d,
        count,
        ns,
        sum(|op| op.flush_sum_ns),
    );
    if !Op::DATA.contains(&op) {
        return;
    }
    let waits = Times::of(requests, Stage::Q2d);
    let services = Times::of(requests, Stage::D2c);
    let (wait_sum, service_sum) = (sum(|op| op.q2d_sum_ns), sum(|op| op.d2c_sum_ns));
    check.equal(&of("bios"), &bios_of(requests), &sum(|op| op.bios));
    check.equal(
        &of("queue waits"),
        &(waits.count() as u64),
        &sum(|op| op.waits),
    );
    check.sum(&of("q2d"), Stage::Q2d, waits.count(), waits.sum(), wait_sum);
    check.sum(&of("d2c"), Stage::D2c, count, services.sum(), service_sum);
}

/// The histogram of one owner in all of its rows.
fn together(rows: &[&OwnerNumbers], direction: usize, stage: Stage) -> Histogram {
    let histogram = |row: &OwnerNumbers| -> Histogram {
        let stages = row.stages.as_ref().expect("they were asked for");
        let pair = match stage {
            Stage::Q2g => &stages.q2g,
            Stage::G2d => &stages.g2d,
            Stage::Q2d => &row.q2d,
            Stage::I2d => &stages.i2d,
            Stage::D2c => &row.d2c,
            Stage::Q2c => &stages.q2c,
        };
        pair[direction].clone()
    };
    let mut sum = histogram(rows[0]);
    for row in &rows[1..] {
        sum.merge(&histogram(row)).expect("one layout");
    }
    sum
}

/// Reads and writes that wait, and those of them whose whole wait, from Q on, the probe knows.
pub fn queue_waits(rebuilt: &Rebuilt, seen: &Seen) -> (usize, u64) {
    let data = Op::DATA.into_iter();
    let waits = data.map(|op| Times::of(&of_op(&rebuilt.requests, op), Stage::Q2d).count());
    let known = Op::DATA.into_iter().map(|op| seen.op(op).q2d.count());
    (waits.sum(), known.sum())
}

/// How far the probe is from blktrace in the mean over all reads and writes of the device: in ns, and of blktrace's mean.
pub fn deviations(rebuilt: &Rebuilt, seen: &Seen) -> Vec<(Stage, f64, f64)> {
    let data = rebuilt.requests.iter();
    let requests: Vec<&Request> = data
        .filter(|request| Op::DATA.contains(&op_of(request)))
        .collect();
    let of = Stage::ALL.into_iter().filter_map(|stage| {
        let theirs = Times::of(&requests, stage).mean();
        let apart = our_mean_ns(seen, stage)? - theirs;
        Some((stage, apart, apart / theirs))
    });
    of.collect()
}

/// From the sums where there are some, else by the histograms.
fn our_mean_ns(seen: &Seen, stage: Stage) -> Option<f64> {
    let mut all = Histogram::new(seen.op(Op::Read).q2d.layout());
    let mut sum_ns = 0;
    for op in Op::DATA {
        let numbers = seen.op(op);
        all.merge(numbers.stage(stage)).expect("one layout");
        sum_ns += match stage {
            Stage::Q2d => numbers.q2d_sum_ns,
            Stage::D2c => numbers.d2c_sum_ns,
            Stage::Q2c => numbers.q2c_sum_ns,
            Stage::Q2g | Stage::G2d | Stage::I2d => 0,
        };
    }
    let mean_ns = all.mean_ns()?;
    Some(if sum_ns == 0 {
        mean_ns
    } else {
        sum_ns as f64 / all.count() as f64
    })
}
