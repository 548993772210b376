//! The scheduler is switched under load, and put back whatever happens to who switches it. Profile `stress`.

#[allow(dead_code)]
#[path = "../../tests/support/direct.rs"]
mod direct;
#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use iosched_host::scheduler::{self, SavedQueue};
use iosched_result::measured::snapshot::Op;
use iosched_vmtest::{Disk, Fio, SCHEDULERS, Watch};
use program::Program;
use rustix::process::{Pid, Signal, kill_process};

const FLIPS: usize = 100;

/// One request, by which a switch is noticed.
fn read_one(disk: &Disk) {
    let mut buffer = direct::Aligned::new(direct::BLOCK);
    direct::readable(disk.node())
        .read_exact_at(buffer.bytes(direct::BLOCK), 0)
        .expect("a read");
}

/// To each scheduler from each other, three times there and back.
fn walks() -> impl Iterator<Item = [&'static str; 7]> {
    SCHEDULERS.into_iter().flat_map(|here| {
        let others = SCHEDULERS.into_iter().filter(move |there| *there != here);
        others.map(move |there| [here, there, here, there, here, there, here])
    })
}

/// With most depths, of those here with 8 and 32, the new scheduler gets the memory of the old one.
#[test]
fn each_switch_is_counted_once() {
    let mut wrong = Vec::new();
    for depth in ["8", "32", "64"] {
        let disk = Disk::null_blk(10_000, &[("hw_queue_depth", depth)]);
        let mut watch = Watch::on(&disk);
        for walk in walks() {
            disk.set("queue/scheduler", walk[0]);
            read_one(&disk);
            let (seen, ()) = watch.over(|| {
                for next in &walk[1..] {
                    disk.set("queue/scheduler", next);
                    read_one(&disk);
                }
            });
            let switches = seen.device().edges.switches;
            if switches != 6 {
                wrong.push((depth, walk[0], walk[1], switches));
            }
        }
    }
    assert!(wrong.is_empty(), "6 each: {wrong:?}");
}

/// There and back without a request in between are one switch: what waited did so for both.
#[test]
fn a_scheduler_that_went_and_came_back_is_another() {
    let disk = Disk::null_blk(10_000, &[("hw_queue_depth", "32")]);
    let mut watch = Watch::on(&disk);
    for there in &SCHEDULERS[1..] {
        for meanwhile in SCHEDULERS.iter().filter(|&name| name != there) {
            disk.set_scheduler(there);
            read_one(&disk);
            let (seen, ()) = watch.over(|| {
                disk.set_scheduler(meanwhile);
                disk.set_scheduler(there);
                read_one(&disk);
            });
            let switches = seen.device().edges.switches;
            assert_eq!(switches, 1, "{there}, {meanwhile}, {there}");
        }
    }
}

#[test]
fn a_hundred_flips_under_load_lose_nothing_unaccounted() {
    let disk = Disk::null_blk(200_000, &[("submit_queues", "2"), ("hw_queue_depth", "32")]);
    disk.set_scheduler(SCHEDULERS[0]);
    let mut watch = Watch::on(&disk);
    read_one(&disk);
    let job =
        "--ioengine=psync --rw=randread --numjobs=8 --time_based --runtime=4 --group_reporting";
    let (seen, (pid, fio)) = watch.over(|| {
        let fio = Fio::start(&disk.node(), job);
        for flip in 0..FLIPS {
            disk.set_scheduler(SCHEDULERS[(flip + 1) % SCHEDULERS.len()]);
            read_one(&disk);
        }
        fio.end()
    });
    let done = fio["read"]["total_ios"].as_u64().expect("a count") + FLIPS as u64;
    let (ios, quality) = (seen.op(Op::Read).ios, seen.device().quality);
    let edges = seen.device().edges;
    println!("{ios} of {done} reads, {edges:?}, {quality:?}");
    assert!(done > 1000, "{done} reads are no load");
    assert_eq!(edges.switches, FLIPS as u64);
    // Asked for before a switch and dispatched after it: of neither side, but told.
    assert!(edges.straddlers > 0);
    let kept = done - edges.straddlers;
    assert_eq!(quality.lost + quality.negative + quality.owner_overflow, 0);
    // Kernels that skip programs say how often; without that every read is there.
    assert!(ios <= kept && ios + quality.skipped + quality.evicted >= kept);
    assert!(quality.unissued + quality.started_late + quality.unseen <= quality.skipped);
    // Never more than all, and of those all but our own and what was first seen later than its start.
    let own = seen.process_op(pid, Op::Read).ios;
    let others = quality.started_late + quality.started_before + FLIPS as u64;
    assert!(own <= ios && own + others >= ios, "{own}");
}

/// `IOSCHED_SWITCHES=1000 vmtest/run ...`: more of them, as the guest's tests are built.
const SWITCHES: &str = match option_env!("IOSCHED_SWITCHES") {
    Some(number) => number,
    None => "100",
};

