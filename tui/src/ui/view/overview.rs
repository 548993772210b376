//! ```text
//! loop0: 1.07 GB, SSD, 1 queue of depth 64
//! schedulers  none [mq-deadline] kyber bfq
//! settings    nr_requests 128 ...
//!            IOPS  throughput   size  queue wait p50 p99 max  device p50 p99 max
//! reads ...
//! in flight 8.1 waiting + 4.0 at device; submitters stalled 12 %
//! ######## .... 91 % of an I/O's time is queue wait
//! asked  to queued p50 p99  to issued p50 p99  to completed p50 p99
//! [histogram of queue wait]
//! [histogram of device time]
//! [the busiest processes]
//! ```
//! When rows are scarce, the settings are dropped first, then the schedulers, the histograms, the disk, the times
//! since submission, where an I/O's time goes, and the processes.

mod numbers;

pub use numbers::axis_around;

use iosched_result::report::units::throughput;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::fit::{self, Piece};
use super::parts::{Part, inner, stack};
use super::{asked, line, processes, text_lines};
use crate::ui::state::action::KeyCommand;
use crate::ui::state::model::Model;

/// Two titles, one line of blocks below each, and the axis.
const HISTOGRAMS: u16 = 5;
/// The rows of the screen without BPF: counters, title, and some lines on what is missing.
const COUNTERS: u16 = 5;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let area = inner(area);
    let sample = model.device_sample();
    let measured = sample.and_then(|sample| sample.measured.as_deref());
    let most = if area.height > 30 { 4 } else { 1 };
    let settings = settings(model, area.width, most);
    let is_high = area.height > 21;
    let operations = measured.map_or(0, |all| all.live.ops.len().clamp(1, 5) as u16) + 1;
    let rows = model.processes().len().max(1) as u16 + 1;
    let list = if area.height > 27 { area.height / 3 } else { 5 };
    let head = [
        Part::new(4, 1, 1),
        Part::new(6, 1, 1),
        Part::new(7, 1, settings.len() as u16),
    ];
    let Some(measured) = measured else {
        let [disk_at, schedulers_at, set, _, rest] = stack(
            area,
            [
                head[0],
                head[1],
                head[2],
                Part::gap(area.height > 9),
                Part::filling(0, COUNTERS),
            ],
        );
        line(frame, disk_at, 0, disk(model, area.width));
        line(frame, schedulers_at, 0, schedulers(model, area.width));
        text_lines(frame, set, settings);
        match sample {
            None => line(frame, rest, 0, Line::from("attaching the BPF programs ...")),
            Some(sample) => numbers::counters(frame, rest, model, sample),
        }
        return;
    };
    let losses = losses(model, area.width);
    let loss_rows = losses.len() as u16;
    let asked_rows = asked::rows(measured.live.asked.as_ref());
    let [
        disk_at,
        schedulers_at,
        set,
        lost,
        _,
        table,
        time_of,
        since,
        _,
        pictures,
        _,
        busiest,
    ] = stack(
        area,
        [
            head[0],
            head[1],
            head[2],
            Part::new(5, loss_rows, loss_rows),
            Part::gap(is_high),
            Part::new(0, operations, operations),
            Part::new(3, 2, 2),
            Part::new(3, asked_rows, asked_rows),
            Part::gap(is_high),
            Part::filling(5, HISTOGRAMS),
            Part::gap(is_high),
            Part::new(1, 3, list.min(rows.max(5))),
        ],
    );
    line(frame, disk_at, 0, disk(model, area.width));
    line(frame, schedulers_at, 0, schedulers(model, area.width));
    text_lines(frame, set, settings);
    text_lines(frame, lost, losses);
    numbers::operations(frame, table, model, measured);
    numbers::where_time_goes(frame, time_of, model, measured);
    asked::render(frame, since, measured.live.asked.as_ref());
    numbers::histograms(frame, pictures, model, measured);
    processes::table(frame, busiest, model, false);
}

