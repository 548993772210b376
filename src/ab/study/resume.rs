//! `iosched-ab study --resume FILE`.

use std::path::Path;

use anyhow::Result;
use iosched_experiment::study::format::{self, Cell, Study};
use iosched_experiment::study::run::PLACEBO;
use iosched_experiment::workload::recorded;
use iosched_files::trust;
use iosched_host::system::device::Disks;
use iosched_read::input::{self, Input};
use iosched_result::analysis::identity;
use iosched_result::failure::Failure;
use iosched_result::study::result::{CellResult, StudyResult};
use iosched_result::types::arm::Arm;
use iosched_result::types::result::Status;
use iosched_result::types::scratch::spec::DiskSpec;
use iosched_result::types::scratch::truth::Truth;
use iosched_result::types::scratch_place::ScratchPlace;

use super::{Plan, simulated};
use crate::resume::COMMANDS;
use iosched_read::messages::note;

/// The rest of an interrupted study. `trust`: the user has checked the commands in the file.
pub fn plan(file: &Path, trust: bool) -> Result<Plan> {
    let path = file.display();
    let (Input::Study(earlier), doubt) = input::open_with_doubt(file)? else {
        return Err(Failure::usage(
            format!("{path} is no result of a study"),
            "continue a run with `iosched-ab run --resume FILE`",
        ));
    };
    if earlier.status == Status::Complete {
        return Err(Failure::usage(
            format!("{path} is complete: there is nothing to resume"),
            "print it with `iosched-ab report`, or start the study anew",
        ));
    }
    if file.is_symlink() {
        return Err(Failure::refused(
            format!("{path} is a symbolic link, which saving the next rounds would replace"),
            "give the path of the file that it points to",
        ));
    }
    let study = format::parse(&earlier.study, &earlier.file)?;
    let arms = arms(&study, &earlier).ok_or_else(|| {
        Failure::usage(
            format!("{path} has arms that its own study does not describe"),
            "use the file exactly as `iosched-ab study` wrote it",
        )
    })?;
    let simulated = made_for(&earlier);
    show(file, &study, &arms, &earlier)?;
    trust::ensure(trust, doubt.as_deref(), &path.to_string(), COMMANDS)?;
    let is_begun = |name: &str| earlier.compared().any(|cell| cell.name == name);
    let cells = study.cells.iter().filter(|cell| is_begun(&cell.name));
    let cells: Vec<_> = cells.cloned().collect();
    let names = cells.iter().map(|cell| cell.name.as_str());
    let is_same = names
        .chain([PLACEBO])
        .eq(earlier.cells.iter().map(|cell| &*cell.name));
    let is_placebo = |cell: &CellResult| {
        let design = &cell.result.design;
        cell.is_placebo && (design.arms.len(), design.reference) == (2, 0)
    };
    if !is_same || !earlier.cells.last().is_some_and(is_placebo) {
        return Err(Failure::usage(
            format!("{path} has cells that its own study does not describe"),
            "use the file exactly as `iosched-ab study` wrote it",
        ));
    }
    if let Some(spec) = simulated {
        simulated::check(&study, &cells, spec)?;
    }
    Ok(Plan {
        cells,
        times: earlier.times,
        quick: earlier.quick,
        seed: earlier.seed,
        output: Some(file.to_owned()),
        replaces_output: true,
        devices: devices(&earlier),
        simulated,
        earlier: Some(*earlier),
        arms,
        study,
    })
}

/// Arms that it began with: all that are always compared, and the optional ones that the disks had.
fn arms(study: &Study, earlier: &StudyResult) -> Option<Vec<Arm>> {
    let mut begun = earlier.compared().map(|cell| &cell.result.design.arms);
    let arms = begun.next()?;
    let optional = arms.strip_prefix(study.arms.as_slice())?;
    let are_known = optional.iter().all(|arm| study.optional_arms.contains(arm));
    (are_known && begun.all(|it| it == arms)).then(|| arms.clone())
}

/// As they were named; empty for a simulated disk.
fn devices(earlier: &StudyResult) -> Vec<String> {
    let Some(cell) = earlier.cells.first() else {
        return Vec::new();
    };
    let device = &cell.result.device;
    match (&device.scratch, &device.group) {
        (Some(_), _) => Vec::new(),
        (None, Some(group)) => group.named.clone(),
        (None, None) => vec![device.device.name.clone()],
    }
}

/// The same disk as before; `device` of the study's file need not be it.
fn made_for(earlier: &StudyResult) -> Option<DiskSpec> {
    let truth = earlier.cells.first()?.result.device.scratch.as_ref()?;
    Some(truth.spec())
}

/// Shows what resuming the file will run and change.
fn show(file: &Path, study: &Study, arms: &[Arm], earlier: &StudyResult) -> Result<()> {
    note(&format!(
        "{} continues the study {}",
        file.display(),
        earlier.study
    ));
    match made_for(earlier) {
        Some(spec) => note(&format!("  on a simulated disk, {spec}")),
        None => note(&format!("  on {}", devices(earlier).join(", "))),
    }
    let is_begun = |cell: &&Cell| earlier.compared().any(|it| it.name == cell.name);
    show_commands(study, study.cells.iter().filter(is_begun), arms)?;
    if earlier.budget.is_some() {
        note("  without a limit of its time: that of --budget was for the whole study");
    }
    Ok(())
}

/// Shows what a study runs and changes.
pub fn show_commands<'a>(
    study: &Study,
    cells: impl Iterator<Item = &'a Cell>,
    arms: &[Arm],
) -> Result<()> {
    for stage in &study.stages {
        for argv in &stage.prepare {
            note(&format!("  runs {} once", recorded::shown(argv)));
        }
    }
    for cell in cells {
        let workload = cell.load.workload(&cell.name, false)?;
        for line in recorded::commands(&workload.description()) {
            note(&format!("  {} runs {line}", cell.name));
        }
        if let Some(cold) = cell.cold {
            note(&format!(
                "    drops {} before each round",
                cold.in_words(true)
            ));
        }
    }
    for arm in arms {
        note(&format!("  sets {arm}"));
    }
    Ok(())
}

/// Called before anything is changed.
pub fn refuse_changes(
    earlier: &StudyResult,
    disks: &Disks,
    truth: Option<Truth>,
    fio_version: Option<&String>,
) -> Result<()> {
    let Some(cell) = earlier.cells.first() else {
        return Ok(());
    };
    let environment = iosched_host::system::environment::read(fio_version.cloned());
    let info = iosched_host::system::device::info::of_all(disks, truth);
    let changes = identity::changes(&cell.result, &environment, &info);
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "{} or this machine has changed since the first round: {}",
            info.name(),
            changes.join(", ")
        ),
        "rounds under different conditions cannot be compared; start the study anew",
    ))
}

/// The scratch file in which the rounds so far ran.
pub fn place(earlier: &StudyResult) -> Option<&ScratchPlace> {
    earlier.cells.first()?.result.workload.scratch_file.as_ref()
}

/// Another file system may now be mounted at the same path.
pub fn refuse_another_place(earlier: &StudyResult, now: Option<&ScratchPlace>) -> Result<()> {
    match (place(earlier), now) {
        (Some(then), Some(now)) if then != now => Err(Failure::refused(
            format!("the rounds so far ran in {then}, and these would run in {now}"),
            "mount the same file system there again, or start the study anew",
        )),
        _ => Ok(()),
    }
}
