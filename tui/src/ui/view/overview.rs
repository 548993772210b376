//! ```text
//! loop0: 1.07 GB, SSD, 1 queue of depth 64
//! schedulers  none [mq-deadline] kyber bfq
//! settings    nr_requests 128 ...
//!            IOPS  throughput   size  queue wait p50 p99 max  device p50 p99 max
//! reads ...
//! an I/O's time: ######## waiting 91 % .... at the device
//! [histogram of queue wait]
//! [histogram of device time]
//! [the busiest processes]
//! ```

use iosched::report::live::{Latency, LiveOp};
use iosched::report::units::{count, share, throughput, time};
use iosched::snapshot::Op;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};

use super::{line, processes, strip};
use crate::ui::buckets::Axis;
use crate::ui::compare::{Scope, Stage};
use crate::ui::model::{Access, Model};
use crate::ui::sample::{DeviceSample, Measured};

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let area = area.inner(ratatui::layout::Margin::new(2, 0));
    let settings = settings(model);
    let used = wrapped(&settings, area.width).min(if area.height > 30 { 4 } else { 1 });
    let [head, set, rest] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(used),
        Constraint::Min(1),
    ])
    .areas(area);
    line(frame, head, 0, disk(model));
    line(frame, head, 1, schedulers(model));
    frame.render_widget(Paragraph::new(settings).wrap(Wrap { trim: true }), set);
    let Some(sample) = model.device_sample() else {
        line(frame, rest, 1, Line::from("attaching the probe ..."));
        return;
    };
    match &sample.measured {
        Some(measured) => numbers(frame, rest, model, measured),
        None => counters(frame, rest, model, sample),
    }
}

fn wrapped(text: &Line<'_>, width: u16) -> u16 {
    (text.width() as u16).div_ceil(width.max(1)).max(1)
}

fn disk(model: &Model) -> Line<'static> {
    let disk = &model.device().disk;
    let mut words = Vec::new();
    words.extend(disk.model.clone());
    words.extend(disk.size_bytes.map(size));
    words.extend(
        disk.rotational
            .map(|is| if is { "rotational" } else { "not rotational" }.to_owned()),
    );
    let depth = model
        .device_sample()
        .and_then(|sample| sample.queue.as_ref()?.hardware_depth);
    let depth = depth.map_or("unknown depth".to_owned(), |depth| {
        format!("depth {}", depth.depth)
    });
    let queues = if disk.hardware_queues == 1 {
        "queue"
    } else {
        "queues"
    };
    words.push(format!(
        "{} hardware {queues}, {depth}",
        disk.hardware_queues
    ));
    let mut spans = vec![
        Span::styled(disk.name.clone(), model.palette.strong()),
        Span::raw(": "),
    ];
    spans.push(Span::raw(words.join(", ")));
    Line::from(spans)
}

fn size(bytes: u64) -> String {
    throughput(bytes as f64).replace("/s", "")
}

fn schedulers(model: &Model) -> Line<'static> {
    let mut spans = vec![Span::styled("schedulers  ", model.palette.faint())];
    let queue = model
        .device_sample()
        .and_then(|sample| sample.queue.as_ref());
    for name in queue.map(|queue| &*queue.available).unwrap_or_default() {
        let is_active = queue.is_some_and(|queue| queue.active == *name);
        spans.push(if is_active {
            Span::styled(format!("[{name}] "), model.palette.title())
        } else {
            Span::raw(format!("{name} "))
        });
    }
    spans.push(Span::styled(
        "  f switches, F compares them all",
        model.palette.faint(),
    ));
    Line::from(spans)
}

/// What matters most first; what is at its usual value is not less true.
const FIRST: [&str; 5] = [
    "nr_requests",
    "wbt_lat_usec",
    "read_ahead_kb",
    "nomerges",
    "rq_affinity",
];

