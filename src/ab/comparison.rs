//! A comparison, as `run` or `aa` asks for it: checked, set up, and carried out.

use anyhow::Result;
use iosched_experiment::run::Experiment;
use iosched_experiment::session::Session;
use iosched_experiment::workload::participants::Participants;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::result::Design;
use iosched_result::types::scratch::spec::DiskSpec;

use crate::carry_out::carry_out;
use crate::cli::{Conditions, DetailOption};
use crate::limitations::{notes_of, warnings};
use crate::outlook::announce;
use crate::permission::PermissionRequest;
use crate::primary::{announced_metrics, named_metrics};
use crate::reference::default_reference;
use crate::seed::seed;
use crate::times::round_times;
use crate::{disks, dry_run, load, place, present, result_file, simulated, washout};
use iosched_read::messages::note;

/// What is compared, on which disks and under which conditions.
pub struct Comparison<'a> {
    pub devices: &'a [String],
    pub arms: Vec<Arm>,
    /// Index into `arms`; None: the arm in force, if it is one of them.
    pub reference: Option<usize>,
    pub stopping: Stopping,
    pub conditions: &'a Conditions,
    pub dry_run: bool,
    pub is_placebo: bool,
}

/// Wrong names are refused before anything is created.
fn check(wanted: &Comparison<'_>) -> Result<(Option<DiskSpec>, Participants)> {
    let conditions = wanted.conditions;
    washout::check(conditions, wanted.stopping)?;
    let notes = wanted.arms.iter().flat_map(|arm| &arm.notes);
    notes.for_each(|text| note(text));
    named_metrics(conditions, !conditions.command.is_empty())?;
    let participants = Participants::resolve(&conditions.participants())?;
    let spec = simulated::spec(wanted.devices)?;
    if let Some(spec) = spec {
        simulated::check(spec, conditions)?;
    }
    Ok((spec, participants))
}

pub fn compare(wanted: Comparison<'_>) -> Result<()> {
    let (spec, participants) = check(&wanted)?;
    let (mut arms, conditions) = (wanted.arms, wanted.conditions);
    let output = if wanted.dry_run {
        None
    } else {
        result_file::named(conditions.output.as_deref(), conditions.force, "iosched-ab")?
    };
    let mut session = Session::begin()?;
    let disks = match spec {
        None => disks::named(wanted.devices)?,
        Some(spec) if !wanted.dry_run => simulated::make(&mut session, spec)?,
        // It changes nothing, so it makes no scratch device.
        Some(spec) => return dry_run::of_simulated(&arms, spec, wanted.stopping, conditions),
    };
    let scratch = session.scratch();
    let present = present::write_out(&mut arms, &disks)?;
    let mut workload = load::wanted(conditions, scratch.is_some())?;
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
    let control = disks::control(conditions.control.as_deref(), &disks)?;
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
        return dry_run::print_schedule(&experiment.design.arms, &experiment.longest_plan());
    }
    let resources = session.resources(granted.hold, control, participants)?;
    carry_out(experiment, resources)
}