/// No task hangs, no setting is lost, no I/O fails, on any kernel.
#[test]
fn many_switches_by_us_under_load_lose_nothing() {
    let disk = Disk::null_blk(200_000, &[("submit_queues", "2"), ("hw_queue_depth", "32")]);
    disk.set_scheduler("mq-deadline");
    disk.set("queue/nr_requests", "77");
    let before = scheduler::read(&disk.device).expect("its queue");
    let arms = [
        "none",
        "kyber,nr_requests=64",
        "bfq,iosched/low_latency=0",
        "mq-deadline,iosched/fifo_batch=1",
        "none,nr_requests=16",
    ]
    .map(|text| text.parse().expect("an arm"));
    let baseline = SavedQueue::take(&disk.device, &arms).expect("its queue");
    let job =
        "--ioengine=psync --rw=randrw --numjobs=4 --time_based --runtime=86400 --group_reporting";
    let mut fio = Fio::start(&disk.node(), job);
    let begin = Instant::now();
    let switches: usize = SWITCHES.parse().expect("a number");
    for switch in 0..switches {
        let arm = &arms[(switch * 3 + switch / 5) % arms.len()];
        scheduler::apply_onto(&disk.device, arm, &baseline)
            .unwrap_or_else(|error| panic!("switch {switch} to {}: {error:#}", arm.label));
    }
    println!("{switches} switches in {:?}", begin.elapsed());
    fio.interrupt();
    let (_, result) = fio.end();
    scheduler::restore(&baseline).expect("put back");
    assert_eq!(scheduler::read(&disk.device).expect("its queue"), before);
    assert_eq!(result["error"], 0, "no I/O failed");
    assert!(result["read"]["total_ios"].as_u64() > Some(1000));
    let said = iosched_vmtest::run("dmesg", &[]);
    for trouble in ["blocked for more than", "BUG:", "Oops", "I/O error"] {
        assert!(!said.contains(trouble), "{trouble}: {said}");
    }
}

fn within(limit: Duration, what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const READS: &str =
    "while :; do dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=64 iflag=direct 2>/dev/null; done";

#[test]
fn the_guardian_of_a_killed_comparison_puts_all_back() {
    let disk = Disk::null_blk(200_000, &[]);
    disk.set_scheduler("mq-deadline");
    disk.set("queue/iosched/fifo_batch", "7");
    disk.set("queue/nr_requests", "77");
    let before = scheduler::read(&disk.device).expect("its queue");
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let arms = ["--arm", "kyber", "--arm", "bfq", "--rounds", "4"];
    let command = ["--", "sh", "-c", READS];
    let mut started = program.start(&[&["run", node.as_str()][..], &arms, &command].concat());
    started.until(Duration::from_secs(60), "it switches", || {
        disk.scheduler() != "mq-deadline"
    });
    std::thread::sleep(Duration::from_millis(200));
    let pid = Pid::from_raw(started.id() as i32).expect("a pid");
    kill_process(pid, Signal::KILL).expect("a process of ours");
    within(Duration::from_secs(30), "all is back", || {
        scheduler::read(&disk.device).is_ok_and(|now| now == before)
    });
    within(Duration::from_secs(10), "the journal is gone", || {
        program.journals().is_empty()
    });
}

#[test]
fn a_whole_comparison_leaves_the_settings_as_they_were() {
    let disk = Disk::null_blk(200_000, &[]);
    disk.set_scheduler("mq-deadline");
    disk.set("queue/iosched/fifo_batch", "7");
    disk.set("queue/nr_requests", "77");
    let before = scheduler::read(&disk.device).expect("its queue");
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let start = ["run", node.as_str(), "-o", "result", "--rounds", "4"];
    let arms = [
        "--arm",
        "none",
        "--arm",
        "kyber",
        "--arm",
        "bfq,nr_requests=32",
    ];
    let command = [
        "--",
        "dd",
        &format!("if={node}"),
        "of=/dev/null",
        "bs=4k",
        "count=32",
        "iflag=direct",
    ];
    let ended = program.run(&[&start[..], &arms, &command].concat());
    ended.ends(0, &[]);
    assert_eq!(scheduler::read(&disk.device).expect("its queue"), before);
    let result = program.result("result");
    let rounds = result["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 12);
    assert!(program.journals().is_empty());
}

#[test]
fn a_disk_that_goes_ends_a_comparison_with_a_word_and_keeps_the_rounds() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=200000"]);
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let start = ["run", node.as_str(), "-o", "result", "--rounds", "200"];
    let arms = ["--arm", "none", "--arm", "bfq"];
    let command = [
        "--",
        "sh",
        "-c",
        "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null",
    ];
    let rounds = || -> usize {
        let bytes = std::fs::read(program.file("result")).unwrap_or_default();
        let result: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        result["rounds"].as_array().map_or(0, Vec::len)
    };
    let mut started = program.start(&[&start[..], &arms, &command].concat());
    started.until(Duration::from_secs(60), "two rounds", || rounds() >= 2);
    disk.set("device/delete", "1");
    let ended = started.end();
    println!("{}", ended.stderr);
    let gone = format!("{} disappeared", disk.name());
    let says = [
        &gone,
        "nothing left to restore",
        "the completed rounds are in result",
    ];
    ended.ends(1, &says);
    assert!(program.journals().is_empty());
    let result = program.result("result");
    assert_eq!(result["status"], "failed");
    assert!(
        result["error"]
            .as_str()
            .is_some_and(|error| error.contains("disappeared"))
    );
    assert!(rounds() >= 2);
    program.run(&["report", "result"]).ends(0, &[]);
}
