//! The probe and an independent reconstruction from blktrace's events say the same of each stage: on a mix of
//! batched, plugged, merged, split, flushed and buffered I/O, of the device and of each process.
//! `check.rs` has what is tolerated, and why.

#[path = "second_opinion/check.rs"]
mod check;
#[path = "second_opinion/compare.rs"]
mod compare;
#[path = "second_opinion/load.rs"]
mod load;
#[path = "second_opinion/parse.rs"]
mod parse;
#[path = "second_opinion/rebuild.rs"]
mod rebuild;
#[path = "second_opinion/stages.rs"]
mod stages;
#[path = "second_opinion/traced.rs"]
mod traced;

use std::fs;

use iosched_measure::probe::Detail;
use iosched_vmtest::{Blktrace, Disk, SCHEDULERS, Seen, Watch, dd_reads, pid_of_run, run};

use load::{Processes, run_jobs};
use rebuild::Rebuilt;

/// Flushes mean something on it, and bios of more than 32 KiB are split.
fn disk(depth: &str) -> Disk {
    let settings = [
        ("memory_backed", "1"),
        ("cache_size", "1"),
        ("size", "512"),
        ("hw_queue_depth", depth),
    ];
    let disk = Disk::null_blk(1_000_000, &settings);
    disk.set("queue/max_sectors_kb", "32");
    disk
}

/// A mistake of the probe is in each try. Since 7.0 a thread may lose the CPU in a tracepoint. In between its two
/// programs, this sets them apart for as long as another thread runs; in the probe's, the kernel skips that program until
/// the thread goes on, and counts that.
const TRIES: usize = 6;
const TRIES_WITH_SKIPPED: usize = 12;

/// Both opinions on `work`, under each scheduler.
fn agree(disk: &Disk, mut work: impl FnMut() -> Processes) {
    let all = Detail {
        i2d: true,
        owner_stages: true,
        ..Detail::default()
    };
    let mut watch = Watch::with(disk, all);
    let _turns = LongTurns::new();
    let mut failures = Vec::new();
    let (mut made, mut noticed, mut judged) = (0, 0, 0);
    dd_reads(disk, 1); // a switch before the first request of all is none
    for scheduler in SCHEDULERS {
        made += u64::from(disk.scheduler() != scheduler);
        // The first request after a switch is where it is noticed; what was asked for before belongs to neither side.
        let (seen, ()) = watch.over(|| {
            disk.set_scheduler(scheduler);
            dd_reads(disk, 1);
        });
        noticed += seen.device().edges.switches;
        match differing(disk, &mut watch, scheduler, &mut work) {
            Some(differing) => {
                judged += 1;
                failures.extend(differing);
            }
            // A busy host takes the CPU from the guest's threads in nearly every try.
            None => println!("skipped: {scheduler}: no try without skipped runs"),
        }
    }
    assert!(judged > 0, "no try of any scheduler without skipped runs");
    println!("switches of the scheduler: {noticed} of {made} seen");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// While it lives, a thread that runs keeps the CPU until it waits: so few lose it between the two programs. Kernels without
/// the setting take no CPU away in a tracepoint.
struct LongTurns(Option<String>);

const TURN: &str = "/sys/kernel/debug/sched/base_slice_ns";
const TURN_NS: &str = "100000000";

impl LongTurns {
    fn new() -> Self {
        let before = fs::read_to_string(TURN).ok();
        if before.is_some() {
            fs::write(TURN, TURN_NS).expect("a turn that the kernel takes");
        }
        Self(before)
    }
}

impl Drop for LongTurns {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            fs::write(TURN, before).expect("the turn from before");
        }
    }
}

