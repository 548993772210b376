//! Other configuration that sets schedulers: udev rules, TuneD profiles, units and scripts. Reports file and line.

mod udev; // which of its rules apply to a disk

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::files::input;
use crate::machine::device::{Device, names_in};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub file: String,
    pub line: usize,
    pub text: String,
}

const UDEV: [&str; 5] = [
    "etc/udev/rules.d",
    "run/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "lib/udev/rules.d",
];
/// Directories and suffixes: a file hides files of the same name in the directories after its own.
const DIRECTORIES: [(&[&str], &str); 2] = [
    (
        &["etc/tmpfiles.d", "run/tmpfiles.d", "usr/lib/tmpfiles.d"],
        ".conf",
    ),
    (
        &[
            "etc/systemd/system",
            "usr/lib/systemd/system",
            "lib/systemd/system",
        ],
        ".service",
    ),
];
const FILES: [&str; 2] = ["etc/rc.local", "etc/sysfs.conf"];
const ATTRIBUTE: &str = "queue/scheduler";

const TUNED: [&str; 4] = [
    "etc/tuned/profiles",
    "etc/tuned",
    "usr/lib/tuned/profiles",
    "usr/lib/tuned",
];
const TUNED_OPTION: &str = "elevator";

/// What can set the scheduler of one of these disks. Searches below `root`, which is `/` except in tests.
pub fn find(root: &Path, disks: &[Device]) -> Vec<Rival> {
    let mut found = rules(root, disks);
    for (directories, extension) in DIRECTORIES {
        for file in files_in(root, directories, extension) {
            found.extend(lines(&file, is_about_schedulers));
        }
    }
    for file in FILES {
        found.extend(lines(&root.join(file), is_about_schedulers));
    }
    found.extend(tuned(root));
    found
}

fn files_in(root: &Path, directories: &[&str], extension: &str) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    for directory in directories {
        for name in names_in(&root.join(directory)).unwrap_or_default() {
            if name.ends_with(extension) && seen.insert(name.clone()) {
                files.push(root.join(directory).join(name));
            }
        }
    }
    files
}

fn rules(root: &Path, disks: &[Device]) -> Vec<Rival> {
    let mut found = Vec::new();
    for file in files_in(root, &UDEV, ".rules") {
        let text = read(&file).unwrap_or_default();
        let mut setters = BTreeSet::new();
        for disk in disks {
            let directory = root.join("sys/block").join(&disk.name);
            let attribute = |name: &str| {
                let text = read(&directory.join(name))?;
                Some(text.trim_end().to_owned())
            };
            let disk = udev::Disk {
                name: &disk.name,
                attribute: &attribute,
                properties: properties(root, disk),
            };
            setters.extend(udev::setters(&text, &disk));
        }
        // In one pass: a file may have as many setters as lines.
        let numbered = text.lines().enumerate();
        let chosen = numbered.filter(|(index, _)| setters.contains(&(index + 1)));
        found.extend(chosen.map(|(index, line)| Rival {
            file: file.display().to_string(),
            line: index + 1,
            text: line.trim().to_owned(),
        }));
    }
    found
}

/// `E:KEY=VALUE` in udev's database.
pub fn properties(root: &Path, disk: &Device) -> Option<BTreeMap<String, String>> {
    let name = format!("b{}:{}", disk.major, disk.minor);
    let text = read(&root.join("run/udev/data").join(name))?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("E:"));
    let pairs = lines.filter_map(|line| line.split_once('='));
    Some(
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    )
}

fn is_about_schedulers(line: &str) -> bool {
    line.contains(ATTRIBUTE)
}

fn is_elevator(line: &str) -> bool {
    option(line, TUNED_OPTION).is_some()
}

/// Parses `KEY = VALUE`.
fn option<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line
        .trim()
        .strip_prefix(key)?
        .trim_start()
        .strip_prefix('=')?;
    Some(value.trim())
}

/// The active profiles and all profiles that they include.
fn tuned(root: &Path) -> Vec<Rival> {
    let active = read(&root.join("etc/tuned/active_profile")).unwrap_or_default();
    let mut open: Vec<String> = active.split_whitespace().map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(profile) = open.pop() {
        if !seen.insert(profile.clone()) || profile.contains('/') || profile.starts_with('.') {
            continue;
        }
        let mut files = TUNED
            .iter()
            .map(|base| root.join(base).join(&profile).join("tuned.conf"));
        let Some(file) = files.find(|file| file.exists()) else {
            continue;
        };
        let text = read(&file).unwrap_or_default();
        for included in text.lines().filter_map(|line| option(line, "include")) {
            open.extend(
                included
                    .split([',', ' '])
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned),
            );
        }
        found.extend(lines(&file, is_elevator));
    }
    found
}

fn lines(file: &Path, is_it: fn(&str) -> bool) -> Vec<Rival> {
    let text = read(file).unwrap_or_default();
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| !line.trim_start().starts_with(['#', ';']) && is_it(line))
        .map(|(index, line)| Rival {
            file: file.display().to_string(),
            line: index + 1,
            text: line.trim().to_owned(),
        })
        .collect()
}

fn read(file: &Path) -> Option<String> {
    let bytes = input::read(file, input::SETTINGS_LIMIT).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rules_profiles_and_scripts_are_found_by_line() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let rule = "# ATTR{queue/scheduler}\nACTION==\"add\", ATTR{queue/scheduler}=\"bfq\"\n";
        write("etc/udev/rules.d/60-io.rules", rule);
        write(
            "usr/lib/udev/rules.d/60-io.rules",
            "x ATTR{queue/scheduler}=\"none\"\n",
        );
        write(
            "usr/lib/udev/rules.d/61-other.rules",
            "ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"bfq\"\n\
             ENV{ID_MODEL}==\"Fast\", ATTR{queue/scheduler}=\"bfq\"\n",
        );
        write("sys/block/sda/queue/rotational", "0\n");
        write("run/udev/data/b8:0", "S:disk/x\nE:ID_MODEL=Fast\n");
        write("etc/udev/rules.d/note.txt", rule);
        write("etc/tuned/active_profile", "mine\n");
        write(
            "etc/tuned/mine/tuned.conf",
            "[main]\ninclude=base, ../../up\n",
        );
        write(
            "usr/lib/tuned/base/tuned.conf",
            "[disk]\n#elevator=x\nelevator = kyber\ninclude=mine\n",
        );
        write("usr/lib/tuned/asleep/tuned.conf", "elevator=bfq\n");
        write(
            "etc/rc.local",
            "echo none > /sys/block/sda/queue/scheduler\n",
        );
        let sda = Device {
            name: "sda".into(),
            major: 8,
            minor: 0,
            diskseq: None,
        };
        let found = find(root.path(), std::slice::from_ref(&sda));
        let short: Vec<(String, usize)> = found
            .iter()
            .map(|rival| {
                let file = Path::new(&rival.file).strip_prefix(root.path()).unwrap();
                (file.display().to_string(), rival.line)
            })
            .collect();
        let expected = [
            ("etc/udev/rules.d/60-io.rules", 2),
            ("usr/lib/udev/rules.d/61-other.rules", 2),
            ("etc/rc.local", 1),
            ("usr/lib/tuned/base/tuned.conf", 3),
        ];
        assert_eq!(short, expected.map(|(file, line)| (file.to_owned(), line)));
        assert!(find(&root.path().join("nothing"), &[sda]).is_empty());
    }
}
