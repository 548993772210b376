//! Causes that are planted: `iosched why` names each first. Profile `truth`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use iosched_host::system::device::{mounts, place_of};
use iosched_measure::probe::{Detail, Probe};
use iosched_measure::syncs::{SyncProbe, dev_of_place};
use iosched_result::measured::snapshot::{Cause, CauseShare, Interval};
use iosched_result::measured::syncs::SyncNumbers;
use iosched_result::report::why::{Counted, Keeps, WhyRecord, why};
use iosched_result::stat::{self, SyncPlace};
use iosched_result::why::DiskFacts;
use iosched_vmtest::file_system::Mounted;
use iosched_vmtest::{Disk, Fio, Ftrace, run};

/// What is told of three seconds, from one second on.
fn told(disk: &Disk, depth: u32, wait: impl FnOnce()) -> WhyRecord {
    told_with_held(disk, depth, wait).0
}

/// The same, and how many bios a limit held back of which this kernel does not show since when.
fn told_with_held(disk: &Disk, depth: u32, wait: impl FnOnce()) -> (WhyRecord, u64) {
    let detail = Detail {
        writeback: true,
        ..Detail::default()
    };
    let mut probe = Probe::attach(std::slice::from_ref(&disk.device), 0, detail).expect("a probe");
    let mut syncs = SyncProbe::attach().expect("a probe");
    let earlier = probe.snapshot().expect("a snapshot");
    let earlier_syncs = syncs.snapshot().expect("a snapshot");
    probe.begin_stretch();
    wait();
    let stretch = probe.end_stretch().expect("a stretch");
    let later = probe.snapshot().expect("a snapshot");
    let interval = Interval::between(&earlier, &later).expect("an interval");
    let later_syncs = syncs.snapshot().expect("a snapshot");
    let numbers = SyncNumbers::between(&earlier_syncs, &later_syncs).expect("an interval");
    let syncs = stat::syncs(&numbers, &[disk.name()], &(), &Places);
    let number = |attribute: &str| disk.device.attribute(attribute).ok()?.trim().parse().ok();
    let facts = DiskFacts {
        name: disk.name().to_owned(),
        scheduler: Some(disk.scheduler()),
        others: vec!["bfq".to_owned()],
        hardware_depth: Some(depth),
        nr_requests: number("queue/nr_requests"),
        wbt_lat_us: number("queue/wbt_lat_usec").map(u64::from),
    };
    let counted = Counted {
        interval: &interval,
        syncs: Some(&syncs),
        cgroup_path: &|_| Some("/planted".to_owned()),
    };
    let owner = |row| probe.owner(row);
    let time = String::new();
    let record = why(
        &stretch,
        &[facts],
        time,
        &owner,
        &Keeps::ALL,
        Some(&counted),
    );
    for sentence in &record.sentences {
        println!("{} {:?}", sentence.text, sentence.command);
    }
    (record, interval.devices[0].edges.throttled_unknown)
}

struct Places;

impl stat::Places for Places {
    fn place(&self, place: u64, _: u32) -> SyncPlace {
        let mounts = mounts::read().expect("the mounts");
        let dev = dev_of_place(place);
        dev.map_or_else(SyncPlace::default, |(major, minor)| {
            place_of(&mounts, &[], major, minor)
        })
    }
}

#[track_caller]
fn names_first(record: &WhyRecord, words: &str) {
    let first = &record.sentences[0].text;
    assert!(first.contains(words), "{words}: {record:#?}");
}

fn three_seconds() {
    std::thread::sleep(Duration::from_secs(3));
}

#[test]
fn a_greedy_writer() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "4")]);
    disk.set_scheduler("mq-deadline");
    let hog = Fio::start(
        &disk.node(),
        "--rw=randwrite --ioengine=libaio --iodepth=32 --time_based --runtime=1h",
    );
    let reader = Fio::start(&disk.node(), "--rw=randread --time_based --runtime=1h");
    std::thread::sleep(Duration::from_secs(1));
    let record = told(&disk, 4, three_seconds);
    let behind = format!("behind writes of fio ({})", hog.pid());
    let its = record.sentences.iter().find(|of| {
        of.text
            .starts_with(&format!("fio ({}): its reads", reader.pid()))
    });
    assert!(
        its.is_some_and(|of| of.text.contains(&behind)),
        "{record:#?}"
    );
    let few = record
        .sentences
        .iter()
        .find(|of| of.text.contains("nr_requests"));
    assert!(few.is_none(), "{few:?}");
}

