//! ```text
//!   PID  COMMAND  CGROUP        IOPS  throughput  share | wait p50 p99 max  stalled | device p50 p99 | starved  merged
//! ```
//! When columns are scarce, the reads and writes are dropped first, then how old the oldest in flight is and the merges, what is
//! merged, the device's p99, its p50, starved, stalled, the longest wait, p99, the control group, the share, the PID and the
//! throughput.

use iosched::report::live::LiveProcess;
use iosched::report::units::{count, share, throughput, time};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::table::{self, Column, Level};
use super::{few, fit, line, measured_or_why, parts};
use crate::ui::model::{Model, Sort};
use crate::ui::update::last_component;

struct Field {
    title: &'static str,
    width: u16,
    from: Level,
    until: Level,
    sort: Option<Sort>,
    /// A name, which may grow to this.
    most: Option<u16>,
    cell: fn(&LiveProcess) -> String,
}

/// A number.
const fn field(
    title: &'static str,
    width: u16,
    from: Level,
    sort: Option<Sort>,
    cell: fn(&LiveProcess) -> String,
) -> Field {
    Field {
        title,
        width,
        from,
        until: Level::MAX,
        sort,
        most: None,
        cell,
    }
}

/// Widths hold the mark of the column that is sorted by.
const FIELDS: [Field; 19] = [
    field("PID", 7, 2, None, |p| {
        p.pid.map_or("-".to_owned(), |pid| pid.to_string())
    }),
    Field {
        most: Some(20),
        ..field("COMMAND", 10, 0, Some(Sort::Name), |p| p.comm.clone())
    },
    Field {
        most: Some(40),
        ..field("CGROUP", 10, 4, None, |p| {
            last_component(p.cgroup.as_deref().unwrap_or("-")).to_owned()
        })
    },
    field("IOPS", 6, 0, Some(Sort::Ios), |p| count(p.iops)),
    Field {
        until: 6,
        ..field("bytes/s", 9, 1, Some(Sort::Bytes), |p| {
            throughput(p.bytes_per_s)
        })
    },
    field("throughput", 11, 6, Some(Sort::Bytes), |p| {
        throughput(p.bytes_per_s)
    }),
    field("share", 7, 3, Some(Sort::Share), |p| {
        share(
            p.fairness
                .as_ref()
                .and_then(|fairness| fairness.device_time_share),
        )
    }),
    field("wait p50", 9, 0, Some(Sort::WaitP50), |p| {
        few::p50(&p.queue_wait)
    }),
    field("wait p99", 9, 5, Some(Sort::WaitP99), |p| {
        few::p99(&p.queue_wait)
    }),
    field("max", 8, 7, Some(Sort::WaitMax), |p| {
        time(p.queue_wait.max_ns)
    }),
    field("stalled", 8, 8, Some(Sort::Stalled), |p| {
        share(Some(p.stalled_share))
    }),
    field("device p50", 11, 10, Some(Sort::Device), |p| {
        few::p50(&p.device_time)
    }),
    field("p99", 8, 11, None, |p| few::p99(&p.device_time)),
    field("starved", 8, 9, Some(Sort::Starved), |p| {
        time(
            p.fairness
                .as_ref()
                .and_then(|f| f.starvation_max_ns)
                .map(|ns| ns as f64),
        )
    }),
    field("merged", 7, 12, Some(Sort::Merged), |p| {
        share(p.merge_ratio)
    }),
    field("merges", 7, 13, None, |p| count(p.merges.bios() as f64)),
    field("oldest", 8, 13, None, |p| {
        time(
            p.in_flight
                .and_then(|now| now.oldest_ns)
                .map(|ns| ns as f64),
        )
    }),
    field("reads", 7, 14, None, |p| count(p.reads as f64)),
    field("writes", 7, 14, None, |p| count(p.writes as f64)),
];

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let inner = area.inner(ratatui::layout::Margin::new(1, 0));
    let shown = model.processes().len();
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
    let title = [
        (0, format!("{shown}{of} {what}{filter}")),
        (2, " did I/O".to_owned()),
        (1, format!("; by {sorted}{order}")),
        (3, "; share: of the device's time".to_owned()),
    ];
    let [head, below] = parts::stack(
        inner,
        [parts::Part::new(1, 1, 1), parts::Part::filling(0, 2)],
    );
    let title = fit::plain_line(title, inner.width).style(model.palette.faint());
    line(frame, head, 0, title);
    table(frame, below, model, true);
}

/// Also the busiest of the overview, without a chosen row.
pub fn table(frame: &mut Frame, area: Rect, model: &Model, is_chosen: bool) {
    let rows = model.processes();
    let room = usize::from(area.height.saturating_sub(1));
    let chosen = if is_chosen { model.table.row } else { 0 };
    let chosen = chosen.min(rows.len().saturating_sub(1));
    let shown = parts::window(chosen, rows.len(), room);
    let columns = FIELDS.iter().map(|field| {
        let is_sorted = field.sort == Some(model.table.sort);
        let mark = match (is_sorted, model.table.reversed) {
            (true, false) => "v",
            (true, true) => "^",
            _ => "",
        };
        let heading = format!("{}{mark}", field.title);
        let column = match field.most {
            Some(most) => Column::name(heading, field.from.., field.width, most),
            None => Column::number(heading, field.from.., field.width),
        };
        let cells = rows[shown.clone()]
            .iter()
            .map(|(_, process)| (field.cell)(process));
        column.until(field.until).of(cells)
    });
    let columns: Vec<Column> = columns.collect();
    let row_style = |row: usize| {
        if is_chosen && shown.start + row == chosen {
            model.palette.chosen()
        } else {
            Style::new()
        }
    };
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), area, &columns, faint, row_style);
    if rows.is_empty() {
        let text = if model.table.filter.is_empty() {
            "  nobody did I/O in this interval"
        } else {
            "  no row that did I/O in this interval has the filter's text"
        };
        let text = fit::sentence(text, usize::from(area.width));
        line(frame, area, 1, Line::styled(text, faint));
    }
}
