//! Models from fixed numbers, and from arbitrary ones.

use std::collections::BTreeMap;

use iosched_measure::history::buffer::Block;
use iosched_measure::history::frame::{DeviceFrame, Frame, Group};
use iosched_measure::history::packed::Packed;
use iosched_result::measured::histogram::{Histogram, OWNER};
use iosched_result::measured::order::Dispatch;
use iosched_result::stat::{LatencySummary, LiveAsked, Selection};
use iosched_result::types::queue::{DepthSource, HardwareDepth};
use iosched_result::why::{Does, WhyBehind, WhyDevice, WhyOwner};

use iosched_result::measured::snapshot::{
    DeviceNumbers, InFlight, Interval, Op, Order, OwnerFairness, OwnerKey, OwnerKind, OwnerNumbers,
    OwnerOp, Waits,
};
use iosched_result::measured::stalls::Stalls;
use iosched_result::types::queue::State;

use super::rounds::Rounds;
use crate::ui::sampling::sample::{Counters, Disk, Flip, Rotating, Sample, SamplerReport, Side};
use crate::ui::state::action::Action;
use crate::ui::state::appearance::{Colors, Depth, Palette, Theme};
use crate::ui::state::model::Model;
use crate::ui::state::update::update;

/// A simple generator: it always gives the same numbers.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Around a typical time, with a tail.
    fn time(&mut self, typical_ns: u64) -> u64 {
        let spread = typical_ns / 2 + self.below(typical_ns);
        if self.below(50) == 0 {
            spread * 8
        } else {
            spread
        }
    }
}

struct Everyone;

impl Selection for Everyone {
    fn cgroup_path(&self, id: u64) -> Option<String> {
        Some(
            ["/demo/hog", "/system.slice/backup.service", "/demo/probe"][id as usize % 3]
                .to_owned(),
        )
    }
}

pub fn disk() -> Disk {
    Disk {
        path_of: None,
        name: "loop7".into(),
        model: Some("Simulated SSD".into()),
        size_bytes: Some(1 << 30),
        rotational: Some(false),
        hardware_queues: 1,
    }
}

pub fn empty() -> Model {
    let palette = Palette {
        depth: Depth::Ansi256,
        theme: Theme::Dark,
        colors: Colors::default(),
        is_ascii: false,
    };
    Model::new(vec![disk()], palette, 2)
}

