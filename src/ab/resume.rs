//! `iosched-ab run --resume FILE`: continues an interrupted run with the same schedule, or adds rounds to one that has ended.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use iosched_experiment::run::{self, Experiment};
use iosched_experiment::session::Session;
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::{Workload, fio, recorded};
use iosched_files::trust;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::{Device, Disks, info};
use iosched_result::analysis::{identity, turn};
use iosched_result::failure::Failure;
use iosched_result::statistics::stopping::{Extension, Stopping};
use iosched_result::types::arm::Arm;
use iosched_result::types::result::{DeviceInfo, ResultFile, Status};
use iosched_result::types::scratch_place::ScratchPlace;

use crate::carry_out::carry_out;
use crate::cli::Conditions;
use crate::permission::{Granted, PermissionRequest};
use crate::{disks, place, result_file, schedule, simulated};
use iosched_read::input;
use iosched_read::messages::note;

/// The part that comes from the file.
pub const COMMANDS: &str = "the commands that it would run";

/// The earlier result, if it can be continued.
fn resumable(
    file: &Path,
    wanted: Wanted,
    arguments: &Conditions,
    dry_run: bool,
) -> Result<ResultFile> {
    let (mut earlier, doubt) = input::run_with_doubt(file)?;
    if earlier.workload.description["kind"] == "live" && earlier.design.live.is_none() {
        return Err(Failure::usage(
            format!(
                "{} is from a rotation in the terminal UI: iosched cannot start the load that ran then",
                file.display()
            ),
            "rotate again with `iosched DEVICE` and F, or start a run with a workload",
        ));
    }
    let is_open = earlier.design.stopping == Stopping::Open;
    let has_ended = match earlier.status {
        Status::Complete => true,
        // That is how an open run ends.
        Status::Interrupted => is_open,
        Status::Running | Status::Failed => false,
    };
    match wanted {
        Wanted::More(blocks) if has_ended => extend(file, &mut earlier, blocks)?,
        Wanted::More(blocks) => {
            return Err(Failure::usage(
                format!(
                    "{} has not ended: --rounds +{blocks} adds rounds to a run that has",
                    file.display()
                ),
                "leave out --rounds: --resume alone continues it to its end",
            ));
        }
        Wanted::Rest(_) if earlier.status == Status::Complete => {
            let cure = match why_not_extended(&earlier) {
                None => "print it with `iosched-ab report`, or add rounds to it with --rounds +12",
                Some(_) => "print it with `iosched-ab report`, or start a new run",
            };
            return Err(Failure::usage(
                format!("{} is complete: there is nothing to resume", file.display()),
                cure,
            ));
        }
        Wanted::Rest(None) => {}
        Wanted::Rest(Some(budget)) => {
            let is_planned = earlier.design.budget_s.is_some()
                && earlier.design.extensions.is_empty()
                && earlier.design.schedule().is_look(earlier.plan.blocks());
            if !is_planned {
                return Err(Failure::usage(
                    format!(
                        "the rounds that {} has left are planned already",
                        file.display()
                    ),
                    "leave out --budget: --resume alone continues the run to its end, and then --rounds +N adds to it",
                ));
            }
            earlier.design.budget_s = Some(budget.as_secs_f64());
            if earlier.rounds.is_empty() {
                // Another time may have room for other rounds.
                earlier.times = None;
            } else if let Some(times) = &mut earlier.times {
                times.blocks_in_budget = None;
                times.detectable.clear();
            }
        }
    }
    if is_replaced(wanted, arguments) && file.is_symlink() {
        return Err(Failure::refused(
            format!(
                "{} is a symbolic link, which saving the next rounds would replace",
                file.display()
            ),
            "give the path of the file that it points to",
        ));
    }
    show(file, &earlier);
    // Shown, and not run.
    if !dry_run {
        let path = file.display().to_string();
        trust::ensure(arguments.trust, doubt.as_deref(), &path, COMMANDS)?;
    }
    Ok(earlier)
}

/// What is to be done with a run.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// What is left of one that has not ended; in another time than it was begun with.
    Rest(Option<Duration>),
    /// So many blocks more of one that has.
    More(usize),
}

/// Whether the rounds go into the file of the earlier ones. A run that has ended keeps its file, whatever becomes of what is added.
fn is_replaced(wanted: Wanted, arguments: &Conditions) -> bool {
    matches!(wanted, Wanted::Rest(_)) && arguments.output.is_none()
}

