use super::*;

fn key(kind: SyncKind) -> SyncKey {
    SyncKey {
        kind,
        tgid: 7,
        start_ns: 1,
        cgroup_id: 1,
        place: 8,
    }
}

fn totals(sums: &[(SyncCause, u64, u64)], count: u64, ns: u64) -> SyncTotals {
    let mut totals = SyncTotals {
        comm: "db".to_owned(),
        all: Sum { count, ns },
        ..SyncTotals::default()
    };
    totals.histogram.record_n(100, count);
    for (cause, count, ns) in sums {
        let (count, ns) = (*count, *ns);
        totals.sleeps.insert(*cause, Sum { count, ns });
    }
    totals
}

fn snapshot(rows: Vec<(SyncKey, SyncTotals)>) -> SyncSnapshot {
    SyncSnapshot {
        time_ns: 1000,
        rows: rows.into_iter().collect(),
        ..SyncSnapshot::default()
    }
}

#[test]
fn what_is_not_asleep_runs_and_the_parts_add_up() {
    let earlier = snapshot(vec![(
        key(SyncKind::Call),
        totals(&[(SyncCause::Journal, 1, 60)], 1, 100),
    )]);
    let sleeps = [(SyncCause::Journal, 3, 560), (SyncCause::Data, 1, 200)];
    let later = snapshot(vec![(key(SyncKind::Call), totals(&sleeps, 4, 1000))]);
    let numbers = SyncNumbers::between(&earlier, &later).expect("one layout");
    let [row] = &*numbers.rows else {
        panic!("{numbers:?}")
    };
    assert_eq!((row.all.count, row.all.ns), (3, 900));
    assert_eq!(row.causes[&SyncCause::Journal], Sum { count: 2, ns: 500 });
    assert_eq!(row.causes[&SyncCause::Running].ns, 200);
    assert_eq!(row.causes.values().map(|sum| sum.ns).sum::<u64>(), 900);
}

#[test]
fn a_sleep_that_was_not_for_writeback_does_not_count() {
    let nothing = snapshot(Vec::new());
    let other = totals(&[(SyncCause::Other, 5, 5000)], 5, 5000);
    let later = snapshot(vec![(key(SyncKind::Writeback), other)]);
    let numbers = SyncNumbers::between(&nothing, &later).expect("one layout");
    assert!(numbers.rows.is_empty(), "{numbers:?}");

    let both = [(SyncCause::Other, 5, 5000), (SyncCause::Data, 2, 300)];
    let later = snapshot(vec![(key(SyncKind::Writeback), totals(&both, 7, 5300))]);
    let numbers = SyncNumbers::between(&nothing, &later).expect("one layout");
    assert_eq!(numbers.rows[0].all, Sum { count: 2, ns: 300 });
}

#[test]
fn a_call_that_never_returned_has_a_row_and_an_age() {
    let mut later = snapshot(Vec::new());
    let calls = UnderWay {
        comm: "db".to_owned(),
        count: 2,
        since_ns: 400,
    };
    later.under_way.insert(key(SyncKind::Call), calls);
    let numbers = SyncNumbers::between(&snapshot(Vec::new()), &later).expect("one layout");
    let row = &numbers.rows[0];
    assert_eq!((row.under_way, row.oldest_ns), (2, Some(600)));
    assert_eq!((row.all.count, row.causes.len()), (0, 0));
    assert_eq!(row.comm, "db");
}

#[test]
fn a_row_that_was_removed_and_came_back_begins_again() {
    let earlier = snapshot(vec![(key(SyncKind::Call), totals(&[], 9, 900))]);
    let later = snapshot(vec![(key(SyncKind::Call), totals(&[], 2, 100))]);
    let numbers = SyncNumbers::between(&earlier, &later).expect("an interval");
    assert_eq!(numbers.rows[0].all, Sum { count: 2, ns: 100 });
}

#[test]
fn a_throttled_writer_that_did_not_sleep_there_does_not_count() {
    let sleeps = [(SyncCause::Other, 5, 5000), (SyncCause::Throttle, 2, 300)];
    let later = snapshot(vec![(key(SyncKind::Throttled), totals(&sleeps, 7, 5300))]);
    let numbers = SyncNumbers::between(&snapshot(Vec::new()), &later).expect("one layout");
    assert_eq!(numbers.rows[0].all, Sum { count: 2, ns: 300 });
}

#[test]
fn the_stack_says_what_is_waited_for() {
    let stacks: [(&[&str], SyncCause); 9] = [
        (
            &[
                "folio_wait_writeback",
                "__filemap_fdatawait_range",
                "ext4_sync_file",
            ],
            SyncCause::Data,
        ),
        (
            &["jbd2_log_wait_commit", "ext4_sync_file"],
            SyncCause::Journal,
        ),
        // btrfs waits for the pages of its log.
        (
            &[
                "folio_wait_writeback",
                "filemap_fdatawait_range",
                "btrfs_sync_log",
            ],
            SyncCause::Journal,
        ),
        (
            &[
                "submit_bio_wait",
                "blkdev_issue_flush.part.0",
                "ext4_sync_file",
            ],
            SyncCause::Flush,
        ),
        (
            &["blk_mq_get_tag", "file_write_and_wait_range"],
            SyncCause::Request,
        ),
        (
            &["rwsem_down_write_slowpath", "ext4_sync_file"],
            SyncCause::Lock,
        ),
        // A bitmap is read while pages are written.
        (
            &[
                "ext4_wait_block_bitmap",
                "ext4_writepages",
                "file_write_and_wait_range",
            ],
            SyncCause::Read,
        ),
        (
            &[
                "out_of_line_wait_on_bit",
                "jbd2_fc_wait_bufs",
                "ext4_fc_commit",
            ],
            SyncCause::Journal,
        ),
        (&["fuse_fsync"], SyncCause::Other),
    ];
    for (functions, cause) in stacks {
        assert_eq!(cause_of(functions), cause, "{functions:?}");
    }
    assert!(is_named("xfs_log_force_seq.isra.0") && !is_named("xfs_log_forced"));
}
