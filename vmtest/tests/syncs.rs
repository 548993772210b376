//! Waits above the block layer: fsync against the kernel's own trace of system calls and of what sleeps, throttled writers
//! against the trace of the throttle, and waits for writeback. Profile `truth`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use iosched_host::system::device::mounts;
use iosched_host::system::device::{place_of, place_of_bdi};
use iosched_measure::syncs::{SyncProbe, dev_of_place};
use iosched_result::measured::syncs::{SyncCause, SyncKind, SyncNumbers, SyncRow};
use iosched_vmtest::file_system::{FILE_SYSTEMS, Mounted};
use iosched_vmtest::{Disk, Fio, Ftrace, run};

/// What was counted while `work` was done.
fn over<T>(probe: &mut SyncProbe, work: impl FnOnce() -> T) -> (SyncNumbers, T) {
    let earlier = probe.snapshot().expect("a snapshot");
    let result = work();
    let later = probe.snapshot().expect("a snapshot");
    let numbers = SyncNumbers::between(&earlier, &later).expect("an interval");
    let losses = numbers.losses;
    assert_eq!((losses.rows, losses.threads), (0, 0), "{losses:?}");
    (numbers, result)
}

fn row(numbers: &SyncNumbers, kind: SyncKind, pid: u32) -> &SyncRow {
    let is_its = |row: &&SyncRow| (row.key.kind, row.key.tgid) == (kind, pid);
    let mut rows = numbers.rows.iter().filter(is_its);
    let row = rows.next().unwrap_or_else(|| panic!("{numbers:#?}"));
    assert!(rows.next().is_none(), "{numbers:#?}");
    row
}

fn share(row: &SyncRow, cause: SyncCause) -> f64 {
    let ns = row.causes.get(&cause).map_or(0, |sum| sum.ns);
    ns as f64 / row.all.ns as f64
}