fn disk(model: &Model, room: u16) -> Line<'static> {
    let disk = &model.device().disk;
    let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
    let mut pieces = Vec::new();
    if let Some(head) = &disk.path_of {
        pieces.push((1, format!("path of {}", fit::clip(head, 32))));
    }
    if let Some(name) = &disk.model {
        pieces.push((3, fit::clip(name, 32)));
    }
    if let Some(bytes) = disk.size_bytes {
        pieces.push((1, size(bytes as f64)));
    }
    if let Some(rotational) = disk.rotational {
        let text = if rotational {
            "rotational"
        } else {
            "not rotational"
        };
        pieces.push((4, text.to_owned()));
    }
    let queues = if disk.hardware_queues == 1 {
        "queue"
    } else {
        "queues"
    };
    pieces.push((5, format!("{} hardware {queues}", disk.hardware_queues)));
    let depth = model
        .device_sample()
        .and_then(|sample| sample.queue.as_ref()?.hardware_depth);
    let depth = depth.map_or("unknown depth".to_owned(), |depth| {
        format!("depth {}", depth.depth)
    });
    pieces.push((2, depth));
    let name = fit::clip(&disk.name, usize::from(room / 3));
    let name = Piece::new(0, model.palette.strong(), [name]);
    // Each piece contains its separator, because any of them may be left out.
    let rest = pieces.into_iter().enumerate().map(|(index, (rank, text))| {
        let before = if index == 0 { ": " } else { ", " };
        plain(rank, format!("{before}{text}"))
    });
    fit::line(std::iter::once(name).chain(rest).collect(), room)
}

/// I/Os that the measurement missed since the start, by cause; nothing if it missed none.
fn losses(model: &Model, room: u16) -> Vec<Line<'static>> {
    let quality = &model.device().quality;
    if quality.lost_events() == 0 {
        return Vec::new();
    }
    let text = format!("I/Os lost so far: {}", quality.losses_in_words());
    let lines = fit::paragraph(&text, usize::from(room), 2).into_iter();
    lines
        .map(|text| Line::styled(text, model.palette.faint()))
        .collect()
}

/// In powers of ten, as storage is sold.
pub fn size(bytes: f64) -> String {
    throughput(bytes).replace("/s", "")
}

/// All schedulers, or the active one and the number of schedulers.
fn schedulers(model: &Model, room: u16) -> Line<'static> {
    let queue = model
        .device_sample()
        .and_then(|sample| sample.queue.as_ref());
    let available = queue.map(|queue| &*queue.available).unwrap_or_default();
    let active = |name: &str| Span::styled(format!("[{name}] "), model.palette.title());
    let all = available.iter().map(|name| {
        if queue.is_some_and(|queue| queue.active == *name) {
            active(name)
        } else {
            Span::raw(format!("{name} "))
        }
    });
    let mut forms = vec![all.collect()];
    if let Some(queue) = queue {
        let name = active(&fit::clip(&queue.active, usize::from(room / 2)));
        forms.push(vec![name, Span::raw(format!("of {}", available.len()))]);
    }
    let faint = model.palette.faint();
    let switches = model.keys.does(KeyCommand::Flip, "switches");
    let compares = model.keys.does(KeyCommand::Rotate, "compares all");
    let pieces = vec![
        Piece::new(2, faint, ["schedulers  "]),
        Piece::of_spans(0, forms),
        Piece::new(3, faint, [format!("  {switches}")]),
        Piece::new(3, faint, [format!(", {compares}")]),
    ];
    fit::line(pieces, room)
}

/// The most important settings, shown first.
const FIRST: [&str; 5] = [
    "nr_requests",
    "wbt_lat_usec",
    "read_ahead_kb",
    "nomerges",
    "rq_affinity",
];

fn settings(model: &Model, room: u16, rows: usize) -> Vec<Line<'static>> {
    const TITLE: &str = "settings    ";
    let room = usize::from(room).saturating_sub(TITLE.len());
    let mut words = Vec::new();
    if let Some(queue) = model
        .device_sample()
        .and_then(|sample| sample.queue.as_ref())
    {
        let of_queue = FIRST
            .iter()
            .filter_map(|name| Some((*name, queue.settings.get(*name)?)));
        let own = queue
            .settings
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("iosched/")?, value)));
        let all = of_queue.chain(own);
        words.extend(all.map(|(name, value)| format!("{name}={value}")));
    }
    // A setting longer than a line is left out.
    let count = words.len();
    words.retain(|word| fit::width(word) <= room);
    if words.len() < count {
        words.push("…".to_owned());
    }
    let lines = fit::paragraph(&words.join(" "), room, rows);
    let lines = lines.into_iter().enumerate().map(|(index, text)| {
        let title = if index == 0 { TITLE } else { "            " };
        Line::from(vec![
            Span::styled(title, model.palette.faint()),
            Span::raw(text),
        ])
    });
    lines.collect()
}
