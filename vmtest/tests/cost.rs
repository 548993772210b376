//! What the programs cost on this kernel, in instructions for each I/O: in the profile `truth` the clock counts them, two
//! nanoseconds each. Printed, not judged: docs/performance.md has the table.

use std::fs;

use iosched::device::Device;
use iosched::probe::{Detail, Probe};
use iosched_vmtest::{Disk, Fio};

const NS_PER_INSTRUCTION: f64 = 2.0;

fn instructions_per_io(device: &Device, job: &str, detail: Detail) -> f64 {
    let probe = Probe::attach(std::slice::from_ref(device), 0, detail).expect("a probe");
    let node = device.node();
    let node = node.to_str().expect("a path");
    // Warm: owners are known, code is translated.
    Fio::run(node, job);
    let before = probe.run_time_ns().expect("times");
    let (_, fio) = Fio::run(node, job);
    let ns = probe.run_time_ns().expect("times") - before;
    let ios =
        ["read", "write"].map(|direction| fio[direction]["total_ios"].as_f64().expect("a count"));
    ns as f64 / NS_PER_INSTRUCTION / (ios[0] + ios[1])
}

#[test]
#[ignore = "for docs/performance.md"]
fn instructions_for_each_io() {
    fs::write("/proc/sys/kernel/bpf_stats_enabled", "1").expect("the kernel's statistics");
    // So long that no completion interrupts a program, whose time would then be in its own.
    let disk = Disk::null_blk(2_000_000, &[("hw_queue_depth", "64")]);
    for scheduler in ["none", "mq-deadline"] {
        disk.set_scheduler(scheduler);
        for (what, job) in [
            (
                "one at a time",
                "--ioengine=psync --rw=randread --size=64m --number_ios=2000",
            ),
            (
                "16 a call",
                "--rw=randread --size=64m --number_ios=4000 --iodepth=32 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16",
            ),
        ] {
            let found = instructions_per_io(&disk.device, job, Detail::default());
            println!("{scheduler}, {what}: {found:.0} instructions an I/O");
        }
    }
    fs::write("/proc/sys/kernel/bpf_stats_enabled", "0").expect("the kernel's statistics");
}