#[test]
fn too_few_requests_of_the_scheduler() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "64")]);
    disk.set_scheduler("mq-deadline");
    disk.set("queue/nr_requests", "4");
    let load = Fio::start(
        &disk.node(),
        "--rw=randread --ioengine=libaio --iodepth=32 --time_based --runtime=1h",
    );
    std::thread::sleep(Duration::from_secs(1));
    let record = told(&disk, 64, three_seconds);
    names_first(&record, "until one of the 4 requests of mq-deadline");
    let is_said = !record.sentences[0].text.contains("does not say");
    assert_eq!(is_said, Ftrace::has("block/block_rq_tag_wait"));
    drop(load);
}

/// A process of another control group that has just begun to read: bfq keeps the disk for its next read.
#[test]
fn idling_of_bfq() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "4")]);
    disk.set_scheduler("bfq");
    // If there are few requests, bfq lets the writer have hardly any: that would be another cause.
    disk.set("queue/nr_requests", "256");
    let enter = |group: &Path| fs::write(group.join("cgroup.procs"), "0").expect("its group");
    let group = |name: &str| {
        let group = Path::new("/sys/fs/cgroup").join(name);
        fs::create_dir(&group).expect("a control group");
        enter(&group);
        group
    };
    let of_hog = group("hog");
    let hog = Fio::start(
        &disk.node(),
        "--rw=randwrite --bs=256k --ioengine=libaio --iodepth=32 --time_based --runtime=1h",
    );
    std::thread::sleep(Duration::from_secs(1));
    let of_reader = group("reader");
    // If the reader's weight is ten times as large, bfq limits the writer's requests instead of idling.
    fs::write(of_reader.join("io.bfq.weight"), "300").expect("a weight");
    let reader = Fio::start(
        &disk.node(),
        "--rw=randread --ioengine=psync --time_based --runtime=1h",
    );
    enter(Path::new("/sys/fs/cgroup"));
    std::thread::sleep(Duration::from_secs(1));
    let record = told(&disk, 4, three_seconds);
    if record.sentences[0]
        .text
        .contains("of the 256 requests of bfq")
    {
        // 6.12 keeps the writer from requests instead, by its share of the weights.
        names_first(&record, &format!("fio ({}): its threads sleep", hog.pid()));
    } else {
        names_first(&record, &format!("fio ({}): its writes", hog.pid()));
        names_first(&record, &format!("behind reads of fio ({})", reader.pid()));
        let free = &record.sentences[1].text;
        let keeps = "could have taken another request (4 at once): bfq, which keeps";
        assert!(free.contains(keeps), "{record:#?}");
    }
    drop((hog, reader));
    std::thread::sleep(Duration::from_millis(100));
    for group in [of_hog, of_reader] {
        let _ = fs::remove_dir(group);
    }
}

#[test]
fn a_limit_of_a_control_group() {
    let disk = Disk::null_blk(1_000_000, &[]);
    let group = Path::new("/sys/fs/cgroup/planted");
    fs::create_dir(group).expect("a control group");
    let limit = format!("{}:{} riops=50", disk.device.major, disk.device.minor);
    fs::write(group.join("io.max"), limit).expect("a limit");
    let enter = |group: &Path| fs::write(group.join("cgroup.procs"), "0").expect("its group");
    enter(group);
    let load = Fio::start(
        &disk.node(),
        "--rw=randread --iodepth=1 --time_based --runtime=1h",
    );
    enter(Path::new("/sys/fs/cgroup"));
    std::thread::sleep(Duration::from_secs(1));
    let (record, held_unseen) = told_with_held(&disk, 64, three_seconds);
    drop(load);
    let is_limit = |of: &CauseShare| of.cause == Cause::Limit;
    if record.waits.iter().flat_map(|of| &of.causes).any(is_limit) {
        names_first(&record, "a limit of its control group (io.max)");
        assert_eq!(
            record.sentences[0].command.as_deref(),
            Some("cat /sys/fs/cgroup/planted/io.max")
        );
    } else {
        // This kernel does not show since when; it counts them all the same.
        assert!(held_unseen > 0, "{record:#?}");
    }
    std::thread::sleep(Duration::from_millis(100));
    let _ = fs::remove_dir(group);
}

