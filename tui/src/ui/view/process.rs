//! One process: its histograms of queue wait and device time since the page was opened, separately for reads and writes.
//!
//! When rows are scarce, the pictures are dropped first, then the times since submission, then the line of shares;
//! each histogram keeps its line of percentiles.

use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{Op, OwnerNumbers, OwnerOp};
use iosched_result::report::units::{count, duration, share, throughput, time};
use iosched_result::stat::LiveProcess;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::fit::{self, Piece};
use super::parts::{Part, inner, stack};
use super::{asked, axis, causes, line, measured_or_why, strip, text_lines};
use crate::ui::state::action::KeyCommand;
use crate::ui::state::axis::Axis;
use crate::ui::state::model::Model;
use crate::ui::state::reports::name_of;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    if measured_or_why(frame, area, model).is_none() {
        return;
    }
    let inner = inner(area);
    let rows = model.processes();
    let page = model.device().page.as_ref();
    let row = model.chosen_row(&rows);
    let now = row.and_then(|row| rows.get(row)).filter(|row| !row.is_idle);
    let now = now.map(|row| row.process);
    let back = model.keys.does(KeyCommand::Back, "goes back");
    let Some(process) = now.or(page.and_then(|page| page.process.as_ref())) else {
        return line(frame, inner, 0, idle_line(&back, inner.width));
    };
    let asked = now.and_then(|process| process.asked.as_ref());
    let asked_rows = asked::rows(asked);
    let why = model
        .device_sample()
        .and_then(|sample| sample.measured.as_ref()?.why.as_deref());
    let causes = now.map_or([const { Vec::new() }; 2], |process| {
        causes::all(process, why)
    });
    let reasons = causes.iter().filter(|parts| !parts.is_empty()).count() as u16;
    let [who, what, reason, since, below] = stack(
        inner,
        [
            Part::new(0, 1, 1),
            Part::new(2, 1, 1),
            Part::new(2, reasons, reasons),
            Part::new(3, asked_rows, asked_rows),
            Part::filling(1, 1),
        ],
    );
    let over = page.map_or_else(String::new, |page| {
        format!("   histograms over {}", length(page.seconds))
    });
    line(frame, who, 0, who_line(model, process, over, inner.width));
    let numbers = match now {
        Some(process) => what_line(process, inner.width),
        None => idle_line(&back, inner.width),
    };
    line(frame, what, 0, numbers);
    let lines = ["waits for", "behind"].into_iter().zip(causes);
    let lines = lines.filter(|(_, parts)| !parts.is_empty());
    for (row, (title, parts)) in lines.enumerate().take(usize::from(reason.height)) {
        line(
            frame,
            reason,
            row as u16,
            parts_line(title, parts, inner.width),
        );
    }
    asked::render(frame, since, asked);
    let Some(owner) = page.and_then(|page| page.owner.as_ref()) else {
        let text = "no histograms yet: this screen was just opened, or the BPF map has no room for this process";
        let lines = fit::paragraph(text, usize::from(below.width), usize::from(below.height));
        return text_lines(frame, below, lines);
    };
    histograms(frame, below, model, owner);
}

fn idle_line(back: &str, room: u16) -> Line<'static> {
    let texts = [
        (0, "no I/O of this process".to_owned()),
        (1, " in this interval".to_owned()),
        (2, format!("; {back}")),
    ];
    fit::plain_line(texts, room)
}

/// Prints fractions of a second, because an interval can be shorter than one.
fn length(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{} s", (seconds * 100.0).round() / 100.0)
    } else {
        duration(seconds)
    }
}

fn who_line(model: &Model, process: &LiveProcess, over: String, room: u16) -> Line<'static> {
    let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
    let name = |room: usize| fit::name(&name_of(process), room);
    let cgroup = |room: usize| fit::clip(process.cgroup.as_deref().unwrap_or("-"), room);
    let wide = usize::from(room) / 2;
    let group = [wide, wide / 2].map(|room| format!("   cgroup {}", cgroup(room)));
    let pieces = vec![
        Piece::new(0, model.palette.title(), [name(wide), name(24)]),
        Piece::new(2, Style::new(), group),
        plain(3, format!("   merged {}", share(process.merge_ratio))),
        plain(1, over),
    ];
    fit::line(pieces, room)
}

