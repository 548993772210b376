//! ```text
//!   PID  COMMAND  CGROUP        IOPS  throughput  share | wait p50 p99 max | device p50 p99 | merged  starved
//! ```

use iosched::report::live::LiveProcess;
use iosched::report::units::{count, share, throughput, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row, Table};

use super::{line, measured_or_why};
use crate::ui::model::{Model, Sort};
use crate::ui::update::last_component;

struct Column {
    title: &'static str,
    width: u16,
    /// The lower the sooner it is shown, where the width allows.
    rank: u16,
    sort: Option<Sort>,
    is_text: bool,
    cell: fn(&LiveProcess) -> String,
}

const fn column(
    title: &'static str,
    width: u16,
    rank: u16,
    sort: Option<Sort>,
    cell: fn(&LiveProcess) -> String,
) -> Column {
    Column {
        title,
        width,
        rank,
        sort,
        is_text: false,
        cell,
    }
}

const CGROUP: usize = 40;

const COLUMNS: [Column; 16] = [
    column("PID", 7, 0, None, |p| {
        p.pid.map_or("-".to_owned(), |pid| pid.to_string())
    }),
    Column {
        is_text: true,
        ..column("COMMAND", 12, 0, Some(Sort::Name), |p| p.comm.clone())
    },
    Column {
        is_text: true,
        ..column("CGROUP", 12, 0, None, |p| {
            tail(last_component(p.cgroup.as_deref().unwrap_or("-")), CGROUP)
        })
    },
    column("IOPS", 6, 0, Some(Sort::Ios), |p| count(p.iops)),
    column("throughput", 10, 0, Some(Sort::Bytes), |p| {
        throughput(p.bytes_per_s)
    }),
    column("share", 7, 0, Some(Sort::Share), |p| {
        share(
            p.fairness
                .as_ref()
                .and_then(|fairness| fairness.device_time_share),
        )
    }),
    column("wait p50", 9, 1, Some(Sort::WaitP50), |p| {
        time(p.queue_wait.p50_ns)
    }),
    column("wait p99", 9, 0, Some(Sort::WaitP99), |p| {
        time(p.queue_wait.p99_ns)
    }),
    column("max", 8, 2, Some(Sort::WaitMax), |p| {
        time(p.queue_wait.max_ns)
    }),
    column("device p50", 11, 4, Some(Sort::Device), |p| {
        time(p.device_time.p50_ns)
    }),
    column("p99", 8, 4, None, |p| time(p.device_time.p99_ns)),
    column("starved", 8, 3, Some(Sort::Starved), |p| {
        time(
            p.fairness
                .as_ref()
                .and_then(|f| f.starvation_max_ns)
                .map(|ns| ns as f64),
        )
    }),
    column("merged", 7, 5, Some(Sort::Merged), |p| share(p.merge_ratio)),
    column("merges", 7, 6, None, |p| count(p.merges.bios() as f64)),
    column("reads", 7, 7, None, |p| count(p.reads as f64)),
    column("writes", 7, 7, None, |p| count(p.writes as f64)),
];

/// Its last characters: of a path the part that tells it from others.
fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - width + 2).collect();
    format!("..{kept}")
}

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
        format!(" with \"{}\"", model.table.filter)
    };
    let sorted = COLUMNS
        .iter()
        .find(|column| column.sort == Some(model.table.sort));
    let order = if model.table.reversed {
        ", reversed"
    } else {
        ""
    };
    let sorted = sorted.map_or("", |column| column.title);
    let text = format!(
        "{shown}{of} {what}{filter} did I/O; by {sorted}{order}; share: of the device's time"
    );
    line(frame, inner, 0, Line::styled(text, model.palette.faint()));
    let below = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    table(frame, below, model, true);
}

/// By rank, as long as all of a rank have room.
fn columns(width: u16) -> Vec<&'static Column> {
    let up_to = |rank: u16| COLUMNS.iter().filter(move |column| column.rank <= rank);
    let needs = |rank: u16| up_to(rank).map(|column| column.width + 1).sum::<u16>();
    let last = COLUMNS.iter().map(|column| column.rank).max().unwrap_or(0);
    let rank = (0..=last).rev().find(|&rank| needs(rank) <= width + 1);
    up_to(rank.unwrap_or(0)).collect()
}

/// Also the busiest of the overview, without a chosen row.
pub fn table(frame: &mut Frame, area: Rect, model: &Model, is_chosen: bool) {
    let columns = columns(area.width);
    let heading = |column: &&Column| {
        let is_sorted = column.sort == Some(model.table.sort);
        let mark = match (is_sorted, model.table.reversed) {
            (true, false) => "v",
            (true, true) => "^",
            _ => "",
        };
        let text = Line::from(format!("{}{mark}", column.title));
        Cell::from(if column.is_text {
            text
        } else {
            text.right_aligned()
        })
    };
    let header = Row::new(columns.iter().map(heading)).style(model.palette.faint());
    let rows = model.processes();
    let room = usize::from(area.height.saturating_sub(1));
    let chosen = if is_chosen {
        model.table.row.min(rows.len().saturating_sub(1))
    } else {
        0
    };
    let first = (chosen + 1).saturating_sub(room);
    let lines = rows
        .iter()
        .enumerate()
        .skip(first)
        .take(room)
        .map(|(index, (_, process))| {
            let cells = columns.iter().map(|column| {
                let text = Line::from((column.cell)(process));
                Cell::from(if column.is_text {
                    text
                } else {
                    text.right_aligned()
                })
            });
            let row = Row::new(cells);
            if is_chosen && index == chosen {
                row.style(model.palette.chosen())
            } else {
                row
            }
        });
    // What is left over is the control groups', as far as their names need it.
    let taken: u16 = columns.iter().map(|column| column.width + 1).sum();
    let longest = |column: &Column| {
        let lengths = rows
            .iter()
            .map(|(_, process)| (column.cell)(process).chars().count());
        lengths.max().unwrap_or(0) as u16
    };
    let widths = columns.iter().map(|column| match column.title {
        "CGROUP" => {
            let room = column.width + (area.width + 1).saturating_sub(taken);
            Constraint::Length(longest(column).clamp(column.width, room))
        }
        _ => Constraint::Length(column.width),
    });
    frame.render_widget(
        Table::new(lines, widths).header(header).column_spacing(1),
        area,
    );
    if rows.is_empty() && area.height > 1 {
        let text = if model.table.filter.is_empty() {
            "  nobody did I/O in this interval"
        } else {
            "  no row that did I/O in this interval has the filter's text"
        };
        line(frame, area, 1, Line::styled(text, model.palette.faint()));
    }
}
