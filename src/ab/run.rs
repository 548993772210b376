//! `iosched-ab run`: from arguments to an experiment.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use iosched_experiment::run::Experiment;
use iosched_experiment::session::Session;
use iosched_experiment::workload::command::CommandLine;
use iosched_experiment::workload::fio::Fio;
use iosched_experiment::workload::live::{self, Live};
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::{Workload, catalogue, cgroup};
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::{Device, Disks};
use iosched_result::failure::Failure;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::{self, Arm};
use iosched_result::types::plan::Plan;
use iosched_result::types::result::Design;
use iosched_result::types::scratch::spec::DiskSpec;

use crate::carry_out::{carry_out, ensure_has_volume, make_scratch, output, scratch_spec, seed};
use crate::cli::{Aa, Conditions, DetailOption, Run};
use crate::outlook::announce;
use crate::permission::{Granted, PermissionRequest};
use crate::primary::{announced_metrics, named_metrics, primary_metrics};
use crate::reference::{default_reference, named_reference, present_scheduler};
use crate::times::{round_times, times};
use crate::{cache, place, present, resume, washout};
use iosched_read::messages::note;
use iosched_read::print;

/// The comparison requested by `run` or `aa`.
struct WantedComparison<'a> {
    devices: &'a [String],
    arms: Vec<Arm>,
    reference: Option<usize>,
    stopping: Stopping,
    conditions: &'a Conditions,
    dry_run: bool,
    is_placebo: bool,
}

pub fn run(arguments: &Run) -> Result<()> {
    if let Some(file) = &arguments.resume {
        return resume::run(file, &arguments.conditions);
    }
    only_job_file(&arguments.conditions.job)?;
    let arms = arguments
        .arms
        .iter()
        .map(|text| text.parse())
        .collect::<Result<Vec<Arm>>>()?;
    arm::refuse_duplicate_labels(&arms)?;
    if arms.len() < 2 {
        return Err(Failure::usage(
            "one arm alone cannot be compared",
            "give --arm at least twice",
        ));
    }
    compare(WantedComparison {
        devices: &arguments.devices,
        reference: named_reference(arguments.reference.as_deref(), &arms)?,
        arms,
        stopping: arguments.rounds,
        conditions: &arguments.conditions,
        dry_run: arguments.dry_run,
        is_placebo: false,
    })
}

/// `iosched-ab aa`: both arms have the same scheduler and settings.
pub fn placebo(arguments: &Aa) -> Result<()> {
    only_job_file(&arguments.conditions.job)?;
    let is_scratch = scratch_spec(&arguments.devices)?.is_some();
    let arm: Arm = match &arguments.arm {
        Some(text) => text.parse()?,
        None if is_scratch => "none".parse()?,
        None => present_scheduler(&Disks::resolve(&arguments.devices)?.0)?
            .ok_or_else(|| {
                Failure::usage("the disks have different schedulers", "name one with --arm")
            })?
            .parse()?,
    };
    let labelled = |label: &str| Arm {
        label: label.to_owned(),
        ..arm.clone()
    };
    compare(WantedComparison {
        devices: &arguments.devices,
        arms: vec![labelled("A"), labelled("B")],
        reference: Some(0),
        stopping: arguments.rounds,
        conditions: &arguments.conditions,
        dry_run: false,
        is_placebo: true,
    })
}

