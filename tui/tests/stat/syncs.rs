//! `--detail syncs`: fsync as fio sees it from outside, on the file system that it is on.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::BINARY;
use crate::support::fio::Fio;
use crate::support::program::Program;
use crate::support::{LoopDevice, Mounted, run};
use crate::watch::{record, stat};

const SIZE_BYTES: u64 = 512 << 20;

fn calls(record: &Value) -> &Vec<Value> {
    record["syncs"]["calls"].as_array().expect("a list")
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
#[ignore = "root"]
fn fsync_takes_as_long_as_fio_says_and_its_parts_add_up() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let mounted = Mounted::ext4(&disk.node());
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 6, &["--json", "--detail", "syncs"]);
    let file = mounted.path().join("file").display().to_string();
    let job =
        "--direct=0 --ioengine=psync --rw=randwrite --size=8m --fsync=1 --time_based --runtime=3";
    let (pid, fio) = Fio::start(&file, job).end();
    let json = record(started);
    let its: Vec<&Value> = calls(&json)
        .iter()
        .filter(|row| row["pid"] == pid)
        .collect();
    let [row] = &*its else { panic!("{json:#}") };
    let sync = &fio["sync"]["lat_ns"];
    println!("{row:#}, {sync} by fio");
    // Before it begins fio calls fsync on the file that it has laid out.
    let (ours, theirs) = (number(&row["latency"]["count"]), number(&sync["N"]));
    assert!((theirs..=theirs + 2.0).contains(&ours), "{ours} {theirs}");
    let ours_ns = number(&row["total_ns"]);
    let theirs_ns = number(&sync["mean"]) * theirs;
    let off = ours_ns / theirs_ns - 1.0;
    assert!(off.abs() < 0.05, "{ours_ns} {theirs_ns}: {off}");
    let waits = row["waits"].as_array().expect("causes");
    let sum: f64 = waits.iter().map(|wait| number(&wait["ns"])).sum();
    assert!((sum - ours_ns).abs() < 1.0, "{row:#}");
    let place = mounted.path().display().to_string();
    assert_eq!(row["place"]["name"], place.as_str(), "{row:#}");
    let devices = row["place"]["devices"].as_array().expect("disks");
    assert!(devices.iter().any(|name| name == disk.device.name.as_str()));
    // Nothing may be unknown where the kernel shows its symbols.
    let unknown = waits.iter().find(|wait| wait["cause"] == "unknown");
    assert!(unknown.is_none(), "{row:#}");
    let pressure = number(&json["syncs"]["pressure"]["some_ns"]);
    assert!(
        pressure > 0.0 && pressure < 1.2e9 * number(&json["interval_s"]),
        "{json:#}"
    );
}

#[test]
#[ignore = "root"]
fn what_is_on_another_disk_is_elsewhere_and_what_names_no_file_is_here() {
    let disk = LoopDevice::in_memory(64 << 20);
    let directory = tempfile::tempdir_in("/dev/shm").expect("memory");
    let program = Program::new(BINARY);
    let arguments = ["--json", "--detail", "syncs"];
    let started = stat(&program, &disk.node(), 2, &arguments);
    let to = format!("of={}", directory.path().join("file").display());
    run(
        "dd",
        &["if=/dev/zero", &to, "bs=4k", "count=1", "conv=fsync"],
    );
    run("sync", &[]);
    let json = record(started);
    assert!(
        number(&json["syncs"]["elsewhere"]["count"]) >= 1.0,
        "{json:#}"
    );
    let by = |comm: &str| calls(&json).iter().find(|row| row["comm"] == comm);
    assert!(by("dd").is_none(), "{json:#}");
    let sync = by("sync").unwrap_or_else(|| panic!("{json:#}"));
    assert_eq!(sync["place"]["name"], Value::Null, "{json:#}");
}

#[test]
#[ignore = "root"]
fn a_group_sums_its_processes_and_people_read_causes() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let mounted = Mounted::ext4(&disk.node());
    let program = Program::new(BINARY);
    let work = |name: &str| {
        let to = format!("of={}", mounted.path().join(name).display());
        run(
            "dd",
            &[
                "if=/dev/zero",
                &to,
                "bs=4k",
                "count=100",
                "oflag=append",
                "conv=fsync",
            ],
        );
    };
    let arguments = ["--json", "--detail", "syncs", "--by", "cgroup"];
    let started = stat(&program, &disk.node(), 3, &arguments);
    work("one");
    work("two");
    let json = record(started);
    let place = mounted.path().display().to_string();
    let of_here: Vec<&Value> = calls(&json)
        .iter()
        .filter(|row| row["place"]["name"] == place.as_str())
        .collect();
    let [row] = &*of_here else { panic!("{json:#}") };
    assert_eq!(row["latency"]["count"], 2, "{row:#}");
    assert_eq!(
        (&row["pid"], &row["comm"]),
        (&Value::Null, &Value::from("2"))
    );

    let started = stat(&program, &disk.node(), 2, &["--detail", "syncs"]);
    work("three");
    let text = started.end().ends(0, &[]).stdout;
    let line = text.lines().find(|line| line.contains(&place));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains(" dd ") && line.contains(" % "), "{text}");
    assert!(text.contains("pressure of I/O on this host"), "{text}");

    let csv = [
        "stat",
        &disk.node(),
        "-n",
        "1",
        "--detail",
        "syncs",
        "--output",
        "csv",
    ];
    program
        .run(&csv)
        .ends(2, &["--detail syncs has no form in CSV"]);
}

