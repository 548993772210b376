//! Applies an action to the model and returns the effects. Pure.

use super::action::{Action, KeyCommand, Screen, Target};
use super::compare::{Scope, Seen, ShownStage, Statistic};
use super::keys::KEYS;
use super::model::{Dialog, INTERVALS, Model, Sort};
use super::words::WORDS;
use super::{dialog, load, past, reports};
use crate::ui::sampling::request::{Request, Wanted};

/// Carried out by the runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Quit,
    Redraw,
    /// Stops this process until `fg`.
    Suspend,
    ExportProcesses,
    /// The screen to a file.
    SavePicture,
    /// The screen's text to the clipboard.
    Copy,
    /// The intervals that are held, to a file.
    WriteHistory,
    /// Carried out by the sampling thread.
    Ask(Request),
}

const PAGE: usize = 10;
/// The keys [ and ] go this many intervals.
const FAR: i64 = 60;

pub fn update(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Report(report) => {
            reports::take(model, report);
            Vec::new()
        }
        Action::Say(text) => {
            model.message = Some(text);
            Vec::new()
        }
        Action::Forget => {
            model.message = None;
            Vec::new()
        }
        Action::Tick => {
            past::step(model, 1);
            Vec::new()
        }
        Action::Type(letter) => {
            model.table.filter.push(letter);
            model.forget_choice();
            Vec::new()
        }
        Action::Erase => {
            model.table.filter.pop();
            Vec::new()
        }
        Action::Axis(axis) => {
            model.message = None;
            model.axis = axis;
            Vec::new()
        }
        Action::Point(target) => point(model, target),
        Action::Do(command) => {
            model.message = None;
            let before = model.screen;
            match command {
                KeyCommand::Redraw => return vec![Effect::Redraw],
                KeyCommand::Suspend => return suspend(model),
                _ => {}
            }
            let mut effects = if model.dialog.is_some() {
                dialog::update(model, command)
            } else {
                perform(model, command)
            };
            if model.screen != before {
                effects.push(Effect::Ask(Request::Read(wanted_by(model.screen))));
            }
            effects
        }
    }
}

/// A click on the row under the cursor opens it; one on the heading that sorts reverses the order.
fn point(model: &mut Model, target: Target) -> Vec<Effect> {
    if model.dialog.is_some() {
        return Vec::new();
    }
    let open = Action::Do(KeyCommand::Open);
    match target {
        Target::Screen(screen) => return update(model, Action::Do(KeyCommand::Show(screen))),
        Target::Heading(sort) if model.table.sort == sort => {
            model.table.reversed = !model.table.reversed;
        }
        Target::Heading(sort) => model.table.sort = sort,
        Target::Row(row) if model.screen == Screen::Disks => {
            let is_chosen = model.disk_row == row;
            model.disk_row = row;
            if is_chosen {
                return update(model, open);
            }
        }
        Target::Row(row) => {
            let is_chosen = model.chosen_row(&model.processes()) == Some(row);
            model.choose(row);
            if is_chosen {
                return update(model, open);
            }
        }
    }
    Vec::new()
}

/// A stopped program does not switch, and its round would last for hours.
fn suspend(model: &mut Model) -> Vec<Effect> {
    if model
        .rotating
        .as_ref()
        .is_some_and(|rotating| !rotating.is_paused)
    {
        let pauses = model.keys.does(KeyCommand::PauseRotation, "pauses it");
        model.message = Some(format!("a rotation is running; {pauses}"));
        return Vec::new();
    }
    if model
        .devices
        .iter()
        .any(|device| device.modified == Some(true))
    {
        // If it were killed then, the guardian would leave the screen of whatever runs there.
        let restores = model.keys.does(KeyCommand::Quit, "quits and restores them");
        model.message = Some(format!("settings are changed; {restores}"));
        return Vec::new();
    }
    vec![Effect::Suspend]
}

/// Expensive data is read only for the screens that show it.
/// A screen may show another one below it: Disks the overview, Processes the comparison.
fn wanted_by(screen: Screen) -> Wanted {
    Wanted {
        order: screen == Screen::Order,
        why: matches!(screen, Screen::Fairness | Screen::Processes),
        why_of_arms: matches!(screen, Screen::Compare | Screen::Processes),
        owner_histograms: matches!(screen, Screen::Disks | Screen::Overview | Screen::Processes),
    }
}

