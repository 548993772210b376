//! Settings of arms that live elsewhere than in the disk's queue: in control groups, in the whole system, and in what
//! commands do. The callers hold the lock of settings elsewhere (`preflight::lock_elsewhere`), and have written to the journal what
//! they will change.

pub mod hook; // commands that make an arm and undo it
mod marked; // processes that a killed program has left
mod system; // settings of the whole system
mod traces; // what a command leaves that can be seen

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::system::cgroup::group_file::Group;
use crate::system::cgroup::setting::SavedGroup;
use crate::system::device::Device;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::place::Place;
use iosched_result::types::arm::system_setting;

pub use hook::Hook;
pub use system::SavedSystem;
pub use traces::Traces;

/// A setting as it was, and how to make it so again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum Saved {
    Group(SavedGroup),
    System(SavedSystem),
}

impl Saved {
    /// Succeeds also where nothing is left to restore.
    pub fn restore(&self) -> Result<()> {
        match self {
            Saved::Group(group) => group.restore(),
            Saved::System(system) => system.restore(),
        }
    }

    /// Writes the value over itself: whether the kernel takes what it shows.
    pub fn write_again(&self) -> Result<()> {
        match self {
            Saved::Group(group) => group.write_again(),
            Saved::System(system) => system.write_again(),
        }
    }

    /// For people.
    pub fn describe(&self) -> String {
        match self {
            Saved::Group(group) => group.describe(),
            Saved::System(system) => system.describe(),
        }
    }

    /// Why there is nothing to restore, if so.
    pub fn fate(&self) -> Option<&'static str> {
        match self {
            Saved::Group(group) => group.fate(),
            Saved::System(_) => None,
        }
    }
}

/// When a setting may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Any,
    /// While the scheduler is active that acts on it.
    UnderItsScheduler,
}

/// All settings that some arm makes elsewhere, as they were before the first. An arm that does not make one has it so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    saved: Vec<Saved>,
}

impl Places {
    pub fn take(disks: &[Device], arms: &[Arm]) -> Result<Places> {
        let mut saved: Vec<Saved> = Vec::new();
        for (place, name, _) in arms.iter().flat_map(Arm::placed) {
            let found: Vec<Saved> = match place {
                Place::Group { path, file } => {
                    let of_disks = Group::named(path, file)?.save(name, disks)?;
                    of_disks.into_iter().map(Saved::Group).collect()
                }
                Place::System(setting) => vec![Saved::System(SavedSystem::take(setting)?)],
                // A command may change any of them, and may not undo it.
                Place::Exec => {
                    let all = system_setting::ALL.iter().map(SavedSystem::take);
                    let all = all.collect::<Result<Vec<_>>>()?;
                    all.into_iter().map(Saved::System).collect()
                }
                Place::Queue | Place::Own { .. } | Place::Undo => Vec::new(),
            };
            for one in found {
                if !saved.contains(&one) {
                    saved.push(one);
                }
            }
        }
        // A group's weight can be set where the root's io.cost is on.
        saved.sort_by_key(|saved| !matches!(saved, Saved::Group(group) if group.is_of_the_root()));
        Ok(Places { saved })
    }

    /// No arm sets anything elsewhere, and none runs commands.
    pub fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// To be restored from last to first: before the disk's queue, of which some change settings, or after it, where they are
    /// only there under the disk's own scheduler.
    pub fn saved(&self, moment: Moment) -> impl DoubleEndedIterator<Item = &Saved> {
        let of_moment = move |saved: &&Saved| match saved {
            Saved::Group(group) if group.scheduler().is_some() => {
                moment == Moment::UnderItsScheduler
            }
            Saved::Group(_) | Saved::System(_) => moment == Moment::Any,
        };
        self.saved.iter().filter(of_moment)
    }

    /// Gives each setting the value of the arm, or its own. Each is read back.
    pub fn apply(&self, arm: &Arm, moment: Moment) -> Result<()> {
        self.saved(moment).try_for_each(|saved| match saved {
            Saved::Group(group) if group.scheduler().is_some_and(|only| only != arm.scheduler) => {
                Ok(())
            }
            Saved::Group(group) => group.apply(arm.setting(&group.name)),
            Saved::System(system) => system.apply(arm),
        })
    }

    /// By name, as they concern this disk.
    pub fn read(&self, disk: &Device) -> BTreeMap<String, String> {
        let mut read = BTreeMap::new();
        for saved in &self.saved {
            match saved {
                Saved::Group(group) if !group.is_of_another(disk) => {
                    read.insert(group.name.clone(), group.shown());
                }
                Saved::Group(_) => {}
                Saved::System(system) => read.extend(system.shown()),
            }
        }
        read
    }
}