/// Why no blocks can be added.
fn why_not_extended(earlier: &ResultFile) -> Option<String> {
    if let Some(why) = turn::why_invalid(earlier) {
        return Some(why);
    }
    if earlier.stopped_arms().len() + 1 >= earlier.design.arms.len() {
        return Some("--stop-if has stopped the arms".to_owned());
    }
    let begun = earlier.blocks_begun();
    if begun == 0 {
        return Some("it has no rounds".to_owned());
    }
    let most = earlier.design.stopping.most_extensions();
    let extensions = earlier.design.extensions.iter();
    let is_often = extensions.filter(|it| it.after_blocks < begun).count() >= most;
    is_often.then(|| {
        format!(
            "it was extended {most} times, and whoever goes on until something shows finds it sooner or later"
        )
    })
}

/// Adds blocks to the design of a run that has ended, after those that it has begun.
fn extend(file: &Path, earlier: &mut ResultFile, blocks: usize) -> Result<()> {
    let refuse = |why: String| {
        Failure::usage(
            format!("{} cannot be extended: {why}", file.display()),
            "start a new run",
        )
    };
    if let Some(why) = why_not_extended(earlier) {
        return Err(refuse(why));
    }
    let after_blocks = earlier.blocks_begun();
    // It goes on.
    earlier.notes.retain(|note| note != run::ENDED_BY_FOR);
    // An open run may have drawn more, and --for may have ended one before.
    earlier
        .plan
        .rounds
        .retain(|round| round.block < after_blocks);
    let extensions = &mut earlier.design.extensions;
    extensions.retain(|extension| extension.after_blocks < after_blocks);
    if let Some(last) = extensions.last_mut() {
        last.blocks = after_blocks - last.after_blocks;
    }
    extensions.push(Extension {
        after_blocks,
        blocks,
    });
    note(&format!(
        "adds {blocks} block{} to the {after_blocks} so far; verdicts are of all of them, and the result says that it was extended",
        if blocks == 1 { "" } else { "s" }
    ));
    Ok(())
}

pub fn run(file: &Path, wanted: Wanted, arguments: &Conditions, dry_run: bool) -> Result<()> {
    let earlier = resumable(file, wanted, arguments, dry_run)?;
    if dry_run {
        if let Some(truth) = &earlier.device.scratch {
            note(&format!(
                "a scratch device ({}) would be made",
                truth.spec()
            ));
        } else {
            let present = info::of_all(&named(&earlier)?, None);
            refuse_changes(&earlier, &present, fio::installed_version()?.as_ref())?;
        }
        return schedule::print_rest(&earlier);
    }
    let is_replaced = is_replaced(wanted, arguments);
    let output = if is_replaced {
        Some(file.to_owned())
    } else {
        result_file::named(arguments.output.as_deref(), arguments.force, "iosched-ab")?
    };
    let mut session = Session::begin()?;
    let TakenUp {
        disks,
        mut workload,
        granted,
    } = take_up(&mut session, &earlier, &earlier.design.arms, arguments)?;
    note(&format!("continuing after {} rounds", earlier.rounds.len()));
    let resources = session.resources(
        granted.hold,
        disks::control(earlier.design.control_disk.as_deref(), &disks)?,
        Participants::resolve(&earlier.workload.participants)?,
    )?;
    let experiment = Experiment {
        disks,
        design: earlier.design.clone(),
        workload: &mut *workload,
        participants: earlier.workload.participants.clone(),
        scratch_file: granted.place,
        seed: earlier.plan.seed,
        replaces_output: is_replaced || arguments.force,
        output,
        notes: Vec::new(),
        earlier: Some(earlier),
    };
    carry_out(experiment, resources)
}

/// Its disks that are not simulated.
fn named(earlier: &ResultFile) -> Result<Disks> {
    Ok(match &earlier.device.group {
        Some(group) => Disks::resolve(&group.named)?.0,
        None => Device::resolve(&earlier.device.device.name)?.device.into(),
    })
}

/// The disks and the workload of an earlier result, as they are now.
pub struct TakenUp {
    pub disks: Disks,
    pub workload: Box<dyn Workload>,
    pub granted: Granted,
}

