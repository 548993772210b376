//! Parses an arm: a scheduler with its settings, written `[LABEL=]SCHEDULER[,SETTING=VALUE]...`.
//! Pure: `scheduler`, `places` and `preflight` check whether a machine offers the scheduler and the settings.

mod check;
pub mod group_file; // files of control groups
pub mod place; // where a setting lives
pub mod system_setting; // settings of the whole system

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use self::group_file::GroupFile;
use self::place::Place;
use crate::failure::Failure;
use crate::text::hidden::is_hidden;
pub use check::leaves_the_queue;
use check::{check_settings, is_scheduler_name, present_name};

/// One side of a comparison.
///
/// An arm read from a file passes the same checks as one from a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Unchecked")]
#[cfg_attr(feature = "schema", schemars(!try_from))]
pub struct Arm {
    /// The name in reports: the text as written, unless a label was given.
    pub label: String,
    /// The current name of the scheduler in the kernel.
    pub scheduler: String,
    /// The name that the user gave; differs from `scheduler` for a legacy name.
    pub requested: String,
    /// Settings and their values, as the user wrote them: attributes below `queue/`, and names that begin with `cgroup:` or
    /// `vm.`, or are `exec` or `undo`, for what is elsewhere.
    pub settings: Vec<(String, String)>,
    /// Remarks that a reader of a result needs.
    pub notes: Vec<String>,
}

/// An arm as deserialised, before its checks.
#[derive(Deserialize)]
struct Unchecked {
    label: String,
    scheduler: String,
    requested: String,
    settings: Vec<(String, String)>,
}

impl TryFrom<Unchecked> for Arm {
    type Error = String;

    fn try_from(unchecked: Unchecked) -> Result<Self, String> {
        let Unchecked {
            label,
            scheduler,
            requested,
            settings,
        } = unchecked;
        let arm = Arm::checked(&label, &label, &requested, settings);
        let arm = arm.map_err(|error| match error.downcast::<Failure>() {
            Ok(failure) => failure.what,
            Err(error) => format!("{error:#}"),
        })?;
        if arm.scheduler == scheduler {
            Ok(arm)
        } else {
            Err(format!(
                "arm {label:?}: the scheduler {requested:?} is {:?}, not {scheduler:?}",
                arm.scheduler
            ))
        }
    }
}

/// In place of a scheduler's name: the scheduler in force, with its settings.
pub const PRESENT: &str = "present";

/// A label of this length still fits into a line of a report.
const LABEL_CHARS: usize = 500;

const SYNTAX: &str = "write [LABEL=]SCHEDULER[,SETTING=VALUE]..., for example tight=mq-deadline,iosched/read_expire=100,nr_requests=64; \
    a control group's setting is cgroup:/PATH/FILE, one of the system is vm.NAME";

impl FromStr for Arm {
    type Err = anyhow::Error;

    /// A usage failure names the part that cannot be parsed.
    fn from_str(text: &str) -> Result<Self> {
        let (head, rest) = match text.split_once(',') {
            Some((head, rest)) => (head, Some(rest)),
            None => (text, None),
        };
        // Only the first part may have a label: in all others `=` separates an attribute from its value.
        let (label, requested) = match head.split_once('=') {
            Some((label, scheduler)) => (label.trim(), scheduler),
            None => (text, head),
        };
        Arm::checked(text, label, requested, settings(text, rest)?)
    }
}

impl fmt::Display for Arm {
    /// The arm without its label, in the kernel's current names; parses to the same arm again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheduler)?;
        for (name, value) in &self.settings {
            write!(f, ",{}", place::join(name, value))?;
        }
        Ok(())
    }
}

