//! ```text
//! |none      |bfq                  the scheduler in force
//! 10ms   . : # @ ...               one column a sample, one scale for all
//! 1ms
//! ```

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::strip::short;
use super::{line, measured_or_why};
use crate::ui::heat::{self, lower_ns};
use crate::ui::model::{Model, Moment};

const LABEL: u16 = 8;
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
    let view = model.compare;
    let inner = area.inner(ratatui::layout::Margin::new(1, 0));
    let title = format!(
        " of {} over time; fuller and brighter: more of a moment's I/Os",
        view.scope.title()
    );
    line(
        frame,
        inner,
        0,
        Line::from(vec![
            Span::styled(view.stage.title(), model.palette.strong()),
            Span::raw(title),
        ]),
    );
    let columns = usize::from(inner.width.saturating_sub(LABEL));
    let history = &model.device().history;
    let moments: Vec<&Moment> = history
        .iter()
        .skip(history.len().saturating_sub(columns))
        .collect();
    schedulers(frame, inner, model, &moments);
    let cells: Vec<Vec<u32>> = moments
        .iter()
        .map(|moment| {
            moment
                .column
                .as_ref()
                .map_or_else(Vec::new, |column| column.rows(view.stage, view.scope))
        })
        .collect();
    let rows = usize::from(inner.height.saturating_sub(3)).max(1);
    let (first, each) = range(&cells, rows);
    for row in 0..rows {
        let low = first + row * each;
        let y = inner.y + 2 + (rows - 1 - row) as u16;
        if y >= inner.bottom().saturating_sub(1) {
            continue;
        }
        let label = Line::styled(format!("{:>7}", short_of(low)), model.palette.faint());
        let is_labelled = row % 3 == 0;
        if is_labelled {
            frame.render_widget(label, Rect::new(inner.x, y, LABEL, 1));
        }
        for (x, cells) in cells.iter().enumerate() {
            let total: u32 = cells.iter().sum();
            let part: u32 = cells.iter().skip(low).take(each).sum();
            draw_cell(
                frame,
                model,
                (inner.x + LABEL + x as u16, y),
                f64::from(part) / f64::from(total.max(1)),
            );
        }
    }
    times(frame, inner, model, &moments);
}

fn draw_cell(frame: &mut Frame, model: &Model, (x, y): (u16, u16), share: f64) {
    if share <= 0.0 {
        return;
    }
    // The root spreads the rare ones, which are the tail that one looks for.
    let heat = share.sqrt();
    let shade = SHADES[1 + ((heat * 4.0) as usize).min(3)];
    frame.buffer_mut()[(x, y)]
        .set_symbol(shade)
        .set_style(model.palette.heat(heat));
}

/// The first row that is drawn, and how many quarters of an octave stand in a line.
fn range(cells: &[Vec<u32>], rows: usize) -> (usize, usize) {
    let occupied = |row: &usize| {
        cells
            .iter()
            .any(|cells| cells.get(*row).is_some_and(|&count| count > 0))
    };
    let first = (0..heat::ROWS).find(occupied).unwrap_or(0);
    let last = (0..heat::ROWS)
        .rev()
        .find(occupied)
        .unwrap_or(heat::ROWS - 1);
    let each = (last - first + 1).div_ceil(rows).max(1);
    (first, each)
}

fn short_of(row: usize) -> String {
    let ns = lower_ns(row);
    let digit = 10f64.powf(ns.log10().floor() - 1.0);
    short((ns / digit).round() * digit)
}

/// Where a scheduler begins, its name.
fn schedulers(frame: &mut Frame, area: Rect, model: &Model, moments: &[&Moment]) {
    let y = area.y + 1;
    let mut before: Option<&str> = None;
    let mut free = 0;
    for (x, moment) in moments.iter().enumerate() {
        if before == Some(&moment.scheduler) && !moment.is_flip {
            continue;
        }
        before = Some(&moment.scheduler);
        let left = area.x + LABEL + x as u16;
        let room = usize::from(area.right().saturating_sub(left));
        let until = moments
            .iter()
            .skip(x + 1)
            .position(|later| later.is_flip || later.scheduler != moment.scheduler);
        let text = format!("|{}", moment.scheduler);
        let room = until.map_or(room, |until| room.min(until + 1));
        if x >= free {
            frame
                .buffer_mut()
                .set_stringn(left, y, &text, room, model.palette.title());
            free = x + 1;
        }
    }
}

fn times(frame: &mut Frame, area: Rect, model: &Model, moments: &[&Moment]) {
    let Some((first, last)) = moments.first().zip(moments.last()) else {
        return;
    };
    let y = area.bottom().saturating_sub(1);
    let style = model.palette.faint();
    let end = area.x + LABEL + moments.len() as u16;
    frame
        .buffer_mut()
        .set_string(area.x + LABEL, y, &first.time, style);
    if end > area.x + LABEL + 20 {
        frame.buffer_mut().set_string(
            end.saturating_sub(8).min(area.right().saturating_sub(8)),
            y,
            &last.time,
            style,
        );
    }
}
