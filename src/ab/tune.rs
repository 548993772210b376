//! `iosched-ab tune`: searches for the best arm, and lets fresh rounds judge it.

mod resume; // goes on with an interrupted search
mod space; // what is to be tried

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use iosched_experiment::machine::Resources;
use iosched_experiment::run::ensure_valid;
use iosched_experiment::saved::to_json;
use iosched_experiment::session::Session;
use iosched_experiment::tune::{self, TuneRun};
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::recorded;
use iosched_host::system::device::Disks;
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::report::{escape, tune as report, units};
use iosched_result::statistics::stopping::Stopping;
use iosched_result::tune::search;
use iosched_result::tune::{Candidate, DEFAULT, From, SCHEMA, SCHEMA_VERSION, TuneResult};
use iosched_result::types::arm::Arm;
use iosched_result::types::result::{Design, Status};
use iosched_result::types::washout::Washout;

use crate::cli::{Conditions, DetailOption, Tune};
use crate::limitations::{notes_of, warnings};
use crate::permission::{Granted, PermissionRequest};
use crate::progress::Progress;
use crate::rounds::Rounds;
use crate::seed::seed;
use crate::{disks, place, present, result_file, simulated};
use iosched_read::messages::{detail, note};
use iosched_read::print;
use space::AskedSpace;

pub fn run(arguments: &Tune) -> Result<()> {
    if let Some(file) = &arguments.resume {
        return resume::run(file, &arguments.conditions);
    }
    let conditions = &arguments.conditions;
    check(conditions)?;
    let spec = simulated::spec(&arguments.devices)?;
    if let Some(spec) = spec {
        simulated::refuse_options(spec, conditions)?;
    }
    let participants = Participants::resolve(&conditions.participants())?;
    let mut rounds = Rounds::wanted(conditions, spec.is_some())?;
    let asked = space::asked(arguments)?;
    let output = if arguments.dry_run {
        None
    } else {
        result_file::named(
            conditions.output.as_deref(),
            conditions.force,
            "iosched-tune",
        )?
    };
    let mut session = Session::begin()?;
    let disks = match spec {
        None => disks::named(&arguments.devices)?,
        Some(spec) => simulated::make(&mut session, spec)?,
    };
    let default = in_force(&disks)?;
    let (candidates, skipped) = space::candidates(&asked, &default, &disks, &*rounds.workload)?;
    let mut tune = begun(arguments, asked, candidates, skipped);
    let control = disks::control(conditions.control.as_deref(), &disks)?;
    let control_name = control.as_ref().map(|disk| disk.name.clone());
    let design = design(default, &rounds, conditions, control_name);
    tune::fit(&mut tune, &design)?;
    rounds.left_out.iter().for_each(|text| note(text));
    let scratch = session.scratch();
    let granted = PermissionRequest {
        disks: &disks,
        arms: &space::known(&tune),
        workload: &*rounds.workload,
        place: place::wanted_on(scratch, conditions, &disks, &*rounds.workload)?.as_ref(),
        consent: conditions.into(),
        is_ours: scratch.is_some(),
        dry_run: arguments.dry_run,
    }
    .grant()?;
    outlook(&tune, &rounds);
    if arguments.dry_run {
        return print_space(&tune);
    }
    let said = warnings(
        conditions,
        &disks,
        &granted,
        &*rounds.workload,
        Some(session.journal()),
    )?;
    let notes = notes_of(scratch, granted.notes.clone(), said);
    let Granted { place, hold, .. } = granted;
    let resources = session.resources(hold, control, participants)?;
    let run = TuneRun {
        disks,
        design,
        workload: &mut *rounds.workload,
        participants: conditions.participants(),
        scratch_file: place,
        tune,
        output: output.clone(),
        replaces_output: conditions.force,
        notes,
    };
    carry_out(run, resources, output.as_deref())
}

/// Before its first round.
fn begun(
    arguments: &Tune,
    asked: AskedSpace,
    candidates: Vec<Candidate>,
    skipped: Vec<String>,
) -> TuneResult {
    TuneResult {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        iosched_version: env!("CARGO_PKG_VERSION").to_owned(),
        status: Status::Running,
        error: None,
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        finished: None,
        seed: seed(arguments.conditions.seed),
        space: asked.space,
        budget_s: arguments.budget.map(|time| time.as_secs_f64()),
        candidates,
        skipped,
        stages: Vec::new(),
        referee: None,
    }
}

/// Everything is restored when this returns.
fn carry_out(run: TuneRun<'_>, resources: Resources<'_>, output: Option<&Path>) -> Result<()> {
    for line in recorded::commands(&run.workload.description()) {
        detail(&format!("each round runs {line}"));
    }
    let outcome = {
        let mut progress = Progress::default();
        run.run(resources, &mut progress)
    };
    conclude(outcome, output)
}

