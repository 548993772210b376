//! Questions before anything is changed: which scheduler, which rotation. Pure.

use super::action::Command;
use super::compare::Seen;
use super::model::{Access, Dialog, Model};
use super::update::Effect;

pub const ROUND_SECONDS: [u64; 7] = [3, 5, 10, 20, 30, 60, 120];
const DEFAULT_SECONDS: u64 = 10;

pub fn open_flip(model: &mut Model) {
    let arms = model.arms();
    if let Some(problem) = obstacle(model, &arms) {
        model.message = Some(problem);
        return;
    }
    if model.rotating.is_some() {
        model.message = Some("a rotation is under way; F stops it".to_owned());
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

pub fn open_rotation(model: &mut Model) {
    let arms = model.arms();
    if let Some(problem) = obstacle(model, &arms) {
        model.message = Some(problem);
        return;
    }
    if arms.len() < 2 {
        model.message = Some("one scheduler alone cannot be compared; `modprobe bfq` or kyber-iosched may add others".to_owned());
        return;
    }
    model.dialog = Some(Dialog::Rotate {
        arms: arms.into_iter().map(|arm| (arm, true)).collect(),
        row: 0,
        seconds: if model.demo.is_some() {
            3
        } else {
            DEFAULT_SECONDS
        },
    });
}

fn active(model: &Model) -> Option<String> {
    let sample = model.last.as_ref()?.devices.get(model.selected)?;
    Some(sample.queue.as_ref()?.active.clone())
}

fn obstacle(model: &Model, arms: &[String]) -> Option<String> {
    match &model.access {
        Access::Attaching => Some("not attached yet".to_owned()),
        Access::Sysfs(_) => Some("only root can change a scheduler: run it with sudo".to_owned()),
        Access::Full if active(model).is_none() => Some(format!(
            "{} is gone, or not looked at yet",
            model.devices[model.selected].disk.name
        )),
        Access::Full if arms.is_empty() => Some(format!(
            "{} has no scheduler to choose",
            model.devices[model.selected].disk.name
        )),
        Access::Full => None,
    }
}

pub fn update(model: &mut Model, command: Command) -> Vec<Effect> {
    let device = model.selected;
    if command == Command::Quit {
        return vec![Effect::Quit];
    }
    let Some(dialog) = &mut model.dialog else {
        return Vec::new();
    };
    match (dialog, command) {
        (Dialog::Filter, Command::Back) => {
            model.table.filter.clear();
            model.dialog = None;
        }
        (Dialog::Flipped(_) | Dialog::Filter, Command::Open) | (_, Command::Back) => {
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
            Command::Up => *row = row.saturating_sub(1),
            Command::Down => *row = (*row + 1).min(arms.len() - 1),
            Command::Pause => *put_back = !*put_back,
            Command::Open => {
                let effect = Effect::Flip {
                    device,
                    arm: arms[*row].clone(),
                    put_back: *put_back,
                };
                model.dialog = None;
                model.message = Some("switching".to_owned());
                return vec![effect];
            }
            _ => {}
        },
        (Dialog::Rotate { arms, row, seconds }, command) => match command {
            Command::Up => *row = row.saturating_sub(1),
            Command::Down => *row = (*row + 1).min(arms.len() - 1),
            Command::Toggle => arms[*row].1 = !arms[*row].1,
            Command::Left | Command::Right => {
                *seconds = other_length(*seconds, command == Command::Right);
            }
            Command::Open => return begin(model),
            _ => {}
        },
        _ => {}
    }
    Vec::new()
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
        model.message = Some("choose at least two".to_owned());
        return Vec::new();
    }
    // As an A/B does: against what is in force now, if it takes part.
    let active = active(model);
    let reference = chosen.iter().position(|arm| Some(arm) == active.as_ref());
    let reference = reference.unwrap_or(0);
    // A rotation is a comparison of its own: what was seen before was seen under other conditions.
    model.devices[model.selected].seen = Seen::of(&chosen);
    model.compare.reference = reference;
    let effect = Effect::Rotate {
        device: model.selected,
        arms: chosen,
        reference,
        seconds: *seconds,
    };
    model.dialog = None;
    show_comparison(model);
    vec![effect]
}

fn show_comparison(model: &mut Model) {
    model.screen = super::action::Screen::Compare;
    model.frozen = None;
}
