//! Applies an action to the model and returns the effects. Pure.

use iosched::stat::LiveProcess;

use super::action::{Action, KeyCommand, Screen};
use super::compare::{Scope, Seen, ShownStage, Statistic};
use super::dialog;
use super::heat::HeatColumn;
use super::keys::KEYS;
use super::model::{Access, Dialog, Frozen, HISTORY, INTERVALS, Model, Moment, Sort};
use super::words::WORDS;
use crate::ui::sampling::request::{Request, Wanted};
use crate::ui::sampling::sample::{Flip, Sample, SamplerReport, Side};

/// Carried out by the runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Quit,
    Redraw,
    /// Stops this process until `fg`.
    Suspend,
    ExportProcesses,
    /// Carried out by the sampling thread.
    Ask(Request),
}

const PAGE: usize = 10;
/// Number of shares that a [`Moment`] keeps.
const SHARES: usize = 8;

pub fn update(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Report(report) => {
            take(model, report);
            Vec::new()
        }
        Action::Say(text) => {
            model.message = Some(text);
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
                carry_out(model, command)
            };
            if model.screen != before {
                effects.push(Effect::Ask(Request::Read(wanted_by(model.screen))));
            }
            effects
        }
    }
}

/// A stopped program does not switch, and its round would last for hours.
fn suspend(model: &mut Model) -> Vec<Effect> {
    if model
        .rotating
        .as_ref()
        .is_some_and(|rotating| !rotating.is_paused)
    {
        model.message = Some("a rotation is running; P pauses it".to_owned());
        return Vec::new();
    }
    vec![Effect::Suspend]
}

/// Expensive data is read only for the screens that show it.
fn wanted_by(screen: Screen) -> Wanted {
    Wanted {
        order: screen == Screen::Order,
        owner_histograms: matches!(screen, Screen::Overview | Screen::Processes),
    }
}

fn take(model: &mut Model, report: SamplerReport) {
    match report {
        SamplerReport::Attached { notes, refused } => {
            model.notes = notes;
            model.access = refused.map_or(Access::Full, Access::Sysfs);
        }
        SamplerReport::Sample(sample) => keep(model, sample),
        SamplerReport::Flipped(flip) => note_flip(model, flip),
        SamplerReport::Rotating(rotating) => {
            model.rotating = rotating;
        }
        SamplerReport::Score(score) => {
            if let Some(device) = model.devices.get_mut(score.device) {
                device.seen.take(*score);
            }
        }
        SamplerReport::Modified { device, put_back } => {
            if let Some(device) = model.devices.get_mut(device) {
                device.modified = Some(put_back);
            }
        }
        SamplerReport::Said(text) => model.message = Some(text),
    }
}

fn note_flip(model: &mut Model, flip: Flip) {
    let is_quiet = model.rotating.is_some() && flip.by_us;
    let Some(device) = model.devices.get_mut(flip.device) else {
        return;
    };
    device.seen.flips.push(flip.clone());
    if !flip.by_us {
        model.message = Some(format!(
            "{}: another program switched {} to {}",
            device.disk.name, flip.from, flip.to
        ));
    } else if !is_quiet {
        model.message = None;
        model.dialog = Some(Dialog::Flipped(flip));
    }
}

fn keep(model: &mut Model, sample: Box<Sample>) {
    let rotating = model
        .rotating
        .as_ref()
        .filter(|rotating| !rotating.is_paused);
    let rotating = rotating.map(|rotating| rotating.device);
    let devices = model.devices.iter_mut().zip(&sample.devices);
    for (index, (device, now)) in devices.enumerate() {
        let scheduler = now.queue.as_ref().map_or("gone", |queue| &queue.active);
        let is_settling = now.side == Side::Settling;
        let is_flip = device.history.back().is_some_and(|before| {
            before.scheduler != scheduler || (is_settling && !before.is_settling)
        }) || now.side == Side::Disturbed;
        let measured = now.measured.as_deref();
        if let Some(measured) = measured {
            let is_rotating = rotating == Some(index);
            device
                .seen
                .add(measured, &now.side, sample.seconds, is_rotating);
            device.turn_page(measured, sample.seconds);
            let ios = measured.stages.of(ShownStage::Device, Scope::All).count();
            device.quality += measured.live.quality;
            device.ios = device.ios.saturating_add(ios);
        }
        let fairness = measured.and_then(|measured| measured.live.fairness.as_ref());
        let processes = measured.map_or(&[][..], |measured| &measured.processes);
        device.history.push_back(Moment {
            time: sample.time.clone(),
            scheduler: scheduler.to_owned(),
            is_flip,
            is_settling,
            column: measured.map(|measured| HeatColumn::of(&measured.stages)),
            jain_device_time: fairness.and_then(|fairness| fairness.jain_device_time),
            shares: largest_shares(processes),
        });
        while device.history.len() > HISTORY {
            device.history.pop_front();
        }
    }
    if !model.is_selected {
        model.is_selected = true;
        model.selected = busiest(&sample);
    }
    model.last = Some(sample);
    let rows = model.processes();
    let last = rows.len().saturating_sub(1);
    model.table.row = model
        .chosen_row(&rows)
        .unwrap_or_else(|| model.table.row.min(last));
}

