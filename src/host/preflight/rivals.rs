//! Other configuration that sets schedulers: udev rules, TuneD profiles, TLP, units, scripts and the like, in the order in
//! which they act. Reports file and line, and what could not be read.

pub mod asked; // what udevadm itself says
mod commands; // what a line of a script writes to
pub mod engine; // starts programs to ask them
mod pattern; // fnmatch
mod sysfs; // disks as udev's rules see them
mod systemd; // the files of units and tmpfiles.d, as systemd says
mod texts; // tmpfiles.d, sysfs.conf, units, boot scripts, cron
mod tlp;
pub mod tree; // reads files, and keeps account of what it could not read
mod tuned;
mod udev; // follows udev's rules

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::system::device::Device;
pub use engine::Source;
use engine::{Said, source};
use iosched_files::interrupt;
use tree::Tree;
pub use tree::Unread;
use udev::How;

/// Who sets a scheduler, in the order in which they act when a machine boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    Udev,
    Tmpfiles,
    /// Units, boot scripts, cron, sysfs.conf.
    Boot,
    Tuned,
    Tlp,
}

/// A line that sets the scheduler of a disk, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub agent: Agent,
    pub file: String,
    /// The line of the file that has the value, from 1.
    pub line: usize,
    pub text: String,
    /// None: not known.
    pub value: Option<String>,
    pub disk: String,
    pub is_certain: bool,
    /// The rule of udev that does it or starts what does it.
    pub rule: Option<Rule>,
}

impl Rival {
    fn doubt(&mut self) {
        self.is_certain = false;
        self.text.push_str(" (in a unit that is not enabled)");
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub file: String,
    /// Its last line, by which udev names it.
    pub line: usize,
    /// It starts a program after all rules.
    pub is_run: bool,
    /// For the event of a partition, not of the disk.
    pub is_of_partition: bool,
}

/// The rivals that were found, the last to act at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub rivals: Vec<Rival>,
    pub unread: Vec<Unread>,
    /// Programs that rules start to ask something, which udevadm would run.
    pub programs: BTreeSet<String>,
    /// Who says what is known of each kind of settings that has a program of its own.
    pub sources: Vec<(&'static str, Source)>,
}

/// Answers of the programs that act by the settings.
struct Engines {
    tmpfiles: Said<systemd::Files>,
    units: Said<Vec<systemd::Files>>,
    tuned: Said<tuned::Profile>,
}

impl Engines {
    fn unasked() -> Self {
        let why = || "nothing was asked".to_owned();
        Engines {
            tmpfiles: Err(why()),
            units: Err(why()),
            tuned: Err(why()),
        }
    }

    fn ask(tree: &Tree<'_>, disks: &[Device]) -> Result<Self> {
        Ok(Engines {
            tmpfiles: systemd::tmpfiles(tree)?,
            units: systemd::units(tree)?,
            tuned: tuned::ask(tree, disks)?,
        })
    }

