//! The file that an I/O belongs to. Pure.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A block device that no file system uses: direct I/O, or through its page cache.
    BlockDevice,
    /// Directories, tables of inodes and other data that file systems keep for themselves.
    Metadata,
    /// The journal or log of a file system.
    Journal,
    Swap,
    /// The submitter does not tell, or in a way that is not known here.
    Unknown,
}

/// Identifies a file while it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileKey {
    /// What kind of file it is.
    pub kind: FileKind,
    /// The inode number of a regular file; 0 for other kinds.
    pub inode: u64,
    /// Tells the files apart that have this number one after the other, or in several subvolumes of btrfs.
    #[serde(default)]
    pub instance: u64,
    /// Major number of the device number of its file system, as in `/proc/self/mountinfo`.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
}

impl FileKey {
    /// What it is called if it has no path: `[journal]`, `inode 12 of 8:1`.
    pub fn label(&self) -> String {
        match self.kind {
            FileKind::Regular => format!("inode {} of {}:{}", self.inode, self.major, self.minor),
            FileKind::BlockDevice => "[block device]".to_owned(),
            FileKind::Metadata => "[metadata]".to_owned(),
            FileKind::Journal => "[journal]".to_owned(),
            FileKind::Swap => "[swap]".to_owned(),
            FileKind::Unknown => "[unknown]".to_owned(),
        }
    }
}
