//! I/O that a limit of a control group holds back: whose it is and how long it was held back, by fio's own latency. Profile
//! `truth`.

use std::fs;
use std::path::Path;

use iosched_measure::probe::Detail;
use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{Op, OwnerNumbers};
use iosched_vmtest::{Disk, Fio, Seen, Watch, dd_reads};
use serde_json::Value;

const READS: u64 = 300;
const GROUP: &str = "/sys/fs/cgroup/limited";

struct Group;

impl Group {
    fn limited(disk: &Disk, limit: &str) -> Group {
        fs::create_dir(GROUP).expect("a control group");
        let (major, minor) = (disk.device.major, disk.device.minor);
        fs::write(
            Path::new(GROUP).join("io.max"),
            format!("{major}:{minor} {limit}"),
        )
        .expect("a limit");
        Group
    }

    /// A child starts in the group of this thread.
    fn start(fio: impl FnOnce() -> Fio) -> Fio {
        let enter = |group: &str| fs::write(format!("{group}/cgroup.procs"), "0").expect(group);
        enter(GROUP);
        let started = fio();
        enter("/sys/fs/cgroup");
        started
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(GROUP);
    }
}

fn mean_ns(fio: &Value) -> f64 {
    fio["read"]["lat_ns"]["mean"].as_f64().expect("a latency")
}

fn ios_of(seen: &Seen, is_its: impl Fn(&OwnerNumbers) -> bool) -> u64 {
    let rows = seen.0.owners.iter().filter(|row| is_its(row));
    rows.map(|row| row.ops[Op::Read as usize].ios).sum()
}

#[test]
fn what_a_limit_holds_back_belongs_to_who_asked() {
    let disk = Disk::null_blk(1_000_000, &[]);
    let detail = Detail {
        asked: true,
        ..Detail::default()
    };
    let mut watch = Watch::with(&disk, detail);
    for scheduler in ["none", "bfq"] {
        disk.set_scheduler(scheduler);
        dd_reads(&disk, 1);
        let _group = Group::limited(&disk, "riops=100");
        let job = format!("--rw=randread --iodepth=4 --number_ios={READS} --size=64m");
        let start = || Fio::start(&disk.node(), &job);
        let (seen, (pid, fio)) = watch.over(|| Group::start(start).end());
        let edges = seen.device().edges;
        println!("{scheduler}: {edges:?}, fio {} ns", mean_ns(&fio));
        assert_eq!(seen.op(Op::Read).ios, READS);
        let own = ios_of(&seen, |row| row.key.tgid == pid);
        if edges.throttled_unknown > 0 {
            is_said_to_be_unknown(&seen, pid, own);
            continue;
        }
        // All but those for which a slice of 100 ms has room.
        assert!(edges.throttled > READS / 4, "{edges:?}");
        assert_eq!(own, READS, "{:#?}", seen.0.owners);
        let row = seen.process(pid);
        assert_eq!(
            (row.throttled, row.throttled_ns),
            (edges.throttled, edges.throttled_ns)
        );
        let asked = row.asked.as_ref().expect("since it asked");
        let [ours, theirs] = [asked.a2c[0].mean_ns().expect("reads"), mean_ns(&fio)];
        let off = ours / theirs - 1.0;
        println!("{scheduler}: A2C {ours} ns, {:.2} % off", off * 100.0);
        assert!(
            off.abs() < 0.03,
            "{scheduler}: A2C {ours} ns, fio {theirs} ns"
        );
        // Time that is not the device's was the limit's.
        let held_ns = edges.throttled_ns as f64 / READS as f64;
        assert!(
            (held_ns / (theirs - 1e6) - 1.0).abs() < 0.03,
            "{held_ns} {theirs}"
        );
        let wait = seen.mean_wait_ns(Op::Read, watch.measures_q2g());
        assert!(wait < 1e6, "the limit is in no queue wait: {wait} ns");
    }
}

/// Where the kernel does not show it, nothing is claimed.
fn is_said_to_be_unknown(seen: &Seen, pid: u32, own: u64) {
    let held = seen.device().edges.throttled_unknown;
    let group = seen.process(pid).key.cgroup_id;
    assert_eq!(own, READS - held);
    let workers = ios_of(seen, |row| {
        row.comm == "kthrotld" && row.key.cgroup_id == group
    });
    assert_eq!(workers, held, "{:#?}", seen.0.owners);
    for row in &seen.0.owners {
        let asked = row.asked.as_ref().expect("since it asked");
        let known: u64 = asked.a2c.iter().map(Histogram::count).sum();
        let expected = if row.comm == "kthrotld" {
            0
        } else {
            row.data_ios()
        };
        assert_eq!(known, expected, "{}", row.comm);
    }
}
