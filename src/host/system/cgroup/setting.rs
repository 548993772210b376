//! A file of a control group, whose value is one for each disk, or one for all.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::system::device::Device;
use crate::system::writer::{self, Written};
use iosched_result::failure::Failure;
use iosched_result::types::arm::group_file::{self, Form, GroupFile, holds, overlaid, writable};

/// The kernel stops the disk's queue for a write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

fn inode(directory: &Path) -> io::Result<u64> {
    fs::metadata(directory).map(|metadata| metadata.ino())
}

/// The value that a file had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedGroup {
    /// As the arms have it.
    pub name: String,
    directory: PathBuf,
    /// The inode of the directory: another group may have its name later.
    id: u64,
    file: String,
    /// None: the value is one for all disks.
    disk: Option<SavedDisk>,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedDisk {
    name: String,
    number: String,
    diskseq: Option<u64>,
}

impl SavedDisk {
    fn of(device: &Device) -> SavedDisk {
        SavedDisk {
            name: device.name.clone(),
            number: format!("{}:{}", device.major, device.minor),
            diskseq: device.diskseq,
        }
    }

    fn is_gone(&self) -> bool {
        let now = Device::by_name(&self.name).ok().flatten();
        now.is_none_or(|now| SavedDisk::of(&now) != *self)
    }
}

impl SavedGroup {
    pub(super) fn take(
        name: &str,
        directory: &Path,
        file: &GroupFile,
        disk: Option<&Device>,
    ) -> Result<SavedGroup> {
        let mut saved = SavedGroup {
            name: name.to_owned(),
            directory: directory.to_owned(),
            id: inode(directory).context("finding the control group")?,
            file: file.name.to_owned(),
            disk: disk.map(SavedDisk::of),
            value: String::new(),
        };
        saved.value = saved.read(file)?;
        Ok(saved)
    }

    /// The kernel keeps it only while this scheduler is active.
    pub fn scheduler(&self) -> Option<&'static str> {
        group_file::of(&self.file)?.scheduler
    }

    pub fn is_of_the_root(&self) -> bool {
        group_file::of(&self.file).is_some_and(|file| file.is_of_the_root)
    }

    pub fn is_of_another(&self, disk: &Device) -> bool {
        let own = self.disk.as_ref();
        own.is_some_and(|own| *own != SavedDisk::of(disk))
    }

    /// The value in force, for people and to compare.
    pub fn shown(&self) -> String {
        let read = self.kind().and_then(|file| self.read(file));
        read.unwrap_or_else(|error| format!("not readable: {:#}", error.root_cause()))
    }

    /// None: the value that it had.
    pub fn apply(&self, value: Option<&str>) -> Result<()> {
        if let Some(fate) = self.fate() {
            return Err(Failure::runtime(
                format!("{}: {fate}", self.describe()),
                "start again once it is there",
            ));
        }
        let file = self.kind()?;
        let value = match (value, &file.form) {
            (Some(value), Form::Keys { .. }) => overlaid(&self.value, value),
            (Some(value), _) => value.to_owned(),
            (None, _) => self.value.clone(),
        };
        self.make(file, &value)
    }

    pub fn restore(&self) -> Result<()> {
        match self.fate() {
            Some(_) => Ok(()),
            None => self.make(self.kind()?, &self.value),
        }
    }

    pub fn write_again(&self) -> Result<()> {
        let file = self.kind()?;
        // What takes a value away is always taken, but may set up in the kernel what was not there.
        if self.is_absent(file) {
            return Ok(());
        }
        self.write(file, &self.value)?;
        self.ensure(file, &self.value)
    }

    pub fn describe(&self) -> String {
        match &self.disk {
            Some(disk) => format!("{} for {}", self.path().display(), disk.name),
            None => self.path().display().to_string(),
        }
    }

    pub fn fate(&self) -> Option<&'static str> {
        match inode(&self.directory) {
            Err(_) => Some("the control group was removed, and its settings with it"),
            Ok(id) if id != self.id => {
                Some("another control group has this name now; it is left alone")
            }
            Ok(_) if self.disk.as_ref().is_some_and(SavedDisk::is_gone) => {
                Some("the disk was removed, and the setting for it with it")
            }
            Ok(_) => None,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.file)
    }

    /// Only known files are written, also by what a journal says.
    fn kind(&self) -> Result<&'static GroupFile> {
        group_file::of(&self.file)
            .with_context(|| format!("{} is not a file that arms set", self.file))
    }

    pub(super) fn is_absent(&self, file: &GroupFile) -> bool {
        match file.form {
            Form::Keys { absent, .. } | Form::Number { absent } => absent == self.value,
            Form::Word(_) => false,
        }
    }

    /// What stands for a disk without a line, where there is none.
    fn read(&self, file: &GroupFile) -> Result<String> {
        let path = self.path();
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let Some(disk) = &self.disk else {
            return Ok(text.trim().to_owned());
        };
        let line = text.lines().find_map(|line| {
            let (number, rest) = line.trim().split_once(' ')?;
            (number == disk.number).then(|| rest.trim().to_owned())
        });
        Ok(match (line, &file.form) {
            (Some(line), Form::Keys { absent, .. }) => overlaid(absent, &writable(&line)),
            (Some(line), _) => line,
            (None, Form::Keys { absent, .. } | Form::Number { absent }) => (*absent).to_owned(),
            (None, Form::Word(_)) => String::new(),
        })
    }

    fn make(&self, file: &GroupFile, value: &str) -> Result<()> {
        let now = self.read(file)?;
        if holds(value, &now) {
            return Ok(());
        }
        self.write(file, value)?;
        self.ensure(file, value)
    }

    fn ensure(&self, file: &GroupFile, value: &str) -> Result<()> {
        let now = self.read(file)?;
        if holds(value, &now) {
            return Ok(());
        }
        Err(Failure::usage(
            format!(
                "{}: {value:?} was written and reads back as {now:?}",
                self.describe()
            ),
            "use a value that the kernel takes unchanged",
        ))
    }

    fn write(&self, file: &GroupFile, value: &str) -> Result<()> {
        let text = match &self.disk {
            Some(disk) => format!("{} {value}", disk.number),
            None => value.to_owned(),
        };
        let path = self.path();
        let at = || format!("writing {text:?} to {}", path.display());
        let opened = File::options().write(true).open(&path).with_context(at)?;
        ensure_of_cgroups(&opened).with_context(at)?;
        match writer::write(&opened, text.as_bytes(), WRITE_TIMEOUT).with_context(at)? {
            Written::Done(_) => Ok(()),
            Written::Failed(error) => Err(refusal(file, &error).map_or_else(
                || anyhow::Error::new(error).context(at()),
                |hint| Failure::usage(at() + ": the kernel refuses it", hint),
            )),
            Written::Stuck { pid, stack } => Err(Failure::runtime(
                format!("{}: process {pid} hangs in it\n{stack}", at()),
                "the kernel waits until requests of the disk are complete; `iosched restore` puts the setting back afterwards",
            )),
        }
    }
}

