//! What a search tries: the settings that iosched knows, the arms of a file, or those that a command names.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use iosched_experiment::workload::{Workload, launch};
use iosched_files::{input, trust};
use iosched_host::scheduler;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::tune::ladder::ladder;
use iosched_result::tune::{Candidate, DEFAULT, From, Space, TuneResult};
use iosched_result::types::arm::{Arm, PRESENT};

use super::candidate;
use crate::cli::Tune;
use crate::resume::COMMANDS;
use iosched_read::messages::note;

/// What the arguments ask for.
pub struct AskedSpace {
    pub space: Space,
    /// The arms of a file, if it is one.
    arms: Vec<Arm>,
}

pub fn asked(arguments: &Tune) -> Result<AskedSpace> {
    let of = |space| AskedSpace {
        space,
        arms: Vec::new(),
    };
    if let Some(path) = &arguments.space {
        let arms = of_file(path, arguments.conditions.trust)?;
        let path = path.display().to_string();
        return Ok(AskedSpace {
            space: Space::File { path },
            arms,
        });
    }
    let Some(command) = &arguments.propose else {
        return Ok(of(Space::Ladder));
    };
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let argv = words.ok_or_else(|| {
        Failure::usage(
            format!("--propose {command:?} is no command"),
            "write it as for a shell, with its quotes closed",
        )
    })?;
    let program = &argv[0];
    let is_there = if program.contains('/') {
        Path::new(program).is_file()
    } else {
        launch::is_in_path(OsStr::new(program))
    };
    if !is_there {
        return Err(Failure::usage(
            format!("--propose {command:?}: there is no program {program}"),
            "give its path, or see to it that it is in PATH",
        ));
    }
    Ok(of(Space::Proposals {
        argv,
        most: usize::from(arguments.proposals),
        has_ended: false,
    }))
}

fn of_file(path: &Path, is_trusted: bool) -> Result<Vec<Arm>> {
    let name = path.display().to_string();
    let (text, doubt) =
        input::read_text_with_doubt(path, input::JOB_FILE_LIMIT).map_err(|error| {
            Failure::usage(
                format!("cannot read {name}: {error}"),
                "name a file with one arm a line",
            )
        })?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let arms = lines.map(str::parse).collect::<Result<Vec<Arm>>>()?;
    if arms.is_empty() {
        return Err(Failure::usage(
            format!("{name} has no arms"),
            "write one a line, such as mq-deadline,iosched/fifo_batch=1",
        ));
    }
    for (index, arm) in arms.iter().enumerate() {
        let label = &arm.label;
        let cure =
            "each line is another arm, and `present`, what the disk has, is compared in any case";
        if label == PRESENT || arms[..index].iter().any(|other| other.label == *label) {
            let times = if label == PRESENT { "" } else { " twice" };
            return Err(Failure::usage(format!("{name} has {label:?}{times}"), cure));
        }
    }
    if doubt.is_some() {
        for arm in &arms {
            note(&format!("sets {arm}"));
        }
    }
    trust::ensure(is_trusted, doubt.as_deref(), &name, COMMANDS)?;
    Ok(arms)
}

/// The first is what the disks have. And what is not tried, and why.
pub fn candidates(
    asked: &AskedSpace,
    default: &Arm,
    disks: &Disks,
    workload: &dyn Workload,
) -> Result<(Vec<Candidate>, Vec<String>)> {
    let own = candidate(default.clone(), From::Disk);
    let of_file = asked
        .arms
        .iter()
        .cloned()
        .map(|arm| candidate(arm, From::File));
    let (others, skipped) = match &asked.space {
        Space::File { .. } => (of_file.collect(), Vec::new()),
        space => {
            let properties = workload.properties();
            // Nobody knows what a command does.
            let is_buffered = properties.through_page_cache.is_some() || properties.may_report;
            let found = ladder(
                default,
                &offered(disks)?,
                properties.profile.does,
                is_buffered,
            );
            let is_plain = |it: &Candidate| it.from == From::Scheduler;
            match space {
                Space::Ladder => (found.candidates, found.skipped),
                _ => (
                    found.candidates.into_iter().filter(is_plain).collect(),
                    Vec::new(),
                ),
            }
        }
    };
    Ok((std::iter::once(own).chain(others).collect(), skipped))
}

/// Schedulers that all disks offer.
fn offered(disks: &Disks) -> Result<Vec<String>> {
    let choices = disks.members.iter().map(scheduler::choice);
    let choices = choices.collect::<Result<Vec<_>>>()?;
    let Some((first, others)) = choices.split_first() else {
        return Ok(Vec::new());
    };
    let is_everywhere = |name: &&String| others.iter().all(|other| other.available.contains(name));
    Ok(first
        .available
        .iter()
        .filter(is_everywhere)
        .cloned()
        .collect())
}

/// Arms that the disks must have: what the ladder names is tried, and left out where it does not fit.
pub fn known(tune: &TuneResult) -> Vec<Arm> {
    let all = tune.candidates.iter().enumerate();
    let known = all
        .filter(|(index, it)| *index == DEFAULT || matches!(it.from, From::Scheduler | From::File));
    known.map(|(_, it)| it.arm.clone()).collect()
}