/// The largest shares of the device's time, with the row's name. Only as many as a picture shows, because every
/// sample keeps them.
fn largest_shares(processes: &[LiveProcess]) -> Vec<(String, f64)> {
    let share = |process: &LiveProcess| process.fairness.as_ref()?.device_time_share;
    let mut shares: Vec<(f64, &LiveProcess)> = processes
        .iter()
        .filter_map(|process| Some((share(process)?, process)))
        .collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let largest = shares.into_iter().take(SHARES);
    largest
        .map(|(share, process)| (name_of(process), share))
        .collect()
}

/// The busiest device; the first one if there is no I/O.
fn busiest(sample: &Sample) -> usize {
    let rate = |index: usize| {
        let counters = &sample.devices[index].counters;
        counters.reads_per_s + counters.writes_per_s
    };
    let indices = 0..sample.devices.len();
    indices.fold(
        0,
        |best, next| if rate(next) > rate(best) { next } else { best },
    )
}

/// The name of a row in the pictures over time.
pub fn name_of(process: &LiveProcess) -> String {
    let group = process
        .cgroup
        .as_deref()
        .map(last_component)
        .filter(|group| !group.is_empty() && *group != "/");
    match (process.pid, group) {
        (Some(pid), Some(group)) => format!("{group}: {} {pid}", process.comm),
        (Some(pid), None) => format!("{} {pid}", process.comm),
        (None, Some(group)) => format!("{group}: {}", process.comm),
        (None, None) => process.comm.clone(),
    }
}

pub fn last_component(path: &str) -> &str {
    match path.rsplit('/').next() {
        None | Some("") => path,
        Some(last) => last,
    }
}

#[allow(clippy::too_many_lines)] // a table: one line per command
fn carry_out(model: &mut Model, command: KeyCommand) -> Vec<Effect> {
    match command {
        KeyCommand::Quit => return vec![Effect::Quit],
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
        KeyCommand::Open => model.open_page(),
        KeyCommand::Back => back(model),
        KeyCommand::Pause => {
            model.frozen = match model.frozen {
                Some(_) => None,
                None => Some(Box::new(Frozen {
                    devices: model.devices.clone(),
                    last: model.last.clone(),
                })),
            }
        }
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
            model.selected = (model.selected + 1) % model.devices.len();
            model.is_selected = true;
            model.close_page();
            model.forget_choice();
            model.compare.reference = 0;
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
        KeyCommand::Clear if model.rotating.is_some() => {
            model.message = Some("a rotation is running; F stops it".to_owned());
        }
        KeyCommand::Clear => model.devices[model.selected].seen = Seen::default(),
        KeyCommand::Flip => dialog::open_flip(model),
        KeyCommand::Rotate if model.rotating.is_some() => {
            return vec![Effect::Ask(Request::StopRotating)];
        }
        KeyCommand::Rotate => dialog::open_rotation(model),
        KeyCommand::PauseRotation if model.rotating.is_some() => {
            return vec![Effect::Ask(Request::PauseRotation)];
        }
        KeyCommand::PauseRotation => {
            model.message = Some("no rotation is running; F starts one".to_owned());
        }
        KeyCommand::Export if model.screen == Screen::Compare => {
            return vec![Effect::Ask(Request::ExportComparison(model.selected))];
        }
        KeyCommand::Export => return vec![Effect::ExportProcesses],
        KeyCommand::Left
        | KeyCommand::Right
        | KeyCommand::Toggle
        | KeyCommand::Redraw
        | KeyCommand::Suspend => {}
    }
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
        _ => model.choose(row),
    }
}
