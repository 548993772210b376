//! Rights of a program that is started here.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use iosched_host::system::ask::{self, Limits};
use iosched_result::failure::Failure;

/// Another user, as the machine knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    home: String,
}

/// Variables of this process's environment that a command of another user gets, beside `LC_*`.
const KEPT: [&str; 4] = ["PATH", "LANG", "TERM", "TZ"];

#[derive(Clone, Copy, Debug)]
pub enum Rights<'a> {
    /// Rights of this process: a command of the user's may call sudo or su.
    All,
    /// To read and write raw disks.
    Disk,
    /// To read and write a scratch file, which is reached through a file descriptor of this process.
    ScratchFile,
    /// Rights of this user, and never more.
    Of(&'a User),
}

/// Files and disks of any owner, priorities, locked memory, limits. CAP_SYS_ADMIN: fio drops a disk's page cache with
/// BLKFLSBUF; realtime I/O priorities before Linux 5.14, polling by io_uring before 5.11 and resets of zones before 5.17.
const IO: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::SYS_ADMIN);
/// The kernel shows the descriptors of a process only to those that have no fewer capabilities, or this one.
const SCRATCH_FILE: CapabilitySet = IO.union(CapabilitySet::SYS_PTRACE);

const ALL: &str = "all";
const OF_DISK: &str = "disk";
const OF_SCRATCH_FILE: &str = "scratch-file";

impl User {
    /// Asks `id`, which knows the users of every source that the machine has.
    pub fn find(name: &str) -> Result<User> {
        let numbers = |what: &str| -> Result<Vec<u32>> {
            let limits = Limits {
                time: Duration::from_secs(10),
                bytes: 1 << 16,
            };
            let arguments = [OsStr::new(what), OsStr::new("--"), OsStr::new(name)];
            let answer = ask::ask(OsStr::new("id"), &arguments, limits)?;
            let said = String::from_utf8_lossy(&answer.stdout).into_owned();
            let numbers = said
                .split_whitespace()
                .map(str::parse)
                .collect::<Result<Vec<u32>, _>>();
            match numbers {
                Ok(numbers) if answer.status.success() && !numbers.is_empty() => Ok(numbers),
                _ => Err(Failure::usage(
                    format!("there is no user {name:?}"),
                    "name one that `getent passwd` lists",
                )),
            }
        };
        let uid = numbers("-u")?[0];
        // The kernel leaves root's uid its capabilities.
        ensure!(
            uid != 0,
            Failure::usage(
                format!("{name} is root, whose rights --user is there to leave behind"),
                "name another user, or leave --user out",
            )
        );
        Ok(User {
            name: name.to_owned(),
            uid,
            gid: numbers("-g")?[0],
            groups: numbers("-G")?,
            home: home(name).unwrap_or_else(|| "/".to_owned()),
        })
    }

    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_kept = |name: &OsStr| {
            let name = name.to_str().unwrap_or_default();
            KEPT.contains(&name) || name.starts_with("LC_")
        };
        let own = [
            ("USER", &self.name),
            ("LOGNAME", &self.name),
            ("HOME", &self.home),
        ];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        std::env::vars_os()
            .filter(|(name, _)| is_kept(name))
            .chain(own)
            .collect()
    }

    pub fn ids(&self) -> (u32, u32) {
        (self.uid, self.gid)
    }
}

fn home(name: &str) -> Option<String> {
    let limits = Limits {
        time: Duration::from_secs(10),
        bytes: 1 << 16,
    };
    let arguments = ["passwd", "--", name].map(OsStr::new);
    let answer = ask::ask(OsStr::new("getent"), &arguments, limits).ok()?;
    let line = String::from_utf8(answer.stdout).ok()?;
    line.trim_end().split(':').nth(5).map(str::to_owned)
}

impl Rights<'_> {
    /// For the process that becomes the program; the inverse of [`take`].
    pub(super) fn argument(self) -> OsString {
        match self {
            Rights::All => ALL.into(),
            Rights::Disk => OF_DISK.into(),
            Rights::ScratchFile => OF_SCRATCH_FILE.into(),
            Rights::Of(user) => {
                let groups: Vec<String> = user.groups.iter().map(u32::to_string).collect();
                format!("{}:{}:{}", user.uid, user.gid, groups.join(",")).into()
            }
        }
    }
}

/// Reduces this process to these rights, for good.
pub(super) fn take(argument: &OsStr) -> Result<()> {
    match argument.to_str().context("the rights")? {
        ALL => Ok(()),
        OF_DISK => keep(IO),
        OF_SCRATCH_FILE => keep(SCRATCH_FILE),
        user => become_user(user),
    }
}

fn keep(needed: CapabilitySet) -> Result<()> {
    set_no_new_privs(true).context("setting no_new_privs")?;
    let now = capabilities(None).context("reading the capabilities")?;
    let kept = CapabilitySets {
        effective: now.effective & needed,
        permitted: now.permitted & needed,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).context("dropping capabilities")
}

/// This process has one thread. The kernel drops all capabilities with root's uid.
fn become_user(text: &str) -> Result<()> {
    let number = |text: &str| text.parse::<u32>().context("a user or group");
    let mut parts = text.splitn(3, ':');
    let mut next = || parts.next().context("a user");
    let (uid, gid) = (number(next()?)?, number(next()?)?);
    let groups = next()?
        .split(',')
        .map(number)
        .collect::<Result<Vec<u32>>>()?;
    let groups: Vec<Gid> = groups.into_iter().map(Gid::from_raw).collect();
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    // Without root's terminal, into which it could type.
    rustix::process::setsid().context("beginning a session")?;
    set_no_new_privs(true).context("setting no_new_privs")?;
    set_thread_groups(&groups).context("setting the groups")?;
    set_thread_res_gid(gid, gid, gid).context("setting the group")?;
    set_thread_res_uid(uid, uid, uid).context("setting the user")?;
    let left = capabilities(None).context("reading the capabilities")?;
    ensure!(left.permitted.is_empty(), "capabilities are left");
    Ok(())
}
