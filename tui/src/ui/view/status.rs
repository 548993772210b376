//! The tabs, the status line and the footer. If a line is too long, its least important parts are left out.

use iosched_result::report::units::{count, duration, share};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::fit::{self, Piece};
use super::strip::short;
use crate::ui::sampling::sample::{Rotating, Side};
use crate::ui::state::action::{KeyCommand, Screen};
use crate::ui::state::keymap::Keymap;
use crate::ui::state::model::{Dialog, Model};

/// The maximum width of a device or scheduler name, with and without room.
const NAME: [usize; 2] = [32, 12];

/// In the shortest form, only the present screen has its name.
pub fn tabs(model: &Model, room: u16) -> Line<'static> {
    let tabs = tabs_that_fit(model, room).into_iter();
    tabs.map(|(_, span)| span).collect()
}

pub fn tab_at(model: &Model, room: u16, x: u16) -> Option<Screen> {
    let mut right = 0;
    let tabs = tabs_that_fit(model, room).into_iter();
    let mut tabs = tabs.skip_while(|(_, span)| {
        right += span.width();
        right <= usize::from(x)
    });
    tabs.next()?.0
}

/// With the blanks between them.
fn tabs_that_fit(model: &Model, room: u16) -> Vec<(Option<Screen>, Span<'static>)> {
    let forms = [("  ", true), (" ", true), ("  ", false)];
    let mut lines = forms.map(|(gap, is_named)| {
        let mut spans = vec![(None, Span::raw(" "))];
        for screen in Screen::ALL {
            let key = model.keys.first(KeyCommand::Show(screen));
            let is_shown = screen == model.screen;
            let text = match key {
                Some(key) if is_named || is_shown => format!("{key} {}", screen.title()),
                Some(key) => key,
                None => screen.title().to_owned(),
            };
            let (text, gap) = match gap {
                "  " => (format!(" {text} "), ""),
                _ => (text, gap),
            };
            let span = if is_shown {
                Span::styled(text, model.palette.chosen())
            } else {
                Span::raw(text)
            };
            spans.push((Some(screen), span));
            spans.push((None, Span::raw(gap)));
        }
        spans
    });
    let fits = lines.iter().position(|line| {
        let width: usize = line.iter().map(|(_, span)| span.width()).sum();
        width <= usize::from(room)
    });
    std::mem::take(&mut lines[fits.unwrap_or(2)])
}

fn names(prefix: &str, name: &str) -> [String; 2] {
    NAME.map(|room| format!("{prefix}{}", fit::clip(name, room)))
}

pub fn status(model: &Model, room: u16) -> Line<'static> {
    let palette = model.palette;
    let device = model.device();
    let mut pieces = vec![Piece::new(
        0,
        palette.strong(),
        names("  ", &device.disk.name),
    )];
    if model.devices.len() > 1 {
        let key = model.keys.first(KeyCommand::NextDevice);
        let key = key.map_or(String::new(), |key| format!(", {key}"));
        let text = format!(" ({} of {}{key})", model.selected + 1, model.devices.len());
        pieces.push(Piece::new(6, palette.faint(), [text]));
    }
    if model.frozen.is_some() {
        pieces.push(Piece::new(1, palette.warning(), frozen(model)));
    }
    let sample = model.device_sample();
    let (word, value, style) = match sample.map(|sample| sample.queue.as_ref()) {
        None => ("scheduler ", "...", palette.faint()),
        Some(None) => ("the disk is ", "GONE", palette.warning()),
        Some(Some(queue)) => ("scheduler ", &*queue.active, palette.title()),
    };
    pieces.push(Piece::new(0, Style::new(), ["  "]));
    pieces.push(Piece::new(5, Style::new(), [word]));
    pieces.push(Piece::new(0, style, names("", value)));
    let filter = &model.table.filter;
    if !filter.is_empty()
        && matches!(
            model.screen,
            Screen::Overview | Screen::Processes | Screen::Fairness
        )
    {
        let filter = fit::clip(filter, NAME[1]);
        pieces.push(Piece::new(1, palette.warning(), [format!("  /{filter}")]));
    }
    match sample.map(|sample| &sample.side) {
        Some(Side::Settling) => pieces.push(Piece::new(7, palette.faint(), [" settling"])),
        Some(Side::Disturbed) => pieces.push(Piece::new(
            2,
            palette.warning(),
            [" switched by another program", " switched"],
        )),
        Some(Side::Of(_)) | None => {}
    }
    if let Some(axis) = model.axis.filter(|_| super::axis::has_one(model)) {
        let (low, high) = (short(axis.low_ns), short(axis.high_ns));
        let text = format!("  axis {low} to {high}");
        pieces.push(Piece::new(4, palette.strong(), [text]));
    }
    pieces.push(lost(model));
    if let Some(rotating) = &model.rotating {
        pieces.push(Piece::new(
            4,
            palette.strong(),
            progress(rotating, &model.keys),
        ));
    }
    // The present state, also if the screen is frozen.
    match model.devices[model.selected].modified {
        Some(true) => {
            let forms = ["  *restore on exit", "  *restore"];
            pieces.push(Piece::new(3, palette.strong(), forms));
        }
        Some(false) => {
            let forms = ["  *changed, KEPT on exit", "  *KEPT"];
            pieces.push(Piece::new(2, palette.warning(), forms));
        }
        None => {}
    }
    let text = format!("  every {} s", model.interval_s());
    pieces.push(Piece::new(9, palette.faint(), [text]));
    fit::line(pieces, room)
}

