//! File systems that iosched makes on its own devices.

use std::fmt;
use std::str::FromStr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// From four devices on btrfs can stripe over mirrors.
const FEWEST_FOR_RAID10: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl FromStr for FileSystem {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "ext4" => Ok(FileSystem::Ext4),
            "xfs" => Ok(FileSystem::Xfs),
            "btrfs" => Ok(FileSystem::Btrfs),
            other => Err(Failure::usage(
                format!("unknown file system {other:?}"),
                "use ext4, xfs or btrfs",
            )),
        }
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
        })
    }
}

impl FileSystem {
    pub fn spans_devices(self) -> bool {
        self == FileSystem::Btrfs
    }

    /// How it distributes its data over so many devices, in its own words.
    pub fn profile(self, devices: usize) -> Option<&'static str> {
        match (self, devices) {
            (FileSystem::Btrfs, FEWEST_FOR_RAID10..) => Some("raid10"),
            (FileSystem::Btrfs, 2..) => Some("raid1"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    #[test]
    fn names_go_there_and_back() {
        for made in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
            assert_eq!(made.to_string().parse::<FileSystem>().unwrap(), made);
        }
        let error = "ntfs".parse::<FileSystem>().unwrap_err();
        assert_eq!(kind_of(&error), Kind::Usage);
    }
}
