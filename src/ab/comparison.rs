//! A comparison, as `run` or `aa` asks for it: checked, set up, and carried out.

use std::time::Duration;

use anyhow::Result;
use iosched_experiment::run::Experiment;
use iosched_experiment::session::Session;
use iosched_experiment::workload::own_groups;
use iosched_experiment::workload::participants::Participants;
use iosched_host::system::device::Device;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::result::Design;
use iosched_result::types::scratch::spec::DiskSpec;

use crate::carry_out::carry_out;
use crate::cli::{Conditions, DetailOption};
use crate::limitations::{notes_of, warnings};
use crate::outlook::Request;
use crate::permission::PermissionRequest;
use crate::reference::default_reference;
use crate::rounds::Rounds;
use crate::seed::seed;
use crate::{budget, disks, place, present, result_file, schedule, simulated, washout};
use iosched_read::messages::note;

/// What is compared, on which disks and under which conditions.
pub struct Comparison<'a> {
    pub devices: &'a [String],
    pub arms: Vec<Arm>,
    /// Index into `arms`; None: the arm in force, if it is one of them.
    pub reference: Option<usize>,
    pub stopping: Stopping,
    /// For pilot and rounds.
    pub budget: Option<Duration>,
    pub conditions: &'a Conditions,
    pub dry_run: bool,
    pub is_placebo: bool,
}

/// What the arguments stand for.
struct Checked {
    /// The simulated disk to make; None: the devices that are named.
    spec: Option<DiskSpec>,
    participants: Participants,
    rounds: Rounds,
}

/// Whatever can be refused by the arguments alone is refused here, before anything is made.
fn check(wanted: &Comparison<'_>) -> Result<Checked> {
    let conditions = wanted.conditions;
    washout::check(conditions, wanted.stopping)?;
    if wanted.budget.is_some() {
        budget::check(conditions, wanted.stopping)?;
    }
    let notes = wanted.arms.iter().flat_map(|arm| &arm.notes);
    notes.for_each(|text| note(text));
    let participants = Participants::resolve(&conditions.participants())?;
    let spec = simulated::spec(wanted.devices)?;
    if let Some(spec) = spec {
        simulated::refuse_options(spec, conditions)?;
    }
    Ok(Checked {
        spec,
        participants,
        rounds: Rounds::wanted(conditions, spec.is_some())?,
    })
}

impl Comparison<'_> {
    fn outlook(&self) -> Request {
        Request {
            arms: self.arms.len(),
            stopping: self.stopping,
            washout: self.conditions.washout,
            budget: self.budget,
        }
    }

    /// `arms`: with the settings of `present`.
    fn design(
        &self,
        arms: Vec<Arm>,
        reference: usize,
        rounds: &Rounds,
        control: Option<&Device>,
    ) -> Design {
        let conditions = self.conditions;
        Design {
            control_disk: control.map(|disk| disk.name.clone()),
            cold: conditions.cold,
            is_placebo: self.is_placebo,
            live: rounds.live.clone(),
            order: conditions.detail.contains(&DetailOption::Order),
            fairness: conditions.detail.contains(&DetailOption::Fairness),
            why: conditions.why,
            precondition: conditions.precondition,
            auto_times: rounds.times.auto,
            budget_s: self.budget.map(|time| time.as_secs_f64()),
            trace_s: conditions.trace.map(|time| time.as_secs_f64()),
            goals: rounds.goals.clone(),
            ..Design::new(arms, reference, self.stopping, rounds.primary.clone())
                .timed(rounds.times.ramp, rounds.times.window)
                .washed_out(conditions.washout)
        }
    }
}

pub fn compare(wanted: &Comparison<'_>) -> Result<()> {
    let checked = check(wanted)?;
    let mut arms = wanted.arms.clone();
    let conditions = wanted.conditions;
    let mut rounds = checked.rounds;
    own_groups::ensure_there(&*rounds.workload, &arms)?;
    let spec = checked.spec;
    let seed = seed(conditions.seed);
    let outlook = wanted.outlook();
    let output = if wanted.dry_run {
        None
    } else {
        result_file::named(conditions.output.as_deref(), conditions.force, "iosched-ab")?
    };
    let mut session = Session::begin()?;
    let disks = match spec {
        None => disks::named(wanted.devices)?,
        Some(spec) if !wanted.dry_run => simulated::make(&mut session, spec)?,
        Some(spec) => {
            note(&format!("a scratch device ({spec}) would be made"));
            let most = outlook.announce(&rounds)?;
            return schedule::print(&arms, seed, most);
        }
    };
    let scratch = session.scratch();
    let present = present::write_out(&mut arms, &disks)?;
    rounds.left_out.iter().for_each(|text| note(text));
    let workload = &*rounds.workload;
    let granted = PermissionRequest {
        disks: &disks,
        arms: &arms,
        workload,
        place: place::wanted_on(scratch, conditions, &disks, workload)?.as_ref(),
        consent: conditions.into(),
        is_ours: scratch.is_some(),
        dry_run: wanted.dry_run,
    }
    .grant()?;
    let most = outlook.announce(&rounds)?;
    if conditions.precondition {
        note(
            "before them the workload runs 5 to 25 times under the reference, until the disk keeps its level",
        );
    }
    let chosen = wanted.reference.or(present).map(Ok);
    let reference = chosen.unwrap_or_else(|| default_reference(&arms, &disks))?;
    let control = disks::control(conditions.control.as_deref(), &disks)?;
    let made = (!wanted.dry_run).then(|| session.journal());
    let said = warnings(conditions, &disks, &granted, workload, made)?;
    if wanted.dry_run {
        return schedule::print(&arms, seed, most);
    }
    let experiment = Experiment {
        disks,
        design: wanted.design(arms, reference, &rounds, control.as_ref()),
        workload: &mut *rounds.workload,
        participants: conditions.participants(),
        scratch_file: granted.place,
        seed,
        output,
        replaces_output: conditions.force,
        notes: notes_of(scratch, granted.notes, said),
        earlier: None,
    };
    let resources = session.resources(granted.hold, control, checked.participants)?;
    carry_out(experiment, resources)
}
