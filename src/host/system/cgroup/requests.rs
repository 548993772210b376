//! I/O classes that groups and units ask for, and how the kernel throttles groups.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use super::mounts::Mounts;
use super::weights::each_group;
use crate::system::ask::{self, Limits};

/// An I/O class other than the usual one, `best-effort`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// A group's path below the root of its hierarchy, or the name of a unit.
    pub of: String,
    pub class: String,
}

/// A line of a group's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttle {
    pub of: String,
    /// `8:0`
    pub device: String,
    /// `rbps=1000`
    pub limits: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    pub classes: Vec<Class>,
    pub throttles: Vec<Throttle>,
    /// The group of this process.
    pub own: Option<String>,
}

const V1: [&str; 4] = ["read_bps", "write_bps", "read_iops", "write_iops"];

pub fn found(mounts: &Mounts) -> Requests {
    let mut requests = Requests::default();
    each_group(mounts, &mut |of, directory| {
        let text = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
        // The default of the first kernels that have it, and of later ones.
        let class = text("io.prio.class");
        let class = class.trim();
        if !class.is_empty() && !["no-change", "none"].contains(&class) {
            requests.classes.push(Class {
                of: of.to_owned(),
                class: class.to_owned(),
            });
        }
        let mut throttle = |line: &str, name: &str| {
            let Some((device, limits)) = line.split_once(' ') else {
                return;
            };
            let limits: Vec<&str> = limits
                .split_whitespace()
                .filter(|limit| !limit.ends_with("=max"))
                .collect();
            if !limits.is_empty() {
                requests.throttles.push(Throttle {
                    of: of.to_owned(),
                    device: device.to_owned(),
                    limits: format!("{name}{}", limits.join(" ")),
                });
            }
        };
        text("io.max").lines().for_each(|line| throttle(line, ""));
        for name in V1 {
            let file = format!("blkio.throttle.{name}_device");
            text(&file)
                .lines()
                .for_each(|line| throttle(line, &format!("{name}=")));
        }
    });
    requests.classes.extend(of_systemd());
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    requests.own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(str::to_owned);
    requests
}

/// IOSchedulingClass= of the loaded services.
fn of_systemd() -> Vec<Class> {
    const LIMITS: Limits = Limits {
        time: Duration::from_secs(5),
        bytes: 4 << 20,
    };
    let words = ["show", "--property=Id,IOSchedulingClass", "*.service"];
    let answer = ask::ask(OsStr::new("systemctl"), &words.map(OsStr::new), LIMITS);
    // A machine without systemd has no units.
    answer.map_or_else(
        |_| Vec::new(),
        |answer| units(&String::from_utf8_lossy(&answer.stdout)),
    )
}

/// Blocks of `KEY=VALUE`.
fn units(text: &str) -> Vec<Class> {
    let blocks = text.split("\n\n");
    let classes = blocks.filter_map(|block| {
        let value = |key: &str| {
            block
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        let class = match value("IOSchedulingClass")? {
            "1" | "realtime" => "realtime",
            "3" | "idle" => "idle",
            _ => return None,
        };
        Some(Class {
            of: value("Id")?.to_owned(),
            class: class.to_owned(),
        })
    });
    classes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_units_are_numbers_or_names() {
        let text = "Id=a.service\nIOSchedulingClass=2\n\nId=b.service\nIOSchedulingClass=3\n\n\
                    Id=c.service\nIOSchedulingClass=realtime\n\nId=d.service\nIOSchedulingClass=best-effort\n";
        let class = |of: &str, class: &str| Class {
            of: of.to_owned(),
            class: class.to_owned(),
        };
        assert_eq!(
            units(text),
            [class("b.service", "idle"), class("c.service", "realtime")]
        );
    }

    #[test]
    fn limits_of_both_hierarchies_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write(
            "a/io.max",
            "8:0 rbps=1000 wbps=max riops=max wiops=5\n8:16 rbps=max wbps=max riops=max wiops=max\n",
        );
        write("a/b/blkio.throttle.read_bps_device", "8:0 4096\n");
        write("a/io.prio.class", "restrict-to-be\n");
        write("c/io.prio.class", "no-change\n");
        let mounts = Mounts {
            unified: Some(root.path().to_owned()),
            ..Mounts::default()
        };
        let found = found(&mounts);
        let throttles: Vec<(&str, &str, &str)> = found
            .throttles
            .iter()
            .map(|throttle| (&*throttle.of, &*throttle.device, &*throttle.limits))
            .collect();
        assert_eq!(
            throttles,
            [
                ("/a", "8:0", "rbps=1000 wiops=5"),
                ("/a/b", "8:0", "read_bps=4096")
            ]
        );
        let groups: Vec<&str> = found
            .classes
            .iter()
            .map(|class| &*class.of)
            .filter(|of| of.starts_with('/'))
            .collect();
        assert_eq!(groups, ["/a"]);
    }
}
