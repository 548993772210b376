//! `iosched why FILE`: the rounds or the trace of a result, or blkparse's text. Needs no privileges.

use std::path::Path;

use anyhow::{Context, Result};
use iosched_files::{input, interrupt};
use iosched_read::input::{Input, STDIO, from_bytes};
use iosched_result::failure::Failure;
use iosched_result::report::why::{Keeps, WhyRecord, records, why};
use iosched_result::why::{DiskFacts, WhyOwner, blkparse};

use crate::cli::{Why, WhyBy};

/// The only argument, if it is a file and no disk.
pub fn named(arguments: &[String]) -> Option<&Path> {
    let [one] = arguments else { return None };
    let path = Path::new(one);
    (one == STDIO || path.is_file()).then_some(path)
}

/// One for each arm of a result, one for blkparse's text.
pub fn records(file: &Path, arguments: &Why) -> Result<Vec<WhyRecord>> {
    refuse_what_needs_the_machine(arguments)?;
    let name = if file == Path::new(STDIO) {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let bytes = bytes(file).map_err(|error| match interrupt::received() {
        Some(signal) => Failure::interrupted(signal),
        None => Failure::usage(
            format!("cannot read {name}: {error:#}"),
            "name a result of iosched-ab, or a file with blkparse's text",
        ),
    })?;
    let keeps = |owner: &WhyOwner| arguments.whose.pid.is_none_or(|pid| pid == owner.pid);
    // Names of processes may have any bytes.
    let text = String::from_utf8_lossy(&bytes);
    if let Some(parsed) = blkparse::parse(&text) {
        let disks: Vec<DiskFacts> = parsed.disks.into_iter().map(disk).collect();
        let owner = |number: u32| parsed.owners[number as usize].clone();
        let time = String::new();
        let keeps = Keeps {
            rows: &keeps,
            ..Keeps::ALL
        };
        let record = why(&parsed.stretch, &disks, time, &owner, &keeps, None);
        return Ok(vec![record]);
    }
    if !text.trim_start().starts_with('{') {
        return Err(Failure::usage(
            format!("{name} is neither a result of iosched-ab nor blkparse's text"),
            "for the latter: blktrace -d /dev/sda -o - | blkparse -i - | iosched why -",
        ));
    }
    let result = match from_bytes(&bytes, &name)? {
        Input::Run(result) => result,
        Input::Study(study) => {
            return Err(Failure::usage(
                format!("{name} is the result of the study {}", study.study),
                "name the result of a run",
            ));
        }
        Input::Merged(_) => {
            return Err(Failure::usage(
                format!("{name} has the results of many hosts, merged, and no rounds"),
                "name the result of one host",
            ));
        }
        Input::Tune(_) => {
            return Err(Failure::usage(
                format!("{name} is the result of a search, whose rounds do not say who waited"),
                "name the result of a run",
            ));
        }
    };
    if arguments.whose.pid.is_some() {
        return Err(Failure::usage(
            "--pid is not for a result: processes come and go with its rounds",
            "leave it out; the table has all, by name",
        ));
    }
    let records = records::records(&result, &keeps);
    if records.is_empty() {
        return Err(Failure::usage(
            format!("{name} does not say who waited behind whom"),
            "run with --why: iosched-ab run DEVICE --why ...",
        ));
    }
    Ok(records)
}

fn bytes(file: &Path) -> Result<Vec<u8>> {
    if file == Path::new(STDIO) {
        input::read_stdin(input::RESULT_LIMIT).context("reading")
    } else {
        input::read(file, input::RESULT_LIMIT).context("reading")
    }
}

/// blkparse tells no more of a disk than its number.
fn disk(name: String) -> DiskFacts {
    DiskFacts {
        name,
        ..DiskFacts::default()
    }
}

fn refuse_what_needs_the_machine(arguments: &Why) -> Result<()> {
    let whose = &arguments.whose;
    let given = [
        ("--for", arguments.time.is_some()),
        ("--by file", arguments.by == WhyBy::File),
        ("--cgroup", whose.cgroup.is_some()),
        ("--unit", whose.unit.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(
            format!("{option} is for disks, and not for a file"),
            "leave it out, or name a disk",
        )),
        None => Ok(()),
    }
}
