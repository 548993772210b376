//! File systems on disks of the guest.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::Disk;

/// A name, and the options of its mkfs.
pub type FileSystem = (&'static str, &'static [&'static str]);

/// The kernels have file systems that are older than the programs that make them.
pub const FILE_SYSTEMS: [FileSystem; 3] = [
    (
        "ext4",
        &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    ),
    (
        "xfs",
        &[
            "-q",
            "-m",
            "bigtime=0,inobtcount=0,reflink=0,rmapbt=0",
            "-i",
            "nrext64=0,exchange=0",
            "-n",
            "parent=0",
        ],
    ),
    (
        "btrfs",
        &[
            "-q",
            "-O",
            "^block-group-tree,^free-space-tree,^no-holes",
            "-R",
            "^free-space-tree",
        ],
    ),
];

/// The cloud kernels do not have it.
pub const F2FS: FileSystem = ("f2fs", &["-q", "-f"]);

/// A mounted file system. Unmounted at the end, of a test that failed, too: its disk goes after it.
pub struct Mounted {
    directory: TempDir,
}

impl Mounted {
    /// Makes it and mounts it; None with the reason if this kernel has no such file system.
    #[track_caller]
    pub fn new(disk: &Disk, (name, options): FileSystem) -> Option<Mounted> {
        let node = disk.node();
        let make = Command::new(format!("mkfs.{name}"))
            .args(options)
            .arg(&node)
            .output();
        let make = make.expect("mkfs");
        if !make.status.success() {
            let plain = Command::new(format!("mkfs.{name}"))
                .args(["-q", "-f", &node])
                .status();
            assert!(
                plain.expect("mkfs").success(),
                "{}",
                String::from_utf8_lossy(&make.stderr)
            );
        }
        let directory = tempfile::tempdir().expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", name, &node])
            .arg(directory.path())
            .output();
        let mounted = mounted.expect("mount");
        if !mounted.status.success() {
            println!(
                "SKIPPED {name}: {}",
                String::from_utf8_lossy(&mounted.stderr).trim()
            );
            return None;
        }
        Some(Mounted { directory })
    }

    #[track_caller]
    pub fn ext4(disk: &Disk) -> Mounted {
        Mounted::new(disk, FILE_SYSTEMS[0]).expect("ext4")
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Of a file in it, for a command.
    pub fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.path()).status();
        assert!(
            std::thread::panicking() || status.is_ok_and(|status| status.success()),
            "umount {}",
            self.path().display()
        );
    }
}
