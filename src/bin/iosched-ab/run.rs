//! `iosched-ab run`: from arguments to an experiment.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched::ab::metric::Metric;
use iosched::ab::plan::Plan;
use iosched::ab::run::Experiment;
use iosched::ab::stopping::Stopping;
use iosched::arm::{self, Arm};
use iosched::device::{Device, Disks};
use iosched::failure::Failure;
use iosched::guardian;
use iosched::journal::Journal;
use iosched::scheduler;
use iosched::scratch::Model;
use iosched::workload::command::CommandLine;
use iosched::workload::fio::Fio;
use iosched::workload::{Fixed, Workload, catalogue};

use crate::carry_out::{carry_out, make_scratch, output, seed};
use crate::cli::{Aa, Conditions, Run};
use crate::note;
use crate::permission::Request;
use crate::place;
use crate::resume;

/// A comparison, as `run` and `aa` ask for it.
struct Wanted<'a> {
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
        return resume::run(file, arguments.trust, &arguments.conditions);
    }
    let arms = arguments
        .arms
        .iter()
        .map(|text| text.parse())
        .collect::<Result<Vec<Arm>>>()?;
    arm::refuse_duplicate_labels(&arms)?;
    if arms.len() < 2 {
        return Err(Failure::usage(
            "one arm cannot be compared",
            "give at least two --arm",
        ));
    }
    compare(Wanted {
        devices: &arguments.devices,
        reference: named_reference(arguments.reference.as_deref(), &arms)?,
        arms,
        stopping: arguments.rounds,
        conditions: &arguments.conditions,
        dry_run: arguments.dry_run,
        is_placebo: false,
    })
}

/// `iosched-ab aa`: both arms are the same.
pub fn placebo(arguments: &Aa) -> Result<()> {
    let is_scratch = scratch_model(&arguments.devices)?.is_some();
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
    compare(Wanted {
        devices: &arguments.devices,
        arms: vec![labelled("A"), labelled("B")],
        reference: Some(0),
        stopping: arguments.rounds,
        conditions: &arguments.conditions,
        dry_run: false,
        is_placebo: true,
    })
}

fn compare(wanted: Wanted<'_>) -> Result<()> {
    let (arms, conditions) = (wanted.arms, wanted.conditions);
    arms.iter()
        .flat_map(|arm| &arm.notes)
        .for_each(|text| note(text));
    // What is wrong with them is said before anything is made.
    primary_metrics(conditions, Fixed::Time)?;
    let model = scratch_model(wanted.devices)?;
    if model.is_some() {
        if conditions.scratch.is_some() || conditions.scratch_size.is_some() {
            return Err(Failure::usage(
                format!(
                    "{} is a device of our own, without files",
                    wanted.devices[0]
                ),
                "leave --scratch and --scratch-size out: it may be written as it is",
            ));
        }
        // A scratch device is made only for a workload that there is.
        load(conditions, &["/dev/scratch".into()], true)?;
    }

    let output = if wanted.dry_run {
        None
    } else {
        output(conditions.output.as_deref(), conditions.force, "iosched-ab")?
    };
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    // Dry runs touch nothing: no scratch device is made for them.
    let scratch = match model {
        Some(model) if !wanted.dry_run => Some(make_scratch(model, &journal)?),
        _ => None,
    };
    let disks = match (&scratch, model) {
        (Some(scratch), _) => Device::resolve(scratch.device_name())?.device.into(),
        (None, Some(model)) => {
            return dry_run_of_scratch(&arms, model, wanted.stopping, conditions.seed);
        }
        (None, None) => {
            let (disks, notes) = Disks::resolve(wanted.devices)?;
            let layers = disks.layers();
            notes.iter().chain(&layers).for_each(|text| note(text));
            disks
        }
    };
    let is_ours = scratch.is_some();
    let mut workload = load(conditions, &disks.nodes(), is_ours)?;
    let wanted_place = if is_ours {
        None
    } else {
        place::wanted(conditions, &disks, &*workload)?
    };
    let granted = Request {
        disks: &disks,
        arms: &arms,
        workload: &*workload,
        place: wanted_place.as_ref(),
        conditions,
        is_ours,
        dry_run: wanted.dry_run,
    }
    .grant()?;
    let fio_version = Fio::new("version", Vec::new()).version().ok();
    let (ramp, time) = times(conditions, workload.fixed());
    let primary = primary_metrics(conditions, workload.fixed())?;
    let reference = match wanted.reference {
        Some(index) => index,
        None => default_reference(&arms, &disks)?,
    };
    let experiment = Experiment {
        scratch: scratch.as_ref().map(|scratch| scratch.truth().clone()),
        disks,
        arms,
        reference,
        workload: &mut *workload,
        scratch_file: granted.place,
        hold: granted.hold,
        guardian: &guardian,
        fio_version,
        stopping: wanted.stopping,
        seed: seed(conditions.seed),
        ramp,
        time,
        primary,
        journal: &journal,
        launcher: &launcher,
        output,
        replaces_output: conditions.force,
        notes: scratch
            .as_ref()
            .and_then(|scratch| scratch.fallback().map(str::to_owned))
            .into_iter()
            .collect(),
        is_placebo: wanted.is_placebo,
        earlier: None,
    };
    if wanted.dry_run {
        return print_schedule(&experiment.arms, &experiment.plan());
    }
    carry_out(experiment)
}