fn compare(wanted: WantedComparison<'_>) -> Result<()> {
    let (mut arms, conditions) = (wanted.arms, wanted.conditions);
    let (spec, participants) = check_names(&arms, wanted.devices, wanted.stopping, conditions)?;
    let output = output_unless(wanted.dry_run, conditions)?;
    let mut session = Session::begin()?;
    let disks = match spec {
        // It changes nothing, so it makes no scratch device.
        Some(spec) if wanted.dry_run => {
            return dry_run_of_scratch(&arms, spec, wanted.stopping, conditions);
        }
        Some(spec) => make_scratch(&mut session, spec)?,
        None => named_disks(wanted.devices)?,
    };
    let scratch = session.scratch();
    let present = present::write_out(&mut arms, &disks)?;
    let mut workload = load(conditions, scratch.is_some())?;
    let primary = announced_metrics(conditions, &*workload)?;
    let granted = PermissionRequest {
        disks: &disks,
        arms: &arms,
        workload: &*workload,
        place: place::wanted_on(scratch, conditions, &disks, &*workload)?.as_ref(),
        consent: conditions.into(),
        is_ours: scratch.is_some(),
        dry_run: wanted.dry_run,
    }
    .grant()?;
    let (live, ramp, time) = round_times(conditions, &*workload)?;
    announce(
        (arms.len(), primary.len()),
        wanted.stopping,
        &*workload,
        conditions.washout.at_first() + ramp,
        time,
    );
    let chosen = wanted.reference.or(present).map(Ok);
    let reference = chosen.unwrap_or_else(|| default_reference(&arms, &disks))?;
    let control = control_disk(conditions.control.as_deref(), &disks)?;
    let made = (!wanted.dry_run).then(|| session.journal());
    let said = warnings(conditions, &disks, &granted, &*workload, made)?;
    let experiment = Experiment {
        disks,
        design: Design {
            control_disk: control.as_ref().map(|disk| disk.name.clone()),
            cold: conditions.cold,
            is_placebo: wanted.is_placebo,
            live,
            order: conditions.detail.contains(&DetailOption::Order),
            fairness: conditions.detail.contains(&DetailOption::Fairness),
            trace_s: conditions.trace.map(|time| time.as_secs_f64()),
            ..Design::new(arms, reference, wanted.stopping, primary)
                .timed(ramp, time)
                .washed_out(conditions.washout)
        },
        workload: &mut *workload,
        participants: conditions.participants(),
        scratch_file: granted.place,
        seed: seed(conditions.seed),
        output,
        replaces_output: conditions.force,
        notes: notes_of(scratch, granted.notes, said),
        earlier: None,
    };
    if wanted.dry_run {
        return print_schedule(&experiment.design.arms, &experiment.longest_plan());
    }
    let resources = session.resources(granted.hold, control, participants)?;
    carry_out(experiment, resources)
}

/// The file for the result; a dry run writes none.
fn output_unless(dry_run: bool, conditions: &Conditions) -> Result<Option<PathBuf>> {
    if dry_run {
        return Ok(None);
    }
    output(conditions.output.as_deref(), conditions.force, "iosched-ab")
}

/// Wrong names are refused before anything is created.
fn check_names(
    arms: &[Arm],
    devices: &[String],
    stopping: Stopping,
    conditions: &Conditions,
) -> Result<(Option<DiskSpec>, Participants)> {
    washout::check(conditions, stopping)?;
    note_arms(arms);
    named_metrics(conditions, !conditions.command.is_empty())?;
    let participants = Participants::resolve(&conditions.participants())?;
    let spec = scratch_spec(devices)?;
    if let Some(spec) = spec {
        check_for_scratch(spec, conditions)?;
    }
    Ok((spec, participants))
}

/// Limitations of this machine and of the workload that the result must mention.
fn notes_of(
    scratch: Option<&Scratch>,
    of_workload: Vec<String>,
    others: Vec<String>,
) -> Vec<String> {
    let fallback = scratch.and_then(Scratch::fallback);
    let fallback = fallback.map(str::to_owned).into_iter();
    fallback.chain(of_workload).chain(others).collect()
}

/// Collects what is to be said of caches, and of the limits of this program.
fn warnings(
    conditions: &Conditions,
    disks: &Disks,
    granted: &Granted,
    workload: &dyn Workload,
    journal: Option<&Journal>,
) -> Result<Vec<String>> {
    let cache = cache::tell(conditions, granted.place.as_ref(), workload);
    // A dry run makes no control group, and the load of others has its own.
    let journal = journal.filter(|_| !workload.properties().is_live);
    let limits = journal.map_or(Ok(None), limits)?;
    let caches = cache.into_iter().chain(cache::tell_of_disks(disks));
    Ok(caches.chain(limits).collect())
}

/// Tells what becomes of the limits under which this program was started.
pub fn limits(journal: &Journal) -> Result<Option<String>> {
    let said = cgroup::note_on_limits(journal)?;
    if let Some(text) = &said {
        note(text);
    }
    Ok(said)
}

/// The disks below the named devices; notes say how they were found.
fn named_disks(names: &[String]) -> Result<Disks> {
    let (disks, notes) = Disks::resolve(names)?;
    disks.ensure_have_nodes()?;
    let layers = disks.layers();
    notes.iter().chain(&layers).for_each(|text| note(text));
    Ok(disks)
}

