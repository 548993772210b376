//! ```text
//! Jain's index: device time 0.52, bytes 0.50 ...
//! NAME    device share [bar]    bytes  backlogged  starved
//! mean queue wait: NAME   11.7 ms behind NAME 97.6 %, itself 2.38 %
//! shares over time, a line for each
//! ```
//! When rows are scarce, the shares over time are dropped first, then the mean queue waits, then the index.

use iosched_result::report::units::{count, share, time};
use iosched_result::stat::{LiveFairness, LiveProcess};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::fit::{self, Piece};
use super::heatmap::schedulers;
use super::parts::{Part, inner, stack};
use super::table::{self, Column};
use super::{line, measured_or_why, strip};
use crate::ui::sampling::sample::Measured;
use crate::ui::state::model::{Model, Moment};
use crate::ui::state::reports::name_of;

const BAR: usize = 10;
/// The minimum and maximum width of a row's name.
const NAME: (u16, u16) = (14, 40);

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let inner = inner(area);
    let rows = rows(model);
    let room = inner.height.saturating_sub(6) / 2;
    let wanted = (rows.len() as u16).clamp(1, room.max(1)) + 1;
    let [head, table, waits, history] = stack(
        inner,
        [
            Part::new(1, 2, 2),
            Part::new(0, 2, wanted),
            Part::new(2, 3, if inner.height > 30 { 7 } else { 4 }),
            Part::filling(3, 3),
        ],
    );
    for (row, text) in index(measured, head.width).into_iter().enumerate() {
        line(frame, head, row as u16, text);
    }
    shares(frame, table, model, &rows);
    who_waits(frame, waits, model, &rows);
    if history.height > 0 {
        over_time(frame, history, model);
    }
}

/// The filtered rows that have a measured share, the largest share first.
fn rows(model: &Model) -> Vec<(&LiveProcess, &LiveFairness)> {
    let mut rows: Vec<(&LiveProcess, &LiveFairness)> = model
        .processes()
        .into_iter()
        .filter_map(|(_, process)| Some((process, process.fairness.as_ref()?)))
        .collect();
    let part = |fairness: &LiveFairness| fairness.device_time_share.unwrap_or(0.0);
    rows.sort_by(|(_, a), (_, b)| part(b).total_cmp(&part(a)));
    rows
}

fn index(measured: &Measured, room: u16) -> [Line<'static>; 2] {
    let number = |index: Option<f64>| index.map_or("-".to_owned(), |index| format!("{index:.2}"));
    let Some(fairness) = &measured.live.fairness else {
        return [Line::from("no I/O in this interval"), Line::default()];
    };
    let flows = count(fairness.flows as f64);
    let numbers = [
        (0, "Jain's index: ".to_owned()),
        (
            0,
            format!("device time {}", number(fairness.jain_device_time)),
        ),
        (1, format!(", bytes {}", number(fairness.jain_bytes))),
        (2, format!(", I/Os {}", number(fairness.jain_ios))),
    ];
    let others = if fairness.left_out == 1 {
        "other"
    } else {
        "others"
    };
    let meaning = [
        (
            0,
            format!("1: equal shares, 1/{}: one has all", fairness.flows.max(1)),
        ),
        (1, format!("; for the {flows} that were backlogged")),
        (
            2,
            format!(", {} {others} left out", count(fairness.left_out as f64)),
        ),
    ];
    [
        fit::plain_line(numbers, room),
        fit::plain_line(meaning, room),
    ]
}

/// When columns are scarce, the counts of starvation are dropped first, then the bar, backlogged, starved, and bytes.
fn shares(frame: &mut Frame, area: Rect, model: &Model, rows: &[(&LiveProcess, &LiveFairness)]) {
    let shown = &rows[..rows.len().min(usize::from(area.height.saturating_sub(1)))];
    let bar = |(row, (_, fairness)): (usize, &(&LiveProcess, &LiveFairness))| {
        let part = fairness.device_time_share.unwrap_or(0.0).clamp(0.0, 1.0);
        let filled = (part * BAR as f64).round() as usize;
        Line::from(vec![
            Span::styled("#".repeat(filled), model.palette.series(row)),
            Span::styled(".".repeat(BAR - filled), model.palette.faint()),
        ])
    };
    let all = || shown.iter().map(|(_, fairness)| fairness);
    let columns = [
        Column::name("", 0.., NAME.0, NAME.1).of(shown.iter().map(|(process, _)| name_of(process))),
        Column::words("", 4.., BAR as u16).of(shown.iter().enumerate().map(bar)),
        Column::number("device", 0.., 7).of(all().map(|f| share(f.device_time_share))),
        Column::number("bytes", 1.., 7).of(all().map(|f| share(f.bytes_share))),
        Column::number("backlog", 3.., 7)
            .of(all().map(|f| share(Some(f.backlogged_share.min(1.0))))),
        Column::number("starved", 2.., 7)
            .of(all().map(|f| time(f.starvation_max_ns.map(|ns| ns as f64)))),
        Column::number(">.1s", 5.., 4).of(all().map(|f| count(f.starved_100ms as f64))),
        Column::number(">1s", 6.., 3).of(all().map(|f| count(f.starved_1s as f64))),
    ];
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), area, &columns, faint, |_| Style::new());
}