fn dry_run_of_scratch(
    arms: &[Arm],
    model: Model,
    stopping: Stopping,
    wanted_seed: Option<u32>,
) -> Result<()> {
    note(&format!("a scratch device ({model}) would be made"));
    let plan = Plan::in_segments(seed(wanted_seed), arms.len(), stopping.segments());
    print_schedule(arms, &plan)
}

fn print_schedule(arms: &[Arm], plan: &Plan) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "seed {}", plan.seed)?;
    for block in 0..plan.blocks() {
        let rounds = plan.rounds.iter().filter(|round| round.block == block);
        let labels: Vec<&str> = rounds.map(|round| arms[round.arm].label.as_str()).collect();
        writeln!(out, "block {}: {}", block + 1, labels.join("  "))?;
    }
    Ok(())
}

fn load(arguments: &Conditions, nodes: &[PathBuf], is_ours: bool) -> Result<Box<dyn Workload>> {
    if let Some(name) = &arguments.workload {
        return Ok(Box::new(catalogue::find(name)?));
    }
    if let Some(path) = &arguments.job {
        return Ok(Box::new(Fio::from_job_file(path, nodes)?));
    }
    // Nobody can tell what a command writes: with consent it is taken for a writer, and without it is trusted
    // to read, as its author says.
    let writes = arguments.destroy_data || is_ours;
    Ok(Box::new(CommandLine::new(
        arguments.command.clone(),
        writes,
        arguments.limit,
    )?))
}

fn times(arguments: &Conditions, fixed: Fixed) -> (Duration, Duration) {
    match fixed {
        Fixed::Work => (Duration::ZERO, Duration::ZERO),
        Fixed::Time if arguments.quick => (Duration::from_secs(2), Duration::from_secs(5)),
        Fixed::Time => (arguments.ramp, arguments.round_time),
    }
}

fn primary_metrics(conditions: &Conditions, fixed: Fixed) -> Result<Vec<Metric>> {
    let defaults: &[&str] = match fixed {
        Fixed::Time => &["throughput", "program_p99"],
        Fixed::Work => &["elapsed"],
    };
    if conditions.metrics.is_empty() {
        let known = defaults.iter().filter_map(|name| Metric::named(name));
        return Ok(known.collect());
    }
    let wanted = conditions.metrics.iter();
    wanted.map(|text| Metric::parse(text)).collect()
}

fn named_reference(wanted: Option<&str>, arms: &[Arm]) -> Result<Option<usize>> {
    let Some(label) = wanted else {
        return Ok(None);
    };
    let found = arms.iter().position(|arm| arm.label == label);
    found.map(Some).ok_or_else(|| {
        let labels: Vec<&str> = arms.iter().map(|arm| arm.label.as_str()).collect();
        Failure::usage(
            format!("the reference {label} is no arm"),
            format!("arms: {}", labels.join(", ")),
        )
    })
}

/// The scheduler at present, if it is an arm as it is; else the first.
fn default_reference(arms: &[Arm], disks: &Disks) -> Result<usize> {
    let present = present_scheduler(disks)?;
    let is_present =
        |arm: &Arm| Some(&arm.scheduler) == present.as_ref() && arm.settings.is_empty();
    Ok(arms.iter().position(is_present).unwrap_or(0))
}

/// None where the disks have different ones.
fn present_scheduler(disks: &Disks) -> Result<Option<String>> {
    let mut active = BTreeSet::new();
    for disk in &disks.members {
        active.insert(scheduler::choice(disk)?.active);
    }
    Ok(active.pop_first().filter(|_| active.is_empty()))
}

/// Of `scratch:MODEL`; None of devices that are there.
fn scratch_model(devices: &[String]) -> Result<Option<Model>> {
    let mut models = devices
        .iter()
        .filter_map(|name| name.strip_prefix("scratch:"));
    match (models.next(), devices.len()) {
        (None, _) => Ok(None),
        (Some(model), 1) => Ok(Some(model.parse()?)),
        (Some(_), _) => Err(Failure::usage(
            "a scratch device is compared alone",
            "name it alone, or other disks",
        )),
    }
}