fn state(active: &str) -> State {
    let settings = [
        ("nr_requests", "256"),
        ("wbt_lat_usec", "2000"),
        ("read_ahead_kb", "128"),
        ("nomerges", "0"),
        ("iosched/read_expire", "500"),
        ("iosched/fifo_batch", "16"),
    ];
    let keeps = |name: &str| active != "none" || !name.starts_with("iosched/");
    State {
        active: active.to_owned(),
        available: ["none", "mq-deadline", "kyber", "bfq"]
            .map(str::to_owned)
            .to_vec(),
        settings: settings
            .into_iter()
            .filter(|(name, _)| keeps(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<BTreeMap<_, _>>(),
        hardware_depth: Some(HardwareDepth {
            depth: 4,
            source: DepthSource::Debugfs,
        }),
    }
}

/// Two owners: one writes much, one reads little.
fn owner(
    numbers: &mut Numbers,
    pid: u32,
    op: Op,
    ios: u64,
    wait_ns: u64,
    device_ns: u64,
) -> OwnerNumbers {
    let empty = || [Histogram::new(OWNER), Histogram::new(OWNER)];
    let (mut q2d, mut d2c) = (empty(), empty());
    let place = usize::from(op != Op::Read);
    let mut ops = vec![OwnerOp::default(); 8];
    let size = if op == Op::Read { 4096 } else { 262_144 };
    for _ in 0..ios {
        let (wait, device) = (numbers.time(wait_ns), numbers.time(device_ns));
        q2d[place].record(wait);
        d2c[place].record(device);
        let sums = &mut ops[op as usize];
        sums.ios += 1;
        sums.bios += 1;
        sums.waits += 1;
        sums.bytes += size;
        sums.q2d_sum_ns += wait;
        sums.d2c_sum_ns += device;
        sums.q2c_sum_ns += wait + device;
        sums.q2d_max_ns = sums.q2d_max_ns.max(Some(wait));
        sums.d2c_max_ns = sums.d2c_max_ns.max(Some(device));
    }
    OwnerNumbers {
        key: OwnerKey {
            device: "loop7".into(),
            kind: OwnerKind::Process,
            tgid: pid,
            start_ms: 1,
            cgroup_id: u64::from(pid) % 3,
            file: None,
        },
        comm: if op == Op::Read { "reader" } else { "writer" }.into(),
        has_io_workers: false,
        ioprio: (0, 0),
        ops,
        merges: iosched_result::measured::snapshot::Merges {
            back: ios / 10,
            front: 0,
            rq: 0,
        },
        in_flight: None,
        has_histograms: true,
        q2d,
        d2c,
        stages: None,
        asked: None,
        stalled_ns: 0,
        throttled: 0,
        unrecorded: 0,
        throttled_ns: 0,
        waits: Waits::default(),
        requeued_ns: 0,
        waited_for_flush: 0,
        fairness: Some(OwnerFairness {
            device_time_ns: ios * device_ns / 4,
            backlogged_ns: 950_000_000,
            starvation_max_ns: Some(wait_ns * 9),
            ..OwnerFairness::new()
        }),
    }
}

fn interval(numbers: &mut Numbers, wait_ns: u64, owners: u64) -> Interval {
    let mut device = DeviceNumbers::new("loop7");
    let mut all = Vec::new();
    for index in 0..owners {
        let (op, ios, wait, service) = if index % 2 == 0 {
            (Op::Read, 600, wait_ns, 1_000_000)
        } else {
            (Op::WriteSync, 850, wait_ns * 3, 3_800_000)
        };
        let owner = owner(numbers, 4001 + index as u32, op, ios, wait, service);
        let sums = &mut device.ops[op as usize];
        sums.ios += ios;
        sums.bios += ios;
        sums.waits += ios;
        sums.bytes += owner.op(op).bytes;
        sums.q2d_sum_ns += owner.op(op).q2d_sum_ns;
        sums.d2c_sum_ns += owner.op(op).d2c_sum_ns;
        for _ in 0..ios {
            let (wait, device) = (numbers.time(wait), numbers.time(service));
            sums.q2d.record(wait);
            sums.g2d.record(wait);
            sums.d2c.record(device);
            sums.q2c.record(wait + device);
        }
        all.push(owner);
    }
    device.in_flight = Some(InFlight {
        queued: 3,
        blocked: None,
        issued: 4,
        oldest_ns: Some(5_200_000),
    });
    device.edges.straddlers = owners;
    let cells = || {
        iosched_result::measured::snapshot::Log2Histogram(
            vec![5; iosched_result::measured::snapshot::LOG2_CELLS],
        )
    };
    device.order = Some(Order {
        issued: 1450,
        reordered: 120,
        insert_seeks: 1449,
        insert_sectors: 700_000_000,
        issue_seeks: 1449,
        issue_sectors: 350_000_000,
        runs: [300, 299],
        run_ios: [600, 850],
        early: cells(),
        late: cells(),
        insert_seek: cells(),
        issue_seek: cells(),
        run_length: [cells(), cells()],
    });
    Interval {
        start_ns: 0,
        end_ns: 1_000_000_000,
        devices: vec![device],
        owners: all,
    }
}

fn dispatches(numbers: &mut Numbers, count: u64) -> Vec<Dispatch> {
    (0..count)
        .map(|index| {
            let is_read = index % 3 == 0;
            Dispatch {
                start_ns: 800_000_000 + index * 600_000,
                issue_ns: 801_000_000 + index * 600_000 + numbers.below(2_000_000),
                sector: if is_read {
                    numbers.below(2_097_152)
                } else {
                    500_000 + index * 512
                },
                bytes: 4096,
                start_sequence: index as u32,
                issue_sequence: index as u32,
                hardware_queue: 0,
                op: if is_read { Op::Read } else { Op::WriteSync },
            }
        })
        .collect()
}

/// Each waits behind the one after it for three quarters of its time, behind its own for an eighth, and for nobody.
fn why(owners: &[OwnerNumbers]) -> WhyDevice {
    let does = |owner: &OwnerNumbers| match owner.op(Op::Read).ios {
        0 => Does::Writes,
        _ => Does::Reads,
    };
    let row = |index: usize| {
        let (owner, next) = (&owners[index], &owners[(index + 1) % owners.len()]);
        let ops = owner.ops.iter();
        let wait_ns = ops.clone().map(|op| op.q2d_sum_ns).sum::<u64>();
        let behind = |of: &OwnerNumbers, ns: u64| WhyBehind {
            name: of.comm.clone(),
            pid: of.key.tgid,
            part: None,
            does: does(of),
            ns,
            error: None,
        };
        WhyOwner {
            name: owner.comm.clone(),
            pid: owner.key.tgid,
            part: None,
            kind: OwnerKind::Process,
            cgroup_id: owner.key.cgroup_id,
            does: does(owner),
            ios: ops.clone().map(|op| op.ios).sum(),
            service_ns: ops.clone().map(|op| op.d2c_sum_ns).sum(),
            waits: ops.map(|op| op.ios).sum(),
            wait_ns,
            behind: vec![behind(next, wait_ns / 4 * 3), behind(owner, wait_ns / 8)],
            device_idle_ns: wait_ns - wait_ns / 4 * 3 - wait_ns / 8,
            device_idle_error: None,
            slot_free_ns: Some(0),
        }
    };
    let mut rows: Vec<WhyOwner> = (0..owners.len().min(16)).map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.wait_ns));
    WhyDevice {
        device: "loop7".into(),
        scheduler: None,
        hardware_depth: Some(4),
        busy_periods: 0,
        batches: None,
        rounds: None,
        owners: rows,
        missing: 0,
    }
}

