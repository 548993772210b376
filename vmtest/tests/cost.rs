//! Cost of the programs on this kernel, in instructions for each I/O: in the profile `truth` the clock counts them, two
//! nanoseconds each. Printed, not judged: docs/performance.md has the table.

use std::fs;

use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_vmtest::{Disk, Fio};

const NS_PER_INSTRUCTION: f64 = 2.0;
const ONE_AT_A_TIME: &str = "--ioengine=psync --rw=randread --size=64m --number_ios=4000";
const SIXTEEN_A_CALL: &str = "--rw=randread --size=64m --number_ios=4000 --iodepth=32 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16";

/// Inside the programs alone, by the kernel's statistics.
fn inside(probe: &Probe, node: &str, job: &str) -> f64 {
    fs::write("/proc/sys/kernel/bpf_stats_enabled", "1").expect("the kernel's statistics");
    let before = probe.run_time_ns().expect("times");
    let (_, fio) = Fio::run(node, job);
    let ns = probe.run_time_ns().expect("times") - before;
    fs::write("/proc/sys/kernel/bpf_stats_enabled", "0").expect("the kernel's statistics");
    let ios = fio["read"]["total_ios"].as_f64().expect("a count");
    ns as f64 / NS_PER_INSTRUCTION / ios
}

/// A whole read as fio sees it, with the way into the programs and back.
fn whole_read(node: &str) -> f64 {
    let (_, fio) = Fio::run(node, ONE_AT_A_TIME);
    fio["read"]["clat_ns"]["mean"].as_f64().expect("a mean") / NS_PER_INSTRUCTION
}

fn probe_of(device: &Device, detail: Detail) -> Probe {
    Probe::attach(std::slice::from_ref(device), 0, detail).expect("a probe")
}

fn without_and_with(disk: &Disk) -> String {
    let node = disk.device.node();
    let node = node.to_str().expect("a path");
    Fio::run(node, ONE_AT_A_TIME); // warm: code is translated
    let without = whole_read(node);
    let probe = probe_of(&disk.device, Detail::default());
    Fio::run(node, ONE_AT_A_TIME); // warm: owners are known
    let more = whole_read(node) - without;
    let one = inside(&probe, node, ONE_AT_A_TIME);
    format!("{more:.0} instructions more for a read, {one:.0} of them inside the programs")
}

#[test]
#[ignore = "for docs/performance.md"]
fn instructions_for_each_io() {
    let disk = Disk::null_blk(100_000, &[("hw_queue_depth", "64")]);
    for scheduler in ["none", "mq-deadline"] {
        disk.set_scheduler(scheduler);
        println!("{scheduler}, one at a time: {}", without_and_with(&disk));
    }
    drop(disk);
    // Completes in the call that submits: no interrupt is counted with a program that it hits.
    let disk = Disk::null_blk(0, &[("irqmode", "0"), ("hw_queue_depth", "64")]);
    let node = disk.device.node();
    let node = node.to_str().expect("a path");
    for scheduler in ["none", "mq-deadline"] {
        disk.set_scheduler(scheduler);
        let probe = probe_of(&disk.device, Detail::default());
        Fio::run(node, SIXTEEN_A_CALL); // warm
        let instructions = inside(&probe, node, SIXTEEN_A_CALL);
        println!("{scheduler}, 16 a call: {instructions:.0} instructions inside the programs");
    }
}

/// How the cost grows with the hardware queues: `VMTEST_CPUS=8 vmtest/run -p truth -f queues vmtest/tests/cost.rs`. A disk has no
/// more queues than the machine has CPUs.
#[test]
#[ignore = "for docs/performance.md"]
fn instructions_by_hardware_queues() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let job = format!(
        "{SIXTEEN_A_CALL} --numjobs={cpus} --group_reporting --cpus_allowed=0-{} --cpus_allowed_policy=split",
        cpus - 1
    );
    for scheduler in ["none", "mq-deadline"] {
        let mut queues = 1;
        while queues <= cpus {
            let wanted = queues.to_string();
            let settings = [
                ("irqmode", "0"),
                ("hw_queue_depth", "64"),
                ("submit_queues", &*wanted),
            ];
            let disk = Disk::null_blk(0, &settings);
            disk.set_scheduler(scheduler);
            let node = disk.node();
            let mut probe = probe_of(&disk.device, Detail::default());
            Fio::run(&node, &job); // warm
            let each: Vec<f64> = (0..5).map(|_| inside(&probe, &node, &job)).collect();
            let snapshots: Vec<f64> = (0..5).map(|_| of_a_snapshot(&mut probe)).collect();
            println!(
                "{scheduler}, {cpus} threads, {queues} hardware queues: {:.0} instructions for each read, {:.0} for a snapshot; {} KiB in the kernel",
                median(each),
                median(snapshots),
                probe.memory_bytes() / 1024
            );
            queues *= 2;
        }
    }
}

fn of_a_snapshot(probe: &mut Probe) -> f64 {
    let begun = std::time::Instant::now();
    probe.snapshot().expect("a snapshot");
    begun.elapsed().as_nanos() as f64 / NS_PER_INSTRUCTION
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