/// A scratch device is made only for a workload and metrics that exist.
fn check_for_scratch(spec: DiskSpec, conditions: &Conditions) -> Result<()> {
    if let Some(name) = &conditions.user {
        return Err(Failure::usage(
            format!(
                "{name} cannot use a simulated disk: only root may enter the directories of iosched"
            ),
            "name a disk that the user may use, or add --scratch DIR on a mounted file system: the command gets a directory of its \
             own in it",
        ));
    }
    if conditions.scratch.is_some() || conditions.scratch_size.is_some() {
        ensure_has_volume(spec, "--scratch and --scratch-size")?;
    }
    if conditions.scratch.is_some() {
        return Err(Failure::usage(
            format!(
                "the file system of scratch:{spec} is made for the run and has no directory yet"
            ),
            "leave out --scratch: the workload runs on it anyway",
        ));
    }
    let workload = load(conditions, true)?;
    primary_metrics(conditions, &*workload).map(drop)
}

fn dry_run_of_scratch(
    arms: &[Arm],
    spec: DiskSpec,
    stopping: Stopping,
    conditions: &Conditions,
) -> Result<()> {
    note(&format!("a scratch device ({spec}) would be made"));
    let workload = load(conditions, true)?;
    let (ramp, time) = times(conditions, workload.properties().fixed);
    let metrics = primary_metrics(conditions, &*workload)?.0.len();
    announce(
        (arms.len(), metrics),
        stopping,
        &*workload,
        conditions.washout.at_first() + ramp,
        time,
    );
    let plan = Plan::new(
        seed(conditions.seed),
        arms.len(),
        stopping.most_blocks().unwrap_or(0),
    );
    print_schedule(arms, &plan)
}

fn note_arms(arms: &[Arm]) {
    let notes = arms.iter().flat_map(|arm| &arm.notes);
    notes.for_each(|text| note(text));
}

/// A disk that no arm touches.
pub fn control_disk(name: Option<&str>, disks: &Disks) -> Result<Option<Device>> {
    let Some(name) = name else { return Ok(None) };
    let device = Device::resolve(name)?.device;
    if disks
        .stack
        .iter()
        .chain(&disks.members)
        .any(|disk| disk.name == device.name)
    {
        return Err(Failure::usage(
            format!("the control disk {} is switched by the arms", device.name),
            "choose a disk that the experiment does not touch, or leave --control out",
        ));
    }
    Ok(Some(device))
}

fn print_schedule(arms: &[Arm], plan: &Plan) -> Result<()> {
    let mut out = format!("seed {}\n", plan.seed);
    for block in 0..plan.blocks() {
        let rounds = plan.rounds.iter().filter(|round| round.block == block);
        let labels: Vec<&str> = rounds.map(|round| arms[round.arm].label.as_str()).collect();
        writeln!(out, "block {}: {}", block + 1, labels.join("  "))?;
    }
    print::print_page(&out)
}

/// fio takes several files, of which each may set its own defaults.
fn only_job_file(files: &[PathBuf]) -> Result<Option<&PathBuf>> {
    let [first, _, ..] = files else {
        return Ok(files.first());
    };
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    Err(Failure::usage(
        format!("--job is given {} times: {}", files.len(), names.join(", ")),
        format!(
            "put their jobs into one file, such as {}; as a command, fio takes all of them: -- fio {}",
            first.display(),
            names.join(" ")
        ),
    ))
}

fn load(arguments: &Conditions, is_ours: bool) -> Result<Box<dyn Workload>> {
    if let Some(name) = &arguments.workload {
        if name == live::NAME {
            return Ok(Box::new(Live));
        }
        return Ok(Box::new(catalogue::find(name)?));
    }
    if let Some(path) = only_job_file(&arguments.job)? {
        let fio = Fio::from_job_file(path, &arguments.section, arguments.trust)?;
        return Ok(Box::new(fio));
    }
    // iosched cannot know what a command writes: with consent it is treated as a writer, without consent it is trusted
    // to only read.
    let writes = arguments.destroy_data || is_ours;
    let command = CommandLine::new(arguments.command.clone(), writes, arguments.limit)?;
    let patterns = arguments.metric_regex.clone();
    Ok(Box::new(
        command
            .with_sources(arguments.parse.as_deref(), patterns)?
            .with_user(arguments.user.as_deref())?,
    ))
}