fn settings(model: &Model) -> Line<'static> {
    let mut spans = vec![Span::styled("settings    ", model.palette.faint())];
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
        let words: Vec<String> = of_queue
            .chain(own)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        spans.push(Span::raw(words.join(" ")));
    }
    Line::from(spans)
}

/// What sysfs tells without rights, and how to get the rest.
fn counters(frame: &mut Frame, area: Rect, model: &Model, sample: &DeviceSample) {
    let c = &sample.counters;
    let row = |name: &str, iops: f64, bytes: f64, mean: Option<f64>| {
        Line::from(format!(
            "{name:<8}{:>9} {:>12}   {:>9} on average",
            count(iops),
            throughput(bytes),
            time(mean)
        ))
    };
    line(
        frame,
        area,
        1,
        Line::styled(
            "             IOPS   throughput   from start to completion",
            model.palette.faint(),
        ),
    );
    line(
        frame,
        area,
        2,
        row("reads", c.reads_per_s, c.read_bytes_per_s, c.read_mean_ns),
    );
    line(
        frame,
        area,
        3,
        row(
            "writes",
            c.writes_per_s,
            c.write_bytes_per_s,
            c.write_mean_ns,
        ),
    );
    let busy = format!(
        "in flight {}   busy {}",
        c.in_flight,
        share(Some(c.busy_share))
    );
    line(frame, area, 5, Line::from(busy));
    if let Access::Sysfs(why) = &model.access {
        let text = format!(
            "That is all the kernel tells everybody. Queue wait, percentiles, processes, order and fairness need the probe in the \
             kernel, which could not be attached:\n\n{why}"
        );
        let below = Rect {
            y: (area.y + 7).min(area.bottom()),
            height: area.height.saturating_sub(7),
            ..area
        };
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), below);
    }
}

fn numbers(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    let live = &measured.live;
    let ops: Vec<&LiveOp> = live.ops.iter().take(5).collect();
    let busiest = if area.height > 24 { area.height / 3 } else { 5 };
    let [_, table, time_of, _, pictures, _, list] = Layout::vertical([
        Constraint::Length(u16::from(area.height > 18)),
        Constraint::Length(1 + ops.len().max(1) as u16),
        Constraint::Length(2),
        Constraint::Length(u16::from(area.height > 18)),
        Constraint::Min(5),
        Constraint::Length(u16::from(area.height > 18)),
        Constraint::Length(busiest),
    ])
    .areas(area);
    operations(frame, table, model, &ops, measured.queue_wait_is_g2d);
    where_time_goes(frame, time_of, model, measured);
    histograms(frame, pictures, model, measured);
    processes::table(frame, list, model, false);
}

fn operations(frame: &mut Frame, area: Rect, model: &Model, ops: &[&LiveOp], is_g2d: bool) {
    let is_wide = area.width >= 106;
    let wait = if is_g2d { "G2D p50" } else { "wait p50" };
    let device = if is_wide { "device p50" } else { "dev. p50" };
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let names = [
        "",
        "IOPS",
        "throughput",
        wait,
        "p99",
        "max",
        device,
        "p99",
        "max",
    ];
    let size = is_wide.then_some("size");
    let header = names
        .into_iter()
        .chain(size)
        .map(|name| right(name.to_owned()));
    let latency = |latency: &Latency| [latency.p50_ns, latency.p99_ns, latency.max_ns].map(time);
    let rows = ops.iter().map(|op| {
        let name = match op.op {
            Op::Read => "reads",
            Op::WriteSync => "writes",
            Op::WriteAsync => "writeback",
            other => other.name(),
        };
        let size = (op.ios > 0).then(|| op.bytes as f64 / op.ios as f64);
        let mut cells = vec![count(op.iops), throughput(op.bytes_per_s)];
        cells.extend(latency(&op.queue_wait));
        cells.extend(latency(&op.device));
        cells.extend(is_wide.then(|| size.map_or("-".to_owned(), bytes)));
        let name = Cell::from(Span::styled(name, model.palette.strong()));
        Row::new(std::iter::once(name).chain(cells.into_iter().map(right)))
    });
    let mut widths = vec![9, 5, 10, 8, 7, 7, 8, 7, 7];
    if is_wide {
        widths = vec![12, 8, 12, 10, 9, 9, 10, 9, 9, 9];
    }
    let widths = widths.into_iter().map(Constraint::Length);
    let header = Row::new(header).style(model.palette.faint());
    frame.render_widget(
        Table::new(rows, widths).header(header).column_spacing(1),
        area,
    );
    if ops.is_empty() {
        line(
            frame,
            area,
            1,
            Line::styled("no I/O in this interval", model.palette.faint()),
        );
    }
}

