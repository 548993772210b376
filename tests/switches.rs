//! Switches under load, one after the other: no hung task, no lost setting, no I/O error. `IOSCHED_SWITCHES=10000` for more.
//! Root only: `cargo test --test switches -- --ignored`.

mod support;

use iosched_host::safety::lock;
use iosched_host::scheduler::{self, SavedQueue};
use iosched_result::types::arm::Arm;
use support::LoopDevice;
use support::fio::Fio;
use support::traces::differences;

const SWITCHES: usize = 300;
const ARMS: [&str; 6] = [
    "none",
    "mq-deadline,iosched/fifo_batch=1",
    "kyber,nr_requests=64",
    "bfq,iosched/low_latency=0",
    "none,nr_requests=8",
    "mq-deadline,read_ahead_kb=64",
];

/// Number of the kernel's messages about tasks that hang and about itself, and about I/O errors of this disk.
fn troubles(disk: &str) -> Option<usize> {
    let output = std::process::Command::new("dmesg").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_trouble = |line: &&str| {
        ["blocked for more than", "BUG:", "Oops"]
            .iter()
            .any(|word| line.contains(word))
            || line.contains("I/O error") && line.contains(disk)
    };
    output
        .status
        .success()
        .then(|| text.lines().filter(is_trouble).count())
}

#[test]
#[ignore = "root"]
fn switches_under_load_lose_nothing() {
    let switches =
        std::env::var("IOSCHED_SWITCHES").map_or(SWITCHES, |text| text.parse().expect("a number"));
    let disk = LoopDevice::in_memory(256 << 20);
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "100");
    disk.set("iosched/read_expire", "333");
    let before = scheduler::read(&disk.device).expect("its queue");
    let of_disk = format!("dev {},", disk.device.name);
    let troubles_before = troubles(&of_disk);
    let arms: Vec<Arm> = ARMS
        .iter()
        .map(|text| text.parse().expect("an arm"))
        .collect();
    let baseline = SavedQueue::take(&disk.device, &arms).expect("its queue");
    let held = lock::try_take(&disk.device).expect("a lock");
    assert!(matches!(held, lock::LockOutcome::Taken(_)));
    let mut fio = Fio::start(
        &disk.node(),
        "--rw=randrw --iodepth=16 --numjobs=2 --time_based --runtime=86400 --group_reporting",
    );
    for switch in 0..switches {
        // Each after each other: a stride that has no factor in common with their number, changed now and then.
        let arm = &arms[(switch * 5 + switch / 6) % arms.len()];
        scheduler::apply_onto(&disk.device, arm, &baseline)
            .unwrap_or_else(|error| panic!("switch {switch} to {}: {error:#}", arm.label));
    }
    fio.interrupt();
    let (_, result) = fio.end();
    scheduler::restore(&baseline).expect("put back");
    let after = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(&before, &after), [""; 0]);
    let done = result["read"]["total_ios"].as_u64().expect("a count");
    println!("{switches} switches beside {done} reads");
    assert!(done > switches as u64, "{done} reads are no load");
    assert_eq!(result["error"], 0, "no I/O failed");
    match (troubles_before, troubles(&of_disk)) {
        (Some(before), Some(after)) => assert_eq!(after, before, "the kernel complains: see dmesg"),
        _ => println!("skipped: dmesg says nothing to us"),
    }
}
