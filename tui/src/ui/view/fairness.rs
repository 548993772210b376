//! ```text
//! Jain's index: device time 0.52, bytes 0.50 ...
//! NAME    device share [bar]    bytes  backlogged  starved
//! mean queue wait: NAME reads   11.7 ms behind NAME writes 97.6 %, its own 2.38 %
//! shares over time, a line for each
//! ```
//! When rows are scarce, the shares over time are dropped first, then the mean queue waits, then the index.

use iosched_result::report::units::{count, share, time};
use iosched_result::stat::{LiveFairness, LiveProcess};
use iosched_result::why::{Does, WhyOwner};
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
    who_waits(frame, waits, model, measured);
    if history.height > 0 {
        over_time(frame, history, model);
    }
}

/// The filtered rows that have a measured share, the largest share first.
fn rows(model: &Model) -> Vec<(&LiveProcess, &LiveFairness)> {
    let mut rows: Vec<(&LiveProcess, &LiveFairness)> = model
        .processes()
        .into_iter()
        .filter(|row| !row.is_idle)
        .filter_map(|row| Some((row.process, row.process.fairness.as_ref()?)))
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

/// Those with the longest waiting, of which a mean wait is not much shorter than the device's time. Exact: every request of the
/// interval is in it.
fn who_waits(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    /// Smaller parts are not shown.
    const SHOWN: f64 = 0.005;
    /// Whom it waits behind, at most.
    const PARTS: usize = 3;
    /// The width of the other names, with and without room.
    const NAMES: [usize; 2] = [37, 21];
    if area.height == 0 {
        return;
    }
    let faint = model.palette.faint();
    let Some(why) = &measured.why else {
        let text = "who waits behind whom is not recorded in this interval: only while this screen or Processes is open";
        let text = fit::sentence(text, usize::from(area.width));
        line(frame, area, 1, Line::styled(text, faint));
        return;
    };
    let missing = match why.missing {
        0 => String::new(),
        missing => format!(" ({} requests missing)", count(missing as f64)),
    };
    let title = [
        (0, "mean queue wait".to_owned()),
        (1, ", and behind whom".to_owned()),
        (2, ": shares of that time".to_owned()),
        (3, missing),
    ];
    line(
        frame,
        area,
        1,
        fit::plain_line(title, area.width).style(faint),
    );
    let is_shown = |owner: &&WhyOwner| {
        let mut shown = model.processes().into_iter();
        model.table.filter.is_empty()
            || shown.any(|row| row.process.pid == Some(owner.pid) && owner.pid > 0)
    };
    let waiting = why.owners.iter().filter(|owner| matters(owner));
    let waiting = waiting.filter(is_shown);
    let name_room = usize::from(area.width / 3).clamp(21, 34);
    let mut is_empty = true;
    for (row, owner) in waiting.enumerate().take(usize::from(area.height) - 2) {
        is_empty = false;
        let whose = name_in(measured, owner.pid, owner.cgroup_id, &owner.name);
        let name = doing(&whose, owner.does, name_room);
        let space = " ".repeat(name_room.saturating_sub(fit::width(&name)));
        let wait = time(Some(owner.wait_ns as f64 / owner.waits.max(1) as f64));
        let mut pieces = vec![Piece::new(
            0,
            Style::new(),
            [format!("{name}{space} {wait:>8}")],
        )];
        let part = |ns: u64| share(Some(ns as f64 / owner.wait_ns.max(1) as f64));
        let behind = owner.behind.iter().take(PARTS).map(|of| {
            let is_own = (of.pid, &of.name, of.does) == (owner.pid, &owner.name, owner.does);
            let name = |room: usize| match of.pid {
                _ if is_own => "its own".to_owned(),
                pid => doing(&name_in(measured, pid, 0, &of.name), of.does, room),
            };
            (of.ns, NAMES.map(name))
        });
        let idle = (
            owner.device_idle_ns,
            NAMES.map(|_| "the idle device".to_owned()),
        );
        let mut parts: Vec<(u64, [String; 2])> = behind.chain([idle]).collect();
        parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        parts.retain(|(ns, _)| *ns as f64 >= SHOWN * owner.wait_ns as f64);
        pieces.extend(parts.into_iter().enumerate().map(|(index, (ns, names))| {
            let before = if index == 0 { " behind " } else { ", " };
            let forms = names.map(|name| format!("{before}{name} {}", part(ns)));
            Piece::new(1 + index as u8, Style::new(), forms)
        }));
        line(frame, area, row as u16 + 2, fit::line(pieces, area.width));
    }
    if is_empty {
        line(frame, area, 2, Line::from("nobody waits for long"));
    }
}

/// Whether its requests wait for a tenth of their time at the device.
fn matters(owner: &WhyOwner) -> bool {
    let wait = owner.wait_ns as f64 / owner.waits.max(1) as f64;
    owner.wait_ns > 0 && wait >= 0.1 * owner.service_ns as f64 / owner.ios.max(1) as f64
}

/// As the process is called above. One whose control group is not known is found by its number.
fn name_in(measured: &Measured, pid: u32, cgroup_id: u64, name: &str) -> String {
    let is_it = |process: &&LiveProcess| {
        process.pid == Some(pid) && (cgroup_id == 0 || process.cgroup_id == cgroup_id)
    };
    let process = measured.processes.iter().find(is_it);
    match process.filter(|_| pid > 0) {
        Some(process) => name_of(process),
        None if pid > 0 => format!("{name} {pid}"),
        None => name.to_owned(),
    }
}

/// `hog: fio 4002 writes`
fn doing(name: &str, does: Does, room: usize) -> String {
    let what = does.name();
    let left = room.saturating_sub(what.len() + 1);
    format!("{} {what}", fit::name(name, left))
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
