//! `iosched-ab run --resume FILE`: goes on where a run was interrupted, by the same schedule.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched::ab::identity;
use iosched::ab::run::Experiment;
use iosched::device::{Device, Disks};
use iosched::environment::Environment;
use iosched::failure::Failure;
use iosched::guardian;
use iosched::journal::Journal;
use iosched::report::result::{DeviceInfo, ResultFile, Status};
use iosched::scratch_file::Place;
use iosched::workload::fio::Fio;
use iosched::workload::recorded;

use crate::carry_out::{carry_out, make_scratch};
use crate::cli::Conditions;
use crate::note;
use crate::permission::Request;
use crate::place;
use crate::report;

/// `trust`: the user has seen what the file asks for.
pub fn run(file: &Path, trust: bool, arguments: &Conditions) -> Result<()> {
    let (earlier, doubt) = report::read_with_doubt(file)?;
    if earlier.status == Status::Complete {
        return Err(Failure::usage(
            format!("{} is complete", file.display()),
            "print it with `iosched-ab report`, or start a new run",
        ));
    }
    if earlier.workload.description["kind"] == "live" {
        return Err(Failure::usage(
            format!(
                "{} is of a rotation of the terminal UI: the load that ran beside it is not in our hands",
                file.display()
            ),
            "rotate again with `iosched DEVICE` and F, or start a run with a workload",
        ));
    }
    if file.is_symlink() {
        return Err(Failure::refused(
            format!(
                "{}: it is a link, and the rounds to come are saved in its place",
                file.display()
            ),
            "name the file that it leads to",
        ));
    }
    show(file, &earlier);
    if let Some(doubt) = doubt.filter(|_| !trust) {
        return Err(Failure::refused(
            format!(
                "{}: somebody else may have written what it would run: {doubt}",
                file.display()
            ),
            "read the lines above; if they are what you want, say --trust",
        ));
    }
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    let scratch = match &earlier.device.scratch {
        Some(truth) => Some(make_scratch(truth.model, &journal)?),
        None => None,
    };
    let disks = match (&scratch, &earlier.device.group) {
        (Some(scratch), _) => Device::resolve(scratch.device_name())?.device.into(),
        (None, Some(group)) => Disks::resolve(&group.named)?.0,
        (None, None) => Device::resolve(&earlier.device.device.name)?.device.into(),
    };
    let truth = scratch.as_ref().map(|scratch| scratch.truth().clone());
    let fio_version = Fio::new("version", Vec::new()).version().ok();
    refuse_changes(
        &earlier,
        &DeviceInfo::of_all(&disks, truth.clone()),
        fio_version.as_ref(),
    )?;
    let consents = arguments.destroy_data || scratch.is_some();
    let mut workload = recorded::workload(&earlier.workload.description, consents)?;
    let earlier_place = earlier.workload.scratch_file.as_ref();
    let granted = Request {
        disks: &disks,
        arms: &earlier.design.arms,
        workload: &*workload,
        place: earlier_place.map(place::again).as_ref(),
        conditions: arguments,
        is_ours: scratch.is_some(),
        dry_run: false,
    }
    .grant()?;
    refuse_another_place(earlier_place, granted.place.as_ref())?;
    note(&format!("going on after {} rounds", earlier.rounds.len()));
    carry_out(Experiment {
        scratch: truth,
        disks,
        arms: earlier.design.arms.clone(),
        reference: earlier.design.reference,
        workload: &mut *workload,
        scratch_file: granted.place,
        hold: granted.hold,
        guardian: &guardian,
        fio_version,
        stopping: earlier.design.stopping,
        seed: earlier.plan.seed,
        ramp: Duration::from_secs_f64(earlier.design.ramp_s),
        time: Duration::from_secs_f64(earlier.design.round_time_s),
        primary: earlier.design.primary.clone(),
        journal: &journal,
        launcher: &launcher,
        output: Some(file.to_owned()),
        replaces_output: true,
        notes: Vec::new(),
        is_placebo: earlier.design.is_placebo,
        earlier: Some(earlier),
    })
}

/// What the file makes this process do.
fn show(file: &Path, earlier: &ResultFile) {
    note(&format!(
        "{} goes on with {} on {}",
        file.display(),
        earlier.workload.name,
        earlier.device.name()
    ));
    for line in recorded::commands(&earlier.workload.description) {
        note(&format!("  runs {line}"));
    }
    for arm in &earlier.design.arms {
        note(&format!("  sets {arm}"));
    }
    if let Some(place) = &earlier.workload.scratch_file {
        note(&format!("  writes in {}", place.directory.display()));
    }
}

/// Another file system may be mounted there now.
fn refuse_another_place(then: Option<&Place>, now: Option<&Place>) -> Result<()> {
    match (then, now) {
        (Some(then), Some(now)) if then != now => Err(Failure::refused(
            format!("the rounds so far ran in {then}, and these would run in {now}"),
            "mount what was mounted there, or start a new run",
        )),
        _ => Ok(()),
    }
}

/// Before anything is touched. What the arms set is compared in each round.
fn refuse_changes(
    earlier: &ResultFile,
    info: &DeviceInfo,
    fio_version: Option<&String>,
) -> Result<()> {
    let environment = Environment::read(fio_version.cloned());
    let changes = identity::changes(earlier, &environment, info);
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "{} or its machine is no longer what it was in the first round: {}",
            info.name(),
            changes.join(", ")
        ),
        "rounds of two different things cannot be compared; start a new run",
    ))
}
