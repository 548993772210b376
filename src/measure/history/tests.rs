use std::collections::BTreeMap;

use super::blocks::Blocks;
use super::buffer::{Buffer, MOST};
use super::file::{self, Disk, Head};
use super::frame::{Counters, DeviceFrame, Frame, Group, Side};
use super::packed::{self, Packed};
use iosched_result::measured::snapshot::{
    DeviceNumbers, Interval, Op, OwnerKey, OwnerKind, OwnerNumbers,
};
use iosched_result::stat::Selection;

/// One read of one process.
pub(crate) fn frame(number: u64) -> Frame {
    let mut device = DeviceNumbers::new("sda");
    let read = &mut device.ops[Op::Read as usize];
    (read.ios, read.bytes) = (1, 4096);
    read.d2c.record(1000 + number);
    let key = OwnerKey {
        device: "sda".into(),
        kind: OwnerKind::Process,
        tgid: 7,
        start_ms: 1,
        cgroup_id: 42,
        file: None,
    };
    let mut owner = OwnerNumbers::new(key, "reader");
    owner.ops[Op::Read as usize].ios = 1;
    owner.d2c[0].record(1000 + number);
    Frame {
        time: format!(
            "2026-01-02T03:{:02}:{:02}.000Z",
            number / 60 % 60,
            number % 60
        ),
        interval_s: 1.0,
        intervals: 1,
        measures_q2g: true,
        interval: Some(Interval {
            start_ns: number * 1_000_000_000,
            end_ns: (number + 1) * 1_000_000_000,
            devices: vec![device],
            owners: vec![owner],
        }),
        devices: vec![DeviceFrame {
            queue: None,
            side: Side::Of("none".into()),
            counters: Counters::default(),
            dispatches: Vec::new(),
            why: None,
        }],
        groups: vec![Group {
            id: 42,
            path: Some("/a.slice".into()),
            weights: BTreeMap::from([("sda".into(), 300.0)]),
        }],
        flips: Vec::new(),
        newcomers: Vec::new(),
    }
}

pub(crate) fn head() -> Head {
    Head {
        history_version: file::SCHEMA_VERSION,
        written: "2026-01-02T03:04:05Z".into(),
        environment: iosched_host::system::environment::read(None),
        disks: vec![Disk {
            name: "sda".into(),
            ..Disk::default()
        }],
        notes: vec!["a note".into()],
        dropped: 0,
    }
}

fn kept(count: u64) -> Buffer {
    let (mut blocks, mut kept) = (Blocks::default(), Buffer::default());
    for number in 0..count {
        let made = blocks.add(&frame(number)).unwrap();
        for block in made {
            kept.push(block);
        }
    }
    kept
}

/// As `file::write` does.
fn bytes(head: &Head, kept: &Buffer) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history");
    file::write(&path, head, kept).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn the_oldest_make_room_and_numbers_stay() {
    let some = 10;
    let kept = kept(MOST + some);
    assert_eq!(kept.last(), Some(MOST + some - 1));
    // The finest form has as many as were wanted; the block of 64 with the oldest began before.
    assert_eq!(kept.at_or_after(some).unwrap().first, some);
    assert_eq!((kept.first(), kept.at_or_after(0).unwrap().last), (0, 63));
    for number in [some, kept.last().unwrap()] {
        let block = kept.at_or_after(number).unwrap();
        let found = block.packed.frame().unwrap();
        assert_eq!(found.interval.unwrap().start_ns, number * 1_000_000_000);
    }
}

#[test]
fn memory_is_bounded_and_the_past_gets_coarser() {
    let limits = [20_000, 20_000, 100_000];
    let (mut blocks, mut kept) = (Blocks::default(), Buffer::with_limits(limits));
    let count = 2000;
    for number in 0..count {
        for block in blocks.add(&frame(number)).unwrap() {
            kept.push(block);
        }
        assert!(kept.bytes() <= limits.iter().sum());
    }
    let (mut next, mut spans) = (0, Vec::new());
    for block in kept.since(0) {
        assert_eq!(block.first, next, "no gap, nothing twice");
        next = block.last + 1;
        spans.push(block.last + 1 - block.first);
        let interval = block.packed.frame().unwrap().interval.unwrap();
        assert_eq!(interval.start_ns, block.first * 1_000_000_000);
        assert_eq!(interval.end_ns, next * 1_000_000_000);
        let reads = interval.devices[0].ops[Op::Read as usize].clone();
        let span = block.last + 1 - block.first;
        assert_eq!((reads.ios, reads.d2c.count()), (span, span));
        let owner = &interval.owners[0].ops[Op::Read as usize];
        assert_eq!((interval.owners.len(), owner.ios), (1, span));
    }
    assert_eq!(next, count);
    spans.dedup();
    assert_eq!(spans, [64, 8, 1]);
}