#[test]
fn writeback_throttling() {
    let disk = Disk::null_blk(20_000_000, &[("hw_queue_depth", "128")]);
    disk.set_scheduler("none");
    disk.set("queue/wbt_lat_usec", "1");
    // Reads that take longer than the target: writeback has to wait.
    let reader = Fio::start(
        &disk.node(),
        "--rw=randread --ioengine=psync --time_based --runtime=1h",
    );
    let to = format!("of={}", disk.node());
    let record = told(&disk, 128, || {
        run("dd", &["if=/dev/zero", &to, "bs=1M", "count=128"]);
        run("sync", &[]);
    });
    drop(reader);
    // Where the kernel does not name it, it is told only if nothing else can be.
    let its = "writeback throttling (wbt_lat_usec is 1)";
    let is_told = record.sentences.iter().any(|of| of.text.contains(its));
    assert!(
        is_told || !Ftrace::has("block/block_rq_tag_wait"),
        "{record:#?}"
    );
}

const STORES: (&str, &str) = ("memory_backed", "1");

#[test]
fn fsync_behind_the_journal_of_somebody_else() {
    let disk = Disk::null_blk(
        1_000_000,
        &[STORES, ("hw_queue_depth", "4"), ("size", "384")],
    );
    let mounted = Mounted::ext4(&disk);
    let file = |name: &str| mounted.file(name);
    // It changes metadata with each write, and its data is in each commit.
    let other = Fio::start(
        &file("other"),
        "--direct=0 --ioengine=psync --rw=write --bs=256k --size=128m --fallocate=none --time_based --runtime=1h",
    );
    let database = Fio::start(
        &file("database"),
        "--direct=0 --ioengine=psync --rw=randwrite --size=1m --fsync=1 --time_based --runtime=1h",
    );
    std::thread::sleep(Duration::from_secs(2));
    let record = told(&disk, 4, three_seconds);
    let its = format!("fio ({}): its ", database.pid());
    let first = &record.sentences[0].text;
    assert!(first.starts_with(&its), "{record:#?}");
    assert!(
        first.contains("the journal of the file system"),
        "{record:#?}"
    );
    let writer = format!("is of fio ({});", other.pid());
    assert!(first.contains(&writer), "{record:#?}");
    drop((other, database));
}

#[test]
fn writeback_of_another_program() {
    let disk = Disk::null_blk(
        1_000_000,
        &[STORES, ("hw_queue_depth", "1"), ("size", "384")],
    );
    disk.set_scheduler("none");
    disk.set("queue/wbt_lat_usec", "0");
    let mounted = Mounted::ext4(&disk);
    let file = |name: &str| mounted.file(name);
    let to = format!("of={}", file("read"));
    run(
        "dd",
        &["if=/dev/zero", &to, "bs=64k", "count=64", "conv=fsync"],
    );
    fs::write("/proc/sys/vm/dirty_background_bytes", "1048576").expect("a limit");
    let other = Fio::start(
        &file("other"),
        "--direct=0 --ioengine=psync --rw=randwrite --bs=4k --size=64m --time_based --runtime=1h",
    );
    let reader = Fio::start(
        &file("read"),
        "--ioengine=psync --rw=randread --size=4m --time_based --runtime=1h",
    );
    std::thread::sleep(Duration::from_secs(2));
    let record = told(&disk, 1, three_seconds);
    fs::write("/proc/sys/vm/dirty_background_ratio", "10").expect("a limit");
    let its = format!("fio ({}): its reads", reader.pid());
    let told = record.sentences.iter().find(|of| of.text.starts_with(&its));
    let behind = format!("writes of writeback of fio ({})", other.pid());
    assert!(
        told.is_some_and(|of| of.text.contains(&behind)),
        "{record:#?}"
    );
    drop((other, reader));
}

#[test]
fn a_device_that_hangs() {
    let disk = Disk::null_blk(20_000_000_000, &[]);
    let from = format!("if={}", disk.node());
    let mut reader = std::process::Command::new("dd")
        .args([&from, "of=/dev/null", "bs=4k", "count=1", "iflag=direct"])
        .spawn()
        .expect("dd");
    std::thread::sleep(Duration::from_millis(200));
    let record = told(&disk, 64, three_seconds);
    // It was in service when the probe came: nothing is known of it then.
    assert!(record.sentences.iter().all(|of| !of.text.contains("hangs")));
    reader.wait().expect("its end");
    let record = told(&disk, 64, || {
        reader = std::process::Command::new("dd")
            .args([&from, "of=/dev/null", "bs=4k", "count=1", "iflag=direct"])
            .spawn()
            .expect("dd");
        three_seconds();
    });
    names_first(&record, "has ended no request for");
    reader.wait().expect("its end");
}
