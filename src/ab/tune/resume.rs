//! `iosched-ab tune --resume FILE`: goes on with an interrupted search.

use std::path::Path;

use anyhow::Result;
use iosched_experiment::session::Session;
use iosched_experiment::tune::TuneRun;
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::recorded;
use iosched_files::trust;
use iosched_result::failure::Failure;
use iosched_result::tune::{DEFAULT, Space, TuneResult};
use iosched_result::types::result::{Design, Status};

use super::{carry_out, space};
use crate::cli::Conditions;
use crate::disks;
use crate::resume::{COMMANDS, TakenUp, show, take_up};
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
    let TakenUp {
        disks,
        mut workload,
        granted,
    } = take_up(&mut session, &first, &space::known(&tune), arguments)?;
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