#[allow(clippy::too_many_lines)] // a table: one line per command
fn perform(model: &mut Model, command: KeyCommand) -> Vec<Effect> {
    match command {
        KeyCommand::QuitNow => return vec![Effect::Quit],
        KeyCommand::Quit => return dialog::quit(model),
        _ if model.devices.is_empty() => {}
        KeyCommand::Show(Screen::Help) if model.screen == Screen::Help => {
            model.screen = model.before_help;
        }
        KeyCommand::Show(screen) => show(model, screen),
        KeyCommand::Next => show(model, model.screen.after(1)),
        KeyCommand::Previous => show(model, model.screen.after(Screen::ALL.len() - 1)),
        KeyCommand::Up => step(model, |row, _| row.saturating_sub(1)),
        KeyCommand::Down => step(model, |row, _| row + 1),
        KeyCommand::PageUp => step(model, |row, _| row.saturating_sub(PAGE)),
        KeyCommand::PageDown => step(model, |row, _| row + PAGE),
        KeyCommand::First => step(model, |_, _| 0),
        KeyCommand::Last => step(model, |_, last| last),
        KeyCommand::Open if model.screen == Screen::Disks => return go_in(model),
        KeyCommand::Open => model.open_page(),
        KeyCommand::Back => back(model),
        KeyCommand::Pause => past::freeze(model),
        KeyCommand::Earlier => past::step(model, -1),
        KeyCommand::Later => past::step(model, 1),
        KeyCommand::MuchEarlier => past::step(model, -FAR),
        KeyCommand::MuchLater => past::step(model, FAR),
        KeyCommand::SavePicture => return vec![Effect::SavePicture],
        KeyCommand::Copy => return vec![Effect::Copy],
        KeyCommand::WriteHistory if model.replay.is_some() => {
            model.message = Some("a replay is of a file already".to_owned());
        }
        KeyCommand::WriteHistory => return vec![Effect::WriteHistory],
        KeyCommand::Faster | KeyCommand::Slower => {
            let wanted = if command == KeyCommand::Slower {
                (model.interval + 1).min(INTERVALS.len() - 1)
            } else {
                model.interval.saturating_sub(1)
            };
            if wanted != model.interval {
                model.interval = wanted;
                return vec![Effect::Ask(Request::Interval(model.interval_s()))];
            }
        }
        KeyCommand::NextDevice => {
            let next = (model.selected + 1) % model.devices.len();
            return select(model, next);
        }
        KeyCommand::Theme => {
            model.palette.theme = model.palette.theme.next();
            model.message = Some(format!("theme: {}", model.palette.theme.title()));
        }
        KeyCommand::Filter => model.dialog = Some(Dialog::Filter),
        KeyCommand::Sort => model.table.sort = following(&Sort::ALL, model.table.sort),
        KeyCommand::Reverse => model.table.reversed = !model.table.reversed,
        KeyCommand::Cgroups => {
            model.table.by_cgroup = !model.table.by_cgroup;
            model.close_page();
            model.forget_choice();
            past::show_again(model);
            return vec![Effect::Ask(Request::ByCgroup(model.table.by_cgroup))];
        }
        KeyCommand::Stage => {
            model.compare.stage = following(&ShownStage::ALL, model.compare.stage);
            return compares(model);
        }
        KeyCommand::Scope => {
            model.compare.scope = following(&Scope::ALL, model.compare.scope);
            return compares(model);
        }
        KeyCommand::Statistic => {
            model.compare.statistic = following(&Statistic::ALL, model.compare.statistic);
            return compares(model);
        }
        KeyCommand::Reference => {
            let arms = model.device().seen.arms.len().max(1);
            model.compare.reference = (model.compare.reference + 1) % arms;
            return compares(model);
        }
        KeyCommand::Overlay => model.compare.is_overlaid = !model.compare.is_overlaid,
        KeyCommand::Whose => dialog::open_whose(model),
        KeyCommand::Clear if model.rotating.is_some() => {
            model.message = Some(dialog::rotation_is_running(model));
        }
        KeyCommand::Clear if model.frozen.is_some() => {
            let goes_on = model.keys.does(KeyCommand::Pause, "goes on");
            model.message = Some(format!("the screen is frozen; {goes_on}"));
        }
        KeyCommand::Clear => {
            model.devices[model.selected].seen = Seen::default();
            model.fold.clear(model.selected, model.kept.last());
        }
        KeyCommand::Flip => dialog::open_flip(model),
        KeyCommand::Rotate if model.rotating.is_some() => {
            return vec![Effect::Ask(Request::StopRotating)];
        }
        KeyCommand::Rotate => dialog::open_rotation(model),
        KeyCommand::PauseRotation if model.rotating.is_some() => {
            return vec![Effect::Ask(Request::PauseRotation)];
        }
        KeyCommand::PauseRotation => {
            let starts = model.keys.does(KeyCommand::Rotate, "starts one");
            model.message = Some(format!("no rotation is running; {starts}"));
        }
        KeyCommand::Export if model.screen == Screen::Compare && model.replay.is_some() => {
            model.message = Some("a replay has no rounds to export".to_owned());
        }
        KeyCommand::Export if model.screen == Screen::Compare => {
            return vec![Effect::Ask(Request::ExportComparison(model.selected))];
        }
        KeyCommand::Export => return vec![Effect::ExportProcesses],
        // The axis on the screen is known to the view: see `input`.
        KeyCommand::ZoomIn
        | KeyCommand::ZoomOut
        | KeyCommand::AxisLeft
        | KeyCommand::AxisRight
        | KeyCommand::FixAxis
        | KeyCommand::Left
        | KeyCommand::Right
        | KeyCommand::Toggle
        | KeyCommand::Redraw
        | KeyCommand::Suspend => {}
    }
    Vec::new()
}

