//! The tabs, the status line and the footer. If a line is too long, its least important parts are left out.

use iosched::report::units::{count, duration, share};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::fit::{self, Piece};
use crate::ui::sampling::sample::{Rotating, Side};
use crate::ui::state::action::Screen;
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
        for (index, screen) in Screen::ALL.into_iter().enumerate() {
            let key = match screen {
                Screen::Help => "?".to_owned(),
                _ => index.to_string(),
            };
            let is_present = screen == model.screen;
            let text = if is_named || is_present {
                format!("{key} {}", screen.title())
            } else {
                key
            };
            let (text, gap) = match gap {
                "  " => (format!(" {text} "), ""),
                _ => (text, gap),
            };
            let span = if is_present {
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
        let text = format!(" ({} of {}, d)", model.selected + 1, model.devices.len());
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
    pieces.push(lost(model));
    if let Some(rotating) = &model.rotating {
        pieces.push(Piece::new(4, palette.strong(), progress(rotating)));
    }
    // Of now, also if the screen is frozen.
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
    let long = format!("{time}, {} intervals back", count(back as f64));
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
fn progress(rotating: &Rotating) -> Vec<String> {
    let block = count(rotating.block as f64);
    if rotating.is_paused {
        return vec![
            format!("  rotation PAUSED in block {block}, P goes on"),
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
        model.palette.strong()
    };
    let short = format!("  lost {}", count(lost as f64));
    let long = format!("{short} ({})", share(Some(part)));
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
    let keys = keys(model).iter().enumerate().map(|(index, key)| {
        let rank = match *key {
            "? help" => 0,
            "q quit" => 1,
            _ => 2 + index as u8,
        };
        let space = if index == 0 { " " } else { "  " };
        Piece::new(rank, model.palette.faint(), [format!("{space}{key}")])
    });
    fit::line(keys.collect(), room)
}

/// The most useful keys of this screen, in order of importance.
fn keys(model: &Model) -> &'static [&'static str] {
    if model.replay.is_some() {
        return &[
            "Left Right intervals",
            "Space play",
            "[ ] 60 intervals",
            "? help",
            "q quit",
        ];
    }
    if model.frozen.is_some() {
        return &[
            "Left Right intervals",
            "Space go on",
            "[ ] 60 intervals",
            "W write",
            "? help",
        ];
    }
    match model.screen {
        Screen::Disks => &[
            "Enter shows one",
            "Up Down",
            "Space freeze",
            "? help",
            "q quit",
        ],
        Screen::Overview => &[
            "f switch scheduler",
            "F compare all",
            "Space freeze",
            "? help",
            "q quit",
        ],
        Screen::Compare => &[
            "F rotate",
            "a programs",
            "w stage",
            "o reads/writes",
            "m statistic",
            "r reference",
            "x export",
            "? help",
        ],
        Screen::Processes if model.table.is_open => &[
            "Left back",
            "Up Down next process",
            "Space freeze",
            "x export",
            "? help",
        ],
        Screen::Processes => &[
            "Enter histograms",
            "s sort",
            "r reverse",
            "/ filter",
            "c cgroups",
            "x export",
            "? help",
        ],
        Screen::Order => &["f switch", "F rotate", "Space freeze", "? help", "q quit"],
        Screen::Fairness => &[
            "c cgroups",
            "/ filter",
            "f switch",
            "F rotate",
            "Space freeze",
            "? help",
        ],
        Screen::Heatmap => &[
            "w stage",
            "o reads/writes",
            "f switch",
            "F rotate",
            "Space freeze",
            "? help",
        ],
        Screen::Help => &["Up Down scroll", "Esc back", "q quit"],
    }
}
