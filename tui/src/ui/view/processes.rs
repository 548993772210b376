//! ```text
//!   PID  COMMAND  CGROUP  IOPS  throughput  share | wait p50 p99 max  waits for  behind  stalled | device p50 p99 | starved
//! ```
//! If many lines are free, the screen also shows Compare, below the table.
//!
//! When columns are scarce, reads and writes are dropped first, then the age of the oldest I/O and the number of
//! merges, the merged share, the device's p99 and p50, starved, stalled, behind, waits for, max, p99, the control group, the
//! share, the PID and the throughput. The number of I/Os with unknown queue wait is shown beside max if there are any.

use std::ops::Range;

use iosched_result::report::units::count;
use iosched_result::why::WhyDevice;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::columns::{self, FIELDS, Field};
use super::table::{self, Column};
use super::{compare, fit, line, measured_or_why, parts, scroll, spare};
use crate::ui::state::action::{Screen, Target};
use crate::ui::state::model::Model;
use crate::ui::state::rows::Row;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let rows = model.processes();
    let shown = rows.iter().filter(|row| !row.is_idle).count();
    let idle = match rows.len() - shown {
        0 => String::new(),
        idle => format!("; {} idle for seconds", count(idle as f64)),
    };
    let what = match (model.table.by_cgroup, measured.processes.len()) {
        (true, 1) => "control group",
        (true, _) => "control groups",
        (false, 1) => "process",
        (false, _) => "processes",
    };
    let of = if shown == measured.processes.len() {
        String::new()
    } else {
        format!(" of {}", measured.processes.len())
    };
    let filter = if model.table.filter.is_empty() {
        String::new()
    } else {
        format!(" with \"{}\"", fit::clip(&model.table.filter, 20))
    };
    let sorted = FIELDS
        .iter()
        .rfind(|field| field.sort == Some(model.table.sort));
    let order = if model.table.reversed {
        ", reversed"
    } else {
        ""
    };
    let sorted = sorted.map_or("", |field| field.title);
    let unknown = rows
        .iter()
        .filter(|row| !row.is_idle)
        .map(|row| row.process.without_queue_wait);
    let unknown = match unknown.fold(0, u64::saturating_add) {
        0 => String::new(),
        n => format!("; queue wait unknown for {} I/Os", count(n as f64)),
    };
    let title = [
        (0, format!("{shown}{of} {what}{filter}")),
        (2, did_what(&rows).to_owned()),
        (1, format!("; sorted by {sorted}{order}")),
        (3, idle),
        (1, unknown),
        (3, "; share: part of the device's time".to_owned()),
    ];
    let [head, below, spare] = spare::split(area, rows.len());
    let title = fit::plain_line(title, head.width).style(model.palette.faint());
    line(frame, head, 0, title);
    table(frame, below, model, true);
    if spare.height > 0 {
        let area = spare::below(frame, area, spare, model, Screen::Compare.title());
        compare::render(frame, area, model);
    }
}

/// The target at this place of the screen.
pub fn target(area: Rect, model: &Model, at: Position) -> Option<Target> {
    let rows = model.processes();
    let [_, below, _] = spare::split(area, rows.len());
    if !below.contains(at) {
        return None;
    }
    let shown = shown(below, model, &rows, true);
    if let Some(row) = (at.y - below.y).checked_sub(1) {
        let row = shown.start + usize::from(row);
        return shown.contains(&row).then_some(Target::Row(row));
    }
    let fields = columns::fields(&model.table.columns, &rows, why(model));
    let columns = table_columns(model, &fields, &rows[shown]);
    let column = table::column_at(&columns, below.width, at.x - below.x)?;
    fields[column].sort.map(Target::Heading)
}

/// Processes that only have I/O in flight are listed, too: on a disk that hangs these are all.
fn did_what(rows: &[Row<'_>]) -> &'static str {
    let did = |row: &&Row<'_>| {
        let merges = &row.process.merges;
        row.process.ios > 0 || merges.bios() + merges.rq > 0
    };
    let active = || rows.iter().filter(|row| !row.is_idle);
    match (active().filter(did).count(), active().count()) {
        (0, 1) => " waits for I/O",
        (0, 2..) => " wait for I/O",
        (did, all) if did < all => " did I/O or wait for it",
        _ => " did I/O",
    }
}

/// Also used by the overview, without a chosen row.
pub fn table(frame: &mut Frame, area: Rect, model: &Model, is_chosen: bool) {
    let rows = model.processes();
    let chosen = model.chosen_row(&rows).filter(|_| is_chosen);
    let shown = shown(area, model, &rows, is_chosen);
    let fields = columns::fields(&model.table.columns, &rows, why(model));
    let columns = table_columns(model, &fields, &rows[shown.clone()]);
    let faint = model.palette.faint();
    let row_style = |row: usize| match rows.get(shown.start + row) {
        _ if chosen == Some(shown.start + row) => model.palette.chosen(),
        Some(row) if row.is_idle => faint,
        _ => Style::new(),
    };
    table::render(frame.buffer_mut(), area, &columns, faint, row_style);
    if is_chosen {
        scroll::bar(frame, table::body(area), model.palette, shown, rows.len());
    }
    if rows.is_empty() {
        let text = if model.table.filter.is_empty() {
            "  no process did I/O or waits for it"
        } else {
            "  no row of this interval matches the filter"
        };
        let text = fit::sentence(text, usize::from(area.width));
        line(frame, area, 1, Line::styled(text, faint));
    }
}

/// Who waits behind whom, if that is recorded and each row is a process.
fn why(model: &Model) -> Option<&WhyDevice> {
    let measured = model.device_sample()?.measured.as_ref()?;
    measured.why.as_deref().filter(|_| !model.table.by_cgroup)
}

/// The rows that have room.
fn shown(area: Rect, model: &Model, rows: &[Row<'_>], is_chosen: bool) -> Range<usize> {
    let room = usize::from(area.height.saturating_sub(1));
    let chosen = model.chosen_row(rows).filter(|_| is_chosen);
    let place = if is_chosen { model.table.row } else { 0 };
    let place = chosen.unwrap_or(place).min(rows.len().saturating_sub(1));
    parts::window(place, rows.len(), room)
}

fn table_columns(model: &Model, fields: &[Field], rows: &[Row<'_>]) -> Vec<Column<'static>> {
    let why = why(model);
    let columns = fields.iter().map(|field| {
        let is_sorted = field.sort == Some(model.table.sort);
        let mark = match (is_sorted, model.table.reversed) {
            (true, false) => " v",
            (true, true) => " ^",
            _ => "",
        };
        let heading = format!("{}{mark}", field.title);
        let column = match field.most {
            Some(most) => Column::name(heading, field.from.., field.width, most),
            None => Column::number(heading, field.from.., field.width),
        };
        let cells = rows.iter().map(|row| field.cell(row, why));
        column.until(field.until).of(cells)
    });
    columns.collect()
}
