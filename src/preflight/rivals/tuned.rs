//! TuneD's profiles: the active ones, then the one that is loaded after them, each with those that it includes. TuneD acts
//! as a service, after udev's rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::pattern;
use super::sysfs;
use super::texts;
use super::tree::Tree;
use super::{Agent, Rival};
use crate::machine::device::Device;

const SCHEDULER: &str = "/queue/scheduler";
/// Profiles include a handful of others.
const MOST_PROFILES: usize = 100;

/// Where TuneD looks for profiles, the last first: version 2.23 moved them into directories of their own.
fn directories(tree: &Tree<'_>) -> Vec<PathBuf> {
    let settings = tree
        .read(&tree.path("etc/tuned/tuned-main.conf"))
        .unwrap_or_default();
    let named = settings
        .lines()
        .find_map(|line| option(line, "profile_dirs"));
    let named: Vec<&str> = named
        .into_iter()
        .flat_map(|dirs| dirs.split(','))
        .map(str::trim)
        .collect();
    let directories = if !named.is_empty() {
        named
    } else if tree.path("usr/lib/tuned/profiles").is_dir() {
        vec!["usr/lib/tuned/profiles", "etc/tuned/profiles"]
    } else {
        vec!["usr/lib/tuned", "etc/tuned"]
    };
    directories
        .iter()
        .rev()
        .map(|directory| tree.path(directory))
        .collect()
}

/// Whether the file is of a profile in a place where TuneD looks.
pub fn is_looked_at(tree: &Tree<'_>, file: &Path) -> bool {
    let directory = file.parent().and_then(Path::parent);
    directory.is_some_and(|directory| directories(tree).iter().any(|other| other == directory))
}

/// `KEY = VALUE`
fn option<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line
        .trim()
        .strip_prefix(key)?
        .trim_start()
        .strip_prefix('=')?;
    Some(value.trim())
}

#[derive(Clone, Debug)]
struct Value {
    text: String,
    file: PathBuf,
    line: usize,
    whole: String,
}

#[derive(Clone, Debug, Default)]
struct Unit {
    name: String,
    options: BTreeMap<String, Value>,
}

impl Unit {
    fn get(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(|value| &*value.text)
    }

    /// By the words that TuneD takes for yes; without the option, as `usually` says.
    fn is_on(&self, key: &str, usually: bool) -> bool {
        let value = self.get(key);
        value.map_or(usually, |value| ["true", "True", "1"].contains(&value))
    }

    /// The options of a later unit of the same name replace its own, and some are not inherited.
    fn merge(&mut self, mut later: Unit) {
        const NOT_INHERITED: [&str; 3] = ["type", "enabled", "devices"];
        self.options
            .retain(|key, _| !NOT_INHERITED.contains(&&**key));
        let dropped = later.options.remove("drop");
        for key in dropped
            .iter()
            .flat_map(|value| value.text.split([',', ';']))
        {
            self.options.remove(key.trim());
        }
        // Scripts are all run.
        let before = self.options.get("script").map(|value| value.text.clone());
        if let (Some(before), Some(value)) = (before, later.options.get_mut("script")) {
            value.text = format!("{before},{}", value.text);
        }
        self.options.extend(later.options);
    }
}

pub fn find(tree: &Tree<'_>, disks: &[Device]) -> Vec<Rival> {
    let named = |file: &str| tree.read(&tree.path(file)).unwrap_or_default();
    let text = named("etc/tuned/active_profile") + "\n" + &named("etc/tuned/post_loaded_profile");
    let mut units: Vec<Unit> = Vec::new();
    let mut loader = Loader {
        tree,
        directories: directories(tree),
        seen: BTreeSet::new(),
    };
    for profile in text.split_whitespace() {
        loader.load(profile, &mut units);
    }
    let variables = units
        .iter()
        .find(|unit| unit.name == "variables")
        .cloned()
        .unwrap_or_default();
    let mut found = Vec::new();
    for disk in disks {
        let mut own: Vec<Rival> = Vec::new();
        for unit in &units {
            own.extend(of_unit(tree, unit, &variables, disk));
        }
        // A disk belongs to one of the units of type disk, and which one is not written in the profile.
        let is_elevator = |rival: &Rival| rival.text.starts_with("elevator");
        if own.iter().filter(|rival| is_elevator(rival)).count() > 1 {
            for rival in own.iter_mut().filter(|rival| is_elevator(rival)) {
                rival.is_certain = false;
            }
        }
        found.extend(own);
    }
    found
}

struct Loader<'a> {
    tree: &'a Tree<'a>,
    directories: Vec<PathBuf>,
    seen: BTreeSet<String>,
}

impl Loader<'_> {
    /// What it includes comes first; its own options replace those.
    fn load(&mut self, profile: &str, units: &mut Vec<Unit>) {
        let profile = profile.trim_start_matches('-');
        let is_name = !profile.contains('/') && !profile.starts_with('.') && !profile.is_empty();
        if !is_name || self.seen.len() >= MOST_PROFILES || !self.seen.insert(profile.to_owned()) {
            return;
        }
        let mut files = self
            .directories
            .iter()
            .map(|base| base.join(profile).join("tuned.conf"));
        let Some(file) = files.find(|file| file.exists()) else {
            return;
        };
        let own = parse(&self.tree.read(&file).unwrap_or_default(), &file);
        let main = own.iter().find(|unit| unit.name == "main");
        let included = main
            .and_then(|main| main.get("include"))
            .unwrap_or_default()
            .to_owned();
        for name in included
            .split([',', ';'])
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            self.load(name, units);
        }
        for unit in own {
            match units.iter_mut().find(|other| other.name == unit.name) {
                Some(other) if unit.is_on("replace", false) => *other = unit,
                Some(other) => other.merge(unit),
                None => units.push(unit),
            }
        }
    }
}