impl Arm {
    /// `text` names the arm in an error.
    fn checked(
        text: &str,
        label: &str,
        requested: &str,
        settings: Vec<(String, String)>,
    ) -> Result<Self> {
        if label.is_empty() || label.contains(is_hidden) {
            return Err(Failure::usage(
                format!("arm {text:?}: no label, or one with characters that cannot be seen"),
                SYNTAX,
            ));
        }
        if label.chars().count() > LABEL_CHARS {
            return Err(Failure::usage(
                format!("the label of an arm has more than {LABEL_CHARS} characters"),
                "give it a shorter label: --arm LABEL=SCHEDULER,...",
            ));
        }
        if !is_scheduler_name(requested) {
            return Err(Failure::usage(
                format!("arm {text:?}: {requested:?} is not the name of a scheduler"),
                SYNTAX,
            ));
        }
        let (scheduler, note) = present_name(requested)?;
        check_settings(text, scheduler, &settings)?;
        Ok(Arm {
            label: label.to_owned(),
            scheduler: scheduler.to_owned(),
            requested: requested.to_owned(),
            settings,
            notes: note.into_iter().collect(),
        })
    }

    /// Each setting: where it lives, its name and its value.
    pub fn placed(&self) -> impl Iterator<Item = (Place<'_>, &str, &str)> {
        self.settings.iter().filter_map(|(name, value)| {
            let place = place::of(name).ok()?; // each was checked
            Some((place, name.as_str(), value.as_str()))
        })
    }

    /// Attributes below `queue/`, and their values.
    pub fn queue_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let queue = self.placed().filter(|(place, ..)| *place == Place::Queue);
        queue.map(|(_, name, value)| (name, value))
    }

    /// The first setting that is not one of the disk.
    pub fn setting_elsewhere(&self) -> Option<&str> {
        let mut elsewhere = self.placed().filter(|(place, ..)| *place != Place::Queue);
        elsewhere.next().map(|(_, name, _)| name)
    }

    /// Settings of the groups that a round makes for the processes of its workload: process, file and value.
    pub fn of_own_groups(&self) -> impl Iterator<Item = (&str, &'static GroupFile, &str)> {
        self.placed().filter_map(|(place, _, value)| match place {
            Place::Own { process, file } => Some((process, file, value)),
            _ => None,
        })
    }

    /// Whether there is a setting elsewhere than in the disk that must be put back.
    pub fn sets_what_outlives_rounds(&self) -> bool {
        let mut placed = self.placed();
        placed.any(|(place, ..)| !matches!(place, Place::Queue | Place::Own { .. }))
    }

    /// The requested value, if any.
    pub fn setting(&self, attribute: &str) -> Option<&str> {
        self.settings
            .iter()
            .find(|(name, _)| name == attribute)
            .map(|(_, value)| value.as_str())
    }
}

fn settings(text: &str, rest: Option<&str>) -> Result<Vec<(String, String)>> {
    let parts = rest.into_iter().flat_map(|rest| rest.split(','));
    parts
        .map(|part| {
            let mistake = format!("arm {text:?}: {part:?} is not SETTING=VALUE");
            place::split(part).ok_or_else(|| Failure::usage(mistake, SYNTAX))
        })
        .collect()
}

/// Each once.
pub fn labels<'a>(arms: impl IntoIterator<Item = &'a Arm>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let labels = arms.into_iter().map(|arm| arm.label.as_str());
    labels.filter(|label| seen.insert(*label)).collect()
}

/// For a program that sets only what is the disk's.
pub fn ensure_of_the_disk(arm: &Arm) -> Result<()> {
    match arm.setting_elsewhere() {
        None => Ok(()),
        Some(name) => Err(Failure::usage(
            format!("arm {:?}: {name} is not a setting of the disk", arm.label),
            "`iosched-ab run` compares arms with such settings; `iosched` and `iosched set` only set what is below the disk's queue/",
        )),
    }
}

/// Labels name the columns of every report, so two arms must not share one.
pub fn refuse_duplicate_labels(arms: &[Arm]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for arm in arms {
        if !seen.insert(arm.label.as_str()) {
            return Err(Failure::usage(
                format!("two arms have the label {:?}", arm.label),
                "give each its own label, for example --arm a=none --arm b=none",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "arm_tests.rs"]
mod tests;
