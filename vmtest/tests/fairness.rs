//! What schedulers are known to give to whom shows in our counts per process. Profile `truth`.

use std::time::Duration;

use iosched::snapshot::Op;
use iosched_vmtest::{Disk, Fio, Watch};

/// Reads of 4 KiB that two processes get done in so many seconds on a disk that takes one at a time, for 1 ms each.
fn reads_of_two(watch: &mut Watch, disk: &Disk, jobs: [&str; 2], seconds: u32) -> [f64; 2] {
    let start = |job: &str| {
        let job = format!("--rw=randread --time_based --runtime={} {job}", seconds + 1);
        Fio::start(disk, &job)
    };
    let both = jobs.map(start);
    // Neither alone at the start or the end.
    std::thread::sleep(Duration::from_millis(500));
    let (seen, ()) = watch.over(|| std::thread::sleep(Duration::from_secs(seconds.into())));
    let reads = both.each_ref().map(|fio| {
        let pid = fio.pid();
        let rows = seen.0.owners.iter().filter(|owner| owner.key.tgid == pid);
        let reads: u64 = rows.map(|owner| owner.ops[Op::Read as usize].ios).sum();
        reads as f64
    });
    for fio in both {
        fio.end();
    }
    let sum = reads[0] + reads[1];
    // The disk's counters are copied a moment before those of the processes.
    let all = seen.op(Op::Read).ios as f64;
    assert!((all - sum).abs() <= 2.0, "{all} reads, {sum} of these two");
    let window_s = seen.0.duration_s();
    // One that was under way at the start may end in it.
    let share = (sum - 1.0) / (window_s * 1000.0);
    assert!(
        (0.8..1.0).contains(&share),
        "{sum} reads of 1 ms in {window_s} s"
    );
    reads
}

fn disk() -> Disk {
    Disk::null_blk(1_000_000, &[("hw_queue_depth", "1")])
}

fn set(disk: &Disk, scheduler: &str) {
    disk.set_scheduler(scheduler);
    if scheduler != "none" {
        disk.set("queue/nr_requests", "64");
    }
}

#[test]
fn only_bfq_makes_idle_priority_wait() {
    let disk = disk();
    let mut watch = Watch::on(&disk);
    for scheduler in ["none", "kyber", "bfq"] {
        set(&disk, scheduler);
        let jobs = [
            "--iodepth=8 --prioclass=2 --prio=4",
            "--iodepth=8 --prioclass=3",
        ];
        let [best_effort, idle] = reads_of_two(&mut watch, &disk, jobs, 1);
        println!("{scheduler}: best effort {best_effort}, idle {idle}");
        if scheduler == "bfq" {
            assert!(best_effort > 10.0 * idle, "{best_effort} {idle}");
        } else {
            let ratio = best_effort / idle;
            assert!((0.9..1.1).contains(&ratio), "{scheduler}: {ratio}");
        }
    }
}

#[test]
fn under_kyber_the_deeper_queue_gets_more() {
    let disk = disk();
    set(&disk, "kyber");
    let jobs = ["--iodepth=16", "--iodepth=1"];
    let [deep, shallow] = reads_of_two(&mut Watch::on(&disk), &disk, jobs, 2);
    println!("kyber: 16 in flight {deep}, 1 in flight {shallow}");
    assert!(
        (15.04..16.96).contains(&(deep / shallow)),
        "{deep} {shallow}"
    );
}

#[test]
fn two_equal_processes_get_the_same() {
    let disk = disk();
    let mut watch = Watch::on(&disk);
    // bfq serves them in turns of many requests each: only over several turns they are equal.
    for (scheduler, seconds, least) in [
        ("none", 1, 0.99),
        ("mq-deadline", 1, 0.99),
        ("kyber", 1, 0.99),
        ("bfq", 4, 0.95),
    ] {
        set(&disk, scheduler);
        let jobs = ["--iodepth=4", "--iodepth=4"];
        let [a, b] = reads_of_two(&mut watch, &disk, jobs, seconds);
        let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
        println!("{scheduler}: {a} and {b}, Jain's index {jain:.4}");
        assert!(jain > least, "{scheduler}: {jain}");
    }
}
