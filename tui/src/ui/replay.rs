//! `iosched replay`: the screens on the intervals of a file, in place of this machine's disks.

use std::path::Path;
use std::sync::mpsc::channel;

use anyhow::Result;
use iosched_files::interrupt;
use iosched_host::safety::privileges;
use iosched_measure::history::buffer::{Block, Buffer};
use iosched_measure::history::file;
use iosched_measure::history::packed::Packed;

use super::config;
use super::place;
use super::sampling::sample::{Sample, SamplerReport};
use super::state::action::Action;
use super::state::model::{INTERVALS, Model};
use super::state::past::{self, Replay};
use super::state::update::update;
use super::terminal::TerminalScreen;
use crate::cli;

pub fn run(arguments: &cli::Replay) -> Result<()> {
    let config = config::load(&arguments.look.file)?;
    let has_mouse = config.has_mouse && !arguments.look.no_mouse;
    // The file may be another user's.
    privileges::keep_those_of_drawing(false)?;
    let mut model = model(&arguments.file)?;
    model.directory = place::directory(&arguments.look, &config)?;
    config.apply(&mut model);
    let (events, inbox) = channel();
    let mut screen = TerminalScreen::open(has_mouse)?;
    screen.draw(&mut model)?;
    super::read_input(events);
    let outcome = super::run_loop(&mut model, &mut screen, None, &inbox);
    drop(screen);
    super::say_what_was_written(&model);
    outcome
}

/// At the file's last interval, with the comparison of all before it.
fn model(path: &Path) -> Result<Model> {
    let history = file::read(path)?;
    let head = history.head;
    let last = history.frames.last();
    let last = last.map(Packed::frame).transpose()?;
    let seconds = last
        .as_ref()
        .map_or(1.0, |last| last.interval_s / last.intervals as f64);
    // An interval is never exactly as long as it was meant to be.
    let interval = INTERVALS.iter().position(|&wanted| wanted >= seconds * 0.9);
    let mut model = Model::new(
        head.disks,
        super::palette(),
        interval.unwrap_or(INTERVALS.len() - 1),
    );
    let has_counts = last.is_some_and(|last| last.interval.is_some());
    let refused = (!has_counts).then(|| "the file has counters from sysfs only".to_owned());
    let notes = head.notes;
    update(
        &mut model,
        Action::Report(SamplerReport::Attached { notes, refused }),
    );
    // All that is in the file.
    model.kept = Buffer::everything();
    model.replay = Some(Replay { is_playing: false });
    let mut first = 0;
    for packed in history.frames {
        interrupt::check()?;
        let frame = packed.frame()?;
        let last = first + frame.intervals - 1;
        let block = Block {
            first,
            last,
            tier: 0,
            packed,
        };
        let sample = Box::new(Sample::of(frame, false));
        let report = SamplerReport::Sample(sample, vec![block]);
        update(&mut model, Action::Report(report));
        first = last + 1;
    }
    past::freeze_here(&mut model);
    let environment = head.environment;
    let host = environment.hostname.unwrap_or_default();
    model.message = Some(history.cut.map_or_else(
        || {
            format!(
                "{host} {}, written {}: {}",
                environment.kernel_release,
                head.written,
                path.display()
            )
        },
        |cut| format!("the file is not whole, its beginning is shown: {cut}"),
    ));
    Ok(model)
}
