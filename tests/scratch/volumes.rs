//! File systems and LUNs on the simulated disk, as other programs see them.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::spec::DiskSpec;

use super::{Holder, MIB, open, what_is_left};

fn make(text: &str, size_bytes: u64) -> Scratch {
    let (spec, journal) = (
        text.parse::<DiskSpec>().unwrap(),
        Journal::create().unwrap(),
    );
    let scratch = Scratch::create(spec, size_bytes, &journal).unwrap();
    assert_eq!(scratch.fallback(), None);
    assert_eq!(scratch.truth().spec(), spec);
    scratch
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "root"]
fn each_file_system_is_mounted_and_holds_files() {
    for (text, name) in [
        ("ssd+ext4", "ext4"),
        ("hdd+xfs", "xfs"),
        ("ram+ext4", "ext4"),
        ("ssd*4+btrfs", "btrfs"),
        ("ssd*2+btrfs", "btrfs"),
    ] {
        let scratch = make(text, 2048 * MIB);
        let devices = scratch.device_names().to_vec();
        let point = scratch.mount_point().unwrap().to_owned();
        let path = point.to_str().unwrap();
        let seen = output("findmnt", &["-n", "-o", "FSTYPE,SOURCE", path]);
        let source = format!("/dev/{}", devices[0]);
        assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), [name, &source]);
        let data = vec![0x5a; 3_000_001];
        fs::write(point.join("file"), &data).unwrap();
        output("sync", &["-f", path]);
        assert_eq!(fs::read(point.join("file")).unwrap(), data);
        if name == "btrfs" {
            let profiles = output("btrfs", &["filesystem", "df", path]);
            let wanted = ["RAID10", "RAID1:"][usize::from(devices.len() < 4)];
            let data = profiles.lines().find(|line| line.starts_with("Data"));
            assert!(data.unwrap().contains(wanted), "{profiles}");
            let found = output("btrfs", &["filesystem", "show", path]);
            for device in &devices {
                assert!(found.contains(&format!("/dev/{device}")), "{found}");
            }
        }
        drop(scratch);
        for device in &devices {
            assert_eq!(what_is_left(std::process::id(), device), [""; 0]);
        }
    }
}

#[test]
#[ignore = "root"]
fn luns_are_equal_and_separate() {
    let scratch = make("ssd*8", 512 * MIB);
    let nodes = scratch.nodes();
    assert_eq!(nodes.len(), 8);
    for (number, node) in nodes.iter().enumerate() {
        let size = output("blockdev", &["--getsize64", node.to_str().unwrap()]);
        assert_eq!(size.trim(), (64 * MIB).to_string());
        let block = [number as u8 + 1; 4096];
        open(node).write_all_at(&block, 0).unwrap();
        open(node).write_all_at(&block, 64 * MIB - 4096).unwrap();
    }
    for (number, node) in nodes.iter().enumerate() {
        for offset in [0, 64 * MIB - 4096] {
            let mut block = [0; 4096];
            super::direct::readable(node).sync_all().unwrap();
            open(node).read_exact_at(&mut block, offset).unwrap();
            assert_eq!(block, [number as u8 + 1; 4096]);
        }
    }
}

#[test]
#[ignore = "root"]
fn it_is_mounted_where_the_user_wants_unless_that_hides_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(directory.path()).unwrap();
    let journal = Journal::create().unwrap();
    let at = |path: &Path| {
        let spec: DiskSpec = "ssd+ext4".parse().unwrap();
        Scratch::create_at(spec, 64 * MIB, Some(path), &journal)
    };
    let scratch = at(&path).unwrap();
    assert_eq!(scratch.mount_point(), Some(&*path));
    assert!(path.join("lost+found").exists());
    drop(scratch);
    assert!(fs::read_dir(&path).unwrap().next().is_none());
    fs::write(path.join("mine"), "").unwrap();
    let error = at(&path).map(drop).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    assert!(path.join("mine").exists());
}

#[test]
#[ignore = "root"]
fn a_mount_in_use_stays_in_the_journal() {
    let mut holder = Holder::start("ssd+ext4");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours = format!("iosched-scratch-{}-", holder.child.id());
    let mut points = mounts.split(' ').filter(|word| word.contains(&ours));
    let point = points.find(|word| word.ends_with("-volume")).unwrap();
    let mut user = Command::new("sleep")
        .arg("600")
        .current_dir(point)
        .spawn()
        .unwrap();
    holder.kill();
    let errors = holder.restore();
    assert!(!errors.is_empty());
    assert!(holder.what_is_left().contains(&holder.device));
    user.kill().unwrap();
    user.wait().unwrap();
    let errors = holder.restore();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(holder.what_is_left(), [""; 0]);
}

#[test]
#[ignore = "root"]
fn what_a_killed_process_leaves_is_unmounted() {
    for text in ["ssd+ext4", "ram+ext4"] {
        let mut holder = Holder::start(text);
        holder.kill();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(mounts.contains("-volume "), "{mounts}");
        let errors = holder.restore();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(holder.what_is_left(), [""; 0]);
    }
}
