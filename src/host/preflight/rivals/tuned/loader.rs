//! Asks TuneD which profile it applies: `tuned-adm active` names it, and prints nothing of what it sets, so TuneD's own Python
//! modules load and merge it here as its service does, up to which disks each section gets. Functions in profiles
//! (`${f:exec:...}`) are not called, as they start programs: a value with one is not known.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::super::engine::{self, Said};
use super::super::tree::Tree;
use super::Profile;
use super::profiles::{Unit, Value, line_of};
use crate::system::device::Device;
use iosched_files::input;

const PROGRAM: &str = include_str!("loader.py");
/// Beginnings of the answer of `tuned-adm active`; the service need not run.
const NAMES: [&str; 2] = ["Current active profile: ", "Preset profile: "];
const NONE: &str = "No current active profile.";

/// Tells TuneD's modules what they would otherwise look up themselves.
#[derive(Debug, Default, Serialize)]
struct Request {
    /// Directories in which Python looks for the modules first.
    modules: Vec<PathBuf>,
    directories: Option<Vec<PathBuf>>,
    settings: Option<PathBuf>,
    profiles: Option<Vec<String>>,
    disks: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    version: String,
    profiles: Vec<String>,
    units: Vec<Section>,
}

#[derive(Debug, Deserialize)]
struct Section {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    devices: String,
    devices_udev_regex: Option<String>,
    values: Vec<Setting>,
    disks: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Setting {
    key: String,
    value: String,
    file: Option<String>,
}

/// The profile that the service applies, or would apply.
pub fn ask(tree: &Tree<'_>, disks: &[Device]) -> Result<Said<Profile>> {
    let Some(program) = engine::program(&tree.path(""), "tuned-adm") else {
        return Ok(Err("there is no tuned-adm".to_owned()));
    };
    let Some(python) = interpreter(tree, &program) else {
        return Ok(Err(
            "tuned-adm does not start with a Python of the system".to_owned()
        ));
    };
    let active = match active(&python, &program) {
        Ok(names) => Ok(names),
        // It may wait for a bus that does not answer; the modules read the same files without one.
        Err(error) => Err(engine::no_answer(&error)?),
    };
    let request = Request {
        profiles: active.as_ref().ok().cloned(),
        disks: disks.iter().map(|disk| disk.name.clone()).collect(),
        ..Request::default()
    };
    match load(&python, &request) {
        Ok(answer) => Ok(Ok((
            name(&answer, active.as_ref().err().map(String::as_str)),
            profile(tree, answer),
        ))),
        Err(error) => Ok(Err(engine::no_answer(&error)?)),
    }
}

fn name(answer: &Answer, unanswered: Option<&str>) -> String {
    let profiles = match &*answer.profiles {
        [] => "no profile".to_owned(),
        names => names.join(" "),
    };
    let named = match unanswered {
        None => "`tuned-adm active`".to_owned(),
        Some(why) => format!("its files (`tuned-adm active`: {why})"),
    };
    let version = &answer.version;
    format!("the loader of TuneD {version} for {profiles} by {named}")
}

/// The one that the first line of the program names, so that it finds TuneD's modules.
fn interpreter(tree: &Tree<'_>, program: &Path) -> Option<PathBuf> {
    const LONGEST: u64 = 1 << 20;
    let text = input::read(program, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&text);
    let path = text.strip_prefix("#!")?.split_whitespace().next()?;
    let is_of_system = ["/usr/bin/", "/usr/libexec/", "/bin/"].iter();
    let mut is_of_system = is_of_system.filter(|begin| path.starts_with(**begin));
    let name = path.rsplit('/').next()?;
    (is_of_system.next().is_some() && name.contains("python")).then(|| tree.path(path))
}

/// Names of the active profiles and the one that is loaded after them. The program is started as its first line says, but
/// leaves no compiled modules behind.
fn active(python: &Path, program: &Path) -> Result<Vec<String>> {
    let program = program.to_str().context("its path is not text")?;
    let answer = engine::any_answer(python, &["-EsB", program, "active"])?;
    let text = String::from_utf8_lossy(&answer.stdout);
    if text.lines().any(|line| line == NONE) {
        return Ok(Vec::new());
    }
    let names = text.lines().find_map(|line| {
        let mut begins = NAMES.iter();
        begins.find_map(|begin| line.strip_prefix(begin))
    });
    let names = names.with_context(|| format!("it names no profile ({})", answer.status))?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

fn load(python: &Path, request: &Request) -> Result<Answer> {
    let request = serde_json::to_string(request)?;
    // Isolated from the directory and variables of the user, and nothing is compiled into files. No shell is asked.
    let text = engine::text(python, &["-IBc", PROGRAM, &request])?;
    serde_json::from_str(&text).context("reading what TuneD's modules print")
}

fn profile(tree: &Tree<'_>, answer: Answer) -> Profile {
    let units = answer.units.into_iter().map(|section| unit(tree, section));
    Profile {
        units: units.collect(),
        variables: Unit::default(),
    }
}

fn unit(tree: &Tree<'_>, section: Section) -> Unit {
    let mut unit = Unit {
        disks: section.disks,
        ..Unit::default()
    };
    let plain = |text: String| Value {
        text,
        ..Value::default()
    };
    unit.options.insert("type".into(), plain(section.kind));
    unit.options
        .insert("devices".into(), plain(section.devices));
    if let Some(regex) = section.devices_udev_regex {
        unit.options
            .insert("devices_udev_regex".into(), plain(regex));
    }
    for setting in section.values {
        let file = tree.path(setting.file.as_deref().unwrap_or_default());
        let text = tree.read(&file).unwrap_or_default();
        let (line, whole) = line_of(&text, &section.name, &setting.key).unwrap_or_default();
        let value = Value {
            text: setting.value,
            file,
            line,
            whole,
        };
        unit.add(setting.key, value);
    }
    unit.name = section.name;
    unit
}

/// The loader's profile from those below a directory; None without a loader. It is the one that contrib/setup.sh
/// extracts, or that of an installed TuneD. A set of profiles that it refuses sets nothing.
#[cfg(test)]
pub fn load_below(tree: &Tree<'_>) -> Option<Profile> {
    let extracted = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/tuned");
    let installed = || interpreter(&Tree::new(Path::new("/")), Path::new("/usr/sbin/tuned-adm"));
    let (python, modules) = if extracted.exists() {
        (engine::program(Path::new("/"), "python3")?, vec![extracted])
    } else {
        (installed()?, Vec::new())
    };
    let settings = tree.path("etc/tuned/empty.conf");
    std::fs::write(&settings, "").unwrap();
    let directories = ["usr/lib/tuned/profiles", "etc/tuned/profiles"];
    let request = Request {
        modules,
        directories: Some(directories.map(|directory| tree.path(directory)).into()),
        settings: Some(settings),
        profiles: Some(vec!["mine".into(), "late".into()]),
        // Which no machine has, so that the sections' own words decide.
        disks: vec!["no-such-disk".into()],
    };
    match load(&python, &request) {
        Ok(mut answer) => {
            // As they are for a TuneD to which the directory is the root.
            let root = tree.path("").display().to_string();
            let values = answer.units.iter_mut().flat_map(|unit| &mut unit.values);
            for file in values.filter_map(|value| value.file.as_mut()) {
                *file = file.replacen(&root, "/", 1);
            }
            Some(profile(tree, answer))
        }
        Err(error) => {
            let error = format!("{error:#}");
            assert!(error.contains("InvalidProfileException"), "{error}");
            Some(Profile {
                units: Vec::new(),
                variables: Unit::default(),
            })
        }
    }
}
