//! ```text
//! | 1 Overview  2 Compare  3 Processes  4 Order ...  |  tabs
//! | loop0  scheduler mq-deadline  lost 0  ...        |  status
//! |                                                  |
//! |  one file per screen                             |
//! |                                                  |
//! | a message, or the keys that matter here          |  footer
//! ```

mod compare;
mod dialogs;
mod fairness;
mod heatmap;
mod help;
mod order;
mod overview;
mod process;
mod processes;
mod strip;
#[cfg(test)]
mod tests;

use iosched::report::units::share;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::action::Screen;
use super::model::{Access, Dialog, Model};
use super::sample::{Measured, Side};

const SMALLEST: (u16, u16) = (60, 16);

pub fn draw(frame: &mut Frame, model: &Model) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!(
            "iosched needs {} columns and {} rows; here are {} and {}. Make it larger, or q to quit.",
            SMALLEST.0, SMALLEST.1, area.width, area.height
        );
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ]);
    let [tabs, status, body, footer] = rows.areas(area);
    frame.render_widget(tabs_line(model), tabs);
    let status_lines =
        [Words::All, Words::Few, Words::Fewest].map(|words| status_line(model, words));
    let fits = status_lines
        .iter()
        .find(|line| line.width() <= usize::from(status.width));
    frame.render_widget(fits.unwrap_or(&status_lines[2]), status);
    match model.screen {
        Screen::Overview => overview::render(frame, body, model),
        Screen::Compare => compare::render(frame, body, model),
        Screen::Processes if model.table.is_open => process::render(frame, body, model),
        Screen::Processes => processes::render(frame, body, model),
        Screen::Order => order::render(frame, body, model),
        Screen::Fairness => fairness::render(frame, body, model),
        Screen::Heatmap => heatmap::render(frame, body, model),
        Screen::Help => help::render(frame, body, model),
    }
    frame.render_widget(footer_line(model), footer);
    if let Some(dialog) = &model.dialog {
        dialogs::render(frame, body, model, dialog);
    }
}

fn tabs_line(model: &Model) -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    for (index, screen) in Screen::ALL.into_iter().enumerate() {
        let key = if screen == Screen::Help {
            "?".to_owned()
        } else {
            (index + 1).to_string()
        };
        let text = format!(" {key} {} ", screen.title());
        spans.push(if screen == model.screen {
            Span::styled(text, model.palette.chosen())
        } else {
            Span::raw(text)
        });
    }
    Line::from(spans)
}

/// As many as there is room for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Words {
    Fewest,
    Few,
    All,
}

fn status_line(model: &Model, words: Words) -> Line<'static> {
    let palette = model.palette;
    let mut spans = vec![
        Span::raw("  "),
        Span::styled(model.device().disk.name.clone(), palette.strong()),
    ];
    if model.devices.len() > 1 {
        spans.push(Span::styled(
            format!(" ({} of {}, d)", model.selected + 1, model.devices.len()),
            palette.faint(),
        ));
    }
    if model.frozen.is_some() {
        spans.push(Span::styled("  FROZEN", palette.warning()));
    }
    let sample = model.device_sample();
    let (word, value, style) = match sample.map(|sample| sample.queue.as_ref()) {
        None => ("  scheduler ", "...", palette.faint()),
        Some(None) => ("  the disk is ", "GONE", palette.warning()),
        Some(Some(queue)) => ("  scheduler ", &*queue.active, palette.title()),
    };
    spans.push(Span::raw(word));
    spans.push(Span::styled(value.to_owned(), style));
    match sample.map(|sample| &sample.side) {
        Some(Side::Settling) if words == Words::Fewest => {}
        Some(Side::Settling) => spans.push(Span::styled(" settling", palette.faint())),
        Some(Side::Disturbed) => spans.push(Span::styled(
            " switched by somebody else",
            palette.warning(),
        )),
        Some(Side::Of(_)) | None => {}
    }
    spans.push(lost(model, words));
    if let Some(rotating) = &model.rotating {
        let block = rotating.round.div_ceil(rotating.arms.len().max(1));
        let text = format!("  rotating, block {block}");
        spans.push(Span::styled(text, palette.strong()));
    }
    match model.device().modified {
        Some(true) => spans.push(Span::styled("  *put back on exit", palette.strong())),
        Some(false) => spans.push(Span::styled("  *changed, STAYS so", palette.warning())),
        None => {}
    }
    if words == Words::All {
        let text = format!("  every {} s", model.interval_s());
        spans.push(Span::styled(text, palette.faint()));
    }
    Line::from(spans)
}

/// What the measurement missed: a number alone would frighten or lull.
fn lost(model: &Model, words: Words) -> Span<'static> {
    let device = model.device();
    let (lost, all) = (device.lost, device.lost + device.ios);
    if lost == 0 {
        return Span::styled("  lost 0", model.palette.faint());
    }
    let share = if words >= Words::Few {
        format!(" ({})", share(Some(lost as f64 / all as f64)))
    } else {
        String::new()
    };
    let style = if lost * 100 > all {
        model.palette.warning()
    } else {
        model.palette.strong()
    };
    Span::styled(format!("  lost {lost}{share}"), style)
}

fn footer_line(model: &Model) -> Line<'static> {
    if let Some(Dialog::Filter) = model.dialog {
        return Line::from(format!(
            " only rows with: {}_   Enter keeps it, Esc drops it",
            model.table.filter
        ));
    }
    if let Some(message) = &model.message {
        let line = message.replace('\n', " ");
        return Line::styled(format!(" {line}"), model.palette.strong());
    }
    let keys = match model.screen {
        Screen::Overview => {
            "f switch scheduler  F compare them all  Space freeze  ? every key  q quit"
        }
        Screen::Compare => {
            "F rotate  w stage  o reads/writes  m number  r reference  x export  ? help"
        }
        Screen::Processes if model.table.is_open => {
            "Left back  Up Down next process  Space freeze  x export  ? help"
        }
        Screen::Processes => {
            "Enter histograms  s sort  r reverse  / filter  c cgroups  x export  ? help"
        }
        Screen::Order => "f switch  F rotate  Space freeze  ? help  q quit",
        Screen::Fairness => "c cgroups  / filter  f switch  F rotate  Space freeze  ? help",
        Screen::Heatmap => "w stage  o reads/writes  f switch  F rotate  Space freeze  ? help",
        Screen::Help => "Up Down scroll  Esc back  q quit",
    };
    Line::styled(format!(" {keys}"), model.palette.faint())
}

/// The numbers of the present sample; in their place what keeps them away, drawn.
fn measured_or_why<'a>(frame: &mut Frame, area: Rect, model: &'a Model) -> Option<&'a Measured> {
    let text = match (model.device_sample(), &model.access) {
        (_, Access::Sysfs(why)) => format!(
            "This screen needs the probe in the kernel, which could not be attached:\n\n{why}\n\nOverview shows what the kernel tells everybody."
        ),
        (None, _) => "attaching the probe ...".to_owned(),
        (Some(sample), _) => match &sample.measured {
            Some(measured) => return Some(measured),
            None => "no measurement yet".to_owned(),
        },
    };
    let inner = area.inner(ratatui::layout::Margin::new(2, 1));
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), inner);
    None
}

/// One line of the body, whatever its width.
fn line(frame: &mut Frame, area: Rect, row: u16, content: Line<'_>) {
    if row < area.height {
        frame.render_widget(content, Rect::new(area.x, area.y + row, area.width, 1));
    }
}
