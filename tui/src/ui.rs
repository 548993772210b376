//! The terminal UI: event -> action -> `update` -> `view`; effects are carried out here and in the sampling thread.

mod demo;
mod export;
mod sampling;
mod state;
mod terminal;
mod view;

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use iosched::failure::Failure;
use iosched::interrupt;
use iosched::machine::device::Device;
use iosched::report::characters::has_utf8;
use iosched::safety::journal::Journal;
use iosched::safety::privileges;
use iosched::scheduler;
use iosched::scheduler::arm::Arm;
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEventKind};

use crate::cli::{Watch, WatchDetail};
use sampling::control::Control;
use sampling::devices;
use sampling::sample::{Disk, SamplerReport};
use sampling::{Sampler, Setup};
use state::action::Action;
use state::appearance::{Depth, Palette, Theme};
use state::keys;
use state::model::{Dialog, INTERVALS, Model};
use state::update::{Effect, update};
use terminal::TerminalScreen;

/// What the loop waits for.
enum Event {
    Input(Input),
    /// The terminal was closed.
    NoInput,
    Report(SamplerReport),
}

/// The signal that the kernel sends when the terminal is closed.
const SIGHUP: i32 = 1;
/// How often signals are checked.
const SIGNAL_POLL: Duration = Duration::from_millis(100);

pub fn run(arguments: &Watch) -> Result<()> {
    // Before any thread is started, because threads inherit the capabilities.
    privileges::keep_those_of_the_ui(arguments.demo)?;
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let demo = arguments
        .demo
        .then(|| demo::Demo::start(&journal, &launcher))
        .transpose()?;
    let names = demo
        .as_ref()
        .map_or(arguments.devices.clone(), |demo| vec![demo.device_name()]);
    let (devices, notes) = devices::named(&names)?;
    let arms = devices
        .iter()
        .map(|device| arms(device, &arguments.arms))
        .collect::<Result<Vec<_>>>()?;
    let interval = INTERVALS
        .iter()
        .position(|&seconds| seconds >= arguments.interval)
        .unwrap_or(INTERVALS.len() - 1);
    let palette = Palette {
        depth: Depth::of_terminal(|name| std::env::var(name).ok()),
        theme: Theme::Dark,
        is_ascii: !has_utf8(|name| std::env::var(name).ok()),
    };
    let mut model = Model::new(devices.iter().map(disk).collect(), palette, interval);
    model.is_selected = !names.is_empty();
    model.named_arms = labels(&arguments.arms)?;
    model.demo = demo.as_ref().map(demo::Demo::text);
    model.message = notes.first().cloned().or_else(|| model.demo.clone());

    let (events, inbox) = channel();
    let mut screen = TerminalScreen::open()?;
    screen.draw(&mut model)?;
    let inputs = events.clone();
    let sampler = Sampler::start(
        Setup {
            devices,
            arms,
            interval: Duration::from_secs_f64(model.interval_s()),
            asked: arguments.detail == Some(WatchDetail::Asked),
            control: Control::new(journal, launcher, demo.is_some()),
            labels: demo.as_ref().map(demo::Demo::labels).unwrap_or_default(),
        },
        move |report| {
            let _ = events.send(Event::Report(report)); // an error means that the loop has ended
        },
    );
    let outcome = privileges::keep_those_of_drawing(demo.is_some()).and_then(|()| {
        read_input(inputs);
        run_loop(&mut model, &mut screen, &sampler, &inbox)
    });
    drop(screen);
    let put_back = say_what_was_put_back(sampler.end());
    for verdict in view::verdicts(&model) {
        let _ = writeln!(std::io::stderr(), "iosched: {verdict}");
    }
    drop(demo);
    outcome.and(put_back)
}

fn say_what_was_put_back(lines: Vec<Result<String>>) -> Result<()> {
    let mut first_error = Ok(());
    for line in lines {
        match line {
            Ok(text) => {
                let _ = writeln!(std::io::stderr(), "iosched: {text}");
            }
            Err(error) if first_error.is_ok() => first_error = Err(error),
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "iosched: {error:#}");
            }
        }
    }
    first_error
}

fn run_loop(
    model: &mut Model,
    screen: &mut TerminalScreen,
    sampler: &Sampler,
    inbox: &Receiver<Event>,
) -> Result<()> {
    loop {
        interrupt::check()?;
        let first = match inbox.recv_timeout(SIGNAL_POLL) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow::anyhow!("the sampling thread has ended"));
            }
        };
        // All waiting events, then one update of the screen.
        for event in std::iter::once(first).chain(inbox.try_iter()) {
            let action = match event {
                Event::Input(input) => action_of(&input, model),
                Event::NoInput => return Err(Failure::interrupted(SIGHUP)),
                Event::Report(report) => Some(Action::Report(report)),
            };
            for effect in action.map_or_else(Vec::new, |action| update(model, action)) {
                if !carry_out(model, sampler, screen, effect)? {
                    return Ok(());
                }
            }
        }
        screen.draw(model)?;
    }
}

/// Returns false to quit.
fn carry_out(
    model: &mut Model,
    sampler: &Sampler,
    screen: &mut TerminalScreen,
    effect: Effect,
) -> Result<bool> {
    match effect {
        Effect::Quit => return Ok(false),
        Effect::Redraw => screen.redraw()?,
        Effect::Suspend => screen.suspend()?,
        Effect::ExportProcesses => {
            let text = match export::processes(model) {
                Ok(path) => format!("written: {}", path.display()),
                Err(error) => format!("{error:#}"),
            };
            update(model, Action::Say(text));
        }
        Effect::Ask(request) => {
            anyhow::ensure!(sampler.request(request), "the sampling thread has ended");
        }
    }
    Ok(true)
}

fn action_of(input: &Input, model: &Model) -> Option<Action> {
    let Input::Key(key) = input else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_typing = matches!(model.dialog, Some(Dialog::Filter));
    let is_control = key.modifiers.contains(event::KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char(letter) if is_typing && !is_control => Some(Action::Type(letter)),
        KeyCode::Backspace if is_typing => Some(Action::Erase),
        _ => keys::command(*key, model.screen, model.dialog.is_some()).map(Action::Do),
    }
}

/// A thread that waits for keys; it ends with the process.
fn read_input(events: Sender<Event>) {
    std::thread::spawn(move || {
        while let Ok(input) = event::read() {
            if events.send(Event::Input(input)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::NoInput); // an error means that the loop has ended
    });
}

/// All arms that may be applied to a device: those of `--arm`, or else its schedulers without settings.
fn arms(device: &Device, named: &[String]) -> Result<Vec<Arm>> {
    let labels = if named.is_empty() {
        scheduler::choice(device)
            .map(|choice| choice.available)
            .unwrap_or_default()
    } else {
        named.to_vec()
    };
    let all: Vec<Arm> = labels
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_>>()?;
    iosched::scheduler::arm::refuse_duplicate_labels(&all)?;
    Ok(all)
}

fn labels(named: &[String]) -> Result<Vec<String>> {
    let arms = named.iter().map(|text| Ok(text.parse::<Arm>()?.label));
    arms.collect()
}

fn disk(device: &Device) -> Disk {
    Disk {
        name: device.name.clone(),
        model: device.model(),
        size_bytes: device.size_bytes().ok(),
        rotational: device.rotational().ok(),
        hardware_queues: device.hardware_queues(),
    }
}