/// A journal that leads elsewhere is wrong.
fn ensure_of_cgroups(file: &File) -> Result<()> {
    const OLDER_MAGIC: i64 = 0x0027_e0eb;
    const UNIFIED_MAGIC: i64 = 0x6367_7270;
    let kind = rustix::fs::fstatfs(file)?.f_type;
    anyhow::ensure!(
        [OLDER_MAGIC, UNIFIED_MAGIC].contains(&kind),
        "it is not a file of a control group"
    );
    Ok(())
}

/// What the kernel means by its error.
fn refusal(file: &GroupFile, error: &io::Error) -> Option<String> {
    let errno = Errno::from_io_error(error)?;
    match (errno, file.scheduler) {
        (Errno::OPNOTSUPP, Some(scheduler)) => {
            Some(format!("{scheduler} must be the scheduler of the disk"))
        }
        (Errno::OPNOTSUPP, None) if file.name == "io.weight" => Some(
            "the disk has no io.cost that acts on it: turn it on in the same arm, cgroup:/io.cost.qos=enable=1"
                .to_owned(),
        ),
        (Errno::OPNOTSUPP, None) => Some("the disk's driver does not work with it".to_owned()),
        (Errno::INVAL | Errno::RANGE, _) => {
            Some("use a value within the kernel's limits".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(directory: &Path, file: &str, value: &str) -> SavedGroup {
        SavedGroup {
            name: format!("cgroup:/x/{file}"),
            directory: directory.to_owned(),
            id: inode(directory).unwrap(),
            file: file.to_owned(),
            disk: None,
            value: value.to_owned(),
        }
    }

    #[test]
    fn a_group_that_is_gone_or_another_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("x");
        fs::create_dir(&group).unwrap();
        fs::write(group.join("io.prio.class"), "idle\n").unwrap();
        let before = saved(&group, "io.prio.class", "no-change");
        assert_eq!((before.fate(), before.shown()), (None, "idle".to_owned()));
        let other = SavedGroup {
            id: before.id + 1,
            ..before.clone()
        };
        other.restore().unwrap();
        assert_eq!(before.shown(), "idle");
        fs::remove_dir_all(&group).unwrap();
        assert!(before.fate().is_some_and(|fate| fate.contains("removed")));
        before.restore().unwrap();
    }

    #[test]
    fn a_journal_leads_to_no_other_file() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("io.prio.class");
        fs::write(&file, "idle").unwrap();
        let elsewhere = saved(root.path(), "io.prio.class", "no-change");
        let error = elsewhere.restore().unwrap_err();
        assert!(format!("{error:#}").contains("not a file of a control group"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "idle");
        fs::write(root.path().join("cgroup.procs"), "1\n").unwrap();
        let wrong = saved(root.path(), "cgroup.procs", "2");
        assert!(wrong.restore().is_err());
        let up = saved(root.path(), "../io.max", "2");
        assert!(up.restore().is_err());
    }
}
