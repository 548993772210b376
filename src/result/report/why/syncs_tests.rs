use super::*;
use crate::measured::snapshot::{OwnerKey, OwnerNumbers};
use crate::measured::syncs::{Sum, SyncLosses};
use crate::stat::LatencySummary;

const SECOND: u64 = 1_000_000_000;

fn db() -> SyncWho {
    SyncWho {
        pid: Some(7),
        start_ms: Some(1),
        comm: "db".to_owned(),
        cgroup_id: 1,
        cgroup: None,
    }
}

fn srv() -> SyncPlace {
    SyncPlace {
        name: Some("/srv".to_owned()),
        devices: Some(vec!["sda".to_owned()]),
        ..SyncPlace::default()
    }
}

fn call(cause: SyncCause, share: f64) -> LiveSync {
    let total_ns = 8 * SECOND;
    LiveSync {
        who: db(),
        place: srv(),
        latency: LatencySummary {
            count: 100,
            mean_ns: Some(80e6),
            p50_ns: None,
            p99_ns: None,
            p50_is_of_few: true,
            p99_is_of_few: true,
            max_ns: None,
        },
        total_ns,
        waits: vec![SyncShare {
            cause,
            count: 100,
            ns: (total_ns as f64 * share) as u64,
            share,
        }],
        under_way: 0,
        oldest_ns: None,
    }
}

fn syncs(calls: Vec<LiveSync>) -> LiveSyncs {
    LiveSyncs {
        calls,
        throttled: Vec::new(),
        writeback: Vec::new(),
        elsewhere: Sum::default(),
        unplaced: Sum::default(),
        elsewhere_by: Vec::new(),
        pressure: None,
        losses: SyncLosses::default(),
    }
}

fn disks() -> Vec<DiskFacts> {
    vec![DiskFacts {
        name: "sda".to_owned(),
        ..DiskFacts::default()
    }]
}

fn writers(bytes: &[(u32, u64)]) -> Interval {
    let mut interval = Interval::nothing("sda");
    for (tgid, bytes) in bytes {
        let key = OwnerKey {
            device: "sda".to_owned(),
            tgid: *tgid,
            kind: OwnerKind::Writeback,
            start_ms: 1,
            cgroup_id: 1,
            file: None,
        };
        let mut owner = OwnerNumbers::new(key, &format!("writer{tgid}"));
        owner.ops[Op::WriteAsync as usize].bytes = *bytes;
        interval.owners.push(owner);
    }
    interval
}

fn texts(syncs: &LiveSyncs, interval: &Interval) -> Vec<String> {
    let told = told(syncs, interval, &disks(), 10.0);
    told.into_iter().map(|told| told.sentence.text).collect()
}

#[test]
fn the_journal_is_named_with_who_writes_most() {
    let syncs = syncs(vec![call(SyncCause::Journal, 0.9)]);
    let hog = writers(&[(7, 1000), (9, 3_000_000_000)]);
    assert_eq!(
        texts(&syncs, &hog),
        [
            "db (7): its 100 fsyncs on /srv take 80.0 ms each. 90 % of that it waits for the journal of the file system to commit. Most of what is written to sda meanwhile, 2.79 GiB, is of writer9 (9); a commit holds the changes of all."
        ]
    );
    let mut both = call(SyncCause::Flush, 0.6);
    both.waits.extend(call(SyncCause::Data, 0.3).waits);
    let texts_of_both = texts(&self::syncs(vec![both]), &writers(&[]));
    assert_eq!(
        texts_of_both,
        [
            "db (7): its 100 fsyncs on /srv take 80.0 ms each. 60 % of that it waits for a flush of the disk's cache; 30 % for pages to be written back."
        ]
    );
    let itself = writers(&[(7, 3_000_000_000), (9, 1000)]);
    assert!(!texts(&syncs, &itself)[0].contains("Most of"));
    let many = writers(&[(9, 400), (10, 400), (11, 400)]);
    assert!(!texts(&syncs, &many)[0].contains("Most of"));
}

#[test]
fn what_does_not_matter_or_is_told_elsewhere_is_not_told() {
    for (cause, share) in [
        (SyncCause::Journal, 0.2),
        (SyncCause::Request, 0.9),
        (SyncCause::Running, 0.9),
        (SyncCause::Unknown, 0.9),
    ] {
        let syncs = syncs(vec![call(cause, share)]);
        assert!(texts(&syncs, &writers(&[])).is_empty(), "{cause:?}");
    }
}

#[test]
fn a_call_that_does_not_return_is_told() {
    let mut stuck = call(SyncCause::Journal, 0.9);
    stuck.waits.clear();
    stuck.latency.count = 0;
    stuck.oldest_ns = Some(2 * SECOND);
    assert!(texts(&self::syncs(vec![stuck.clone()]), &writers(&[])).is_empty());
    stuck.oldest_ns = Some(4 * SECOND);
    let syncs = syncs(vec![stuck]);
    let told = told(&syncs, &writers(&[]), &disks(), 10.0);
    assert_eq!(
        told[0].sentence.text,
        "db (7): it has not come back from fsync on /srv for 4.00 s."
    );
    assert_eq!(
        told[0].sentence.command.as_deref(),
        Some("cat /proc/7/stack")
    );
}

#[test]
fn a_throttled_writer_is_told_without_a_place_too() {
    let mut syncs = syncs(Vec::new());
    syncs.throttled.push(LivePause {
        who: db(),
        place: SyncPlace::default(),
        count: 50,
        ns: 9 * SECOND,
        share: 0.9,
    });
    assert_eq!(
        texts(&syncs, &writers(&[])),
        [
            "db (7): the kernel makes it sleep when it writes, 90.0 % of the time (balance_dirty_pages): it dirties pages faster than they are written."
        ]
    );
}

/// The kernel throttles them for the file system, and for none of its disks.
#[test]
fn writers_of_a_file_system_on_several_disks_are_throttled_for_all_of_them() {
    let mut syncs = syncs(Vec::new());
    let of = |name: &str| name.to_owned();
    syncs.throttled.push(LivePause {
        who: db(),
        place: SyncPlace {
            members: vec![of("sda1"), of("sdb")],
            devices: Some(vec![of("sda"), of("sdb")]),
            ..srv()
        },
        count: 50,
        ns: 9 * SECOND,
        share: 0.9,
    });
    assert_eq!(
        texts(&syncs, &writers(&[])),
        [
            "db (7): the kernel makes it sleep when it writes on /srv (sda1, sdb together), 90.0 % of the time (balance_dirty_pages): it dirties pages faster than they are written."
        ]
    );
}
