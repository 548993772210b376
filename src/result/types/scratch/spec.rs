//! Disks to simulate, as users write them: `ssd`, `hdd+ext4`, `ssd*8`, `ssd*4+btrfs`.

use std::fmt;
use std::str::FromStr;

use super::model::DiskModel;
use crate::failure::Failure;
use crate::types::file_system::FileSystem;

const MOST_LUNS: usize = 16;
/// Enough for every file system with room for a scratch file.
const LUN_BYTES: u64 = 512 << 20;
const BYTES: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    pub model: DiskModel,
    /// Block devices, each of them a part of the one disk, with tags of its own.
    pub luns: usize,
    /// Made on all of them and mounted.
    pub file_system: Option<FileSystem>,
}

impl DiskSpec {
    /// The usual size of the disk; its memory is used only where it is written.
    pub fn usual_bytes(self) -> u64 {
        BYTES.max(self.luns as u64 * LUN_BYTES)
    }

    /// Err: why there is no such disk.
    pub fn check(self) -> Result<(), String> {
        if !(1..=MOST_LUNS).contains(&self.luns) {
            return Err("that is not a number of LUNs".to_owned());
        }
        match self.file_system {
            Some(made) if self.luns > 1 && !made.spans_devices() => {
                Err(format!("{made} is made on one device"))
            }
            _ => Ok(()),
        }
    }
}

impl From<DiskModel> for DiskSpec {
    fn from(model: DiskModel) -> Self {
        DiskSpec {
            model,
            luns: 1,
            file_system: None,
        }
    }
}

impl FromStr for DiskSpec {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (disk, file_system) = match text.split_once('+') {
            Some((disk, name)) => (disk, Some(name.parse()?)),
            None => (text, None),
        };
        let (model, luns) = match disk.split_once('*') {
            // `check` refuses 0, and so whatever cannot be read as a number.
            Some((model, count)) => (model, count.parse().unwrap_or(0)),
            None => (disk, 1),
        };
        let spec = DiskSpec {
            model: model.parse()?,
            luns,
            file_system,
        };
        spec.check().map_err(|what| {
            Failure::usage(
                format!("{text}: {what}"),
                format!(
                    "use 1 to {MOST_LUNS} LUNs, for instance ssd*8, and btrfs for a file system on several"
                ),
            )
        })?;
        Ok(spec)
    }
}

impl fmt::Display for DiskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.model)?;
        if self.luns > 1 {
            write!(f, "*{}", self.luns)?;
        }
        match self.file_system {
            Some(made) => write!(f, "+{made}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    #[test]
    fn names_go_there_and_back() {
        for text in ["ssd", "hdd+ext4", "ssd*8", "ram*4+btrfs", "ssd+xfs"] {
            assert_eq!(text.parse::<DiskSpec>().unwrap().to_string(), text);
        }
        assert_eq!("ssd*1".parse::<DiskSpec>().unwrap(), DiskModel::Ssd.into());
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        for (text, says) in [
            ("tape", "unknown device model"),
            ("ssd*0", "not a number of LUNs"),
            ("ssd*17", "not a number of LUNs"),
            ("ssd*", "not a number of LUNs"),
            ("ssd+", "unknown file system"),
            ("ssd+ext4*2", "unknown file system"),
            ("ssd*2+ext4", "ext4 is made on one device"),
        ] {
            let error = text.parse::<DiskSpec>().unwrap_err();
            assert_eq!(kind_of(&error), Kind::Usage);
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
    }
}