#[test]
fn a_switch_ends_a_block() {
    let mut blocks = Blocks::default();
    let mut made = Vec::new();
    for number in 0..20 {
        let mut frame = frame(number);
        if number >= 5 {
            frame.devices[0].side = Side::Of("bfq".into());
        }
        made.extend(blocks.add(&frame).unwrap());
    }
    let long = made.iter().filter(|block| block.tier > 0);
    let ends: Vec<_> = long
        .map(|block| (block.tier, block.first, block.last))
        .collect();
    assert_eq!(ends, [(1, 0, 4), (2, 0, 4), (1, 5, 12)]);
}

#[test]
fn what_is_written_is_read_again() {
    let written = kept(3);
    let history = file::parse(&bytes(&head(), &written)).unwrap();
    assert_eq!(history.head.disks[0].name, "sda");
    assert!(history.cut.is_none());
    let line = |one: &Packed| serde_json::to_string(&one.frame().unwrap()).unwrap();
    let read: Vec<String> = history.frames.iter().map(line).collect();
    let blocks = written.since(0).map(|block| line(&block.packed));
    assert_eq!(read, blocks.collect::<Vec<_>>());
    let first = history.frames[0].frame().unwrap();
    assert_eq!(first.cgroup_path(42).as_deref(), Some("/a.slice"));
    assert_eq!(
        (
            first.cgroup_weight(42, "sda"),
            first.cgroup_weight(42, "sdb")
        ),
        (300.0, 100.0)
    );
    assert_eq!(first.time_of_day(), "03:00:00");
}

#[test]
fn a_file_that_was_cut_shows_its_beginning() {
    let whole = bytes(&head(), &kept(20));
    let history = file::parse(&whole[..whole.len() - 10]).unwrap();
    assert_eq!(history.frames.len(), 19);
    assert!(history.cut.unwrap().starts_with("line 21: "));
}

#[test]
fn other_files_are_refused_with_the_place() {
    let refused = |bytes: &[u8]| file::parse(bytes).unwrap_err();
    assert_eq!(refused(b""), "it is empty");
    assert!(!refused(b"{}\n").is_empty());
    assert!(refused(b"a text that is long enough for a header\n").contains("gzip header"));
    let mut other = head();
    other.history_version = 9;
    assert_eq!(
        refused(&bytes(&other, &kept(1))),
        "its format has version 9, and this program reads version 1"
    );
    assert_eq!(
        refused(&bytes(&head(), &Buffer::default())),
        "it has no interval"
    );
    let tampered = |change: &dyn Fn(&mut Frame)| {
        let mut wrong = frame(1);
        change(&mut wrong);
        let more = Packed::of(&wrong).unwrap();
        refused(&[&bytes(&head(), &kept(1)), more.bytes()].concat())
    };
    let interval = |frame: &mut Frame| frame.interval.clone().unwrap();
    for (change, why) in [
        (
            (&|frame: &mut Frame| frame.devices.clear()) as &dyn Fn(&mut Frame),
            "devices are not those of the file's disks",
        ),
        (
            &|frame| frame.interval_s = -1.0,
            "interval_s is out of range",
        ),
        (
            &|frame| {
                let reversed = Interval {
                    end_ns: 0,
                    ..interval(frame)
                };
                frame.interval = Some(reversed);
            },
            "interval ends before it begins",
        ),
        (
            &|frame| {
                let mut other = interval(frame);
                other.devices[0].name = "sdb".into();
                frame.interval = Some(other);
            },
            "interval.devices are not the file's disks",
        ),
        (
            &|frame| {
                let mut short = interval(frame);
                short.owners[0].ops.pop();
                frame.interval = Some(short);
            },
            "interval.owners.ops are not those of this version",
        ),
        (
            &|frame| frame.groups[0].weights = BTreeMap::from([("sda".into(), 0.0)]),
            "a weight is out of range",
        ),
    ] {
        assert_eq!(tampered(change), format!("line 3: {why}"));
    }
}

/// A small file of a hundred gigabytes of text.
#[test]
fn a_line_without_end_takes_bounded_memory() {
    let member = packed::line(&"x".repeat(1 << 20)).unwrap();
    let head = packed::line(&head()).unwrap();
    // Members of text without a line break.
    let mut long = head.clone();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &vec![b'['; 65 << 20]).unwrap();
    long.extend(encoder.finish().unwrap());
    assert_eq!(
        file::parse(&long).unwrap_err(),
        "line 2: it is longer than 64 MiB"
    );
    let text = [head, member].concat();
    assert_eq!(
        file::parse(&text).unwrap_err(),
        "line 2: the line is too large"
    );
}