    fn sources(&self) -> Vec<(&'static str, Source)> {
        vec![
            ("tmpfiles.d", source(&self.tmpfiles)),
            ("units and their drop-ins", source(&self.units)),
            ("TuneD's profiles", source(&self.tuned)),
        ]
    }
}

impl Survey {
    /// In the order in which they act: udev takes files by name, whatever their directory, and starts programs at the end.
    fn sort(&mut self) {
        self.rivals.sort_by_cached_key(|rival| {
            let rule = rival.rule.as_ref().map(|rule| {
                let name = Path::new(&rule.file).file_name().map(ToOwned::to_owned);
                (rule.is_run, name, rule.line)
            });
            (rival.agent, rule)
        });
    }
}

const UDEV: [&str; 5] = [
    "etc/udev/rules.d",
    "run/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "lib/udev/rules.d",
];

/// The rivals on these disks, by our own reading; starts no program. Searches below `root`, which is `/` except
/// in tests.
pub fn find(root: &Path, disks: &[Device]) -> Result<Survey> {
    let tree = Tree::new(root);
    let survey = found(&tree, disks, &Engines::unasked())?;
    Ok(finished(survey, tree))
}

/// As [`find()`], by what systemd and TuneD say of their own files where they can be asked. Of udev's rules it is still our
/// own reading: [`asked::ask()`].
pub fn ask(root: &Path, disks: &[Device]) -> Result<Survey> {
    let tree = Tree::new(root);
    let engines = Engines::ask(&tree, disks)?;
    let mut survey = found(&tree, disks, &engines)?;
    survey.sources = engines.sources();
    Ok(finished(survey, tree))
}

fn found(tree: &Tree<'_>, disks: &[Device], engines: &Engines) -> Result<Survey> {
    let mut survey = rules(tree, disks)?;
    survey.rivals.extend(texts::find(tree, disks, engines)?);
    survey.rivals.extend(match &engines.tuned {
        Ok((_, profile)) => profile.rivals(tree, disks),
        Err(_) => tuned::Profile::read(tree).rivals(tree, disks),
    });
    survey.rivals.extend(tlp::find(tree, disks));
    survey.sort();
    Ok(survey)
}

fn finished(mut survey: Survey, tree: Tree<'_>) -> Survey {
    survey.unread = tree.into_unread();
    survey
}

fn rules(tree: &Tree<'_>, disks: &[Device]) -> Result<Survey> {
    let paths = tree.layered(&UDEV, ".rules");
    let mut texts = Vec::new();
    for path in &paths {
        interrupt::check()?;
        texts.push(tree.read(path).unwrap_or_default());
    }
    let files: Vec<_> = texts.iter().map(|text| udev::parse::rules(text)).collect();
    let lines: Vec<Vec<&str>> = texts.iter().map(|text| text.lines().collect()).collect();
    let mut survey = Survey::default();
    for disk in disks {
        // The place of each in the order, so that a step that two events have is one.
        let mut found: BTreeMap<(bool, usize, usize), Rival> = BTreeMap::new();
        for (index, subject) in sysfs::subjects(tree, disk).iter().enumerate() {
            for action in udev::ACTIONS {
                interrupt::check()?;
                for step in udev::steps(&files, subject, action) {
                    let place = Place {
                        file: Tree::shown(&paths[step.file]),
                        text: lines[step.file].get(step.line - 1).unwrap_or(&"").trim(),
                        is_of_partition: index > 0,
                    };
                    if let How::Asks(command) = &step.how {
                        survey.programs.insert(command.clone());
                    }
                    let key = (matches!(step.how, How::Runs(_)), step.file, step.line);
                    if let Some(rival) = of_step(tree, &place, disk, step) {
                        keep(&mut found, key, rival);
                    }
                }
            }
        }
        survey.rivals.extend(found.into_values());
    }
    interrupt::check()?;
    Ok(survey)
}

struct Place<'a> {
    file: String,
    text: &'a str,
    is_of_partition: bool,
}

/// A rival that is certain for one event of several is certain enough.
fn keep(
    found: &mut BTreeMap<(bool, usize, usize), Rival>,
    key: (bool, usize, usize),
    rival: Rival,
) {
    match found.get_mut(&key) {
        Some(before) => {
            before.is_certain |= rival.is_certain;
            if before.value != rival.value {
                before.value = None;
            }
        }
        None => {
            found.insert(key, rival);
        }
    }
}

fn of_step(tree: &Tree<'_>, place: &Place<'_>, disk: &Device, step: udev::Step) -> Option<Rival> {
    let is_run = matches!(step.how, How::Runs(_));
    let rule = Some(Rule {
        file: place.file.clone(),
        line: step.last,
        is_run,
        is_of_partition: place.is_of_partition,
    });
    let rival = |value: Option<String>, is_certain: bool| Rival {
        agent: Agent::Udev,
        file: place.file.clone(),
        line: step.line,
        text: place.text.to_owned(),
        value,
        disk: disk.name.clone(),
        is_certain,
        rule: rule.clone(),
    };
    let command = match &step.how {
        How::Writes => return Some(rival(step.value, step.is_certain)),
        How::Asks(command) | How::Runs(command) => command,
    };
    if let Some(write) = commands::Scope::new(command, &disk.name).write(command) {
        return Some(rival(write.value, step.is_certain && write.is_certain));
    }
    // A script that it starts.
    let starter = format!("{}:{}", place.file, step.line);
    let own = udev::first_word(command);
    let own = if own.starts_with('/') {
        own.to_owned()
    } else {
        format!("/usr/lib/udev/{own}")
    };
    let inside = commands::paths(command).into_iter().map(str::to_owned);
    let mut read = BTreeSet::new();
    let disks = std::slice::from_ref(disk);
    let found = [own].into_iter().chain(inside).find_map(|path| {
        // The last of its lines wins.
        texts::started(tree, &path, &starter, disks, &mut read).pop()
    });
    found.map(|found| Rival {
        agent: Agent::Udev,
        is_certain: step.is_certain && found.is_certain,
        rule: rule.clone(),
        ..found
    })
}

/// Reads a disk's properties from udev's database.
pub fn properties(root: &Path, disk: &Device) -> Option<BTreeMap<String, String>> {
    let number = format!("{}:{}", disk.major, disk.minor);
    sysfs::properties(&Tree::new(root), &number)
}

/// Whether TuneD reads a profile's file at this place.
pub fn tuned_looks_at(root: &Path, file: &Path) -> bool {
    tuned::is_looked_at(&Tree::new(root), file)
}

#[cfg(test)]
#[path = "rivals/tests.rs"]
mod tests;

#[cfg(test)]
#[path = "rivals/engine_tests.rs"]
mod engine_tests;
