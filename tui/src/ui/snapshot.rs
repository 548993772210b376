//! `iosched snapshot`: keeps intervals as the terminal UI does, without a screen, and writes them to a file.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use iosched_files::{interrupt, output};
use iosched_host::safety::privileges;
use iosched_measure::history::blocks::Blocks;
use iosched_measure::history::buffer::Buffer;
use iosched_measure::probe::Detail;
use iosched_result::report::escape;
use iosched_result::report::units::count;

use super::history;
use super::sampling::devices;
use super::sampling::read::Reader;
use super::sampling::request::Wanted;
use super::sampling::sample::Disk;
use crate::cli::Snapshot;

/// Everything that a screen may show.
const ALL: Wanted = Wanted {
    order: true,
    why: true,
    why_of_arms: false,
    owner_histograms: true,
};

pub fn run(arguments: &Snapshot) -> Result<()> {
    output::ensure_may_write(&arguments.file, arguments.force, "")?;
    let (devices, mut notes) = devices::named(&arguments.devices)?;
    let detail = Detail {
        order: true,
        fairness: true,
        ..Detail::default()
    };
    let were_named = !arguments.devices.is_empty();
    let probe = devices::attach(&devices, were_named, 0, detail)?;
    notes.extend(probe.notes());
    for note in &notes {
        say(&format!("iosched: note: {}", escape::line(note)));
    }
    privileges::keep_those_of_a_snapshot()?;
    let mut disks: Vec<Disk> = devices.iter().map(devices::disk).collect();
    let mut reader = Reader::new(devices, were_named, Some(probe), Vec::new());
    let (mut blocks, mut kept) = (Blocks::default(), Buffer::default());
    let is_shown = std::io::stderr().is_terminal();
    let every = Duration::from_secs_f64(arguments.interval);
    let mut next = Instant::now();
    let mut left = arguments.count;
    let mut outcome = Ok(());
    while left != Some(0) && outcome.is_ok() {
        next += every;
        // After a pause, the intervals that were missed are one.
        while next + every <= Instant::now() {
            next += every;
        }
        // Intervals that were kept until Ctrl-C or an error are written.
        let interrupted = interrupt::sleep_until(next);
        outcome = keep_one(&mut reader, &mut blocks, &mut kept).and(interrupted);
        for added in reader.take_added() {
            let (place, device) = match added {
                Ok(added) => added,
                Err(error) => {
                    say(&format!(
                        "iosched: note: {}",
                        escape::line(&format!("{error:#}"))
                    ));
                    continue;
                }
            };
            devices::put(&mut disks, place, devices::disk(&device));
        }
        if is_shown {
            let _ = write!(std::io::stderr(), "\r{} ", progress(&kept, left));
        }
        left = left.map(|left| left - 1);
    }
    if is_shown {
        say("");
    }
    if kept.is_empty() {
        return outcome;
    }
    history::write(&arguments.file, disks, &notes, &kept)?;
    let file = arguments.file.display();
    say(&escape::line(&format!(
        "iosched: {} in {file}; `iosched replay {file}` shows them",
        held(&kept)
    )));
    outcome
}

fn keep_one(reader: &mut Reader, blocks: &mut Blocks, kept: &mut Buffer) -> Result<()> {
    for block in blocks.add(&reader.read(ALL)?)? {
        kept.push(block);
    }
    Ok(())
}

fn progress(kept: &Buffer, left: Option<u64>) -> String {
    match left {
        Some(left) => format!("{}, {} to go", held(kept), count((left - 1) as f64)),
        None => format!("{}; Ctrl-C writes them", held(kept)),
    }
}

fn held(kept: &Buffer) -> String {
    let first = kept.first();
    let number = kept.last().map_or(0, |last| last + 1 - first);
    let intervals = format!("{} intervals", count(number as f64));
    match first {
        0 => intervals,
        dropped => format!(
            "the last {intervals} ({} were dropped)",
            count(dropped as f64)
        ),
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