/// Finds them again, refuses what is another than it was, and asks for permission anew. `arms`: those that the disks must have.
pub fn take_up(
    session: &mut Session,
    earlier: &ResultFile,
    arms: &[Arm],
    arguments: &Conditions,
) -> Result<TakenUp> {
    let disks = match &earlier.device.scratch {
        Some(truth) => simulated::make(session, truth.spec())?,
        None => named(earlier)?,
    };
    let scratch = session.scratch();
    let fio_version = fio::installed_version()?;
    let present = info::of_all(&disks, session.truth());
    refuse_changes(earlier, &present, fio_version.as_ref())?;
    let consents = arguments.destroy_data || scratch.is_some();
    let workload = recorded::workload(&earlier.workload.description, consents)?;
    let earlier_place = earlier.workload.scratch_file.as_ref();
    let mount_point = scratch.and_then(Scratch::mount_point);
    let wanted_place = earlier_place.map(|place| place::again(place, mount_point));
    let granted = PermissionRequest {
        disks: &disks,
        arms,
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
    Ok(TakenUp {
        disks,
        workload,
        granted,
    })
}

/// Shows what resuming the file will run and change.
pub fn show(file: &Path, earlier: &ResultFile) {
    note(&format!(
        "{} continues {} on {}",
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
    if let Some(cold) = earlier.design.cold {
        let place = earlier.workload.scratch_file.as_ref();
        let is_file = place.is_some_and(|place| place.size_bytes.is_some());
        note(&format!(
            "  drops {} before each round",
            cold.in_words(is_file)
        ));
    }
    if let Some(place) = &earlier.workload.scratch_file {
        note(&format!(
            "  writes to a scratch file in {}",
            place.directory.display()
        ));
    }
}

/// Another file system may now be mounted at the same path.
fn refuse_another_place(then: Option<&ScratchPlace>, now: Option<&ScratchPlace>) -> Result<()> {
    match (then, now) {
        (Some(then), Some(now)) if then != now => Err(Failure::refused(
            format!("the rounds so far ran in {then}, and these would run in {now}"),
            "mount the same file system there again, or start a new run",
        )),
        _ => Ok(()),
    }
}

/// Called before anything is changed. The settings that the arms change are verified in each round.
fn refuse_changes(
    earlier: &ResultFile,
    info: &DeviceInfo,
    fio_version: Option<&String>,
) -> Result<()> {
    let environment = iosched_host::system::environment::read(fio_version.cloned());
    let changes = identity::changes(earlier, &environment, info);
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "{} or this machine has changed since the first round: {}",
            info.name(),
            changes.join(", ")
        ),
        "rounds under different conditions cannot be compared; start a new run",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::read;
    use iosched_result::report::fixture;

    /// A run that was to have six blocks, and has begun `blocks` of them.
    fn ended(blocks: usize) -> ResultFile {
        let mut result = fixture::sample();
        result.rounds.retain(|round| round.block < blocks);
        result.excluded.clear();
        result.design.stopping = Stopping::Fixed { blocks: 6 };
        result
    }

    #[test]
    fn blocks_follow_those_that_were_begun() {
        let file = Path::new("r.json");
        let added = |result: &ResultFile| -> Vec<(usize, usize)> {
            let each = result.design.extensions.iter();
            each.map(|it| (it.after_blocks, it.blocks)).collect()
        };
        // --for has ended it early: the plan had more.
        let mut result = ended(3);
        assert!(result.plan.blocks() > 3);
        extend(file, &mut result, 5).unwrap();
        assert_eq!((added(&result), result.plan.blocks()), (vec![(3, 5)], 3));
        assert_eq!(read::check(&result), Ok(()));
        // None of them was begun: the second request stands in place of the first.
        extend(file, &mut result, 2).unwrap();
        assert_eq!(added(&result), [(3, 2)]);
        assert_eq!(read::check(&result), Ok(()));

        let refused =
            |result: &mut ResultFile| format!("{:#}", extend(file, result, 1).unwrap_err());
        assert!(refused(&mut ended(0)).contains("it has no rounds"));
        let mut often = ended(6);
        let one = Extension {
            after_blocks: 0,
            blocks: 1,
        };
        often.design.extensions = vec![one; 2];
        let error = refused(&mut often);
        assert!(error.contains("extended 2 times"), "{error}");
    }
}