/// When, and how far back. From the longest to the shortest form.
fn frozen(model: &Model) -> Vec<String> {
    let word = match &model.replay {
        Some(replay) if replay.is_playing => "  PLAYING",
        Some(_) => "  REPLAY",
        None => "  FROZEN",
    };
    let number = model.frozen.as_ref().and_then(|frozen| frozen.number);
    let (Some(number), Some(last), Some(sample)) = (number, model.kept.last(), model.sample())
    else {
        return vec![word.to_owned()];
    };
    let time = format!("{word} {}", sample.time);
    let back = last.saturating_sub(number);
    if back == 0 {
        return vec![time, word.to_owned()];
    }
    let intervals = if back == 1 { "interval" } else { "intervals" };
    let long = format!("{time}, {} {intervals} back", count(back as f64));
    match model.frozen.as_ref().map_or(1, |frozen| frozen.span) {
        1 => vec![long, time, word.to_owned()],
        span => {
            let sum = format!("{time}, {} intervals as one", count(span as f64));
            vec![
                format!("{long}, {} as one", count(span as f64)),
                sum,
                word.to_owned(),
            ]
        }
    }
}

/// From the longest to the shortest form.
fn progress(rotating: &Rotating, keys: &Keymap) -> Vec<String> {
    let block = count(rotating.block as f64);
    if rotating.is_paused {
        let goes_on = keys.does(KeyCommand::PauseRotation, "goes on");
        return vec![
            format!("  rotation PAUSED in block {block}, {goes_on}"),
            format!("  PAUSED in block {block}"),
            "  PAUSED".to_owned(),
        ];
    }
    let left = duration(rotating.left_s as f64);
    let label = |arm: usize| {
        rotating
            .arms
            .get(arm)
            .map(|label| fit::clip(label, NAME[0]))
    };
    let next = rotating.next.and_then(label);
    let then = next.map(|next| format!("  rotating, block {block}, {next} in {left}"));
    let forms = then.into_iter().chain([
        format!("  rotating, block {block}, {left} left"),
        format!("  block {block}, {left} left"),
        format!("  block {block}"),
    ]);
    forms.collect()
}

/// Events that the measurement missed; the percentage shows whether they matter.
fn lost(model: &Model) -> Piece<'static> {
    let device = model.device();
    let lost = device.quality.lost_events();
    let all = lost.saturating_add(device.ios);
    if lost == 0 {
        return Piece::new(8, model.palette.faint(), ["  lost 0"]);
    }
    let part = lost as f64 / all as f64;
    let style = if part > 0.01 {
        model.palette.warning()
    } else {
        model.palette.faint()
    };
    let short = format!("  lost {}", count(lost as f64));
    let part = match part {
        little if little < 1e-4 => "<0.01 %".to_owned(),
        part => share(Some(part)),
    };
    let long = format!("{short} ({part})");
    Piece::new(4, style, [long, short])
}

pub fn footer(model: &Model, room: u16) -> Line<'static> {
    if let Some(Dialog::Filter) = model.dialog {
        let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
        let typed = fit::clip(&model.table.filter, usize::from(room.saturating_sub(20)));
        return fit::line(
            vec![
                plain(0, format!(" filter: {typed}_")),
                plain(1, "   Enter keeps it".to_owned()),
                plain(1, ", Esc clears it".to_owned()),
            ],
            room,
        );
    }
    if let Some(message) = &model.message {
        let line = message.replace('\n', " ");
        let line = fit::sentence(&line, usize::from(room.saturating_sub(1)));
        return Line::styled(format!(" {line}"), model.palette.strong());
    }
    let keys = hints(model).iter().enumerate().filter_map(|(index, hint)| {
        let names: Option<Vec<String>> = hint
            .commands
            .iter()
            .map(|command| model.keys.first(*command))
            .collect();
        let rank = match hint.commands[0] {
            KeyCommand::Show(Screen::Help) => 0,
            KeyCommand::Quit => 1,
            _ => 2 + index as u8,
        };
        let space = if index == 0 { " " } else { "  " };
        let text = format!("{space}{} {}", names?.join(" "), hint.what);
        Some(Piece::new(rank, model.palette.faint(), [text]))
    });
    fit::line(keys.collect(), room)
}

