//! Settings of arms that live elsewhere than in the disk's queue: in control groups, in the whole system, and in what
//! commands do. The callers hold the lock of settings elsewhere (`preflight::lock_elsewhere`), and have written to the journal what
//! they will change.

mod group; // a file of a control group
pub mod hook; // commands that make an arm and undo it
mod system; // settings of the whole system
mod traces; // what a command leaves that can be seen

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::system::device::Device;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::place::Place;

pub use group::{SavedGroup, missing};
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

/// All settings that some arm makes elsewhere, as they were before the first. An arm that does not make one has it so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    saved: Vec<Saved>,
}

impl Places {
    pub fn take(disks: &[Device], arms: &[Arm]) -> Result<Places> {
        let mut saved: Vec<Saved> = Vec::new();
        for (place, name, _) in arms.iter().flat_map(Arm::placed) {
            let found = match place {
                Place::Group { path, file } => {
                    let of_disks = group::Group::named(path, file)?.save(name, disks)?;
                    of_disks.into_iter().map(Saved::Group).collect()
                }
                Place::System(setting) => vec![Saved::System(SavedSystem::take(setting)?)],
                Place::Queue | Place::Exec | Place::Undo => Vec::new(),
            };
            for one in found {
                if !saved.contains(&one) {
                    saved.push(one);
                }
            }
        }
        Ok(Places { saved })
    }

    pub fn saved(&self) -> &[Saved] {
        &self.saved
    }

    /// Gives each setting the value of the arm, or its own. Each is read back.
    pub fn apply(&self, arm: &Arm) -> Result<()> {
        self.saved.iter().try_for_each(|saved| match saved {
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
