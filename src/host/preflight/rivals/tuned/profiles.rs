//! Our own reading of TuneD's profiles: the active ones, then the one that is loaded after them, each with those that it
//! includes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::tree::Tree;

/// Profiles include a handful of others.
const MOST_PROFILES: usize = 100;

/// Where TuneD looks for profiles, the last first: version 2.23 moved them into directories of their own.
pub fn directories(tree: &Tree<'_>) -> Vec<PathBuf> {
    let settings = tree
        .read(&tree.path("etc/tuned/tuned-main.conf"))
        .unwrap_or_default();
    let named = settings
        .lines()
        .find_map(|line| option(line, "profile_dirs"));
    let named: Vec<&str> = named
        .into_iter()
        .flat_map(|dirs| dirs.split([',', ';']))
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

/// `KEY = VALUE`
fn option<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line
        .trim()
        .strip_prefix(key)?
        .trim_start()
        .strip_prefix('=')?;
    Some(value.trim())
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    pub whole: String,
}

/// A section of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    pub name: String,
    pub options: BTreeMap<String, Value>,
    /// The disks that TuneD gives it; None: TuneD did not say.
    pub disks: Option<Vec<String>>,
}

impl Unit {
    pub fn kind(&self) -> &str {
        self.get("type").unwrap_or(&self.name)
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(|value| &*value.text)
    }

    fn priority(&self) -> i64 {
        let own = self.get("priority").and_then(|text| text.parse().ok());
        own.unwrap_or_default()
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
        // The section of this name collects scripts, which are all run.
        if self.name != "script" && later.options.contains_key("script") {
            self.options.remove("script");
        }
        for (key, value) in later.options {
            self.add(key, value);
        }
    }

    /// In place of one of its name, but after scripts that it has.
    pub fn add(&mut self, key: String, mut value: Value) {
        let before = self.options.get(&key).filter(|_| key == "script");
        if let Some(before) = before {
            value.text = format!("{}\n{}", before.text, value.text);
        }
        self.options.insert(key, value);
    }
}

/// The sections of the merged profile, as TuneD orders them; none if a profile that must be there is not, as TuneD then
/// applies nothing. With the variables that they use.
pub fn units(tree: &Tree<'_>) -> (Vec<Unit>, Unit) {
    let named = |file: &str| tree.read(&tree.path(file)).unwrap_or_default();
    let text = named("etc/tuned/active_profile") + "\n" + &named("etc/tuned/post_loaded_profile");
    let mut loader = Loader {
        tree,
        directories: directories(tree),
        seen: BTreeSet::new(),
    };
    let mut units: Vec<Unit> = Vec::new();
    let is_whole = text
        .split_whitespace()
        .filter(|name| is_safe(name))
        .all(|name| loader.load(name, &mut units));
    if !is_whole {
        return (Vec::new(), Unit::default());
    }
    let variables = units.iter().find(|unit| unit.name == "variables").cloned();
    units.retain(|unit| unit.is_on("enabled", true));
    units.sort_by_key(Unit::priority);
    (units, variables.unwrap_or_default())
}

/// The names that TuneD takes.
fn is_safe(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

struct Loader<'a> {
    tree: &'a Tree<'a>,
    directories: Vec<PathBuf>,
    seen: BTreeSet<PathBuf>,
}

impl Loader<'_> {
    /// Included profiles come first; its own options replace theirs. False: a profile is missing that must be there.
    fn load(&mut self, profile: &str, units: &mut Vec<Unit>) -> bool {
        let (name, may_miss) = match profile.strip_prefix('-') {
            Some(name) => (name, true),
            None => (profile, false),
        };
        let name = name.rsplit('/').next().unwrap_or_default();
        let paths = self
            .directories
            .iter()
            .map(|base| base.join(name).join("tuned.conf"));
        let mut files: Vec<PathBuf> = paths.filter(|file| file.is_file()).collect();
        let is_there = !files.is_empty();
        // A profile may include the one of its own name in another directory.
        files.retain(|file| !self.seen.contains(file));
        let Some(file) = files.first() else {
            return is_there || may_miss;
        };
        if self.seen.len() >= MOST_PROFILES {
            return false;
        }
        self.seen.insert(file.clone());
        let own = parse(&self.tree.read(file).unwrap_or_default(), file);
        let main = own.iter().find(|unit| unit.name == "main");
        let included = main
            .and_then(|main| main.get("include"))
            .unwrap_or_default();
        let names = included.split([',', ';']).map(str::trim);
        let is_whole = names
            .filter(|_| !included.is_empty())
            .all(|name| self.load(name, units));
        for unit in own {
            match units.iter_mut().find(|other| other.name == unit.name) {
                Some(other) if unit.is_on("replace", false) => *other = unit,
                Some(other) => other.merge(unit),
                None => units.push(unit),
            }
        }
        is_whole
    }
}

/// As Python's configparser reads it: a section of the same name goes on, and a comment may follow a value.
fn parse(text: &str, file: &Path) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut open = None;
    let directory = file.parent().unwrap_or(file).display().to_string();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let name = line
            .strip_prefix('[')
            .and_then(|line| line.split(']').next());
        if let Some(name) = name {
            let known = units.iter().position(|unit| unit.name == name);
            open = known.or(Some(units.len()));
            if known.is_none() {
                units.push(Unit {
                    name: name.to_owned(),
                    ..Unit::default()
                });
            }
        } else if let (Some((key, value)), false, Some(open)) =
            (line.split_once('='), line.starts_with(['#', ';']), open)
        {
            let key = key.trim();
            let mut text = without_comment(value).replace("${i:PROFILE_DIR}", &directory);
            if key == "script" && !text.starts_with('/') {
                text = format!("{directory}/{text}");
            }
            let value = Value {
                text,
                file: file.to_owned(),
                line: index + 1,
                whole: line.to_owned(),
            };
            units[open].options.insert(key.to_owned(), value);
        }
    }
    units
}

/// `bfq # for now`
fn without_comment(value: &str) -> &str {
    let comment = value
        .match_indices('#')
        .find(|(at, _)| value[..*at].is_empty() || value[..*at].ends_with(char::is_whitespace));
    comment.map_or(value, |(at, _)| &value[..at]).trim()
}

/// The line that has the value of an option, from 1, and its text: the last one, as it wins.
pub fn line_of(text: &str, section: &str, key: &str) -> Option<(usize, String)> {
    let units = parse(text, Path::new("/"));
    let unit = units.iter().find(|unit| unit.name == section)?;
    let value = unit.options.get(key)?;
    Some((value.line, value.whole.clone()))
}

/// None: more than names of variables.
pub fn expanded(text: &str, variables: &Unit) -> Option<String> {
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