/// Keys in the footer.
struct Hint {
    commands: &'static [KeyCommand],
    what: &'static str,
}

const fn hint(commands: &'static [KeyCommand], what: &'static str) -> Hint {
    Hint { commands, what }
}

const HELP: Hint = hint(&[KeyCommand::Show(Screen::Help)], "help");
const QUIT: Hint = hint(&[KeyCommand::Quit], "quit");
const FREEZE: Hint = hint(&[KeyCommand::Pause], "freeze");
const FLIP: Hint = hint(&[KeyCommand::Flip], "switch");
const ROTATE: Hint = hint(&[KeyCommand::Rotate], "rotate");
const EXPORT: Hint = hint(&[KeyCommand::Export], "export");
const STAGE: Hint = hint(&[KeyCommand::Stage], "stage");
const SCOPE: Hint = hint(&[KeyCommand::Scope], "reads/writes");
const ZOOM: Hint = hint(&[KeyCommand::ZoomIn, KeyCommand::ZoomOut], "zoom");
const CGROUPS: Hint = hint(&[KeyCommand::Cgroups], "cgroups");
const FILTER: Hint = hint(&[KeyCommand::Filter], "filter");
const INTERVALS: Hint = hint(&[KeyCommand::Earlier, KeyCommand::Later], "intervals");
const MANY: Hint = hint(
    &[KeyCommand::MuchEarlier, KeyCommand::MuchLater],
    "60 intervals",
);
const PLAY: Hint = hint(&[KeyCommand::Pause], "play");
const GO_ON: Hint = hint(&[KeyCommand::Pause], "go on");
const WRITE: Hint = hint(&[KeyCommand::WriteHistory], "write");
const MOVE: Hint = hint(&[KeyCommand::Up, KeyCommand::Down], "move");
const NEXT_PROCESS: Hint = hint(&[KeyCommand::Up, KeyCommand::Down], "next process");
const SCROLL: Hint = hint(&[KeyCommand::Up, KeyCommand::Down], "scroll");
const SHOW_ONE: Hint = hint(&[KeyCommand::Open], "shows one");
const HISTOGRAMS: Hint = hint(&[KeyCommand::Open], "histograms");
const SWITCH_SCHEDULER: Hint = hint(&[KeyCommand::Flip], "switch scheduler");
const COMPARE_ALL: Hint = hint(&[KeyCommand::Rotate], "compare all");
const PROGRAMS: Hint = hint(&[KeyCommand::Whose], "programs");
const STATISTIC: Hint = hint(&[KeyCommand::Statistic], "statistic");
const REFERENCE: Hint = hint(&[KeyCommand::Reference], "reference");
const SORT: Hint = hint(&[KeyCommand::Sort], "sort");
const REVERSE: Hint = hint(&[KeyCommand::Reverse], "reverse");
const BACK: Hint = hint(&[KeyCommand::Back], "back");

/// The most useful keys of this screen, in order of importance.
fn hints(model: &Model) -> &'static [Hint] {
    if model.replay.is_some() {
        return &[INTERVALS, PLAY, MANY, HELP, QUIT];
    }
    if model.frozen.is_some() {
        if !model.has_history {
            return &[GO_ON, HELP, QUIT];
        }
        return &[INTERVALS, GO_ON, MANY, WRITE, HELP];
    }
    match model.screen {
        Screen::Disks => &[SHOW_ONE, MOVE, FREEZE, HELP, QUIT],
        Screen::Overview => &[SWITCH_SCHEDULER, COMPARE_ALL, FREEZE, ZOOM, HELP, QUIT],
        Screen::Compare => &[
            ROTATE, PROGRAMS, STAGE, SCOPE, STATISTIC, REFERENCE, EXPORT, HELP,
        ],
        Screen::Processes if model.table.is_open => {
            &[BACK, NEXT_PROCESS, FREEZE, ZOOM, EXPORT, HELP]
        }
        Screen::Processes => &[HISTOGRAMS, SORT, REVERSE, FILTER, CGROUPS, EXPORT, HELP],
        Screen::Order => &[FLIP, ROTATE, FREEZE, HELP, QUIT],
        Screen::Fairness => &[CGROUPS, FILTER, FLIP, ROTATE, FREEZE, HELP],
        Screen::Heatmap => &[STAGE, SCOPE, ZOOM, FLIP, ROTATE, FREEZE, HELP],
        Screen::Help => &[SCROLL, BACK, QUIT],
    }
}