fn what_line(process: &LiveProcess, room: u16) -> Line<'static> {
    let fairness = process.fairness.as_ref();
    let starved = fairness.and_then(|fairness| fairness.starvation_max_ns);
    let device = share(fairness.and_then(|fairness| fairness.device_time_share));
    let backlogged = share(fairness.map(|fairness| fairness.backlogged_share));
    let unknown = match process.without_queue_wait {
        0 => String::new(),
        n => format!("  queue wait unknown for {} I/Os", count(n as f64)),
    };
    fit::plain_line(
        [
            (0, format!("{} IOPS", count(process.iops))),
            (0, format!("  {}", throughput(process.bytes_per_s))),
            (1, format!("  device share {device}")),
            (
                2,
                format!("  stalled {}", share(Some(process.stalled_share))),
            ),
            (4, format!("  backlogged {backlogged}")),
            (
                3,
                format!("  starved {}", time(starved.map(|ns| ns as f64))),
            ),
            (1, unknown),
        ],
        room,
    )
}

/// Without the last of the parts if there is no room.
fn parts_line(title: &str, parts: Vec<String>, room: u16) -> Line<'static> {
    let parts = parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| match index {
            0 => (0, format!("{title}  {part}")),
            index => (index as u8, format!("  {part}")),
        });
    fit::plain_line(parts, room)
}

pub fn axis_around(owner: &OwnerNumbers) -> Axis {
    Axis::around(owner.q2d.iter().chain(&owner.d2c))
}

fn histograms(frame: &mut Frame, area: Rect, model: &Model, owner: &OwnerNumbers) {
    let longest = |ops: &[Op], of: fn(&OwnerOp) -> Option<u64>| {
        ops.iter().filter_map(|op| of(owner.op(*op))).max()
    };
    let wait = |ops| longest(ops, |op| op.q2d_max_ns);
    let device = |ops| longest(ops, |op| op.d2c_max_ns);
    let (reads, writes) = (&[Op::Read], &Op::WRITES);
    let all: Vec<(&str, &Histogram, Option<u64>)> = [
        ("queue wait of reads", &owner.q2d[0], wait(reads)),
        ("queue wait of writes", &owner.q2d[1], wait(writes)),
        ("device time of reads", &owner.d2c[0], device(reads)),
        ("device time of writes", &owner.d2c[1], device(writes)),
    ]
    .into_iter()
    .filter(|(_, histogram, _)| histogram.count() > 0)
    .collect();
    let axis = axis::of(model, || axis_around(owner));
    let columns = usize::from(area.width);
    let shares: Vec<Vec<f64>> = all
        .iter()
        .map(|(_, histogram, _)| axis.shares(histogram, columns))
        .collect();
    let highest = strip::highest(&shares);
    // All pictures have the same height, or none is drawn.
    let each = area.height.saturating_sub(1) / (all.len().max(1) as u16);
    let each = if each < 2 { 1 } else { each };
    for (index, (title, histogram, longest_ns)) in all.iter().enumerate() {
        let top = index as u16 * each;
        let style = model.palette.series(1 + index / 2 + index % 2);
        let ios = format!("  {} I/Os", count(histogram.count() as f64));
        let mut pieces = vec![
            Piece::new(0, style, [(*title).to_owned()]),
            Piece::new(4, Style::new(), [ios]),
            Piece::new(0, Style::new(), ["  "]),
        ];
        pieces.extend(strip::summary(histogram, longest_ns.map(|ns| ns as f64)));
        pieces.extend(strip::beyond(axis, histogram));
        line(frame, area, top, fit::line(pieces, area.width));
        if each > 1 {
            let blocks = Rect {
                y: area.y + top + 1,
                height: each - 1,
                ..area
            };
            strip::blocks(frame.buffer_mut(), blocks, &shares[index], highest, style);
        }
    }
    if each > 1 && !all.is_empty() {
        let ticks = Rect {
            y: area.y + all.len() as u16 * each,
            height: 1,
            ..area
        };
        strip::axis(frame.buffer_mut(), ticks, axis, model.palette);
    }
}
