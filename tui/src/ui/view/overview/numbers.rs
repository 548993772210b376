//! The numbers of the overview, and those that are available without BPF.

use iosched_result::measured::snapshot::Op;
use iosched_result::report::units::{count, share, throughput, time};
use iosched_result::stat::LiveOp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::sampling::sample::{DeviceSample, Measured};
use crate::ui::state::axis::Axis;
use crate::ui::state::compare::{Scope, ShownStage};
use crate::ui::state::model::{Access, Model};
use crate::ui::view::fit::{self, Piece};
use crate::ui::view::parts::{Part, stack};
use crate::ui::view::table::{self, Column};
use crate::ui::view::{axis, disks, few, line, strip, text_lines};

/// The counters in sysfs, and why there are no other numbers.
pub fn counters(frame: &mut Frame, area: Rect, model: &Model, sample: &DeviceSample) {
    let c = &sample.counters;
    let means_ns = disks::known_means_ns(c);
    let [table, _, now, _, below] = stack(
        area,
        [
            Part::new(0, 3, 3),
            Part::gap(area.height > 8),
            Part::new(1, 1, 1),
            Part::gap(area.height > 8),
            Part::filling(2, 1),
        ],
    );
    let columns = [
        Column::words("", 0.., 8).of(["reads", "writes"]),
        Column::number("IOPS", 0.., 8).of([c.reads_per_s, c.writes_per_s].map(count)),
        Column::number("throughput", 0.., 12)
            .of([c.read_bytes_per_s, c.write_bytes_per_s].map(throughput)),
        Column::number("mean", 0.., 12)
            .until(1)
            .of(means_ns.map(time)),
        Column::number("mean, start to completion", 1.., 0).of(means_ns.map(time)),
    ];
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), table, &columns, faint, |_| Style::new());
    let busy = format!(
        "in flight {}   busy {}",
        count(c.in_flight as f64),
        share(Some(c.busy_share))
    );
    line(frame, now, 0, Line::from(busy));
    if let Access::Sysfs(why) = &model.access {
        let text = format!(
            "Without BPF the kernel shows no more than this. Queue wait, percentiles, processes, order and fairness need BPF \
             programs in the kernel, which could not be attached:\n\n{why}"
        );
        let lines = fit::paragraph(&text, usize::from(below.width), usize::from(below.height));
        text_lines(frame, below, lines);
    }
}

/// When columns are scarce, the size is dropped first, then max and p99, the throughput, and the device time.
pub fn operations(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    let live = &measured.live;
    let ops = || {
        live.ops
            .iter()
            .take(usize::from(area.height.saturating_sub(1)))
    };
    let name = |op: &LiveOp| {
        let name = match op.op {
            Op::Read => "reads",
            Op::WriteSync => "writes",
            Op::WriteAsync => "writeback",
            other => other.name(),
        };
        Line::styled(name, model.palette.strong())
    };
    let wait = if measured.queue_wait_is_g2d {
        "G2D p50"
    } else {
        "wait p50"
    };
    let size = |op: &LiveOp| match op.ios {
        0 => "-".to_owned(),
        ios => bytes(op.bytes as f64 / ios as f64),
    };
    let columns = [
        Column::words("", 0.., 9).of(ops().map(name)),
        Column::number("IOPS", 0.., 5).of(ops().map(|op| count(op.iops))),
        Column::number("bytes/s", 2.., 9)
            .until(8)
            .of(ops().map(|op| throughput(op.bytes_per_s))),
        Column::number("throughput", 8.., 12).of(ops().map(|op| throughput(op.bytes_per_s))),
        Column::number(wait, 0.., 8).of(ops().map(|op| few::p50(&op.queue_wait))),
        Column::number("p99", 3.., 8).of(ops().map(|op| few::p99(&op.queue_wait))),
        Column::number("max", 5.., 7).of(ops().map(|op| time(op.queue_wait.max_ns))),
        Column::number("dev. p50", 1.., 8)
            .until(7)
            .of(ops().map(|op| few::p50(&op.device))),
        Column::number("device p50", 7.., 11).of(ops().map(|op| few::p50(&op.device))),
        Column::number("p99", 4.., 8).of(ops().map(|op| few::p99(&op.device))),
        Column::number("max", 6.., 7).of(ops().map(|op| time(op.device.max_ns))),
        Column::number("size", 9.., 9).of(ops().map(size)),
    ];
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), area, &columns, faint, |_| Style::new());
    if live.ops.is_empty() {
        line(
            frame,
            area,
            1,
            Line::styled("no I/O in this interval", faint),
        );
    }
}

/// In powers of two, as request sizes are: `4.0 KiB`.
fn bytes(bytes: f64) -> String {
    let (mut number, mut unit) = (bytes / 1024.0, "KiB");
    for larger in ["MiB", "GiB", "TiB", "PiB", "EiB"] {
        if number >= 1024.0 {
            (number, unit) = (number / 1024.0, larger);
        }
    }
    format!("{number:.1} {unit}")
}

