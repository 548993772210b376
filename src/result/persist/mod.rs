//! Makes the winner last: text that sets a scheduler whenever the disk appears, for udev and for what manages machines.
//! Only what results support; nothing is installed. Pure.

mod evidence; // why, as comments and for doctor
mod format; // the same decisions in each format, one row each
mod merged; // whether many hosts support an arm
mod quote; // names of disks in patterns and files
mod recognised; // by what a disk is known after a boot
mod several; // one decision for each kind of disk
mod study; // whether a study supports an arm
mod support; // whether results support an arm
mod writable; // whether an arm is a setting of disks

use std::fmt;

use crate::types::result::ResultFile;

pub use evidence::{Evidence, MARK};
pub use format::{FORMATS, Format, Placed, Written};
pub use merged::candidates as of_merged;
pub use several::{Candidate, LeftOut, Together, together};
pub use study::decide_study;
pub use support::{Refusal, Wanted, decide};

/// A setting that lasts, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The label of the arm.
    pub arm: String,
    pub scheduler: String,
    /// Attributes below `queue/` and their values, in the order of the arm.
    pub settings: Vec<(String, String)>,
    /// How the disk is recognised.
    pub disk: Disk,
    /// Kernel names of the measured disks, for examples and for formats that know no more. Empty for those of several hosts.
    pub devices: Vec<String>,
    /// One for each measurement that supports it.
    pub reasons: Vec<Reason>,
}

/// What a measurement found.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The findings, a sentence each.
    pub found: Vec<String>,
    /// The block of evidence, which says more than they do; there is one of a run only.
    pub block: Option<String>,
    pub evidence: Evidence,
}

/// How disks are recognised: kernel names change from boot to boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disk {
    /// All disks of this model, as in `device/model` in sysfs.
    Model(String),
    /// One disk, by udev's `ID_SERIAL`.
    Serial(String),
    /// All disks that are like this one, which has no model.
    Alike(Alike),
    /// By nothing that lasts, for this reason: only formats that know kernel names, or all disks, take it.
    Unnamed(Refusal),
}

/// What there is of a disk without a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    pub driver: String,
    pub is_rotational: bool,
    pub size_bytes: u64,
}

impl Alike {
    /// The size as sysfs has it.
    pub fn sectors(&self) -> u64 {
        self.size_bytes / 512
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disk::Model(model) => write!(f, "disks of the model {model}"),
            Disk::Serial(serial) => write!(f, "the disk {serial}"),
            Disk::Alike(alike) => write!(
                f,
                "all disks of the driver {} with {} bytes, {}rotational",
                alike.driver,
                alike.size_bytes,
                if alike.is_rotational { "" } else { "not " }
            ),
            Disk::Unnamed(_) => write!(f, "a disk without a lasting name"),
        }
    }
}

impl Decision {
    /// The scheduler with its settings.
    pub fn what(&self) -> String {
        let settings = self.settings.iter();
        let settings = settings.flat_map(|(name, value)| [", ", name, "=", value]);
        self.scheduler.clone() + &settings.collect::<String>()
    }

    /// The disks that it is for.
    pub fn whom(&self) -> String {
        match &self.disk {
            Disk::Unnamed(_) => {
                format!("the disk that is called {} here", self.devices.join(", "))
            }
            disk => disk.to_string(),
        }
    }

    /// Part of the names of files and labels: letters, digits and dashes.
    pub fn name(&self) -> String {
        match &self.disk {
            Disk::Model(text) | Disk::Serial(text) => quote::slug(text),
            Disk::Alike(alike) => quote::slug(&format!("{} {}", alike.driver, alike.size_bytes)),
            Disk::Unnamed(_) => quote::slug(&self.devices.join(" ")),
        }
    }

    /// Adds the block of evidence of the run that the decision is based on.
    #[must_use]
    pub fn with_block(mut self, block: String) -> Decision {
        if let [reason] = &mut self.reasons[..] {
            reason.block = Some(block);
        }
        self
    }
}

/// How the disks of a result are recognised; None: the wish is none.
pub fn disk_of(result: &ResultFile, wanted: Wanted<'_>) -> Option<Disk> {
    recognised::disk(&result.device, wanted).ok()
}
