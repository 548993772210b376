//! ```text
//! |none      |bfq                  the scheduler in force
//! 10ms   . : # @ ...               one column per sample, one scale for all
//! 1ms
//! ```

use iosched_result::report::units::share;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::fit::{self, Piece};
use super::strip::{LEAST_BEYOND, short};
use super::{axis, line, measured_or_why};
use crate::ui::sampling::request::present_label;
use crate::ui::state::axis::Axis;
use crate::ui::state::heat::{self, step_of};
use crate::ui::state::model::{Model, Moment};

const LABEL: u16 = 8;
/// Rows above the picture: the title, and the schedulers; below it the times.
const ABOVE: u16 = 2;
const BELOW: u16 = 1;
/// The shortest axis has this number of steps of [`heat`].
const FEWEST_STEPS: usize = 8;
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    if model
        .device()
        .history
        .iter()
        .all(|moment| moment.column.is_none())
    {
        let _ = measured_or_why(frame, area, model);
        return;
    }
    let view = &model.compare;
    let inner = area.inner(ratatui::layout::Margin::new(1, 0));
    let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
    let (columns, rows) = room(area);
    let history = &model.device().history;
    let moments: Vec<&Moment> = history
        .iter()
        .skip(history.len().saturating_sub(columns))
        .collect();
    let names = Rect {
        x: inner.x + LABEL,
        y: inner.y + 1,
        width: inner.width.saturating_sub(LABEL),
        height: 1,
    };
    schedulers(frame, names, model, &moments);
    let cells: Vec<Vec<u32>> = moments.iter().map(|moment| cells(model, moment)).collect();
    let axis = axis::of(model, || around(&cells, rows));
    let scale = HeatScale::of(axis, rows);
    let beyond = beyond(&cells, axis).map_or(String::new(), |part| {
        format!("; {} beyond the axis", share(Some(part)))
    });
    let pieces = vec![
        Piece::new(0, model.palette.strong(), [view.stage.title()]),
        plain(0, format!(" of {}", view.scope.title())),
        plain(1, " over time".to_owned()),
        plain(1, beyond),
        Piece::of_spans(2, vec![legend(model)]),
    ];
    line(frame, inner, 0, fit::line(pieces, inner.width));
    let total = |cells: &Vec<u32>| {
        cells
            .iter()
            .map(|&ios| f64::from(ios))
            .sum::<f64>()
            .max(1.0)
    };
    let totals: Vec<f64> = cells.iter().map(total).collect();
    for row in 0..rows {
        let y = inner.y + ABOVE + (rows - 1 - row) as u16;
        if y >= inner.bottom().saturating_sub(1) {
            continue;
        }
        if let Some(label) = scale.label(row) {
            let label = Line::styled(format!("{label:>7}"), model.palette.faint());
            frame.render_widget(label, Rect::new(inner.x, y, LABEL, 1));
        }
        for (x, (cells, total)) in cells.iter().zip(&totals).enumerate() {
            let at = (inner.x + LABEL + x as u16, y);
            draw_cell(frame, model, at, scale.ios(cells, row) / total);
        }
    }
    times(frame, inner, model, &moments);
}

pub fn cells(model: &Model, moment: &Moment) -> Vec<u32> {
    let view = &model.compare;
    let column = moment.column.as_ref();
    column.map_or_else(Vec::new, |column| column.rows(view.stage, view.scope))
}

/// From the first step with I/Os to the last, or further if the picture has more rows.
fn around(cells: &[Vec<u32>], rows: usize) -> Axis {
    let occupied = |row: &usize| {
        let mut all = cells.iter();
        all.any(|cells| cells.get(*row).is_some_and(|&count| count > 0))
    };
    let first = (0..heat::ROWS).find(occupied).unwrap_or(0);
    let last = (0..heat::ROWS).rev().find(occupied);
    let steps = last.map_or(heat::ROWS, |last| last + 1) - first;
    Axis {
        low_ns: heat::ns_of(first as f64),
        high_ns: heat::ns_of((first + steps.max(rows).max(FEWEST_STEPS)) as f64),
        is_chosen: false,
    }
}

/// The axis of the picture in this area that follows the I/Os; None without I/Os.
pub fn axis_around(model: &Model, area: Rect) -> Option<Axis> {
    let (columns, rows) = room(area);
    let history = model.device().history.iter().rev();
    let shown = history.take(columns);
    let cells: Vec<Vec<u32>> = shown.map(|moment| cells(model, moment)).collect();
    let has_some = cells.iter().any(|cells| !cells.is_empty());
    has_some.then(|| around(&cells, rows))
}

/// Columns and rows of the picture.
fn room(area: Rect) -> (usize, usize) {
    let inner = area.inner(ratatui::layout::Margin::new(1, 0));
    let columns = usize::from(inner.width.saturating_sub(LABEL));
    let rows = usize::from(inner.height.saturating_sub(ABOVE + BELOW));
    (columns, rows.max(1))
}

/// The share of all I/Os that a chosen axis does not show; None if it shows all.
pub fn beyond(cells: &[Vec<u32>], axis: Axis) -> Option<f64> {
    let (low, high) = (step_of(axis.low_ns), step_of(axis.high_ns));
    let (mut all, mut shown) = (0.0, 0.0);
    for (step, &count) in cells.iter().flat_map(|cells| cells.iter().enumerate()) {
        let overlap = high.min(step as f64 + 1.0) - low.max(step as f64);
        all += f64::from(count);
        shown += f64::from(count) * overlap.clamp(0.0, 1.0);
    }
    let part = 1.0 - shown / all.max(1.0);
    (axis.is_chosen && all > 0.0 && part > LEAST_BEYOND).then_some(part)
}