fn check(conditions: &Conditions) -> Result<()> {
    let refuse = |what: &str, cure: &str| Err(Failure::usage(what, cure));
    if conditions.prefer.is_none() {
        return refuse(
            "a search needs to know what is better",
            "name the metric with --prefer, for instance --prefer throughput, and what must not get worse with --keep",
        );
    }
    if conditions.workload.as_deref() == Some("live") {
        return refuse(
            "a search switches often, and the load of others is no place for that",
            "search with a workload of your own, and compare its winner with `run --workload live`",
        );
    }
    if conditions.washout == Washout::Auto {
        return refuse(
            "--washout auto is for `run`",
            "name the time of the wash-out, as in --washout 5s",
        );
    }
    if conditions.trace.is_some() || conditions.why || conditions.precondition {
        return refuse(
            "--trace, --why and --precondition are for `run`",
            "leave them out, and run the winner with them afterwards",
        );
    }
    Ok(())
}

/// What the disks have: the arm that all others are compared with.
fn in_force(disks: &Disks) -> Result<Arm> {
    let mut arms: Vec<Arm> = vec!["present".parse()?];
    present::write_out(&mut arms, disks)?;
    Ok(arms.swap_remove(0))
}

fn design(
    default: Arm,
    rounds: &Rounds,
    conditions: &Conditions,
    control: Option<String>,
) -> Design {
    Design {
        control_disk: control,
        cold: conditions.cold,
        order: conditions.detail.contains(&DetailOption::Order),
        fairness: conditions.detail.contains(&DetailOption::Fairness),
        auto_times: rounds.times.auto,
        goals: rounds.goals.clone(),
        ..Design::new(
            vec![default],
            DEFAULT,
            Stopping::Fixed { blocks: 1 },
            rounds.primary.clone(),
        )
        .timed(rounds.times.ramp, rounds.times.window)
        .washed_out(conditions.washout)
    }
}

/// How much it is, and how long it takes.
fn outlook(tune: &TuneResult, rounds: &Rounds) {
    let to_try = tune
        .candidates
        .iter()
        .filter(|it| it.left_out.is_none())
        .count()
        - 1;
    let (search, referee) = search::rounds(to_try, &tune.space);
    let round_s = (rounds.times.ramp + rounds.times.window).as_secs_f64();
    let is_unknown = rounds.times.auto.is_some() || round_s <= 0.0;
    if let Some(budget_s) = tune.budget_s.filter(|_| is_unknown) {
        let budget = units::duration(budget_s);
        note(&format!(
            "as many arms as fit into {budget}: the first rounds tell how long they take"
        ));
    } else if to_try > 0 {
        let took_s = (search + referee) as f64 * (round_s + 0.6);
        let time = if is_unknown {
            String::new()
        } else {
            format!(
                ", about {}",
                units::duration(tune.budget_s.map_or(took_s, |it| it.min(took_s)))
            )
        };
        note(&format!(
            "{to_try} arms in about {search} rounds, then about {referee} fresh ones of the best{time}"
        ));
    }
}

fn print_space(tune: &TuneResult) -> Result<()> {
    let mut text = String::new();
    for candidate in &tune.candidates {
        let more = match (candidate.from, &candidate.left_out) {
            (From::Disk, _) => "  (what the disk has)".to_owned(),
            (_, Some(why)) => format!("  (left out: {why})"),
            (_, None) => String::new(),
        };
        let _ = writeln!(text, "{}{more}", candidate.arm);
    }
    for line in &tune.skipped {
        let _ = writeln!(text, "not tried: {line}");
    }
    print::print(&escape::message(&text))
}

/// After an error, says how to go on.
fn conclude(outcome: Result<TuneResult>, output: Option<&Path>) -> Result<()> {
    let tune = match (outcome, output) {
        (Ok(tune), _) => tune,
        (Err(error), Some(path)) => {
            if matches!(kind_of(&error), Kind::Interrupted(_)) && path.exists() {
                note(&format!(
                    "the completed rounds are in {}; continue with `iosched-ab tune --resume {}`",
                    path.display(),
                    print::quoted(path)
                ));
            }
            return Err(error);
        }
        (Err(error), None) => return Err(error),
    };
    let text = report::render(&tune, print::look());
    if let Some(path) = output {
        print::print_painted(&text)?;
        print::say_where(path)?;
    } else {
        print::print(&escape::json(&String::from_utf8(to_json(&tune)?)?))?;
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    tune.referee.as_ref().map_or(Ok(()), ensure_valid)
}

/// A candidate that has not been tried.
fn candidate(arm: Arm, from: From) -> Candidate {
    Candidate {
        arm,
        from,
        left_out: None,
    }
}
