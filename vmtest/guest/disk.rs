//! Disks with a known behaviour: null_blk and scsi_debug.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iosched_host::system::device::Device;

use crate::run;

pub const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

pub struct Disk {
    pub device: Device,
    kind: Kind,
}

enum Kind {
    /// Its directory in configfs.
    NullBlk(PathBuf),
    ScsiDebug,
}

impl Disk {
    /// Completes each request after `completion_ns`, by a timer.
    pub fn null_blk(completion_ns: u64, settings: &[(&str, &str)]) -> Disk {
        run("modprobe", &["null_blk", "nr_devices=0"]);
        let directory = PathBuf::from("/sys/kernel/config/nullb/vmtest");
        fs::create_dir(&directory).expect("a null_blk");
        let set = |attribute: &str, value: &str| {
            fs::write(directory.join(attribute), value)
                .unwrap_or_else(|error| panic!("null_blk {attribute}={value}: {error}"));
        };
        set("queue_mode", "2"); // multi-queue
        set("irqmode", "2"); // by a timer
        set("completion_nsec", &completion_ns.to_string());
        set("submit_queues", "1");
        set("size", "1024");
        for (attribute, value) in settings {
            set(attribute, value);
        }
        set("power", "1");
        // Named by its number before 5.12, by its directory since.
        let number = fs::read_to_string(directory.join("index")).expect("its number");
        let names = ["vmtest".to_owned(), format!("nullb{}", number.trim())];
        let device = names
            .iter()
            .find_map(|name| Device::by_name(name).expect("a disk"))
            .expect("the new null_blk");
        Disk {
            device,
            kind: Kind::NullBlk(directory),
        }
    }

    pub fn scsi_debug(parameters: &[&str]) -> Disk {
        let loaded = ["scsi_debug", "dev_size_mb=64"];
        run("modprobe", &[&loaded, parameters].concat());
        Disk {
            device: scsi_debugs(1).remove(0),
            kind: Kind::ScsiDebug,
        }
    }

    /// Two of them on one driver, which goes with the first.
    pub fn two_scsi_debugs(parameters: &[&str]) -> (Disk, Device) {
        let first = Self::scsi_debug(&[&["max_luns=2"], parameters].concat());
        let mut both = scsi_debugs(2);
        both.retain(|device| *device != first.device);
        (first, both.remove(0))
    }

    pub fn node(&self) -> String {
        self.device.node().display().to_string()
    }

    pub fn name(&self) -> &str {
        &self.device.name
    }

    #[track_caller]
    pub fn set(&self, attribute: &str, value: &str) {
        let path = self.device.sysfs(attribute);
        fs::write(&path, value)
            .unwrap_or_else(|error| panic!("{} = {value}: {error}", path.display()));
    }

    /// Some drivers take the name and ignore it.
    #[track_caller]
    pub fn set_scheduler(&self, name: &str) {
        self.set("queue/scheduler", name);
        assert_eq!(self.scheduler(), name);
    }

    #[track_caller]
    pub fn scheduler(&self) -> String {
        let text = self.device.attribute("queue/scheduler").expect("a queue");
        let active = text.split(['[', ']']).nth(1);
        active.unwrap_or(&text).to_owned()
    }
}

/// As soon as there are so many.
fn scsi_debugs(count: usize) -> Vec<Device> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let names = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let found: Vec<Device> = names
            .filter(|entry| {
                let path = fs::canonicalize(entry.path()).unwrap_or_default();
                path.starts_with(Path::new("/sys/devices/pseudo_0"))
            })
            .filter_map(|entry| Device::by_name(entry.file_name().to_str()?).ok()?)
            .collect();
        if found.len() >= count {
            return found;
        }
        assert!(Instant::now() < deadline, "scsi_debug shows {found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        match &self.kind {
            Kind::NullBlk(directory) => {
                let _ = fs::write(directory.join("power"), "0");
                let _ = fs::remove_dir(directory);
            }
            Kind::ScsiDebug => {
                // Its last user may still be closing it.
                for _ in 0..50 {
                    let removed = std::process::Command::new("rmmod")
                        .arg("scsi_debug")
                        .stderr(std::process::Stdio::null())
                        .status();
                    if removed.is_ok_and(|status| status.success()) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }
}
