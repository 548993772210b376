//! Rivals that act after udev at boot: tmpfiles.d, sysfs.conf, units, boot scripts and cron.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::tree::Tree;
use super::{Agent, Engines, Rival, commands, pattern};
use crate::system::device::Device;
use iosched_files::interrupt;

const SCHEDULER: &str = "/queue/scheduler";
const UNITS: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];
const TMPFILES: [&str; 4] = [
    "etc/tmpfiles.d",
    "run/tmpfiles.d",
    "usr/local/lib/tmpfiles.d",
    "usr/lib/tmpfiles.d",
];
/// Directories of scripts and the like, and how their files end.
const SCRIPTS: [(&str, &str); 13] = [
    ("etc/init.d", ""),
    ("etc/rc.d", ""),
    ("etc/local.d", ".start"),
    ("etc/cron.d", ""),
    ("etc/cron.hourly", ""),
    ("etc/cron.daily", ""),
    ("etc/cron.weekly", ""),
    ("etc/cron.monthly", ""),
    ("var/spool/cron/crontabs", ""),
    ("var/spool/cron", "root"),
    ("etc/pm/sleep.d", ""),
    ("etc/systemd/system-sleep", ""),
    ("usr/lib/systemd/system-sleep", ""),
];
const SINGLE: [&str; 3] = ["etc/rc.local", "etc/rc.d/rc.local", "etc/crontab"];
/// The interpreter follows; other programs are not read.
const BEGINS_OF_SCRIPTS: &str = "#!";

pub fn find(tree: &Tree<'_>, disks: &[Device], engines: &Engines) -> Result<Vec<Rival>> {
    let mut found = Vec::new();
    let files = match &engines.tmpfiles {
        Ok((_, files)) => files.clone(),
        Err(_) => tree.layered(&TMPFILES, ".conf"),
    };
    for file in files {
        found.extend(lines(tree, &file, Agent::Tmpfiles, disks, tmpfiles));
    }
    let mut settings = vec![tree.path("etc/sysfs.conf")];
    settings.extend(tree.layered(&["etc/sysfs.d"], ".conf"));
    for file in settings {
        found.extend(lines(tree, &file, Agent::Boot, disks, sysfs_conf));
    }
    let units = match &engines.units {
        Ok((_, units)) => units.clone(),
        Err(_) => units(tree).into_iter().map(|file| vec![file]).collect(),
    };
    let scripts = scripts(tree).into_iter().map(|file| vec![file]);
    // `/etc/rc.local` may be a link to another of these, and a drop-in may be of several units.
    let mut read = BTreeSet::new();
    let started = linked(tree);
    for files in units.into_iter().chain(scripts) {
        found.extend(of_unit(tree, &files, disks, &started, &mut read)?);
    }
    Ok(found)
}

/// Finds what a unit's file and its drop-ins set, or a script.
fn of_unit(
    tree: &Tree<'_>,
    files: &[PathBuf],
    disks: &[Device],
    linked: &BTreeSet<String>,
    read: &mut BTreeSet<PathBuf>,
) -> Result<Vec<Rival>> {
    let mut found = Vec::new();
    let taken_back = taken_back(tree, files);
    let own = files.first().filter(|own| is_off(tree, own, linked));
    for file in files {
        interrupt::check()?;
        let canonical = file.canonicalize().unwrap_or_else(|_| file.clone());
        if !read.insert(canonical) {
            continue;
        }
        let mut rivals = text(tree, file, disks, &taken_back, read);
        if own.is_some_and(|own| own == file || is_drop_in_of(file, own)) {
            rivals.iter_mut().for_each(Rival::doubt);
        }
        found.extend(rivals);
    }
    Ok(found)
}

/// And of no other unit.
fn is_drop_in_of(file: &Path, own: &Path) -> bool {
    let names = [file.parent().and_then(Path::file_name), own.file_name()];
    let [directory, own] = names.map(|name| name.unwrap_or_default().to_string_lossy());
    directory == format!("{own}.d")
}