/// Disagreements of the two in the last try, if each try has some. None: the kernel skipped the probe in each of them.
fn differing(
    disk: &Disk,
    watch: &mut Watch,
    scheduler: &str,
    mut work: impl FnMut() -> Processes,
) -> Option<Vec<String>> {
    let mut tries = 0;
    let mut last = None;
    for _ in 0..TRIES_WITH_SKIPPED {
        let (seen, traced, (trace, processes)) =
            watch.traced_over(|| Blktrace::over(disk, &mut work));
        let rebuilt = rebuilt(&trace);
        let requests = rebuilt.requests.len() as u64;
        let quality = seen.device().quality;
        let missing = requests.saturating_sub(compare::requests(&seen));
        assert!(missing <= quality.lost_events(), "{missing}: {quality:?}");
        if quality.skipped > 0 {
            let skipped = quality.skipped;
            println!("{scheduler}: {skipped} skipped, {missing} of {requests} requests missing");
            continue;
        }
        tries += 1;
        let mut check = compare::compare(&rebuilt, &processes, &seen);
        traced::compare(&mut check, &rebuilt, &traced);
        let differ = check.failures.len();
        let compared = check.compared;
        println!("{scheduler}: {differ} of {compared} numbers differ in try {tries}");
        let named = check.failures.iter();
        last = Some(named.map(|text| format!("{scheduler}: {text}")).collect());
        if differ == 0 || tries == TRIES {
            seen.all_are_known();
            summary(scheduler, &rebuilt, &seen);
            break;
        }
        for text in check.failures.iter().take(SHOWN) {
            println!("{scheduler}: {text}");
        }
    }
    last
}

/// Number of differences that are shown of a try that is made again.
const SHOWN: usize = 5;

/// `vmtest/table` reads these lines.
fn summary(scheduler: &str, rebuilt: &Rebuilt, seen: &Seen) {
    println!(
        "{scheduler}: {} requests, {} merges, {} splits, {} flush commands",
        rebuilt.requests.len(),
        rebuilt.merges.len(),
        rebuilt.splits,
        rebuilt.commands.len()
    );
    let (waits, known) = compare::queue_waits(rebuilt, seen);
    println!("{scheduler}: queue waits: {known} of {waits} known");
    for (stage, ns, share) in compare::deviations(rebuilt, seen) {
        let (name, us, percent) = (stage.name(), ns / 1e3, share * 1e2);
        println!("{scheduler}: deviation of {name}: {us:.1} us, {percent:.2} %");
    }
}

#[track_caller]
fn rebuilt(trace: &Blktrace) -> Rebuilt {
    let rebuilt = rebuild::rebuild(&parse::events(&trace.text(parse::FORMAT)));
    assert_eq!(rebuilt.oddities, [""; 0], "the trace is not whole");
    rebuilt
}

/// The disk has room for what all jobs have in flight.
#[test]
fn on_raw_io_with_a_deep_queue() {
    on_raw_io("64");
}

/// They wait for tags.
#[test]
fn on_raw_io_with_a_shallow_queue() {
    on_raw_io("4");
}

fn on_raw_io(depth: &str) {
    let disk = disk(depth);
    let jobs = include_str!("second_opinion/raw.fio").replace("DISK", &disk.node());
    agree(&disk, || run_jobs(&jobs));
}

/// Through the page cache and a journal: readahead, writeback by the kernel, flushes before data and after it.
#[test]
fn on_buffered_io() {
    on_buffered_io_of(&disk("4"));
}

/// No flush after data.
#[test]
fn on_buffered_io_of_a_disk_that_writes_through() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=1000000", "max_queue=4"]);
    assert_eq!(disk.device.attribute("queue/fua").expect("a queue"), "1");
    on_buffered_io_of(&disk);
}

fn on_buffered_io_of(disk: &Disk) {
    let options = if shows_fua(disk) {
        "barrier=1"
    } else {
        println!(
            "skipped: blktrace shows no write with FUA on this kernel: a journal without flushes"
        );
        "barrier=0"
    };
    let at_once = "lazy_itable_init=0,lazy_journal_init=0";
    run("mkfs.ext4", &["-q", "-E", at_once, &disk.node()]);
    let mount = tempfile::tempdir().expect("a directory");
    let at = mount.path().to_str().expect("UTF-8");
    let jobs = include_str!("second_opinion/buffered.fio").replace("MOUNT", at);
    agree(disk, || {
        run("mount", &["-t", "ext4", "-o", options, &disk.node(), at]);
        let processes = run_jobs(&jobs);
        run("umount", &[at]);
        processes
    });
}

/// blktrace 1.2 on Linux 7.2 lacks all events of such writes, and says nothing.
fn shows_fua(disk: &Disk) -> bool {
    let output = format!("of={}", disk.node());
    let through = ["if=/dev/zero", &output, "bs=4k", "count=1"];
    let write = [&through[..], &["oflag=direct,dsync", "conv=notrunc"]].concat();
    let (trace, _) = Blktrace::over(disk, || pid_of_run("dd", &write));
    let requests = rebuilt(&trace).requests;
    requests.iter().any(|request| request.kind == "WFS")
}
