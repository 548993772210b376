//! `iosched-ab study`.

mod resume; // continues an interrupted study
mod show; // what needs no disk
mod simulated; // the disk that is made for it

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::Result;
use iosched_experiment::saved::to_json;
use iosched_experiment::session::Session;
use iosched_experiment::study::format::{Cell, Study};
use iosched_experiment::study::optional::{self, Candidate};
use iosched_experiment::study::run::StudyRun;
use iosched_experiment::workload::command::CommandLine;
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::{Workload, fio, places, recorded};
use iosched_files::trust;
use iosched_host::scratch::Scratch;
use iosched_host::scratch::file::Size;
use iosched_host::system::device::Disks;
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::report::{escape, study as report_study};
use iosched_result::study::result::StudyResult;
use iosched_result::study::times::Times;
use iosched_result::types::arm::{self, Arm};
use iosched_result::types::scratch::spec::DiskSpec;

use crate::cli::StudyArguments;
use crate::limitations::limits;
use crate::permission::{Consent, Granted, PermissionRequest};
use crate::place::WantedPlace;
use crate::progress::Progress;
use crate::result_file;
use crate::resume::COMMANDS;
use crate::seed::seed;
use iosched_read::input;
use iosched_read::messages::note;
use iosched_read::print::{print, print_painted, say_where};
use show::outlook;

pub use show::show;

/// A study and what of it is run.
struct Plan {
    study: Study,
    /// Arms of an interrupted study; else all that the study always compares.
    arms: Vec<Arm>,
    cells: Vec<Cell>,
    times: Times,
    quick: bool,
    seed: u64,
    output: Option<PathBuf>,
    replaces_output: bool,
    /// Empty or one word for a simulated disk.
    devices: Vec<String>,
    /// None: the devices that are named.
    simulated: Option<DiskSpec>,
    earlier: Option<StudyResult>,
}

impl Plan {
    /// An interrupted study has settled them.
    fn candidates(&self, disks: &Disks) -> Result<Vec<Candidate>> {
        match &self.earlier {
            Some(_) => Ok(Vec::new()),
            None => optional::candidates(&self.study.optional_arms, &disks.members),
        }
    }

    /// A command that makes a stage of the device itself, which may overwrite it.
    fn makes_devices(&self) -> Option<&Vec<String>> {
        let stages = self.cells.iter().map(|cell| &self.study.stages[cell.stage]);
        stages
            .flat_map(|stage| &stage.prepare)
            .find(|argv| argv.iter().any(|word| word.contains(places::DEVICE)))
    }
}

pub fn run(arguments: &StudyArguments) -> Result<()> {
    let plan = match &arguments.resume {
        Some(file) => resume::plan(file, arguments.trust)?,
        None => plan(arguments)?,
    };
    let began = Instant::now();
    let began_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let is_resumed = plan.earlier.is_some();
    let mut session = Session::begin()?;
    let disks = match plan.simulated {
        Some(spec) => simulated::make(&plan.study, spec, &mut session)?,
        None => Disks::resolve(&plan.devices)?.0,
    };
    let scratch = session.scratch();
    disks.ensure_have_nodes()?;
    if let Some(earlier) = &plan.earlier {
        let fio_version = fio::installed_version()?;
        resume::refuse_changes(earlier, &disks, session.truth(), fio_version.as_ref())?;
    }
    let candidates = plan.candidates(&disks)?;
    let arms = optional::may_come(&plan.arms, &candidates);
    if arguments.budget.is_none() {
        note(&outlook(
            plan.cells.len(),
            arm::labels(&arms).len(),
            plan.times,
        ));
    }
    let may_write = scratch.is_some() || arguments.destroy_data;
    let granted = permission(arguments, &plan, &arms, &disks, scratch)?;
    if let Some(earlier) = &plan.earlier
        && scratch.is_none()
    {
        resume::refuse_another_place(earlier, granted.place.as_ref())?;
    }
    let resources = session.resources(granted.hold, None, Participants::default())?;
    let run = StudyRun {
        study: &plan.study,
        arms: plan.arms,
        candidates,
        cells: plan.cells,
        disks,
        scratch_file: granted.place,
        times: plan.times,
        budget: arguments.budget,
        began,
        deadline: None,
        quick: plan.quick,
        may_write,
        seed: plan.seed,
        output: plan.output.clone(),
        replaces_output: plan.replaces_output,
        notes: scratch
            .and_then(Scratch::fallback)
            .map(str::to_owned)
            .into_iter()
            .chain(limits(session.journal())?)
            .collect(),
        earlier: plan.earlier,
    };
    let outcome = {
        let mut progress = Progress::default();
        run.run(resources, &mut progress)
    };
    // Before its first save, the file of an earlier study may be there.
    let is_ours = |study: &StudyResult| is_resumed || study.started >= began_at;
    report(outcome, plan.output.as_deref(), &is_ours)
}