/// Commands of a unit that an empty one of the same kind after them takes back: `ExecStart=`. By file and line.
fn taken_back(tree: &Tree<'_>, files: &[PathBuf]) -> BTreeSet<(PathBuf, usize)> {
    let mut taken_back = BTreeSet::new();
    let mut given: BTreeMap<String, BTreeSet<(PathBuf, usize)>> = BTreeMap::new();
    for file in files {
        let mut continued: Option<String> = None;
        for (index, line) in tree.read(file).unwrap_or_default().lines().enumerate() {
            let set = line
                .trim()
                .split_once('=')
                .map(|(key, value)| (key.trim(), value));
            let (key, value) = match (continued.take(), set) {
                (Some(key), _) => (key, line),
                (None, Some((key, value))) if key.starts_with("Exec") => (key.to_owned(), value),
                _ => continue,
            };
            let lines = given.entry(key.clone()).or_default();
            if value.trim().is_empty() {
                taken_back.append(lines);
            } else {
                lines.insert((file.clone(), index + 1));
            }
            continued = line.ends_with('\\').then_some(key);
        }
    }
    taken_back
}

fn units(tree: &Tree<'_>) -> Vec<PathBuf> {
    let mut files = tree.layered(&UNITS, ".service");
    // Settings of a unit that are added to it: hidden by name, too, but within the unit's directory.
    let mut directories: BTreeSet<String> = BTreeSet::new();
    for above in UNITS {
        directories.extend(tree.names(above, ".service.d"));
        directories.extend(tree.names(above, "service.d"));
    }
    for directory in directories {
        let all: Vec<String> = UNITS
            .iter()
            .map(|above| format!("{above}/{directory}"))
            .collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        files.extend(tree.layered(&all, ".conf"));
    }
    files
}

/// Units that another one starts, by the links that `systemctl enable` makes.
fn linked(tree: &Tree<'_>) -> BTreeSet<String> {
    let mut linked = BTreeSet::new();
    for directory in UNITS {
        for end in [".wants", ".requires"] {
            for name in tree.names(directory, end) {
                linked.extend(tree.names(&format!("{directory}/{name}"), ""));
            }
        }
    }
    linked
}

/// A unit that could be enabled and is not: neither itself nor a timer or the like of its name.
fn is_off(tree: &Tree<'_>, file: &Path, linked: &BTreeSet<String>) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let Some(stem) = name.strip_suffix(".service") else {
        return false;
    };
    let is_linked = linked.iter().any(|other| match stem.strip_suffix('@') {
        Some(template) => other.starts_with(&format!("{template}@")),
        None => other
            .rsplit_once('.')
            .is_some_and(|(other, _)| other == stem),
    });
    !is_linked
        && tree
            .read(file)
            .is_some_and(|text| text.contains("[Install]"))
}

fn scripts(tree: &Tree<'_>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = SINGLE.iter().map(|file| tree.path(file)).collect();
    for (directory, end) in SCRIPTS {
        let names = tree.names(directory, end).into_iter();
        let paths = names.map(|name| tree.path(directory).join(name));
        files.extend(paths.filter(|path| !path.is_dir()));
    }
    files
}

/// The lines of a file that set a disk's scheduler, by what `of` says of each.
fn lines(
    tree: &Tree<'_>,
    file: &Path,
    agent: Agent,
    disks: &[Device],
    of: fn(&str, &str) -> Option<String>,
) -> Vec<Rival> {
    let text = tree.read(file).unwrap_or_default();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        for disk in disks.iter().filter(|_| !line.starts_with(['#', ';'])) {
            let value = of(line, &disk.name);
            found.extend(value.map(|value| Rival {
                agent,
                file: Tree::shown(file),
                line: index + 1,
                text: line.to_owned(),
                value: (!value.contains(['%', '$'])).then_some(value),
                disk: disk.name.clone(),
                is_certain: true,
                rule: None,
            }));
        }
    }
    found
}