/// The place on the axis of this row of the screen.
pub fn place(body: Rect, at: Position) -> f64 {
    let bottom = body.bottom().saturating_sub(BELOW);
    let rows = body.height.saturating_sub(ABOVE + BELOW).max(1);
    (f64::from(bottom.saturating_sub(at.y)) / f64::from(rows)).min(1.0)
}

/// Below which share of an interval's I/Os each shade is used; that of the last one is everything.
const SHARES: [f64; 4] = [1.0 / 16.0, 1.0 / 4.0, 9.0 / 16.0, 1.0];

/// The square root makes rare I/Os visible: the tail is what people look for.
fn shade(share: f64) -> usize {
    1 + ((share.sqrt() * 4.0) as usize).min(3)
}

/// `; ░ below 6 % of an interval's I/Os, ▒ 25 %, ▓ 56 %, █ above`
fn legend(model: &Model) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut from = 0.0;
    for (index, below) in SHARES.into_iter().enumerate() {
        let before = if index == 0 { "; " } else { ", " };
        let style = model.palette.heat(f64::midpoint(from, below).sqrt());
        spans.push(Span::raw(before));
        spans.push(Span::styled(SHADES[index + 1], style));
        let percent = (below * 100.0).floor();
        spans.push(Span::raw(match index {
            0 => format!(" below {percent} % of an interval's I/Os"),
            3 => " above".to_owned(),
            _ => format!(" {percent} %"),
        }));
        from = below;
    }
    spans
}

fn draw_cell(frame: &mut Frame, model: &Model, (x, y): (u16, u16), share: f64) {
    if share <= 0.0 {
        return;
    }
    frame.buffer_mut()[(x, y)]
        .set_symbol(SHADES[shade(share)])
        .set_style(model.palette.heat(share.sqrt()));
}

/// Maps rows of the picture to steps of [`heat`]: all rows are equally high, and all are used.
struct HeatScale {
    first: f64,
    each: f64,
    ticks: Vec<f64>,
}

impl HeatScale {
    fn of(axis: Axis, rows: usize) -> HeatScale {
        let first = step_of(axis.low_ns);
        let each = (step_of(axis.high_ns) - first) / rows as f64;
        HeatScale {
            first,
            each,
            ticks: axis.ticks(),
        }
    }

    /// A sample's I/Os in this row; a step that spans two rows is divided between them.
    fn ios(&self, cells: &[u32], row: usize) -> f64 {
        let (low, high) = (self.low(row), self.low(row + 1));
        let within = cells.iter().enumerate().skip(low as usize);
        let within = within.take((high - low) as usize + 2);
        let part = |(step, &count): (usize, &u32)| {
            let overlap = high.min(step as f64 + 1.0) - low.max(step as f64);
            f64::from(count) * overlap.max(0.0)
        };
        within.map(part).sum()
    }

    fn low(&self, row: usize) -> f64 {
        self.first + row as f64 * self.each
    }

    /// The time in this row that is labelled.
    fn label(&self, row: usize) -> Option<String> {
        let holds = |ns: &f64| (self.low(row)..self.low(row + 1)).contains(&step_of(*ns));
        let mut ticks = self.ticks.iter().copied();
        ticks.find(holds).map(short)
    }
}

/// The scheduler's name where it becomes active; one column per sample.
pub fn schedulers(frame: &mut Frame, area: Rect, model: &Model, moments: &[&Moment]) {
    let mut before: Option<&str> = None;
    let mut free = 0;
    for (x, moment) in moments.iter().enumerate() {
        if before == Some(&moment.scheduler) && !moment.is_flip {
            continue;
        }
        before = Some(&moment.scheduler);
        let left = area.x + x as u16;
        let room = usize::from(area.right().saturating_sub(left));
        let until = moments
            .iter()
            .skip(x + 1)
            .position(|later| later.is_flip || later.scheduler != moment.scheduler);
        let room = until.map_or(room, |until| room.min(until + 1));
        let name = match room.saturating_sub(1) {
            // So short, the first letters say more than an ellipsis.
            letters @ 0..=2 => moment.scheduler.chars().take(letters).collect(),
            letters => fit::clip(&moment.scheduler, letters),
        };
        if x >= free {
            let style = scheduler_style(model, &moment.scheduler);
            let buffer = frame.buffer_mut();
            buffer.set_stringn(left, area.y, format!("|{name}"), room, style);
            free = x + 1;
        }
    }
}

/// In the colour that its arm has on Compare.
fn scheduler_style(model: &Model, scheduler: &str) -> Style {
    let arms = &model.device().seen.arms;
    let is_its = |label: &str| label == scheduler || label == present_label(scheduler);
    match arms.iter().position(|arm| is_its(&arm.label)) {
        Some(index) => model.palette.series(index).add_modifier(Modifier::BOLD),
        None => model.palette.strong(),
    }
}

/// The times of the first and of the last column.
fn times(frame: &mut Frame, area: Rect, model: &Model, moments: &[&Moment]) {
    let Some((first, last)) = moments.first().zip(moments.last()) else {
        return;
    };
    let y = area.bottom().saturating_sub(1);
    let style = model.palette.faint();
    let begin = area.x + LABEL;
    let end = begin + moments.len() as u16;
    let buffer = frame.buffer_mut();
    buffer.set_string(begin, y, format!("{} UTC", first.time), style);
    if end > begin + 20 {
        buffer.set_string(end - 8, y, &last.time, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_is_that_of_the_cells() {
        for (index, below) in SHARES.into_iter().enumerate() {
            assert_eq!(shade(below * 0.999), index + 1);
            assert_eq!(shade(below), (index + 2).min(4));
        }
    }
}
