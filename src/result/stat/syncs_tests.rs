use super::*;
use crate::measured::histogram::{Histogram, OWNER};

const SECOND: u64 = 1_000_000_000;

/// By the place: 0 names no file, 1 is watched, 2 is a btrfs on two disks of which one is watched, 3 on none, and others are not found.
struct Made;

impl Places for Made {
    fn place(&self, place: u64, _: u32) -> SyncPlace {
        let on = |name: &str, filesystem: &str, members: &[&str]| SyncPlace {
            name: Some(name.to_owned()),
            devices: Some(members.iter().map(|name| (*name).to_owned()).collect()),
            filesystem: Some(filesystem.to_owned()),
            members: Vec::new(),
        };
        match place {
            1 => on("/srv", "ext4", &["sda"]),
            2 => on("/pool", "btrfs", &["sda", "sdb"]),
            3 => on("/net", "nfs4", &[]),
            _ => SyncPlace::default(),
        }
    }
}

fn throttled(tgid: u32, place: u64, ns: u64) -> SyncRow {
    SyncRow {
        key: SyncKey {
            kind: SyncKind::Throttled,
            tgid,
            start_ns: 1,
            cgroup_id: 1,
            place,
        },
        comm: "dd".to_owned(),
        all: Sum { count: 2, ns },
        histogram: Histogram::new(OWNER),
        causes: BTreeMap::new(),
        under_way: 0,
        oldest_ns: None,
    }
}

#[test]
fn a_wait_is_here_or_elsewhere_by_the_disks_of_its_file_system() {
    let rows = [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 3, 4), (5, 9, 5)];
    let row = |(tgid, place, s)| throttled(tgid, place, s * SECOND);
    let numbers = SyncNumbers {
        ns: 10 * SECOND,
        rows: rows.map(row).to_vec(),
        ..SyncNumbers::default()
    };
    let live = syncs(&numbers, &["sda"], &(), &Made);
    let name = |place: &SyncPlace| place.name.clone();
    let here: Vec<_> = live
        .throttled
        .iter()
        .map(|row| (row.who.pid, name(&row.place), row.share))
        .collect();
    assert_eq!(
        here,
        [
            (Some(2), Some("/pool".to_owned()), 0.2),
            (Some(1), Some("/srv".to_owned()), 0.1),
        ]
    );
    let sum = |count: u64, s: u64| Sum {
        count,
        ns: s * SECOND,
    };
    assert_eq!((live.elsewhere, live.unplaced), (sum(4, 7), sum(2, 5)));
    let by = live.elsewhere_by.iter();
    let by: Vec<_> = by
        .map(|of| (of.place.filesystem.as_deref(), of.count, of.ns / SECOND))
        .collect();
    assert_eq!(by, [(Some("nfs4"), 4, 7), (None, 2, 5)]);
}