fn plan(arguments: &StudyArguments) -> Result<Plan> {
    let (study, doubt) = show::read(arguments)?;
    let stem = format!("iosched-study-{}", study.name);
    let cells = show::chosen(&study, arguments)?;
    if doubt.is_some() {
        let arms = [&study.arms[..], &study.optional_arms[..]].concat();
        resume::show_commands(&study, cells.iter(), &arms)?;
    }
    let name = arguments.study.as_deref().unwrap_or_default();
    trust::ensure(arguments.trust, doubt.as_deref(), name, COMMANDS)?;
    Ok(Plan {
        simulated: simulated::wanted(&study, &cells, arguments)?,
        cells,
        times: show::times(&study, arguments),
        quick: arguments.quick,
        seed: seed(arguments.seed),
        output: result_file::named(arguments.output.as_deref(), arguments.force, &stem)?,
        replaces_output: arguments.force,
        devices: arguments.devices.clone(),
        earlier: None,
        arms: study.arms.clone(),
        study,
    })
}

/// Prints the matrix; after an error, what the blocks until then say.
fn report(
    outcome: Result<StudyResult>,
    output: Option<&Path>,
    is_ours: &dyn Fn(&StudyResult) -> bool,
) -> Result<()> {
    let study = match (outcome, output) {
        (Ok(study), _) => study,
        (Err(error), Some(path)) => {
            if matches!(kind_of(&error), Kind::Interrupted(_))
                && let Ok(Some((study, _))) = input::study_with_doubt(path)
                && is_ours(&study)
            {
                // A failed print must not hide the error of the study.
                let _ = print_painted(&report_study::render(&study));
                note(&format!(
                    "the completed blocks are in {0}; continue with `iosched-ab study --resume {0}`",
                    path.display()
                ));
            }
            return Err(error);
        }
        (Err(error), None) => return Err(error),
    };
    let text = report_study::render(&study);
    let Some(path) = output else {
        print(&escape::json(&String::from_utf8(to_json(&study)?)?))?;
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(());
    };
    print_painted(&text)?;
    say_where(path)
}

/// Asks for everything that any cell may do to the disks.
fn permission(
    arguments: &StudyArguments,
    plan: &Plan,
    arms: &[Arm],
    disks: &Disks,
    scratch: Option<&Scratch>,
) -> Result<Granted> {
    let (is_ours, cells) = (scratch.is_some(), plan.cells.as_slice());
    let maker = plan.makes_devices();
    if let Some(argv) = maker.filter(|_| !is_ours && !arguments.destroy_data) {
        return Err(Failure::refused(
            format!(
                "`{}` may overwrite {}",
                recorded::shown(argv),
                plan.devices.join(", ")
            ),
            "add --destroy-data if nothing on it is needed, or name no device for a simulated disk",
        ));
    }
    let workloads = cells
        .iter()
        .map(|cell| {
            cell.load
                .workload(&cell.name, is_ours || arguments.destroy_data)
        })
        .collect::<Result<Vec<Box<dyn Workload>>>>()?;
    let maker =
        maker.map(|argv| CommandLine::new(argv.iter().map(Into::into).collect(), true, None));
    let maker = maker
        .transpose()?
        .map(|it| Box::new(it) as Box<dyn Workload>);
    let mut all = maker.iter().chain(&workloads);
    let writer = all.find(|workload| workload.properties().writes);
    let place = wanted_place(arguments, plan, disks, scratch, writer.is_some())?;
    let granted = PermissionRequest {
        disks,
        arms,
        workload: &**writer.unwrap_or(&workloads[0]),
        place: place.as_ref(),
        consent: Consent {
            allow_mounted: arguments.allow_mounted,
            destroy_data: arguments.destroy_data,
            yes_destroy: arguments.yes_destroy.as_deref(),
        },
        is_ours,
        dry_run: false,
    }
    .grant()?;
    for workload in &workloads {
        workload.check()?;
        if let Some(target) = crate::place::target(granted.place.as_ref(), disks)? {
            workload.check_on(&target)?;
        }
    }
    Ok(granted)
}

/// All cells use the same: a scratch file on the file system of a simulated disk or of a mount point, else the device.
fn wanted_place(
    arguments: &StudyArguments,
    plan: &Plan,
    disks: &Disks,
    scratch: Option<&Scratch>,
    writes: bool,
) -> Result<Option<WantedPlace>> {
    let cells = plan.cells.as_slice();
    let needs_files = cells.iter().find(|cell| cell.load.needs_files());
    let directory: Option<PathBuf> = match scratch {
        Some(scratch) => scratch.mount_point().map(Path::to_owned),
        None if needs_files.is_some() || (writes && !arguments.destroy_data) => {
            disks.mounted_on.clone()
        }
        None => None,
    };
    let Some(directory) = directory else {
        return match (needs_files, arguments.scratch_size) {
            (Some(cell), _) => Err(Failure::usage(
                format!("{} needs a file system", cell.name),
                "name a mount point or scratch:ssd+ext4, or choose other cells with --cells",
            )),
            (None, Some(_)) => Err(Failure::usage(
                "--scratch-size is given without a scratch file",
                "name a mount point, or leave it out",
            )),
            (None, None) => Ok(None),
        };
    };
    let has_file = cells.iter().any(|cell| cell.load.needs_scratch_file());
    // All rounds of one study use a file of the same size.
    let before = plan.earlier.as_ref().and_then(resume::place);
    let size = match (before, arguments.scratch_size) {
        (Some(place), _) => place.size_bytes.map_or(Size::NoFile, Size::Bytes),
        (None, Some(bytes)) => Size::Bytes(bytes),
        (None, None) if has_file => Size::Usual,
        (None, None) => Size::NoFile,
    };
    Ok(Some(WantedPlace { directory, size }))
}
