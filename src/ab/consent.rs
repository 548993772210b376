//! Asks for confirmation before a raw disk or partition is overwritten: its serial number or name must be typed. A flag
//! alone is not enough: it stays in a shell's history, and the same kernel name may later mean another disk.

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result};
use iosched_files::interrupt;
use iosched_host::system::device::RawTarget;
use iosched_result::failure::Failure;
use iosched_result::report::escape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Ok if `given`, or else what the user types, names this disk.
pub fn to_destroy(target: &RawTarget, given: Option<&str>) -> Result<()> {
    let word = match given {
        Some(word) => word.to_owned(),
        None if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => ask(target)?,
        None => {
            return Err(Failure::refused(
                format!(
                    "there is no terminal to confirm that all data on {} will be lost",
                    describe(target)
                ),
                format!("confirm with --yes-destroy {}", names(target)[0]),
            ));
        }
    };
    if names(target).iter().any(|name| *name == word.trim()) {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "{:?} is not the name or serial number of {}",
            word.trim(),
            describe(target)
        ),
        "look it up with `lsblk -o NAME,SERIAL,MODEL,SIZE`; nothing was changed",
    ))
}

/// Names that are accepted; the first one, which the question asks for, is the most reliable. A serial number is the whole
/// disk's: it does not name a partition.
fn names(target: &RawTarget) -> Vec<String> {
    let node = target.node().display().to_string();
    if !target.is_whole_disk() {
        return vec![target.name().to_owned(), node];
    }
    let device = &target.disk;
    device
        .serial()
        .into_iter()
        .map(|serial| serial.trim().to_owned())
        .chain([device.name.clone(), node])
        // The name that `lsblk` shows for device-mapper devices.
        .chain(device.optional_attribute("dm/name"))
        .filter(|name| !name.is_empty())
        .collect()
}

fn describe(target: &RawTarget) -> String {
    let device = &target.disk;
    let size = target.size_bytes().ok();
    let facts = [
        device.model().map(|model| model.trim().to_owned()),
        size.map(|bytes| format!("{:.1} GB", bytes as f64 / 1e9)),
        device
            .serial()
            .map(|serial| format!("serial {}", serial.trim())),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let part_of = if target.is_whole_disk() {
        String::new()
    } else {
        format!(", a partition of {}", device.name)
    };
    format!("{}{part_of} ({})", target.name(), facts.join(", "))
}

fn ask(target: &RawTarget) -> Result<String> {
    let mut screen = std::io::stderr();
    write!(
        screen,
        "All data on {} will be lost. Type {} to continue: ",
        escape::line(&describe(target)),
        escape::line(&names(target)[0])
    )?;
    screen.flush()?;
    line()
}

/// One line from standard input. A signal ends the question at any time.
fn line() -> Result<String> {
    const LONGEST: usize = 4096;
    let stdin = std::io::stdin();
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    let mut typed = Vec::new();
    while typed.len() < LONGEST && !typed.contains(&b'\n') {
        interrupt::check()?;
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&slice)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            other => other.context("waiting for an answer")?,
        };
        let mut piece = [0; 256];
        match rustix::io::read(&stdin, &mut piece).context("reading the answer")? {
            0 => break,
            count => typed.extend_from_slice(&piece[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&typed).into_owned())
}
