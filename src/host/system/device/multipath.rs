//! Native NVMe multipath: a visible disk, the head, passes its bios on to hidden disks, one for each path. Requests,
//! tags and the scheduler are those of the paths. A path has no device node, and no sysfs file tells its number.

use std::fs;
use std::path::Path;

use super::names_in;

/// Parts of the name of an NVMe disk: `nvme1n1`, and `nvme1c0n1` for its path through controller 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    subsystem: u32,
    controller: Option<u32>,
    namespace: u32,
}

impl Parts {
    fn of(name: &str) -> Option<Parts> {
        let (disk, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
        let (subsystem, controller) = match disk.split_once('c') {
            Some((subsystem, controller)) => (subsystem, Some(controller.parse().ok()?)),
            None => (disk, None),
        };
        Some(Parts {
            subsystem: subsystem.parse().ok()?,
            controller,
            namespace: namespace.parse().ok()?,
        })
    }

    fn is_path_of(self, head: Parts) -> bool {
        let as_head = Parts {
            controller: None,
            ..self
        };
        self.controller.is_some() && as_head == head
    }
}

pub(super) fn is_hidden(name: &str) -> bool {
    let hidden = Path::new("/sys/block").join(name).join("hidden");
    fs::read_to_string(hidden).is_ok_and(|text| text.trim() == "1")
}

/// The paths of a head; none of any other disk.
pub(super) fn paths(name: &str) -> Vec<String> {
    let Some(head) = Parts::of(name).filter(|parts| parts.controller.is_none()) else {
        return Vec::new();
    };
    let is_path = |other: &String| Parts::of(other).is_some_and(|parts| parts.is_path_of(head));
    let mut names = names_in(Path::new("/sys/block")).unwrap_or_default();
    names.retain(|other| is_path(other) && is_hidden(other));
    names
}

/// The disk whose path it is.
pub(super) fn head(path: &str) -> Option<String> {
    let parts = Parts::of(path).filter(|parts| parts.controller.is_some())?;
    is_hidden(path).then(|| format!("nvme{}n{}", parts.subsystem, parts.namespace))
}

/// The number of a hidden disk, which only the kernel's table of counters has. It is 0:0 there before 5.13.
pub(super) fn hidden_number(name: &str) -> Option<(u32, u32)> {
    if !is_hidden(name) {
        return None;
    }
    number_in(&fs::read_to_string("/proc/diskstats").ok()?, name).filter(|number| *number != (0, 0))
}

/// Why a path cannot be measured: the kernel does not tell its number.
pub(super) fn unknown_number(name: &str) -> Option<String> {
    let head = head(name).filter(|_| hidden_number(name).is_none())?;
    Some(format!(
        "{head} cannot be measured: this kernel does not tell the number of its path {name}"
    ))
}

/// Reads lines such as `259       1 nvme0c0n1 101 0 808 8 ...`.
fn number_in(table: &str, name: &str) -> Option<(u32, u32)> {
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (major, minor) = (words.next()?, words.next()?);
        let is_it = words.next()? == name;
        is_it.then(|| Some((major.parse().ok()?, minor.parse().ok()?)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_by_its_name() {
        let parts = |name: &str| Parts::of(name).expect(name);
        assert!(parts("nvme1c0n1").is_path_of(parts("nvme1n1")));
        assert!(parts("nvme10c11n12").is_path_of(parts("nvme10n12")));
        for (path, head) in [
            ("nvme1c0n1", "nvme0n1"),
            ("nvme1c0n2", "nvme1n1"),
            ("nvme1n1", "nvme1n1"),
            ("nvme11c0n1", "nvme1n1"),
        ] {
            assert!(!parts(path).is_path_of(parts(head)), "{path} {head}");
        }
        for name in [
            "sda",
            "nvme",
            "nvme0",
            "nvme0n",
            "nvme0c1",
            "nvme0n1p1",
            "nvmecn1",
            "nvme0cn1",
        ] {
            assert_eq!(Parts::of(name), None, "{name}");
        }
    }

    #[test]
    fn the_number_is_in_the_table_of_counters() {
        let table = " 259       1 nvme0c0n1 101 0 808\n 259      12 nvme0n1 1 0 8\n   7 0 loop0\n";
        assert_eq!(number_in(table, "nvme0c0n1"), Some((259, 1)));
        assert_eq!(number_in(table, "nvme0n1"), Some((259, 12)));
        assert_eq!(number_in(table, "nvme0c1n1"), None);
        assert_eq!(number_in("259 x nvme0c0n1", "nvme0c0n1"), None);
    }
}