fn parse(text: &str, file: &Path) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let directory = file.parent().unwrap_or(file).display().to_string();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.split(']').next())
        {
            units.push(Unit {
                name: name.trim().to_owned(),
                options: BTreeMap::new(),
            });
        } else if let (Some((key, value)), false) =
            (line.split_once('='), line.starts_with(['#', ';']))
        {
            let value = Value {
                text: value
                    .trim()
                    .trim_matches(['"', '\''])
                    .replace("${i:PROFILE_DIR}", &directory),
                file: file.to_owned(),
                line: index + 1,
                whole: line.to_owned(),
            };
            let open = units.last_mut();
            open.map(|unit| unit.options.insert(key.trim().to_owned(), value));
        }
    }
    units
}

fn of_unit(tree: &Tree<'_>, unit: &Unit, variables: &Unit, disk: &Device) -> Vec<Rival> {
    if !unit.is_on("enabled", true) {
        return Vec::new();
    }
    let rival = |value: &Value, text: Option<String>, is_certain: bool| Rival {
        agent: Agent::Tuned,
        file: Tree::shown(&value.file),
        line: value.line,
        text: value.whole.clone(),
        value: text,
        disk: disk.name.clone(),
        is_certain,
        rule: None,
    };
    let kind = unit.get("type").unwrap_or(&unit.name);
    match kind {
        "disk" => {
            let Some(value) = unit.options.get("elevator") else {
                return Vec::new();
            };
            let is_for = is_for(tree, unit, variables, disk);
            let text = expanded(&value.text, variables);
            let rival = is_for.map(|is_certain| rival(value, text, is_certain));
            rival.into_iter().collect()
        }
        "sysfs" => {
            let aims = |path: &str| {
                let path = expanded(path, variables).unwrap_or_default();
                let device = path
                    .strip_suffix(SCHEDULER)
                    .and_then(|path| path.rsplit('/').next());
                device.is_some_and(|wanted| pattern::matches(wanted, &disk.name))
            };
            let values = unit.options.iter().filter(|(path, _)| aims(path));
            values
                .map(|(_, value)| rival(value, expanded(&value.text, variables), true))
                .collect()
        }
        "script" => {
            let Some(value) = unit.options.get("script") else {
                return Vec::new();
            };
            let names = expanded(&value.text, variables).unwrap_or_default();
            let starter = format!("{}:{}", value.file.display(), value.line);
            let mut found = Vec::new();
            for name in names.split([',', ' ']).filter(|name| name.starts_with('/')) {
                // Names in its own directory are paths of this tree already.
                let inside = tree.path("");
                let inside = Path::new(name)
                    .strip_prefix(&inside)
                    .map_or(name.to_owned(), |path| path.display().to_string());
                let disks = std::slice::from_ref(disk);
                found.extend(texts::started(
                    tree,
                    &inside,
                    &starter,
                    disks,
                    &mut BTreeSet::new(),
                ));
            }
            for rival in &mut found {
                rival.agent = Agent::Tuned;
            }
            found
        }
        _ => Vec::new(),
    }
}

/// By `devices`, or in its place `devices_udev_regex=^ID_MODEL=X$`. None: not for this disk; otherwise whether that is certain.
fn is_for(tree: &Tree<'_>, unit: &Unit, variables: &Unit, disk: &Device) -> Option<bool> {
    let removable = fs::read_to_string(tree.path("sys/block").join(&disk.name).join("removable"));
    if removable.is_ok_and(|text| text.trim() == "1") {
        return None;
    }
    let Some(regex) = unit.get("devices_udev_regex") else {
        return is_named(unit, variables, disk);
    };
    let number = format!("{}:{}", disk.major, disk.minor);
    match (simple(regex), sysfs::properties(tree, &number)) {
        (Some((key, value, is_whole)), Some(properties)) => {
            let own = properties.get(&key)?;
            (own == &value || !is_whole && own.starts_with(&value)).then_some(true)
        }
        _ => Some(false),
    }
}

/// `sd*, !sda`
fn is_named(unit: &Unit, variables: &Unit, disk: &Device) -> Option<bool> {
    let Some(devices) = expanded(unit.get("devices").unwrap_or("*"), variables) else {
        return Some(false);
    };
    let names = || {
        devices
            .split([',', ' ', ';'])
            .filter(|name| !name.is_empty())
    };
    let is_in = |name: &str| pattern::matches(name, &disk.name);
    if names().filter_map(|name| name.strip_prefix('!')).any(is_in) {
        return None;
    }
    let mut wanted = names().filter(|name| !name.starts_with('!')).peekable();
    (wanted.peek().is_none() || wanted.any(is_in)).then_some(true)
}

/// `^KEY=TEXT$`, as `iosched-ab persist` writes it; None: more than that. With whether the end counts.
fn simple(regex: &str) -> Option<(String, String, bool)> {
    let (key, rest) = regex.strip_prefix('^')?.split_once('=')?;
    let (rest, is_whole) = rest
        .strip_suffix('$')
        .map_or((rest, false), |rest| (rest, true));
    let mut value = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.push(chars.next().filter(|c| !c.is_alphanumeric())?),
            c if ".*+?()[]{}|^$".contains(c) => return None,
            c => value.push(c),
        }
    }
    Some((key.to_owned(), value, is_whole))
}

/// None: more than names of variables.
fn expanded(text: &str, variables: &Unit) -> Option<String> {
    let mut text = text.to_owned();
    // A variable may name others.
    for _ in 0..8 {
        let Some((before, rest)) = text.split_once("${") else {
            return Some(text);
        };
        let (name, after) = rest.split_once('}')?;
        text = format!("{before}{}{after}", variables.get(name)?);
    }
    None
}
