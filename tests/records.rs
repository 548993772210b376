//! Records that are read too late, on a real disk: nothing of them is lost but their latencies.

mod support;

#[path = "support/kernel_side.rs"]
mod kernel_side;

use iosched_bpf::{Rings, Tracer, op_counters};
use iosched_measure::probe::Detail;
use iosched_result::measured::histogram::DEVICE;
use iosched_result::measured::ledger::{Ledger, Scope};
use iosched_result::measured::snapshot::{DeviceNumbers, Op};
use support::{LoopDevice, run};

const SCOPE: Scope = Scope {
    layout: DEVICE,
    with_q: true,
    with_asked: false,
    with_owner_stages: false,
    owner_rows: 64,
};

/// The programs with rings of this size, and how often a record was added to the ledger.
struct Watched {
    tracer: Tracer,
    rings: Rings,
    ledger: Ledger,
    recorded: u64,
}

impl Watched {
    fn new(disk: &LoopDevice, ring_records: u32) -> Watched {
        let detail = Detail::default();
        let (tracer, rings) = kernel_side::attach(disk, 64, ring_records, detail);
        Watched {
            tracer,
            rings,
            ledger: Ledger::new(1, SCOPE),
            recorded: 0,
        }
    }

    fn read(&mut self) {
        let (ledger, recorded) = (&mut self.ledger, &mut self.recorded);
        self.rings.drain(|record| {
            *recorded += 1;
            ledger.add(&iosched_measure::probe::converted(record));
        });
    }

    /// Adds up what both sides have counted.
    fn numbers(&mut self) -> DeviceNumbers {
        self.read();
        let mut numbers = DeviceNumbers::new("disk");
        for stats in self.tracer.device_stats(0) {
            for (op, kernel) in numbers.ops.iter_mut().zip(&stats.op) {
                let op_counters {
                    ios,
                    bytes,
                    more_bios,
                    waits,
                    q2d_ns,
                    d2c_ns,
                    q2c_ns,
                } = *kernel;
                op.ios += ios;
                op.bytes += bytes;
                op.bios += ios + more_bios;
                op.waits += waits;
                op.q2d_sum_ns += q2d_ns;
                op.d2c_sum_ns += d2c_ns;
                op.q2c_sum_ns += q2c_ns;
            }
            numbers.flushes.asked += stats.flush_requests;
            numbers.flushes.after_data += stats.postflushes;
            numbers.flushes.before_data += stats.preflushes;
            numbers.quality.unrecorded += stats.unrecorded;
        }
        self.ledger.add_to_device(0, &mut numbers);
        numbers
    }
}

/// Reads, buffered and direct writes, and syncs of a file system.
fn load(disk: &LoopDevice) {
    let filename = format!("--filename={}", disk.node());
    let job = |more: &[&str]| {
        let common = [
            "--name=load",
            &filename,
            "--bs=4k",
            "--size=48m",
            "--output=/dev/null",
        ];
        run("fio", &[&common[..], more].concat());
    };
    let asynchronous = ["--ioengine=libaio", "--iodepth=16", "--direct=1"];
    job(&[&asynchronous[..], &["--rw=randrw", "--loops=2"]].concat());
    job(&["--rw=randwrite", "--fsync=4", "--number_ios=2000"]);
}

/// The kernel side counts what finds no room, user space what it reads: two programs in two languages, by the same rules.
#[test]
#[ignore = "root"]
fn what_finds_no_room_is_counted_all_the_same() {
    let disk = LoopDevice::in_memory(64 << 20);
    let mut roomy = Watched::new(&disk, 1 << 18); // old kernels have several rings of a quarter each
    let mut tight = Watched::new(&disk, 16);
    load(&disk);
    roomy.read();
    tight.read();
    load(&disk);
    let (whole, torn) = (roomy.numbers(), tight.numbers());
    println!("{} and {} records", roomy.recorded, tight.recorded);
    assert_eq!(whole.quality.unrecorded, 0);
    assert!(torn.quality.unrecorded > 10_000, "{:?}", torn.quality);
    let lost = torn.quality.unrecorded;
    assert_eq!(tight.rings.lost(), lost);
    assert_eq!(tight.recorded + lost, roomy.recorded);
    assert_eq!(torn.flushes.asked, whole.flushes.asked);
    assert!(whole.flushes.asked > 0);
    for (whole, torn) in whole.ops.iter().zip(&torn.ops) {
        let counts = |op: &iosched_result::measured::snapshot::DeviceOp| {
            [op.ios, op.bytes, op.bios, op.waits]
        };
        println!("{:?}: {:?}", whole.op, counts(whole));
        assert_eq!(counts(whole), counts(torn), "{:?}", whole.op);
        // Each has a clock of its own, which it reads a little before or after the other. In an emulated machine a thread may
        // lose the CPU in between.
        let is_emulated = std::env::var_os("VMTEST_TAGS").is_some();
        let part = if is_emulated { 4 } else { 20 };
        for (whole_ns, torn_ns) in [
            (whole.d2c_sum_ns, torn.d2c_sum_ns),
            (whole.q2c_sum_ns, torn.q2c_sum_ns),
            (whole.q2d_sum_ns, torn.q2d_sum_ns),
        ] {
            let apart = whole_ns.abs_diff(torn_ns);
            assert!(
                apart <= whole_ns / part + 1_000 * whole.ios,
                "{whole_ns}, {torn_ns}"
            );
        }
        if Op::DATA.contains(&whole.op) {
            assert_eq!(whole.d2c.count(), whole.ios);
            assert!(torn.d2c.count() <= torn.ios);
        }
    }
    let in_histograms: u64 = torn.ops[..3].iter().map(|op| op.d2c.count()).sum();
    let ios: u64 = torn.ops[..3].iter().map(|op| op.ios).sum();
    assert!(in_histograms > 0 && in_histograms < ios / 2);
    // The owners' too.
    let mut unrecorded = 0;
    for row in 0..64 {
        unrecorded += tight.tracer.owner(row).unrecorded;
    }
    let commands = torn.ops[Op::Flush as usize].ios;
    assert!(
        unrecorded <= lost && unrecorded + commands >= lost,
        "{unrecorded}, {lost}"
    );
}
