//! The terminal UI: event -> action -> `update` -> `view`; effects are carried out here and in the sampling thread.

pub mod config;
mod demo;
mod export;
mod history;
mod input;
mod place;
pub mod replay;
mod sampling;
mod saved;
pub mod snapshot;
mod state;
mod terminal;
pub mod view;

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched_files::interrupt;
use iosched_host::safety::journal::Journal;
use iosched_host::safety::privileges;
use iosched_host::system::memory;
use iosched_result::failure::Failure;
use iosched_result::report::characters::has_utf8;
use iosched_result::report::escape;
use iosched_result::types::arm::{Arm, ensure_of_the_disk};
use ratatui::crossterm::event::{self, Event as Input};
use ratatui::layout::Size;

use crate::cli::{Watch, WatchDetail};
use sampling::control::Control;
use sampling::sample::SamplerReport;
use sampling::{Sampler, Setup, devices};
use state::action::{Action, Screen};
use state::appearance::{Colors, Depth, Palette, Theme};
use state::model::{INTERVALS, Model};
use state::update::{Effect, update};
use terminal::TerminalScreen;

/// Events that the loop waits for.
enum Event {
    Input(Input),
    /// The terminal was closed.
    NoInput,
    Report(SamplerReport),
}

impl Event {
    fn input(&self) -> Option<&Input> {
        match self {
            Event::Input(input) => Some(input),
            Event::NoInput | Event::Report(_) => None,
        }
    }
}

/// The signal that the kernel sends when the terminal is closed.
const SIGHUP: i32 = 1;
/// How long the answer to a key is shown.
const TOLD: Duration = Duration::from_secs(20);
/// Two keys of pasted text are not further apart.
const PASTED: Duration = Duration::from_millis(30);
/// How often signals are checked.
const SIGNAL_POLL: Duration = Duration::from_millis(100);

pub fn run(arguments: &Watch) -> Result<()> {
    memory::return_large_blocks();
    let config = config::load(&arguments.look.file)?;
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
        .map(|device| devices::arms(device, &arguments.arms))
        .collect::<Result<Vec<_>>>()?;
    let interval = INTERVALS
        .iter()
        .position(|&seconds| seconds >= arguments.interval.unwrap_or(config.interval))
        .unwrap_or(INTERVALS.len() - 1);
    let mut model = Model::new(
        devices.iter().map(devices::disk).collect(),
        palette(),
        interval,
    );
    let has_mouse = config.has_mouse && !arguments.look.no_mouse;
    model.directory = place::directory(&arguments.look, &config)?;
    model.has_history = config.has_history && !arguments.no_history;
    config.apply(&mut model);
    model.is_selected = !names.is_empty();
    if names.is_empty() && model.devices.len() > 1 {
        model.screen = Screen::Disks;
    }
    model.named_arms = labels(&arguments.arms)?;
    model.demo = demo.as_ref().map(|demo| demo.text(&model.keys));
    model.message = notes.first().cloned().or_else(|| model.demo.clone());

    let (events, inbox) = channel();
    let mut screen = TerminalScreen::open(has_mouse)?;
    screen.draw(&mut model)?;
    let inputs = events.clone();
    let sampler = Sampler::start(
        Setup {
            devices,
            were_named: !names.is_empty(),
            arms,
            named_arms: arguments.arms.clone(),
            interval: Duration::from_secs_f64(model.interval_s()),
            asked: arguments.detail == Some(WatchDetail::Asked),
            has_history: model.has_history,
            directory: model.directory.clone(),
            control: Control::new(journal, launcher, demo.is_some()),
            labels: demo.as_ref().map(demo::Demo::labels).unwrap_or_default(),
        },
        move |report| {
            let _ = events.send(Event::Report(report)); // an error means that the loop has ended
        },
    )?;
    let outcome = privileges::keep_those_of_drawing(demo.is_some()).and_then(|()| {
        read_input(inputs);
        run_loop(&mut model, &mut screen, Some(&sampler), &inbox)
    });
    drop(screen);
    say_what_was_written(&model);
    let put_back = say_what_was_put_back(sampler.end());
    drop(demo);
    outcome.and(put_back)
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "iosched: {}", escape::page(text));
}

/// As this terminal can show it.
fn palette() -> Palette {
    Palette {
        depth: Depth::of_terminal(|name| std::env::var(name).ok()),
        theme: Theme::Dark,
        colors: Colors::default(),
        // The fonts of the Linux console have neither Braille nor eighths of blocks.
        is_ascii: !has_utf8(|name| std::env::var(name).ok())
            || std::env::var("TERM").is_ok_and(|name| name == "linux"),
    }
}

fn say_what_was_written(model: &Model) {
    for path in &model.written {
        say(&format!("written: {}", path.display()));
    }
}

fn say_what_was_put_back(lines: Vec<Result<String>>) -> Result<()> {
    let mut first_error = Ok(());
    for line in lines {
        match line {
            Ok(text) => {
                say(&text);
            }
            Err(error) if first_error.is_ok() => first_error = Err(error),
            Err(error) => {
                say(&format!("{error:#}"));
            }
        }
    }
    first_error
}

