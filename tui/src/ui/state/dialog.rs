//! The dialogs in which the user chooses a scheduler or a rotation. Pure.

use iosched_experiment::rotation::MOST_PROGRAMS;

use super::action::KeyCommand;
use super::compare::Seen;
use super::model::{Access, Dialog, Model};
use super::update::{Effect, compares};
use crate::ui::sampling::parts::PartName;
use crate::ui::sampling::programs::{self, Chosen};
use crate::ui::sampling::request::Request;

pub const ROUND_SECONDS: [u64; 7] = [3, 5, 10, 20, 30, 60, 120];
const DEFAULT_SECONDS: u64 = 10;

pub fn open_flip(model: &mut Model) {
    let arms = model.arms();
    if let Some(problem) = obstacle(model, &arms) {
        model.message = Some(problem);
        return;
    }
    if model.rotating.is_some() {
        model.message = Some(rotation_is_running(model));
        return;
    }
    let active = active(model);
    let others = arms.iter().position(|arm| Some(arm) != active.as_ref());
    let put_back = model.devices[model.selected].modified.unwrap_or(true);
    model.dialog = Some(Dialog::Flip {
        row: others.unwrap_or(0),
        arms,
        put_back,
    });
}

/// Asks while settings are changed or rounds are recorded.
pub fn quit(model: &mut Model) -> Vec<Effect> {
    let is_changed = model
        .devices
        .iter()
        .any(|device| device.modified == Some(true));
    if !is_changed && model.rotating.is_none() {
        return vec![Effect::Quit];
    }
    model.dialog = Some(Dialog::Quit);
    Vec::new()
}

pub fn rotation_is_running(model: &Model) -> String {
    let stops = model.keys.does(KeyCommand::Rotate, "stops it");
    format!("a rotation is running; {stops}")
}

pub fn open_rotation(model: &mut Model) {
    let arms = model.arms_of_rotation();
    if let Some(problem) = obstacle(model, &model.arms()) {
        model.message = Some(problem);
        return;
    }
    if arms.len() < 2 {
        model.message = Some(if model.named_arms.is_empty() {
            "there is only one scheduler; `modprobe bfq` or `modprobe kyber-iosched` may add others"
                .to_owned()
        } else {
            "--arm names only the arm that is in force; name another one, too".to_owned()
        });
        return;
    }
    model.dialog = Some(Dialog::Rotate {
        arms,
        row: 0,
        seconds: if model.demo.is_some() {
            3
        } else {
            DEFAULT_SECONDS
        },
    });
}

/// Before a rotation those that have I/O now, which it then judges; later those of its rounds.
pub fn open_whose(model: &mut Model) {
    let score = model.device().seen.score.as_ref();
    let of_rounds = score.iter().flat_map(|score| &score.parts);
    let mut names: Vec<PartName> = of_rounds.map(|part| part.name.clone()).collect();
    if names.is_empty() {
        names = programs(model).into_iter().map(|it| it.name).collect();
    }
    if names.is_empty() {
        model.message = Some("no program has I/O on this disk".to_owned());
        return;
    }
    let with_choice = |name: PartName| {
        let is_chosen = model.compare.whose.contains(&name);
        (name, is_chosen)
    };
    let parts = names.into_iter().map(with_choice).collect();
    model.dialog = Some(Dialog::Whose { parts, row: 0 });
}

/// The programs that have I/O on the selected disk.
fn programs(model: &Model) -> Vec<Chosen> {
    let sample = model.last.as_ref();
    let device = sample.and_then(|sample| sample.devices.get(model.selected));
    let measured = device.and_then(|device| device.measured.as_deref());
    measured.map_or_else(Vec::new, |measured| {
        programs::candidates(&measured.processes)
    })
}

fn active(model: &Model) -> Option<String> {
    let sample = model.last.as_ref()?.devices.get(model.selected)?;
    Some(sample.queue.as_ref()?.active.clone())
}

fn obstacle(model: &Model, arms: &[String]) -> Option<String> {
    if model.replay.is_some() {
        return Some("a replay switches nothing".to_owned());
    }
    match &model.access {
        Access::Attaching => Some("the BPF programs are not attached yet".to_owned()),
        Access::Sysfs(_) => {
            Some("only root can switch the scheduler: start iosched with sudo".to_owned())
        }
        Access::Full if active(model).is_none() => Some(format!(
            "{} was removed, or is not read yet",
            model.devices[model.selected].disk.name
        )),
        Access::Full if arms.is_empty() => Some(format!(
            "{} has no scheduler to choose",
            model.devices[model.selected].disk.name
        )),
        Access::Full => None,
    }
}