/// The writers are blocked, waiting for tags.
fn stall(interval: &mut Interval, scheduler: &str) {
    let stalled_ns = match scheduler {
        "none" => 940_000_000,
        "kyber" => 120_000_000,
        _ => 0,
    };
    let writers = interval.owners.iter_mut();
    for writer in writers.filter(|owner| owner.op(Op::WriteSync).ios > 0) {
        writer.stalled_ns = stalled_ns;
        interval.devices[0].stalled_ns += stalled_ns;
    }
}

/// As with `--detail asked`.
pub fn ask(model: &mut Model) {
    let asked = |wait: &LatencySummary, device: &LatencySummary| {
        Some(LiveAsked {
            a2q: wait.clone(),
            a2d: wait.clone(),
            a2c: device.clone(),
        })
    };
    let devices = model.last.iter_mut().flat_map(|last| &mut last.devices);
    for measured in devices.filter_map(|device| device.measured.as_mut()) {
        let live = &mut measured.live;
        let op = live.ops.last();
        live.asked = op.and_then(|op| asked(&op.queue_wait, &op.device));
        for process in &mut measured.processes {
            process.asked = asked(&process.queue_wait, &process.device_time);
        }
    }
}

pub fn sample(
    numbers: &mut Numbers,
    scheduler: &str,
    side: Side,
    wait_ns: u64,
    owners: u64,
    time: usize,
) -> Sample {
    Sample::of(
        frame(numbers, scheduler, side, wait_ns, owners, time),
        false,
    )
}

pub fn frame(
    numbers: &mut Numbers,
    scheduler: &str,
    side: Side,
    wait_ns: u64,
    owners: u64,
    time: usize,
) -> Frame {
    let mut interval = interval(numbers, wait_ns, owners);
    stall(&mut interval, scheduler);
    let (minute, second) = (time / 60 % 60, time % 60);
    let interval_owners = interval.owners.clone();
    Frame {
        time: format!("2026-01-02T12:{minute:02}:{second:02}.000Z"),
        interval_s: 1.0,
        intervals: 1,
        measures_q2g: true,
        groups: Group::by_cgroup(&interval.owners, &Everyone),
        interval: Some(interval),
        devices: vec![DeviceFrame {
            queue: Some(state(scheduler)),
            side,
            counters: counters(),
            dispatches: dispatches(numbers, owners * 100),
            why: Some(Box::new(why(&interval_owners))),
        }],
        flips: Vec::new(),
        newcomers: Vec::new(),
    }
}

