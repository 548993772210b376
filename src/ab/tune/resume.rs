//! `iosched-ab tune --resume FILE`: goes on with an interrupted search.

use std::path::Path;

use anyhow::Result;
use iosched_experiment::session::Session;
use iosched_experiment::tune::TuneRun;
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::{fio, recorded};
use iosched_files::trust;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::{Device, Disks, info};
use iosched_result::failure::Failure;
use iosched_result::tune::{DEFAULT, Space, TuneResult};
use iosched_result::types::result::{Design, Status};

use super::{carry_out, space};
use crate::cli::Conditions;
use crate::permission::PermissionRequest;
use crate::resume::{COMMANDS, refuse_another_place, refuse_changes, show};
use crate::{disks, place, simulated};
use iosched_read::input::{self, Input};
use iosched_read::messages::note;

fn resumable(file: &Path, arguments: &Conditions) -> Result<TuneResult> {
    let name = file.display().to_string();
    let (Input::Tune(tune), doubt) = input::open_with_doubt(file)? else {
        return Err(Failure::usage(
            format!("{name} is not the result of a search"),
            "name a file that `iosched-ab tune` wrote",
        ));
    };
    if tune.status == Status::Complete {
        return Err(Failure::usage(
            format!("{name} is complete: there is nothing to resume"),
            "print it with `iosched-ab report`; its referee can be run again with `iosched-ab run`",
        ));
    }
    let Some(stage) = tune.stages.first() else {
        return Err(Failure::usage(
            format!("{name} has no rounds"),
            "start the search again",
        ));
    };
    show(file, &stage.result);
    if let Space::Proposals { argv, .. } = &tune.space {
        note(&format!("  asks {}", recorded::shown(argv)));
    }
    trust::ensure(arguments.trust, doubt.as_deref(), &name, COMMANDS)?;
    Ok(*tune)
}

pub fn run(file: &Path, arguments: &Conditions) -> Result<()> {
    let tune = resumable(file, arguments)?;
    let first = tune.stages[0].result.clone();
    let mut session = Session::begin()?;
    let disks = match (&first.device.scratch, &first.device.group) {
        (Some(truth), _) => simulated::make(&mut session, truth.spec())?,
        (None, Some(group)) => Disks::resolve(&group.named)?.0,
        (None, None) => Device::resolve(&first.device.device.name)?.device.into(),
    };
    let scratch = session.scratch();
    let fio_version = fio::installed_version()?;
    refuse_changes(
        &first,
        &info::of_all(&disks, session.truth()),
        fio_version.as_ref(),
    )?;
    let consents = arguments.destroy_data || scratch.is_some();
    let mut workload = recorded::workload(&first.workload.description, consents)?;
    let earlier_place = first.workload.scratch_file.as_ref();
    let mount_point = scratch.and_then(Scratch::mount_point);
    let wanted_place = earlier_place.map(|place| place::again(place, mount_point));
    let granted = PermissionRequest {
        disks: &disks,
        arms: &space::known(&tune),
        workload: &*workload,
        place: wanted_place.as_ref(),
        consent: arguments.into(),
        is_ours: scratch.is_some(),
        dry_run: false,
    }
    .grant()?;
    if scratch.is_none() {
        refuse_another_place(earlier_place, granted.place.as_ref())?;
    }
    note(&format!("continuing after {} rounds", tune.search_rounds()));
    let resources = session.resources(
        granted.hold,
        disks::control(first.design.control_disk.as_deref(), &disks)?,
        Participants::resolve(&first.workload.participants)?,
    )?;
    let run = TuneRun {
        disks,
        design: Design {
            arms: vec![tune.candidates[DEFAULT].arm.clone()],
            ..first.design.clone()
        },
        workload: &mut *workload,
        participants: first.workload.participants.clone(),
        scratch_file: granted.place,
        tune,
        output: Some(file.to_owned()),
        replaces_output: true,
        notes: Vec::new(),
    };
    carry_out(run, resources, Some(file))
}