pub fn update(model: &mut Model, command: KeyCommand) -> Vec<Effect> {
    let device = model.selected;
    if command == KeyCommand::QuitNow {
        return vec![Effect::Quit];
    }
    let Some(dialog) = &mut model.dialog else {
        return Vec::new();
    };
    match (dialog, command) {
        (Dialog::Filter, KeyCommand::Back) => {
            model.table.filter.clear();
            model.dialog = None;
        }
        (Dialog::Quit, KeyCommand::Open) => return vec![Effect::Quit],
        (Dialog::Flipped(_) | Dialog::Filter, KeyCommand::Open) | (_, KeyCommand::Back) => {
            model.dialog = None;
        }
        (
            Dialog::Flip {
                arms,
                row,
                put_back,
            },
            command,
        ) => match command {
            KeyCommand::Up => *row = row.saturating_sub(1),
            KeyCommand::Down => *row = (*row + 1).min(arms.len() - 1),
            KeyCommand::Pause => *put_back = !*put_back,
            KeyCommand::Open => {
                let request = Request::Flip {
                    device,
                    arm: arms[*row].clone(),
                    put_back: *put_back,
                };
                model.dialog = None;
                model.message = Some("switching ...".to_owned());
                return vec![Effect::Ask(request)];
            }
            _ => {}
        },
        (Dialog::Whose { parts, row }, command) => match command {
            KeyCommand::Up => *row = row.saturating_sub(1),
            KeyCommand::Down => *row = (*row + 1).min(parts.len() - 1),
            KeyCommand::Toggle => toggle(parts, *row),
            KeyCommand::Open => {
                let chosen = parts.iter().filter(|(_, is_chosen)| *is_chosen);
                model.compare.whose = chosen.map(|(name, _)| name.clone()).collect();
                model.dialog = None;
            }
            _ => {}
        },
        (Dialog::Rotate { arms, row, seconds }, command) => match command {
            KeyCommand::Up => *row = row.saturating_sub(1),
            KeyCommand::Down => *row = (*row + 1).min(arms.len() - 1),
            KeyCommand::Toggle => arms[*row].1 = !arms[*row].1,
            KeyCommand::Left | KeyCommand::Right => {
                *seconds = other_length(*seconds, command == KeyCommand::Right);
            }
            KeyCommand::Open => return begin(model),
            _ => {}
        },
        _ => {}
    }
    Vec::new()
}

/// At most four are chosen: the first of the others makes room.
fn toggle(parts: &mut [(PartName, bool)], row: usize) {
    parts[row].1 = !parts[row].1;
    let chosen = parts.iter().filter(|(_, is_chosen)| *is_chosen).count();
    if chosen > MOST_PROGRAMS {
        let mut others = parts.iter_mut().enumerate().filter(|(at, _)| *at != row);
        if let Some((_, other)) = others.find(|(_, (_, is_chosen))| *is_chosen) {
            other.1 = false;
        }
    }
}

fn other_length(seconds: u64, longer: bool) -> u64 {
    let at = ROUND_SECONDS
        .iter()
        .position(|&other| other == seconds)
        .unwrap_or(0);
    let to = if longer { at + 1 } else { at.saturating_sub(1) };
    ROUND_SECONDS[to.min(ROUND_SECONDS.len() - 1)]
}

fn begin(model: &mut Model) -> Vec<Effect> {
    let Some(Dialog::Rotate { arms, seconds, .. }) = &model.dialog else {
        return Vec::new();
    };
    let chosen: Vec<String> = arms
        .iter()
        .filter(|(_, is_chosen)| *is_chosen)
        .map(|(arm, _)| arm.clone())
        .collect();
    if chosen.len() < 2 {
        model.message = Some("select at least two arms".to_owned());
        return Vec::new();
    }
    // The settings in force come first, if they take part; as in iosched-ab, they are the reference.
    let reference = 0;
    // A rotation is a new comparison: earlier samples were taken under other conditions.
    model.devices[model.selected].seen = Seen::of(&chosen, reference);
    model.fold.clear(model.selected, model.kept.last());
    model.compare.reference = reference;
    let seconds = *seconds;
    let programs = programs::choose(programs(model), &model.compare.whose);
    if model.demo.is_some() && model.compare.whose.is_empty() {
        // The reader and the writer of the demo are what it shows.
        let mut names: Vec<PartName> = programs.iter().map(|it| it.name.clone()).collect();
        names.sort_by(|one, other| other.cmp(one));
        model.compare.whose = names;
    }
    let request = Request::Rotate {
        device: model.selected,
        arms: chosen,
        reference,
        seconds,
        programs,
    };
    model.dialog = None;
    show_comparison(model);
    let mut effects = vec![Effect::Ask(request)];
    effects.extend(compares(model));
    effects
}

fn show_comparison(model: &mut Model) {
    model.screen = super::action::Screen::Compare;
    model.frozen = None;
}