fn counters() -> Counters {
    Counters {
        reads_per_s: 655.0,
        writes_per_s: 854.0,
        read_bytes_per_s: 2.68e6,
        write_bytes_per_s: 2.24e8,
        read_mean_ns: Some(1.4e6),
        write_mean_ns: None,
        in_flight: 5,
        busy_share: 1.0,
    }
}

pub fn report(model: &mut Model, report: SamplerReport) {
    assert_eq!(update(model, Action::Report(report)), []);
}

pub fn attached(model: &mut Model) {
    report(
        model,
        SamplerReport::Attached {
            notes: vec!["no such thing here".into()],
            refused: None,
        },
    );
}

pub fn add_sample(model: &mut Model, scheduler: &str, seed: u64) {
    let time = model.device().history.len();
    let wait = match scheduler {
        "none" => 200_000,
        "mq-deadline" => 9_000_000,
        _ => 30_000,
    };
    let side = Side::Of(scheduler.into());
    keep(
        model,
        frame(&mut Numbers(seed), scheduler, side, wait, 2, time),
    );
}

/// As the sampling thread reports it, each interval by itself.
pub fn keep(model: &mut Model, frame: Frame) {
    let number = model.kept.last().map_or(0, |last| last + 1);
    let block = Block {
        first: number,
        last: number,
        tier: 0,
        packed: Packed::of(&frame).expect("a frame"),
    };
    keep_blocks(model, frame, vec![block]);
}

pub fn keep_blocks(model: &mut Model, frame: Frame, blocks: Vec<Block>) {
    let sample = Box::new(Sample::of(frame, model.table.by_cgroup));
    report(model, SamplerReport::Sample(sample, blocks));
}

/// The second device is the busier one in this sample.
pub fn two_disks(busy_in: usize) -> Model {
    let mut model = empty();
    model = Model::new(vec![disk(), disk()], model.palette, 2);
    attached(&mut model);
    for number in 1..=2 {
        let mut sample = sample(
            &mut Numbers(3),
            "none",
            Side::Of("none".into()),
            1000,
            2,
            number,
        );
        let mut idle = sample.devices[0].clone();
        idle.counters = Counters::default();
        let busy = sample.devices.remove(0);
        sample.devices = if number == busy_in {
            vec![idle, busy]
        } else {
            vec![busy, idle]
        };
        report(
            &mut model,
            SamplerReport::Sample(Box::new(sample), Vec::new()),
        );
    }
    model
}

pub fn one_scheduler() -> Model {
    let mut model = empty();
    attached(&mut model);
    (0..3).for_each(|seed| add_sample(&mut model, "none", seed));
    model
}

/// Eight blocks of three arms.
pub fn rotated() -> Model {
    let mut model = empty();
    attached(&mut model);
    let arms = ["none", "mq-deadline", "kyber"];
    report(
        &mut model,
        SamplerReport::Modified {
            device: 0,
            put_back: true,
        },
    );
    for block in 0..8 {
        for (index, arm) in arms.into_iter().enumerate() {
            let rotating = Rotating {
                device: 0,
                arms: arms.map(str::to_owned).to_vec(),
                round: block * 3 + index + 1,
                rounds: 600,
                block: block + 1,
                seconds: 10,
                now: Some(0),
                next: Some(1),
                left_s: 7,
                is_paused: false,
            };
            report(&mut model, SamplerReport::Rotating(Some(rotating)));
            let flip = Flip {
                device: 0,
                time: "12:00:00".into(),
                from: "none".into(),
                to: arm.into(),
                by_us: true,
                switch_ns: Some(20_000_000 + index as u64 * 5_000_000),
                changes: Vec::new(),
            };
            report(&mut model, SamplerReport::Flipped(flip));
            let seed = (block * 3 + index) as u64;
            (0..2).for_each(|half| add_sample(&mut model, arm, seed * 2 + half));
        }
    }
    rounds().report(&mut model);
    model
}