/// Only for processes that were backlogged most of the time, which waited while the device served others.
fn who_waits(frame: &mut Frame, area: Rect, model: &Model, rows: &[(&LiveProcess, &LiveFairness)]) {
    const BACKLOGGED: f64 = 0.5;
    const SERVED: usize = 3;
    /// The width of the other names, with and without room.
    const NAMES: [usize; 2] = [30, 14];
    let mut waiting: Vec<&(&LiveProcess, &LiveFairness)> = rows
        .iter()
        .filter(|(_, fairness)| fairness.backlogged_share >= BACKLOGGED)
        .collect();
    let wait = |process: &LiveProcess| process.queue_wait.mean_ns.unwrap_or(0.0);
    waiting.sort_by(|(a, _), (b, _)| wait(b).total_cmp(&wait(a)));
    if area.height == 0 {
        return;
    }
    let title = [
        (0, "mean queue wait"),
        (1, " of backlogged processes"),
        (2, ", behind these device shares in the same interval"),
    ];
    let title = fit::plain_line(title, area.width).style(model.palette.faint());
    line(frame, area, 1, title);
    let name_room = usize::from(area.width / 3).clamp(usize::from(NAME.0), 21);
    for (row, (process, _)) in waiting.into_iter().enumerate() {
        let name = fit::name(&name_of(process), name_room);
        let space = " ".repeat(name_room - fit::width(&name));
        let wait = time(process.queue_wait.mean_ns);
        let own = format!("{name}{space} {wait:>8}");
        let mut pieces = vec![Piece::new(0, Style::new(), [own])];
        let served = rows.iter().take(SERVED).enumerate();
        pieces.extend(served.map(|(index, (other, fairness))| {
            let is_same = other.pid == process.pid && other.cgroup_id == process.cgroup_id;
            let before = if index == 0 { " behind " } else { ", " };
            let part = share(fairness.device_time_share);
            let forms = NAMES.map(|room| {
                let name = if is_same {
                    "itself".to_owned()
                } else {
                    fit::name(&name_of(other), room)
                };
                format!("{before}{name} {part}")
            });
            Piece::new(1 + index as u8, Style::new(), forms)
        }));
        let text = fit::line(pieces, area.width);
        line(frame, area, row as u16 + 2, text);
    }
}

fn over_time(frame: &mut Frame, area: Rect, model: &Model) {
    let label = (area.width / 3).clamp(NAME.0, 23);
    let width = usize::from(area.width.saturating_sub(label));
    let history = &model.device().history;
    let moments: Vec<&Moment> = history
        .iter()
        .skip(history.len().saturating_sub(width))
        .collect();
    let title = ["share of device time:", "device share:"];
    let fits = |title: &&str| title.len() < usize::from(label);
    let title = title.into_iter().find(fits).unwrap_or_default();
    line(frame, area, 0, Line::styled(title, model.palette.faint()));
    let names = Rect {
        x: area.x + label,
        width: area.width.saturating_sub(label),
        height: 1,
        ..area
    };
    schedulers(frame, names, model, &moments);
    let mut names: Vec<&str> = Vec::new();
    let latest = moments.iter().rev().take(20);
    for (name, _) in latest.flat_map(|moment| &moment.shares) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let part = |moment: &Moment, name: &str| {
        let found = moment.shares.iter().find(|(other, _)| other == name);
        found.map_or(0.0, |(_, share)| *share)
    };
    let jain = |moment: &Moment| moment.jain_device_time.unwrap_or(0.0);
    let lines = names.iter().map(|name| {
        (
            *name,
            moments
                .iter()
                .map(|moment| part(moment, name))
                .collect::<Vec<f64>>(),
        )
    });
    let jain = (
        "Jain's index",
        moments.iter().map(|moment| jain(moment)).collect(),
    );
    let room = area.height.saturating_sub(1);
    // As high as possible, with an empty line between two.
    let each = (room / (names.len() as u16 + 1)).clamp(1, 6);
    let height = each.saturating_sub(1).max(1);
    for (row, (name, values)) in lines
        .chain([jain])
        .enumerate()
        .take(usize::from(room / each))
    {
        let top = area.y + 1 + row as u16 * each;
        let text = fit::name(name, usize::from(label - 1));
        line(
            frame,
            Rect {
                y: top + height - 1,
                height: 1,
                ..area
            },
            0,
            Line::from(text),
        );
        let chart = Rect {
            x: area.x + label,
            y: top,
            width: area.width.saturating_sub(label),
            height,
        };
        strip::blocks(
            frame.buffer_mut(),
            chart,
            &values,
            1.0,
            model.palette.series(row),
        );
        flips(frame, chart, model, &moments);
    }
}

/// A vertical line where the scheduler changed.
fn flips(frame: &mut Frame, chart: Rect, model: &Model, moments: &[&Moment]) {
    let columns = moments.iter().enumerate();
    for (x, _) in columns.filter(|(_, moment)| moment.is_flip) {
        for y in chart.top()..chart.bottom() {
            frame.buffer_mut()[(chart.x + x as u16, y)]
                .set_symbol("|")
                .set_style(model.palette.faint());
        }
    }
}