fn number_after(text: &str, key: &str) -> Option<i64> {
    let (_, rest) = text.split_once(key)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// An event of the kernel's trace: the thread, the time in seconds, the name, and the rest.
fn event(line: &str) -> Option<(i64, f64, &str, &str)> {
    let (head, rest) = line.split_once(": ")?;
    let seconds = head.rsplit(' ').next()?.parse().ok()?;
    let pid = head.split('[').next()?.trim().rsplit('-').next()?;
    let (name, rest) = rest.split_once(": ")?;
    Some((pid.parse().ok()?, seconds, name, rest))
}

/// Calls, their time, and how long their threads slept in them.
#[derive(Debug, Default)]
struct Judged {
    calls: u64,
    ns: f64,
    asleep_ns: f64,
}

fn judge(trace: &str) -> Judged {
    let mut judged = Judged::default();
    let mut since: HashMap<i64, f64> = HashMap::new();
    let mut asleep: HashMap<i64, f64> = HashMap::new();
    for (pid, at, name, rest) in trace.lines().filter_map(event) {
        match name {
            "sys_enter" => {
                since.insert(pid, at);
            }
            "sys_exit" => {
                if let Some(begin) = since.remove(&pid) {
                    judged.calls += 1;
                    judged.ns += (at - begin) * 1e9;
                }
            }
            "sched_switch" => {
                let from = number_after(rest, "prev_pid=").expect("a thread");
                let to = number_after(rest, "next_pid=").expect("a thread");
                if since.contains_key(&from) && !rest.contains("prev_state=R") {
                    asleep.insert(from, at);
                }
                if let Some(begin) = asleep.remove(&to) {
                    judged.asleep_ns += (at - begin) * 1e9;
                }
            }
            _ => {}
        }
    }
    judged
}

fn is_near(ours: f64, theirs: f64, within: f64, what: &str) {
    let off = ours / theirs - 1.0;
    println!(
        "{what}: {ours:.0} ns, the kernel says {theirs:.0}: {:.2} % off",
        off * 100.0
    );
    assert!(off.abs() < within, "{what}: {off}");
}

/// `job` on a file of this file system, judged by the kernel's trace.
fn syncs_of(probe: &mut SyncProbe, at: &Path, job: &str, call: &str) -> Option<SyncRow> {
    let filter = "prev_comm == \"fio\" || next_comm == \"fio\"".to_owned();
    // Their numbers on x86-64.
    let number = if call == "fsync" { 74 } else { 75 };
    let of_call = format!("id == {number} && common_pid != 0");
    let ftrace = Ftrace::new(&[
        ("raw_syscalls/sys_enter", of_call.clone()),
        ("raw_syscalls/sys_exit", of_call),
        ("sched/sched_switch", filter),
    ]);
    let file = at.join("file").display().to_string();
    let load = || {
        Fio::start(
            &file,
            &format!("{job} --direct=0 --ioengine=psync --{call}=1"),
        )
        .end()
    };
    let (numbers, (trace, (pid, fio))) = over(probe, || ftrace.over(load));
    let row = row(&numbers, SyncKind::Call, pid);
    let judged = judge(&trace);
    println!("{}: {:?} {judged:?}", at.display(), row.causes);
    assert_eq!(row.all.count, judged.calls, "{row:#?}");
    assert!(judged.calls >= 64, "{judged:?}");
    is_near(row.all.ns as f64, judged.ns, 0.01, "in the calls");
    let running_ns = row.causes.get(&SyncCause::Running).map_or(0, |sum| sum.ns);
    let asleep_ns = (row.all.ns - running_ns) as f64;
    is_near(asleep_ns, judged.asleep_ns, 0.01, "asleep in them");
    let parts_ns: u64 = row.causes.values().map(|sum| sum.ns).sum();
    assert_eq!(parts_ns, row.all.ns, "{row:#?}");
    // And fio, which measures from outside.
    let theirs = fio["sync"]["lat_ns"]["mean"].as_f64().expect("fio's");
    let ours = row.all.ns as f64 / row.all.count as f64;
    assert!(ours <= theirs * 1.01, "{ours} {theirs}");
    let (major, minor) = dev_of_place(row.key.place)?;
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    let here = format!(" {major}:{minor} / {} ", at.display());
    assert!(mountinfo.contains(&here), "{here}: {mountinfo}");
    Some(row.clone())
}

fn disk() -> Disk {
    let settings = [
        ("memory_backed", "1"),
        ("size", "384"),
        ("hw_queue_depth", "4"),
    ];
    Disk::null_blk(1_000_000, &settings)
}

/// What waits for it can be looked at meanwhile.
fn slow_disk() -> Disk {
    let settings = [
        ("memory_backed", "1"),
        ("size", "384"),
        ("hw_queue_depth", "4"),
    ];
    Disk::null_blk(20_000_000, &settings)
}

fn probe() -> SyncProbe {
    let probe = SyncProbe::attach().expect("a probe");
    assert_eq!(probe.notes(), Vec::<String>::new());
    probe
}

#[test]
fn fsync_takes_as_long_as_its_system_call_and_sleeps_as_the_kernel_says() {
    let mut seen = 0;
    for system in FILE_SYSTEMS {
        let disk = disk();
        let Some(mounted) = Mounted::new(&disk, system) else {
            continue;
        };
        seen += 1;
        let job = "--rw=write --size=512k --fallocate=none";
        let row = syncs_of(&mut probe(), mounted.path(), job, "fsync").expect("a device");
        // A file that grows needs its file system's journal.
        let name = system.0;
        let journal = share(&row, SyncCause::Journal);
        assert!(journal > 0.15, "{name}: {row:#?}");
        let vague = share(&row, SyncCause::Other) + share(&row, SyncCause::Unknown);
        assert!(vague < 0.05, "{name}: {row:#?}");
    }
    assert!(seen > 0);
}

/// Blocks that are there are overwritten: ext4 has nothing to commit, and only its data and the flush are waited for.
#[test]
fn without_a_change_of_metadata_there_is_no_journal_to_wait_for() {
    let disk = disk();
    let mounted = Mounted::ext4(&disk);
    let (at, probe) = (mounted.path(), &mut probe());
    let file = format!("of={}", at.join("file").display());
    run(
        "dd",
        &["if=/dev/zero", &file, "bs=64k", "count=8", "conv=fsync"],
    );
    let row = syncs_of(
        probe,
        at,
        "--rw=write --size=512k --overwrite=1",
        "fdatasync",
    )
    .expect("a device");
    let data = share(&row, SyncCause::Data) + share(&row, SyncCause::Flush);
    assert!(data > 0.8, "{row:#?}");
    assert!(share(&row, SyncCause::Journal) < 0.1, "{row:#?}");
}

/// Whether the row is of this file system, on this disk alone.
#[track_caller]
fn is_on(probe: &SyncProbe, row: &SyncRow, at: &Path, disk: &Disk) {
    let mounts = mounts::read().expect("the mounts");
    let place = match (
        dev_of_place(row.key.place),
        probe.bdi_of_place(row.key.place),
    ) {
        (Some((major, minor)), None) => place_of(&mounts, &[], major, minor),
        (None, Some(name)) => place_of_bdi(&mounts, &[], &name),
        other => panic!("{other:?}"),
    };
    println!("{place:?}");
    assert_eq!(place.name.as_deref(), at.to_str());
    let devices = place.devices.expect("devices");
    assert_eq!(devices, std::slice::from_ref(&disk.device.name));
}

/// That of btrfs is no disk's: the kernel throttles its writers by the whole file system.
#[test]
fn a_writer_is_throttled_as_often_as_the_kernel_says() {
    for (limit, bytes) in [
        ("dirty_background_bytes", "1048576"),
        ("dirty_bytes", "4194304"),
    ] {
        fs::write(format!("/proc/sys/vm/{limit}"), bytes).expect("a limit");
    }
    for system in FILE_SYSTEMS {
        let disk = slow_disk();
        let Some(mounted) = Mounted::new(&disk, system) else {
            continue;
        };
        throttle(&disk, mounted.path());
    }
    for limit in ["dirty_background_ratio", "dirty_ratio"] {
        let ratio = if limit == "dirty_ratio" { "20" } else { "10" };
        fs::write(format!("/proc/sys/vm/{limit}"), ratio).expect("a limit");
    }
}

fn throttle(disk: &Disk, at: &Path) {
    let probe = &mut probe();
    let ftrace = Ftrace::new(&[("writeback/balance_dirty_pages", String::new())]);
    let file = format!("of={}", at.join("file").display());
    let load = || {
        let mut dd = Command::new("dd")
            .args(["if=/dev/zero", &file, "bs=64k", "count=2048"])
            .spawn()
            .expect("dd");
        dd.wait().expect("its end");
        i64::from(dd.id())
    };
    let (numbers, (trace, pid)) = over(probe, || ftrace.over(load));
    let its = trace.lines().filter_map(event).filter(|of| of.0 == pid);
    // In milliseconds; the kernel sleeps only if it is above 0.
    let pauses: Vec<i64> = its.filter_map(|of| number_after(of.3, " pause=")).collect();
    let slept: Vec<i64> = pauses.iter().copied().filter(|ms| *ms > 0).collect();
    println!("the kernel says {slept:?} ms of {pauses:?}");
    assert!(slept.len() >= 3, "{pauses:?}");
    let row = row(&numbers, SyncKind::Throttled, pid as u32);
    println!("{:?}", row.all);
    assert_eq!(row.all.count as usize, slept.len(), "{pauses:?}");
    // A pause ends at a tick.
    let (ours_ms, theirs_ms) = (row.all.ns as f64 / 1e6, slept.iter().sum::<i64>() as f64);
    let ticks = slept.len() as f64 * 4.0;
    assert!(ours_ms > theirs_ms - 2.0 * ticks && ours_ms < theirs_ms * 1.5 + 2.0 * ticks);
    is_on(probe, row, at, disk);
}

/// A direct read of what is dirty in the cache first writes it, and waits for that.
#[test]
fn a_thread_that_waits_for_writeback_outside_fsync_is_seen() {
    let disk = slow_disk();
    let mounted = Mounted::ext4(&disk);
    let path = mounted.path().join("file");
    let mut probe = probe();
    fs::write(&path, vec![1; 16 << 20]).expect("a file");
    let input = format!("if={}", path.display());
    let (numbers, (pid, took_ns)) = over(&mut probe, || {
        let start = Instant::now();
        let mut dd = Command::new("dd")
            .args([&input, "of=/dev/null", "bs=16M", "iflag=direct"])
            .spawn()
            .expect("dd");
        assert!(dd.wait().expect("its end").success());
        (dd.id(), start.elapsed().as_nanos())
    });
    let all = row(&numbers, SyncKind::Writeback, pid).all;
    println!("{all:?} in {took_ns} ns");
    // The last request that is written takes 20 ms.
    assert!(all.count >= 1 && all.ns > 15_000_000 && u128::from(all.ns) < took_ns);
}

/// It is of no file system.
#[test]
fn sync_is_a_call_without_a_place() {
    let disk = slow_disk();
    let _mounted = Mounted::ext4(&disk);
    let (numbers, pid) = over(&mut probe(), || {
        let mut sync = Command::new("sync").spawn().expect("sync");
        assert!(sync.wait().expect("its end").success());
        sync.id()
    });
    let sync = row(&numbers, SyncKind::Call, pid);
    assert_eq!((sync.key.place, sync.all.count), (0, 1), "{sync:#?}");
}