/// `4.0 KiB`: requests are powers of two.
fn bytes(bytes: f64) -> String {
    if bytes < 1024.0 * 1024.0 {
        format!("{:.1} KiB", bytes / 1024.0)
    } else {
        format!("{:.1} MiB", bytes / 1024.0 / 1024.0)
    }
}

fn where_time_goes(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    let live = &measured.live;
    let all = live.mean_waiting + live.mean_at_device;
    let now = live.in_flight.map_or(String::new(), |now| {
        format!("; now {} + {}", now.queued, now.issued)
    });
    let oldest = live.in_flight.filter(|now| now.queued + now.issued > 0);
    let oldest = oldest.map_or(String::new(), |now| {
        format!(", oldest {}", time(now.oldest_ns.map(|ns| ns as f64)))
    });
    let in_flight = format!(
        "in flight {:.1} waiting + {:.1} at device{now}{oldest}",
        live.mean_waiting, live.mean_at_device,
    );
    let merged = format!("; merged {}", share(live.merge_ratio));
    let has_room = in_flight.len() + merged.len() <= usize::from(area.width);
    let merged = if has_room { &*merged } else { "" };
    line(frame, area, 0, Line::from(format!("{in_flight}{merged}")));
    if all <= 0.0 {
        return;
    }
    let waiting = live.mean_waiting / all;
    let label = format!(" {} of an I/O's time is queue wait", share(Some(waiting)));
    let width = usize::from(area.width)
        .saturating_sub(label.len() + 2)
        .min(60);
    let filled = (waiting * width as f64).round() as usize;
    let bar = Line::from(vec![
        Span::styled("#".repeat(filled), model.palette.series(1)),
        Span::styled(".".repeat(width - filled), model.palette.series(2)),
        Span::raw(label),
    ]);
    line(frame, area, 1, bar);
}

fn histograms(frame: &mut Frame, area: Rect, model: &Model, measured: &Measured) {
    let scope = Scope::All;
    let wait = measured.stages.of(Stage::Wait, scope);
    let device = measured.stages.of(Stage::Device, scope);
    let axis = Axis::around([&wait, &device]);
    let half = area.height.saturating_sub(3) / 2;
    let [title_a, a, title_b, b, ticks] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(half),
        Constraint::Length(1),
        Constraint::Length(half),
        Constraint::Length(1),
    ])
    .areas(area);
    for (index, (title, strip_area, histogram, stage)) in [
        (title_a, a, &wait, Stage::Wait),
        (title_b, b, &device, Stage::Device),
    ]
    .into_iter()
    .enumerate()
    {
        let style = model.palette.series(index + 1);
        let words = format!(" of {}: {}", scope.title(), strip::summary(histogram));
        line(
            frame,
            title,
            0,
            Line::from(vec![Span::styled(stage.title(), style), Span::raw(words)]),
        );
        let shares = axis.shares(histogram, usize::from(strip_area.width));
        let highest = shares.iter().copied().fold(0.0, f64::max);
        strip::blocks(frame.buffer_mut(), strip_area, &shares, highest, style);
    }
    strip::axis(frame.buffer_mut(), ticks, axis, model.palette);
}