/// The disk in `.../DISK/queue/scheduler`.
fn is_path_of(path: &str, disk: &str) -> bool {
    let device = path
        .strip_suffix(SCHEDULER)
        .and_then(|path| path.rsplit('/').next());
    device.is_some_and(|wanted| pattern::matches(wanted, disk))
}

/// `w /sys/block/sda/queue/scheduler - - - - bfq`
fn tmpfiles(line: &str, disk: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (kind, path) = (words.next()?, words.next()?);
    let writes = kind.starts_with(['w', 'f']);
    let value = words.nth(4).unwrap_or_default();
    (writes && is_path_of(path.trim_matches('"'), disk)).then(|| value.to_owned())
}

/// `block/sda/queue/scheduler = bfq`
fn sysfs_conf(line: &str, disk: &str) -> Option<String> {
    let (path, value) = line.split_once('=')?;
    let path = format!("/{}", path.trim());
    is_path_of(&path, disk).then(|| value.trim().to_owned())
}

/// Rivals in a unit or script. The scripts that one of the machine's owner starts are read, too.
fn text(
    tree: &Tree<'_>,
    file: &Path,
    disks: &[Device],
    taken_back: &BTreeSet<(PathBuf, usize)>,
    read: &mut BTreeSet<PathBuf>,
) -> Vec<Rival> {
    let Some(whole) = tree.read(file) else {
        return Vec::new();
    };
    let is_taken_back = |line: usize| taken_back.contains(&(file.to_owned(), line));
    let mut found = of_text(file, &whole, "", disks);
    found.retain(|rival| !is_taken_back(rival.line));
    let is_of_the_owner = ["etc", "run", "var"]
        .iter()
        .any(|top| file.starts_with(tree.path(top)));
    if !is_of_the_owner {
        return found;
    }
    let is_unit = Tree::shown(file).contains("/systemd/");
    for (index, line) in whole.lines().enumerate() {
        let line = line.trim();
        let is_command = line.starts_with("Exec") && !is_taken_back(index + 1);
        if line.starts_with('#') || is_unit && !is_command {
            continue;
        }
        for path in commands::paths(line) {
            let starter = format!("{}:{}", Tree::shown(file), index + 1);
            found.extend(started(tree, path, &starter, disks, read));
        }
    }
    found
}

/// Rivals in a script that another file starts.
pub fn started(
    tree: &Tree<'_>,
    path: &str,
    starter: &str,
    disks: &[Device],
    read: &mut BTreeSet<PathBuf>,
) -> Vec<Rival> {
    let file = tree.path(path);
    if !file.is_file() || !begins_as_script(&file) {
        return Vec::new();
    }
    let canonical = file.canonicalize().unwrap_or_else(|_| file.clone());
    if !read.insert(canonical) {
        return Vec::new();
    }
    let whole = tree.read(&file).unwrap_or_default();
    of_text(&file, &whole, &format!(" (started by {starter})"), disks)
}

/// Programs have megabytes, and nothing to read.
fn begins_as_script(file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let begin = iosched_files::input::head(&file, BEGINS_OF_SCRIPTS.len() as u64);
    begin.is_ok_and(|begin| begin == BEGINS_OF_SCRIPTS.as_bytes())
}

fn of_text(file: &Path, whole: &str, note: &str, disks: &[Device]) -> Vec<Rival> {
    let mut found = Vec::new();
    let scopes: Vec<_> = disks
        .iter()
        .map(|disk| commands::Scope::new(whole, &disk.name))
        .collect();
    for (index, line) in whole.lines().enumerate() {
        for (scope, disk) in scopes.iter().zip(disks) {
            let write = scope.write(line);
            found.extend(write.map(|write| Rival {
                agent: Agent::Boot,
                file: Tree::shown(file),
                line: index + 1,
                text: format!("{}{note}", line.trim()),
                value: write.value,
                disk: disk.name.clone(),
                is_certain: write.is_certain,
                rule: None,
            }));
        }
    }
    found
}
