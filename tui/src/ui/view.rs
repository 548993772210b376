//! ```text
//! | 0 Disks  1 Overview  2 Compare  3 Processes ...  |  tabs
//! | loop0  scheduler mq-deadline  lost 0  ...        |  status
//! |                                                  |
//! |  one file per screen                             |
//! |                                                  |
//! | a message, or the keys that matter here          |  footer
//! ```
//! Every screen works from 40x10 on. If there is no room, whole parts are left out: rows by `parts`, columns by
//! `table`, parts of a line by `fit::line`, in the order that each screen defines. A number is never cut or separated
//! from its unit; a cut name ends in an ellipsis. The sweep in tests/ checks this for all screens.

mod ascii;
mod asked;
pub mod axis;
mod buckets;
mod causes;
pub mod columns;
mod compare;
mod dialogs;
mod disks;
mod fairness;
mod few;
pub mod fit;
mod heatmap;
mod help;
mod order;
mod overview;
mod palette;
mod parts;
mod picture;
mod process;
mod processes;
mod scroll;
mod spare;
mod status;
mod strip;
mod table;
#[cfg(test)]
mod tests;

use iosched_result::report::escape;
use ratatui::Frame;
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::sampling::sample::Measured;
use super::state::action::{KeyCommand, Screen, Target};
use super::state::model::{Access, Model};
use parts::{Part, stack};
pub use picture::svg;

/// The minimum size of the terminal: columns and rows.
const LEAST: (u16, u16) = (40, 10);
/// Rows of the tabs, the status line and the footer.
const CHROME: u16 = 3;

/// The last row of the help page with which a screen of this size is full.
pub fn last_help_row(model: &Model, size: Size) -> usize {
    help::last_row(model, size.width, size.height.saturating_sub(CHROME))
}

pub fn draw(frame: &mut Frame, model: &Model) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(frame, area, model);
        return;
    }
    if model.devices.is_empty() {
        line(frame, area, 0, Line::from("no disk was found"));
        return;
    }
    let [tabs, status, body, footer] = regions(area);
    line(frame, tabs, 0, status::tabs(model, tabs.width));
    line(frame, status, 0, status::status(model, status.width));
    match model.screen {
        Screen::Disks => disks::render(frame, body, model),
        Screen::Overview => overview::render(frame, body, model),
        Screen::Compare => compare::render(frame, body, model),
        Screen::Processes if model.table.is_open => process::render(frame, body, model),
        Screen::Processes => processes::render(frame, body, model),
        Screen::Order => order::render(frame, body, model),
        Screen::Fairness => fairness::render(frame, body, model),
        Screen::Heatmap => heatmap::render(frame, body, model),
        Screen::Help => help::render(frame, body, model),
    }
    line(frame, footer, 0, status::footer(model, footer.width));
    if let Some(dialog) = &model.dialog {
        dialogs::render(frame, body, model, dialog);
    }
    show_all(frame);
    if model.palette.is_ascii {
        ascii::translate(frame.buffer_mut());
    }
}

/// Tabs, status, body and footer.
fn regions(area: Rect) -> [Rect; 4] {
    let line_of = |rank| Part::new(rank, 1, 1);
    stack(
        area,
        [line_of(2), line_of(3), Part::filling(0, 1), line_of(1)],
    )
}

fn body(size: Size) -> Rect {
    let [_, _, body, _] = regions(Rect::from((Position::ORIGIN, size)));
    body
}

/// The target at this place of a terminal of this size.
pub fn target(model: &Model, size: Size, at: Position) -> Option<Target> {
    let [tabs, _, body, _] = regions(Rect::from((Position::ORIGIN, size)));
    if model.devices.is_empty() || size.width < LEAST.0 || size.height < LEAST.1 {
        return None;
    }
    if tabs.contains(at) {
        return status::tab_at(model, tabs.width, at.x).map(Target::Screen);
    }
    match model.screen {
        Screen::Disks => disks::target(body, model, at),
        Screen::Processes if !model.table.is_open => processes::target(body, model, at),
        _ => None,
    }
}

/// Characters that change the writing direction have no width: they would be attached to the previous character, and
/// the terminal would obey them.
fn show_all(frame: &mut Frame) {
    for cell in &mut frame.buffer_mut().content {
        let symbol = cell.symbol();
        if symbol.len() > 1 && symbol.contains(escape::is_hidden) {
            let seen: String = symbol.chars().filter(|&c| !escape::is_hidden(c)).collect();
            cell.set_symbol(if seen.is_empty() { " " } else { &seen });
        }
    }
}

/// In the longest form that fits.
fn too_small(frame: &mut Frame, area: Rect, model: &Model) {
    let (columns, rows) = LEAST;
    let quit = model.keys.first(KeyCommand::Quit);
    let quit = quit.as_deref().unwrap_or("Ctrl-C");
    let forms = [
        format!(
            "iosched needs {columns} columns and {rows} rows, and has {} and {}. Enlarge the terminal, or {quit} to quit.",
            area.width, area.height
        ),
        format!("needs {columns}x{rows}, has {}x{}", area.width, area.height),
        format!("needs {columns}x{rows}"),
        format!("{columns}x{rows}"),
    ];
    let fits = |form: &&String| form.len() <= usize::from(area.width);
    if let Some(form) = forms.iter().find(fits) {
        line(frame, area, 0, Line::from(form.clone()));
    }
}

/// The measured numbers; without them, draws the reason and returns None.
fn measured_or_why<'a>(frame: &mut Frame, area: Rect, model: &'a Model) -> Option<&'a Measured> {
    let text = match (model.device_sample(), &model.access) {
        (_, Access::Sysfs(why)) => format!(
            "This screen needs BPF programs in the kernel, which could not be attached:\n\n{why}\n\nThe screen Overview works without them."
        ),
        (None, _) => "attaching the BPF programs ...".to_owned(),
        (Some(sample), _) => match &sample.measured {
            Some(measured) => return Some(measured),
            None => "no measurement yet".to_owned(),
        },
    };
    let inner = area.inner(ratatui::layout::Margin::new(2, 1));
    text_lines(
        frame,
        inner,
        fit::paragraph(&text, usize::from(inner.width), usize::from(inner.height)),
    );
    None
}

/// The caller has wrapped the lines to fit.
fn text_lines<'a, T: Into<Line<'a>>>(
    frame: &mut Frame,
    area: Rect,
    lines: impl IntoIterator<Item = T>,
) {
    let lines: Vec<Line> = lines.into_iter().map(Into::into).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// One line of the body; nothing if the body is too low.
fn line(frame: &mut Frame, area: Rect, row: u16, content: Line<'_>) {
    if row < area.height {
        frame.render_widget(content, Rect::new(area.x, area.y + row, area.width, 1));
    }
}
