//! A screen whose table leaves many lines free shows another screen below it.

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Span};

use super::line;
use super::parts::{Part, stack};
use crate::ui::state::model::Model;

/// So many free lines are enough for another screen, with its heading.
const LEAST: u16 = 13;
/// The table has a multiple of so many lines then, so that what is below it seldom moves.
const TABLE: u16 = 4;

/// The line above the table, the table with so many rows, and what is free; its height is 0 if it is too little.
pub fn split(area: Rect, rows: usize) -> [Rect; 3] {
    let inner = area.inner(Margin::new(1, 0));
    let lines = u16::try_from(rows.max(1))
        .unwrap_or(u16::MAX)
        .saturating_add(1);
    let table = lines.checked_next_multiple_of(TABLE).unwrap_or(u16::MAX);
    let free = inner.height.saturating_sub(1).saturating_sub(table);
    let [table, spare] = if free >= LEAST {
        [Part::new(0, table, table), Part::filling(2, LEAST)]
    } else {
        [Part::filling(0, 2), Part::new(2, 0, 0)]
    };
    stack(inner, [Part::new(1, 1, 1), table, spare])
}

/// Draws the heading; the other screen has the rest, which is as wide as its own area.
pub fn below(frame: &mut Frame, area: Rect, spare: Rect, model: &Model, title: &str) -> Rect {
    let title = Span::styled(format!("{title} "), model.palette.title());
    let rule = "─".repeat(usize::from(spare.width).saturating_sub(title.width()));
    let rule = Span::styled(rule, model.palette.faint());
    line(frame, spare, 0, Line::from(vec![title, rule]));
    Rect {
        y: spare.y + 1,
        height: spare.height - 1,
        ..area
    }
}
