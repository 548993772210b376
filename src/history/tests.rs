use std::collections::BTreeMap;

use super::file::{self, Disk, Head};
use super::frame::{Counters, DeviceFrame, Frame, Group, Side};
use super::kept::{Kept, MOST};
use super::packed::{self, Packed};
use crate::machine::environment::Environment;
use crate::measure::snapshot::{DeviceNumbers, Interval, Op, OwnerKey, OwnerKind, OwnerNumbers};
use crate::stat::Selection;

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
        environment: Environment::read(None),
        disks: vec![Disk {
            name: "sda".into(),
            ..Disk::default()
        }],
        notes: vec!["a note".into()],
        dropped: 0,
    }
}

fn kept(count: u64) -> Kept {
    let mut kept = Kept::default();
    (0..count).for_each(|number| kept.push(Packed::of(&frame(number)).unwrap()));
    kept
}

/// As `file::write` does.
fn bytes(head: &Head, kept: &Kept) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history");
    file::write(&path, head, kept).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn the_oldest_make_room_and_numbers_stay() {
    let some = 10;
    let kept = kept(MOST as u64 + some);
    assert_eq!((kept.len(), kept.first()), (MOST, some));
    assert!(kept.get(some - 1).is_none());
    for number in [some, kept.last().unwrap()] {
        let found = kept.get(number).unwrap().frame().unwrap();
        assert_eq!(found.interval.unwrap().start_ns, number * 1_000_000_000);
    }
    let sizes = kept.iter().map(|one| one.bytes().len());
    assert_eq!(kept.bytes(), sizes.sum::<usize>());
}

#[test]
fn memory_is_bounded_whatever_an_interval_takes() {
    let mut kept = Kept::default();
    // Does not compress: 16 bytes of each process differ.
    let mut large = frame(0);
    let interval = large.interval.as_mut().unwrap();
    let owner = interval.owners[0].clone();
    let mut random = 1u64;
    interval.owners.extend((0..30_000).map(|_| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut owner = owner.clone();
        owner.comm = format!("{random:016x}");
        owner
    }));
    let large = Packed::of(&large).unwrap();
    let most = (20 << 20) / large.bytes().len();
    assert!(most > 2, "{}", large.bytes().len());
    for _ in 0..most + 5 {
        kept.push(large.clone());
    }
    assert_eq!(kept.len(), most);
    assert!(kept.bytes() <= 20 << 20);
}

#[test]
fn what_is_written_is_read_again() {
    let written = kept(3);
    let history = file::parse(&bytes(&head(), &written)).unwrap();
    assert_eq!(history.head.disks[0].name, "sda");
    assert!(history.cut.is_none());
    let text = |kept: &Kept| {
        let frames = kept.iter().map(|one| one.frame().unwrap());
        let lines: Vec<String> = frames.map(|f| serde_json::to_string(&f).unwrap()).collect();
        lines
    };
    assert_eq!(text(&history.kept), text(&written));
    let first = history.kept.get(0).unwrap().frame().unwrap();
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
    assert_eq!(history.kept.len(), 19);
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
        refused(&bytes(&head(), &Kept::default())),
        "it has no interval"
    );
    let tampered = |change: &dyn Fn(&mut Frame)| {
        let mut all = kept(1);
        let mut wrong = frame(1);
        change(&mut wrong);
        all.push(Packed::of(&wrong).unwrap());
        refused(&bytes(&head(), &all))
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
    assert!(
        file::parse(&text)
            .unwrap_err()
            .starts_with("line 2: invalid type: string")
    );
}