fn select(model: &mut Model, device: usize) -> Vec<Effect> {
    model.selected = device;
    model.is_selected = true;
    model.close_page();
    model.forget_choice();
    let score = model.devices[device].seen.score.as_ref();
    model.compare.reference = score.map_or(0, |score| score.reference);
    model.disk_row = device;
    compares(model)
}

/// To the disk under the cursor.
fn go_in(model: &mut Model) -> Vec<Effect> {
    let (disks, row) = load::order_and_row(model);
    let disk = disks.get(row).copied().unwrap_or(model.disk_row);
    if disk < model.devices.len() {
        show(model, Screen::Overview);
        return select(model, disk);
    }
    let why = "the BPF programs have no room for this disk, which was plugged in later; restart iosched to measure it";
    model.message = Some(why.to_owned());
    Vec::new()
}

/// Asks for the verdicts on the chosen metric, against the chosen arm.
pub fn compares(model: &Model) -> Vec<Effect> {
    if model.devices[model.selected].seen.score.is_none() {
        return Vec::new();
    }
    vec![Effect::Ask(Request::Compare {
        device: model.selected,
        metric: model.compare.metric(),
        reference: model.compare.reference,
    })]
}

fn show(model: &mut Model, screen: Screen) {
    if screen == Screen::Help {
        model.before_help = model.screen;
        model.help_row = 0;
    }
    model.screen = screen;
}

fn back(model: &mut Model) {
    match model.screen {
        Screen::Help => model.screen = model.before_help,
        Screen::Processes if model.table.is_open => model.close_page(),
        _ => model.table.filter.clear(),
    }
}

fn following<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let at = all.iter().position(|one| *one == now).unwrap_or(0);
    all[(at + 1) % all.len()]
}

fn step(model: &mut Model, to: impl Fn(usize, usize) -> usize) {
    let (row, rows) = match model.screen {
        Screen::Help => (model.help_row, KEYS.len() + WORDS.len()),
        Screen::Compare => (model.compare.row, model.device().seen.arms.len()),
        Screen::Disks => {
            let (disks, row) = load::order_and_row(model);
            (row, disks.len())
        }
        _ => {
            let rows = model.processes();
            let row = model.chosen_row(&rows).unwrap_or(model.table.row);
            (row, rows.len())
        }
    };
    let last = rows.saturating_sub(1);
    let row = to(row, last).min(last);
    match model.screen {
        Screen::Help => model.help_row = row,
        Screen::Compare => model.compare.row = row,
        Screen::Disks => model.disk_row = load::order(model)[row],
        _ => model.choose(row),
    }
}