/// A mean number of I/Os.
fn mean(ios: f64) -> String {
    if ios < 1000.0 {
        format!("{ios:.1}")
    } else {
        count(ios)
    }
}

/// As a share of the time; smaller stalls are not shown.
const LEAST_STALLED: f64 = 0.001;

pub fn where_time_goes(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    let live = &measured.live;
    let (waiting, at_device) = (mean(live.mean_waiting), mean(live.mean_at_device));
    let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
    let mut pieces = vec![Piece::new(
        0,
        Style::new(),
        [
            format!("in flight {waiting} waiting + {at_device} at device"),
            format!("in flight {waiting} + {at_device}"),
        ],
    )];
    if let Some(now) = live.in_flight {
        let (queued, issued) = (count(now.queued as f64), count(now.issued as f64));
        pieces.push(plain(1, format!("; now {queued} + {issued}")));
        if let Some(blocked) = now.blocked.filter(|threads| *threads > 0) {
            pieces.push(plain(2, format!(", {} blocked", count(blocked as f64))));
        }
        if !now.is_nothing() {
            let oldest = time(now.oldest_ns.map(|ns| ns as f64));
            pieces.push(plain(3, format!(", oldest {oldest}")));
        }
    }
    if live.stalled_share >= LEAST_STALLED {
        let stalled = format!("stalled {}", share(Some(live.stalled_share)));
        let forms = [format!("; submitters {stalled}"), format!("; {stalled}")];
        pieces.push(Piece::new(2, Style::new(), forms));
    }
    pieces.push(plain(4, format!("; merged {}", share(live.merge_ratio))));
    line(frame, area, 0, fit::line(pieces, area.width));
    let all = live.mean_waiting + live.mean_at_device;
    if all > 0.0 {
        line(
            frame,
            area,
            1,
            bar(
                model,
                area.width,
                live.mean_waiting / all,
                live.without_queue_wait,
            ),
        );
    }
}

fn bar(model: &Model, room: u16, waiting: f64, unknown: u64) -> Line<'static> {
    const LEAST: usize = 10;
    let room = usize::from(room);
    let part = share(Some(waiting));
    let of = |words: &str| match unknown {
        0 => String::new(),
        n => format!(", unknown for {}{words}", count(n as f64)),
    };
    let forms = [
        format!(" {part} of an I/O's time is queue wait{}", of(" I/Os")),
        format!(" {part} queue wait{}", of("")),
    ];
    let fits = forms.iter().find(|form| form.len() + LEAST <= room);
    let label = fits.unwrap_or(&forms[1]).clone();
    let width = room.saturating_sub(label.len() + 2).min(60);
    let filled = ((waiting * width as f64).round() as usize).min(width);
    Line::from(vec![
        Span::styled("#".repeat(filled), model.palette.series(1)),
        Span::styled(".".repeat(width - filled), model.palette.series(2)),
        Span::raw(label),
    ])
}

/// The stages that the histograms show.
const STAGES: [ShownStage; 2] = [ShownStage::Wait, ShownStage::Device];

pub fn axis_around(measured: &Measured) -> Axis {
    Axis::around(&STAGES.map(|stage| measured.stages.histogram(stage, Scope::All)))
}

pub fn histograms(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    if area.height == 0 {
        return;
    }
    let scope = Scope::All;
    let both = STAGES.map(|stage| measured.stages.histogram(stage, scope));
    let axis = axis::of(model, || Axis::around(&both));
    let shares = [0, 1].map(|index| axis.shares(&both[index], usize::from(area.width)));
    let highest = strip::highest(&shares);
    let half = area.height.saturating_sub(3) / 2;
    let row = |y: u16, height: u16| Rect {
        y: area.y + y,
        height,
        ..area
    };
    for (index, stage) in STAGES.into_iter().enumerate() {
        let style = model.palette.series(index + 1);
        let top = index as u16 * (half + 1);
        let mut pieces = vec![
            Piece::new(0, style, [stage.title()]),
            Piece::new(4, Style::new(), [format!(" of {}", scope.title())]),
            Piece::new(0, Style::new(), [": "]),
        ];
        let longest_ns = both[index].end_ns().map(|end| end as f64);
        pieces.extend(strip::summary(&both[index], longest_ns));
        pieces.extend(strip::beyond(axis, &both[index]));
        line(frame, row(top, 1), 0, fit::line(pieces, area.width));
        let buffer = frame.buffer_mut();
        strip::blocks(buffer, row(top + 1, half), &shares[index], highest, style);
    }
    let ticks = row(2 * half + 2, 1);
    strip::axis(frame.buffer_mut(), ticks, axis, model.palette);
}