/// The throttle of this disk alone: the host's own limits are not touched.
#[test]
#[ignore = "root"]
fn a_throttled_writer_is_shown_at_its_disk() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let number_of = format!("{}:{}", disk.device.major, disk.device.minor);
    let bdi = std::path::Path::new("/sys/class/bdi").join(number_of);
    if !bdi.join("strict_limit").exists() {
        println!("skipped: this kernel has no limit for one disk (strict_limit, 6.2)");
        return;
    }
    let mounted = Mounted::ext4(&disk.node());
    for (limit, value) in [("strict_limit", "1"), ("max_ratio", "1")] {
        fs::write(bdi.join(limit), value).expect("a limit of its own");
    }
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 3, &["--json", "--detail", "syncs"]);
    let to = format!("of={}", mounted.path().join("file").display());
    let mut dd = Command::new("dd")
        .args(["if=/dev/zero", &to, "bs=1M", "count=400", "status=none"])
        .spawn()
        .expect("dd");
    dd.wait().expect("its end");
    let json = record(started);
    for (limit, value) in [("strict_limit", "0"), ("max_ratio", "100")] {
        fs::write(bdi.join(limit), value).expect("as it was");
    }
    let rows = json["syncs"]["throttled"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["pid"] == dd.id());
    let row = row.unwrap_or_else(|| panic!("{json:#}"));
    assert!(
        number(&row["ns"]) > 1e6 && number(&row["share"]) < 1.0,
        "{row:#}"
    );
    let place = mounted.path().display().to_string();
    assert_eq!(row["place"]["name"], place.as_str(), "{row:#}");
}

/// The kernel throttles the writers of a btrfs by the whole file system: they are shown with all disks below it.
#[test]
#[ignore = "root"]
fn a_throttled_writer_of_btrfs_is_on_all_its_disks() {
    let disks = [(); 2].map(|()| LoopDevice::in_memory(256 << 20));
    let [first, second] = [disks[0].node(), disks[1].node()];
    run("mkfs.btrfs", &["-q", "-f", "-d", "raid0", &first, &second]);
    let mounted = Mounted::new(&first);
    let bdi = Bdi::of_btrfs_on(&disks[0].device.name);
    if !bdi.limits() {
        println!(
            "skipped: this kernel has no strict_limit (Linux 6.2), by which one file system alone is throttled"
        );
        return;
    }
    let program = Program::new(BINARY);
    // Only this one of the two disks is watched.
    let arguments = ["--json", "--detail", "syncs"];
    let started = stat(&program, &second, 4, &arguments);
    let to = format!("of={}", mounted.path().join("file").display());
    let mut dd = Command::new("dd")
        .args(["if=/dev/zero", &to, "bs=64k", "count=1600"])
        .spawn()
        .expect("dd");
    assert!(dd.wait().expect("its end").success());
    let json = record(started);
    let all = json["syncs"]["throttled"].as_array().expect("a list");
    let row = all.iter().find(|row| row["pid"] == dd.id());
    let row = row.unwrap_or_else(|| panic!("{json:#}"));
    println!("{row:#}");
    assert!(number(&row["count"]) >= 1.0 && number(&row["ns"]) > 0.0);
    let place = &row["place"];
    assert_eq!(place["name"], mounted.path().display().to_string());
    assert_eq!(place["filesystem"], "btrfs");
    let names: Vec<Value> = disks
        .iter()
        .map(|disk| disk.device.name.as_str().into())
        .collect();
    let has = |of: &str, name: &Value| place[of].as_array().is_some_and(|list| list.contains(name));
    for name in &names {
        assert!(has("members", name) && has("devices", name), "{row:#}");
    }
    assert_eq!(json["syncs"]["unplaced"]["count"], 0, "{json:#}");
}

/// What the kernel throttles the writers of a file system by.
struct Bdi(std::path::PathBuf);

impl Bdi {
    fn of_btrfs_on(disk: &str) -> Bdi {
        let all = fs::read_dir("/sys/fs/btrfs").expect("a directory");
        let mut all = all.map(|entry| entry.expect("a btrfs").path());
        let its = all.find(|path| path.join("devices").join(disk).exists());
        Bdi(its.expect("the btrfs").join("bdi"))
    }

    /// Few dirty pages at a time, for this file system alone; false if the kernel cannot.
    fn limits(&self) -> bool {
        let settings = [("strict_limit", "1"), ("max_bytes", "8388608")];
        let is_set = |(name, value)| fs::write(self.0.join(name), value).is_ok();
        settings.into_iter().all(is_set)
    }
}