fn run_loop(
    model: &mut Model,
    screen: &mut TerminalScreen,
    sampler: Option<&Sampler>,
    inbox: &Receiver<Event>,
) -> Result<()> {
    let mut played = Instant::now();
    let mut expires: Option<Instant> = None;
    let mut last_key: Option<Instant> = None;
    loop {
        interrupt::check()?;
        let first = match inbox.recv_timeout(SIGNAL_POLL) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow::anyhow!("the sampling thread has ended"));
            }
        };
        let is_playing = model
            .replay
            .as_ref()
            .is_some_and(|replay| replay.is_playing);
        let is_due = is_playing && played.elapsed().as_secs_f64() >= model.interval_s();
        let is_old = expires.take_if(|at| *at <= Instant::now()).is_some();
        if is_old {
            update(model, Action::Forget);
        }
        if is_due {
            played = Instant::now();
            update(model, Action::Tick);
        } else if first.is_none() && !is_old {
            continue;
        }
        // All waiting events, then one update of the screen.
        let (waiting, is_pasted) =
            all_waiting(first, inbox, &mut last_key, (model, screen.size()?));
        let mut is_refused = false;
        for event in waiting {
            // The answer to a key expires. A message from meanwhile stays until somebody is there.
            let (is_answer, before) = (matches!(event, Event::Input(_)), model.message.clone());
            let actions = match event {
                Event::Input(input) => input::actions(&input, model, screen.size()?),
                Event::NoInput => return Err(Failure::interrupted(SIGHUP)),
                Event::Report(report) => vec![Action::Report(report)],
            };
            for action in actions {
                if is_pasted && input::is_grave(&action, model) {
                    is_refused = true;
                    continue;
                }
                for effect in update(model, action) {
                    if !perform(model, sampler, screen, effect)? {
                        return Ok(());
                    }
                }
            }
            if is_answer || model.message != before {
                expires = is_answer.then(|| Instant::now() + TOLD);
            }
        }
        if is_refused {
            let text =
                "keys came at once, as pasted text does: none of them quits, switches or clears";
            update(model, Action::Say(text.to_owned()));
        }
        screen.draw(model)?;
    }
}

/// The events that wait, and whether a key among them is part of text that a terminal pastes without saying so: others came
/// right before it, or come right after it. Nobody types that fast.
fn all_waiting(
    first: Option<Event>,
    inbox: &Receiver<Event>,
    last_key: &mut Option<Instant>,
    (model, size): (&Model, Size),
) -> (Vec<Event>, bool) {
    let mut waiting: Vec<Event> = first.into_iter().chain(inbox.try_iter()).collect();
    let inputs = || waiting.iter().filter_map(Event::input);
    let keys = input::keys(inputs());
    if keys == 0 {
        return (waiting, false);
    }
    let came_after = last_key.replace(Instant::now());
    let mut actions = inputs().flat_map(|input| input::actions(input, model, size));
    // One key may open the dialog that the next one confirms.
    if keys == 1 && !actions.any(|action| input::is_grave(&action, model)) {
        return (waiting, false);
    }
    std::thread::sleep(PASTED);
    waiting.extend(inbox.try_iter());
    let is_alone = input::keys(waiting.iter().filter_map(Event::input)) == 1;
    let is_pasted = !is_alone || came_after.is_some_and(|at| at.elapsed() < 2 * PASTED);
    if is_pasted {
        *last_key = Some(Instant::now());
    }
    (waiting, is_pasted)
}

/// Now, and once more at the end: a narrow screen may cut it.
fn tell_written(model: &mut Model, outcome: Result<PathBuf>) {
    let text = match outcome {
        Ok(path) => {
            let text = format!("written: {}", path.display());
            model.written.push(path);
            text
        }
        Err(error) => format!("{error:#}"),
    };
    update(model, Action::Say(text));
}

/// Returns false to quit.
fn perform(
    model: &mut Model,
    sampler: Option<&Sampler>,
    screen: &mut TerminalScreen,
    effect: Effect,
) -> Result<bool> {
    match effect {
        Effect::Quit => return Ok(false),
        Effect::Redraw => screen.redraw()?,
        Effect::Suspend => {
            if !screen.suspend()? {
                let text = "nothing was suspended: no shell with job control started iosched";
                update(model, Action::Say(text.to_owned()));
            }
        }
        Effect::ExportProcesses => tell_written(model, export::processes(model)),
        Effect::SavePicture => {
            let outcome = screen.size().and_then(|size| saved::picture(model, size));
            tell_written(model, outcome);
        }
        Effect::Copy => {
            let text = saved::text(model, screen.size()?)?;
            screen.copy(&text)?;
            let text =
                "the screen's text is in the clipboard, if the terminal allows that (OSC 52)";
            update(model, Action::Say(text.to_owned()));
        }
        Effect::WriteHistory => tell_written(model, history::write_held(model)),
        Effect::Ask(request) => {
            let is_taken = sampler.is_none_or(|sampler| sampler.request(request));
            anyhow::ensure!(is_taken, "the sampling thread has ended");
        }
    }
    Ok(true)
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

fn labels(named: &[String]) -> Result<Vec<String>> {
    let label = |text: &String| {
        let arm: Arm = text.parse()?;
        ensure_of_the_disk(&arm)?;
        Ok(arm.label)
    };
    named.iter().map(label).collect()
}