pub fn rounds() -> Rounds {
    Rounds {
        blocks: 8,
        reference: 0,
        value: |block, arm, metric| {
            let noise = 1.0 + ((block * 3 + arm) % 5) as f64 / 50.0;
            Some(match metric {
                "jain_device_time" => [0.61, 0.92, 0.62][arm % 3] * noise,
                "write_throughput" | "hog.throughput" => [220e6, 217e6, 90e6][arm % 3] * noise,
                "read_throughput" | "probe.throughput" => [1.45e6, 1.43e6, 0.7e6][arm % 3] * noise,
                "write_total_mean" | "hog.write_queue_wait_mean" => {
                    [5e6, 5.1e6, 5.05e6][arm % 3] * noise
                }
                "write_total_p99" => [51e6, 52e6, 3.2e6][arm % 3] * noise,
                _ => [200_000.0, 9_000_000.0, 199_000.0][arm % 3] * noise,
            })
        },
        stalled: vec![0.05; 3],
        excluded: Some((3, 1)),
        short: &[],
    }
}

/// As on a disk with few tags, which is all that `none` has.
pub fn stall_rounds(model: &mut Model) {
    let rounds = Rounds {
        stalled: vec![0.9, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03],
        ..rounds()
    };
    if model
        .devices
        .first()
        .is_some_and(|device| device.seen.score.is_some())
    {
        rounds.report(model);
    }
}

pub fn without_root() -> Model {
    let mut model = empty();
    let why = "the kernel does not permit BPF\n  run it with sudo: root, or CAP_BPF and CAP_PERFMON, is needed";
    report(
        &mut model,
        SamplerReport::Attached {
            notes: Vec::new(),
            refused: Some(why.into()),
        },
    );
    let mut sample = sample(&mut Numbers(1), "none", Side::Of("none".into()), 1000, 1, 0);
    sample.devices[0].measured = None;
    report(
        &mut model,
        SamplerReport::Sample(Box::new(sample), Vec::new()),
    );
    model
}

pub fn foreign_flip(model: &mut Model, to: &str) {
    let time = model.device().history.len();
    let flip = Flip {
        device: 0,
        time: "12:00:09".into(),
        from: "none".into(),
        to: to.into(),
        by_us: false,
        switch_ns: None,
        changes: Vec::new(),
    };
    report(model, SamplerReport::Flipped(flip));
    let sample = sample(&mut Numbers(5), to, Side::Disturbed, 1000, 2, time);
    report(model, SamplerReport::Sample(Box::new(sample), Vec::new()));
}

/// Arbitrary values, including empty ones.
pub fn random(seed: u64, samples: usize) -> Model {
    let mut numbers = Numbers(seed);
    let mut model = empty();
    match numbers.below(4) {
        0 => {}
        1 => return without_root(),
        _ => attached(&mut model),
    }
    for time in 0..samples {
        let name = [
            "none",
            "mq-deadline",
            "an-out-of-tree-scheduler-with-a-long-name",
        ][numbers.below(3) as usize];
        let side = match numbers.below(4) {
            0 => Side::Settling,
            1 => Side::Disturbed,
            _ => Side::Of(name.into()),
        };
        let wait = 1 << numbers.below(36);
        let owners = numbers.below(9);
        let mut sample = sample(&mut numbers, name, side, wait, owners, time);
        if numbers.below(6) == 0 {
            sample.devices[0].queue = None;
        }
        if numbers.below(6) == 0 {
            sample.devices[0].measured = None;
        }
        report(
            &mut model,
            SamplerReport::Sample(Box::new(sample), Vec::new()),
        );
    }
    model
}

/// Stalls of all owners.
pub fn stalls_of(seconds: f64) -> Stalls {
    Stalls::of_all((seconds * 1e9) as u64)
}
