//! Devices that stand on others, without metadata on those.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iosched_host::system::device::Device;

use crate::run;

/// RAID over two disks, made by hand: without mdadm.
pub struct Array;

pub const ARRAY: &str = "md_vmtest";

impl Array {
    /// Striped.
    pub fn over(members: [&Device; 2]) -> Self {
        run("modprobe", &["raid0"]);
        Self::of_level("raid0", &[("chunk_size", "65536")], members)
    }

    pub fn mirror(members: [&Device; 2]) -> Self {
        run("modprobe", &["raid1"]);
        // In sync: nothing is copied from one to the other.
        Self::of_level("raid1", &[("resync_start", "none")], members)
    }

    fn of_level(level: &str, settings: &[(&str, &str)], members: [&Device; 2]) -> Self {
        set("/sys/module/md_mod/parameters/new_array", ARRAY);
        let array = Array;
        Self::set("metadata_version", "none");
        Self::set("level", level);
        Self::set("raid_disks", "2");
        for (attribute, value) in settings {
            Self::set(attribute, value);
        }
        let mut smallest_kib = u64::MAX;
        for (slot, member) in members.into_iter().enumerate() {
            let number = format!("{}:{}", member.major, member.minor);
            Self::set("new_dev", &number);
            let its = |attribute| format!("dev-{}/{attribute}", member.name);
            Self::set(&its("slot"), &slot.to_string());
            let kib = member.size_bytes().expect("a size") / 1024;
            Self::set(&its("size"), &kib.to_string());
            smallest_kib = smallest_kib.min(kib);
        }
        if level == "raid1" {
            Self::set("component_size", &smallest_kib.to_string());
        }
        Self::set("array_state", "active");
        array
    }

    fn set(attribute: &str, value: &str) {
        set(&format!("/sys/block/{ARRAY}/md/{attribute}"), value);
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let path = format!("/sys/block/{ARRAY}/md/array_state");
        // Its last user may still be closing it.
        until_it_is_free(|| fs::write(&path, "clear").is_ok());
        // And the kernel takes its time to forget it.
        until_it_is_free(|| !Path::new("/sys/block").join(ARRAY).exists());
    }
}

/// One disk behind the other, by the device mapper.
pub struct Mapped;

pub const MAPPED: &str = "/dev/mapper/vmtest";

impl Mapped {
    pub fn over(members: [&Device; 2]) -> Self {
        run("modprobe", &["dm-mod"]);
        let mut dmsetup = dmsetup()
            .args(["create", name()])
            .stdin(Stdio::piped())
            .spawn()
            .expect("dmsetup");
        let mut table = dmsetup.stdin.take().expect("its input");
        let mut first = 0;
        for member in members {
            let sectors = member.size_bytes().expect("a size") / 512;
            let (major, minor) = (member.major, member.minor);
            writeln!(table, "{first} {sectors} linear {major}:{minor} 0").expect("its input");
            first += sectors;
        }
        drop(table);
        assert!(dmsetup.wait().expect("its end").success());
        Mapped
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        until_it_is_free(|| {
            let ended = dmsetup().args(["remove", name()]).output();
            ended.is_ok_and(|ended| ended.status.success())
        });
    }
}

/// It makes the node itself: there is no udev.
fn dmsetup() -> Command {
    let mut command = Command::new("dmsetup");
    command.env("DM_DISABLE_UDEV", "1");
    command
}

fn name() -> &'static str {
    Path::new(MAPPED)
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name")
}

fn until_it_is_free(mut ends: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !ends() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
pub fn set(path: &str, value: &str) {
    fs::write(path, value).unwrap_or_else(|error| panic!("{path} = {value}: {error}"));
}
