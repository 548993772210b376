//! Makes the winner last: text that sets a scheduler whenever the disk appears, for udev and for what manages machines.
//! Only what a result supports; nothing is installed. Pure.

mod evidence; // why, as comments and for doctor
mod format; // the same decision in each format, one row each
mod quote; // names of disks in patterns and files
mod recognised; // by what a disk is known after a boot
mod study; // whether a study supports an arm
mod support; // whether results support an arm

pub use evidence::{Evidence, MARK};
pub use format::{FORMATS, Format};
pub use study::decide_study;
pub use support::{Refusal, Wanted, decide};

/// A setting that lasts, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub scheduler: String,
    /// Attributes below `queue/` and their values, in the order of the arm.
    pub settings: Vec<(String, String)>,
    /// How the disk is recognised.
    pub disk: Disk,
    /// Kernel names of the measured disks, for examples and for formats that know no more.
    pub devices: Vec<String>,
    /// The findings, a sentence each.
    pub found: Vec<String>,
    /// The block of evidence, which says more than they do; of a study there is none.
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
    /// By nothing that lasts, for this reason: only formats that know kernel names, or all disks, take it.
    Unnamed(Refusal),
}

impl Decision {
    /// Part of the names of files and labels: letters, digits and dashes.
    pub fn name(&self) -> String {
        match &self.disk {
            Disk::Model(text) | Disk::Serial(text) => quote::slug(text),
            Disk::Unnamed(_) => quote::slug(&self.devices.join(" ")),
        }
    }
}
