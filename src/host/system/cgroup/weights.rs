//! The weights that groups and systemd units ask for, and whether the kernel's cost model applies them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::mounts::Mounts;
use super::names::weight_of;
use crate::system::ask::{self, Limits};
use iosched_files::interrupt;

const USUAL: f64 = 100.0;
/// A host has some hundreds of groups.
const MOST_GROUPS: usize = 20_000;

/// Who acts on a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The scheduler bfq.
    Bfq,
    /// io.cost, for disks on which it is enabled.
    CostModel,
}

const FILES: [(&str, Reader); 3] = [
    ("io.bfq.weight", Reader::Bfq),
    ("blkio.bfq.weight", Reader::Bfq),
    ("io.weight", Reader::CostModel),
];

/// A weight other than 100.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Its path below the root of the hierarchy, or the name of a unit.
    pub of: String,
    /// `8:0` of the only disk that it is for.
    pub device: Option<String>,
    pub weight: f64,
    /// Empty: no file of the kernel has it.
    pub readers: Vec<Reader>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    pub weights: Vec<Weight>,
    /// `8:0` of the disks on which io.cost is enabled.
    pub cost_model: BTreeSet<String>,
}

/// Weights that are set on this machine.
pub fn set(mounts: &Mounts) -> Weights {
    let mut weights = Vec::new();
    each_group(mounts, &mut |of, directory| {
        weights.extend(of_group(of, directory));
    });
    let units = systemd_units();
    let unseen = units.into_iter().filter(|(name, group, _)| {
        // A unit that is not running has no group yet.
        !group.is_empty()
            && !weights
                .iter()
                .any(|seen: &Weight| seen.of == *group || seen.of.ends_with(&format!("/{name}")))
    });
    let unseen: Vec<Weight> = unseen
        .map(|(name, _, weight)| Weight {
            of: name,
            device: None,
            weight,
            readers: Vec::new(),
        })
        .collect();
    weights.extend(unseen);
    let root = mounts.unified.as_deref();
    let qos = root.and_then(|root| fs::read_to_string(root.join("io.cost.qos")).ok());
    Weights {
        weights,
        cost_model: enabled(&qos.unwrap_or_default()),
    }
}

/// Calls for each group with its path below the root of its hierarchy, and its directory.
pub(super) fn each_group(mounts: &Mounts, visit: &mut dyn FnMut(&str, &Path)) {
    for root in mounts.unified.iter().chain(&mounts.blkio) {
        walk(root, root, visit, &mut 0);
    }
}

fn walk(root: &Path, directory: &Path, visit: &mut dyn FnMut(&str, &Path), seen: &mut usize) {
    *seen += 1;
    if *seen > MOST_GROUPS || interrupt::received().is_some() {
        return;
    }
    let below = directory.strip_prefix(root).unwrap_or(directory);
    visit(&format!("/{}", below.display()), directory);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(root, &entry.path(), visit, seen);
        }
    }
}

/// The weight for all disks, and those for single ones.
fn of_group(of: &str, directory: &Path) -> Vec<Weight> {
    let mut found: Vec<Weight> = Vec::new();
    for (file, reader) in FILES {
        let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| line.split_once(' '));
        let numbers = numbers
            .map(|(number, _)| number)
            .filter(|number| number.contains(':'));
        for device in [None].into_iter().chain(numbers.map(Some)) {
            let weight = weight_of(&text, device);
            let Some(weight) = weight.filter(|weight| (weight - USUAL).abs() > 0.5) else {
                continue;
            };
            let device = device.map(str::to_owned);
            match found.iter_mut().find(|other| other.device == device) {
                Some(other) => other.readers.push(reader),
                None => found.push(Weight {
                    of: of.to_owned(),
                    device,
                    weight,
                    readers: vec![reader],
                }),
            }
        }
    }
    found
}

/// Name, group and IOWeight= of the loaded units that set one.
fn systemd_units() -> Vec<(String, String, f64)> {
    const LIMITS: Limits = Limits {
        time: Duration::from_secs(5),
        bytes: 4 << 20,
    };
    let words = [
        "show",
        "--property=Id,IOWeight,ControlGroup",
        "*.service",
        "*.slice",
        "*.scope",
    ];
    let answer = ask::ask(OsStr::new("systemctl"), &words.map(OsStr::new), LIMITS);
    // Without systemd there are no units.
    answer.map_or_else(
        |_| Vec::new(),
        |answer| units(&String::from_utf8_lossy(&answer.stdout)),
    )
}

/// Parses the output of `systemctl show`: blocks of `KEY=VALUE`.
fn units(text: &str) -> Vec<(String, String, f64)> {
    let blocks = text.split("\n\n");
    blocks
        .filter_map(|block| {
            let value = |key: &str| {
                block
                    .lines()
                    .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            };
            // Not set: the largest number, or `[not set]`.
            let weight: u32 = value("IOWeight")?.parse().ok()?;
            let group = value("ControlGroup").unwrap_or_default();
            Some((value("Id")?.to_owned(), group.to_owned(), f64::from(weight)))
        })
        .filter(|(_, _, weight)| (weight - USUAL).abs() > 0.5)
        .collect()
}

/// `8:0 enable=1 ctrl=auto ...`
fn enabled(qos: &str) -> BTreeSet<String> {
    let lines = qos.lines().filter(|line| line.contains("enable=1"));
    lines
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_with_a_weight_of_their_own_are_found() {
        let text = "Id=a.service\nIOWeight=500\nControlGroup=/system.slice/a.service\n\n\
                    Id=b.service\nIOWeight=[not set]\nControlGroup=\n\n\
                    Id=c.service\nIOWeight=18446744073709551615\nControlGroup=/c\n\n\
                    Id=d.slice\nIOWeight=100\nControlGroup=/d\n";
        let expected = (
            "a.service".to_owned(),
            "/system.slice/a.service".to_owned(),
            500.0,
        );
        assert_eq!(units(text), [expected]);
        assert!(units("").is_empty());
    }

    #[test]
    fn groups_are_read_with_who_acts_on_them() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("a/io.weight", "default 500\n");
        write("a/io.bfq.weight", "default 100\n");
        write("b/c/io.bfq.weight", "300\n");
        write("d/io.weight", "default 100\n8:0 900\n");
        write("io.cost.qos", "8:0 enable=1 ctrl=auto\n8:16 enable=0\n");
        let mounts = Mounts {
            unified: Some(root.path().to_owned()),
            ..Mounts::default()
        };
        let mut found = set(&mounts);
        found.weights.sort_by(|a, b| a.of.cmp(&b.of));
        let groups: Vec<(&str, f64, &[Reader])> = found
            .weights
            .iter()
            .filter(|weight| weight.of.starts_with('/'))
            .map(|weight| (&*weight.of, weight.weight, &*weight.readers))
            .collect();
        let expected: [(&str, f64, &[Reader]); 3] = [
            ("/a", 500.0, &[Reader::CostModel]),
            ("/b/c", 300.0, &[Reader::Bfq]),
            ("/d", 900.0, &[Reader::CostModel]),
        ];
        assert_eq!(groups, expected);
        let of_one_disk = found.weights.iter().find(|weight| weight.of == "/d");
        assert_eq!(of_one_disk.unwrap().device.as_deref(), Some("8:0"));
        assert_eq!(found.cost_model, BTreeSet::from(["8:0".to_owned()]));
    }
}
