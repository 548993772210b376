//! Causes that are planted: `iosched why` names each first. Profile `truth`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Cause, CauseShare, Interval};
use iosched_result::report::why::{Counted, Keeps, WhyRecord, why};
use iosched_result::why::DiskFacts;
use iosched_vmtest::{Disk, Fio, Ftrace, run};

/// What is told of three seconds, from one second on.
fn told(disk: &Disk, depth: u32, wait: impl FnOnce()) -> WhyRecord {
    told_with_held(disk, depth, wait).0
}

/// The same, and how many bios a limit held back of which this kernel does not show since when.
fn told_with_held(disk: &Disk, depth: u32, wait: impl FnOnce()) -> (WhyRecord, u64) {
    let mut probe =
        Probe::attach(std::slice::from_ref(&disk.device), 0, Detail::default()).expect("a probe");
    let earlier = probe.snapshot().expect("a snapshot");
    probe.begin_stretch();
    wait();
    let stretch = probe.end_stretch().expect("a stretch");
    let later = probe.snapshot().expect("a snapshot");
    let interval = Interval::between(&earlier, &later).expect("an interval");
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
    let to = format!("of={}", disk.node());
    let record = told(&disk, 128, || {
        run("dd", &["if=/dev/zero", &to, "bs=1M", "count=128"]);
        run("sync", &[]);
    });
    // It has little to do without reads beside, and where the kernel does not name it, it is told only if nothing else can be.
    let its = "writeback throttling (wbt_lat_usec is 1)";
    let is_told = record.sentences.iter().any(|of| of.text.contains(its));
    assert!(
        is_told || !Ftrace::has("block/block_rq_tag_wait"),
        "{record:#?}"
    );
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
