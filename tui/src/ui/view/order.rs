//! ```text
//! reordered 12 %   overtakes ...        numbers
//! [LBA over time as started] [as issued]
//! ```
//! When rows are scarce, the picture of the starts is dropped first, then that of the issues, then the last numbers.

use iosched_result::measured::order::Dispatch;
use iosched_result::measured::snapshot::Op;
use iosched_result::report::units::{count, share, time};
use iosched_result::stat::LiveOrder;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

use super::fit::{self, Piece};
use super::overview::size;
use super::parts::{Part, inner, stack};
use super::{measured_or_why, text_lines};
use crate::ui::state::model::Model;

/// Title, axis and labels, and two lines of dots.
const CHART: u16 = 5;
/// From this width on, the charts stand side by side.
const WIDE: u16 = 100;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let inner = inner(area);
    let room = usize::from(inner.width);
    let Some(order) = &measured.live.order else {
        let text = "the order of dispatch is not measured";
        text_lines(frame, inner, fit::wrap(text, room));
        return;
    };
    let sentences = words(order);
    let lines = |rows: u16| fit::paragraphs(&sentences, room, usize::from(rows));
    let all = lines(u16::MAX).len() as u16;
    let gap = Part::gap(inner.height > 2 * CHART + all);
    let [numbers, _, pictures] = stack(inner, [Part::new(0, 1, all), gap, Part::filling(1, CHART)]);
    text_lines(frame, numbers, lines(numbers.height));
    if pictures.height == 0 {
        return;
    }
    if measured.dispatches.is_empty() {
        let text = match order.issued {
            0 => "no request was issued in this interval",
            _ => {
                "the pictures are of single intervals in which this screen was open: requests are kept only then"
            }
        };
        let lines = fit::paragraph(text, room, usize::from(pictures.height)).into_iter();
        let faint = model.palette.faint();
        text_lines(frame, pictures, lines.map(|text| Line::styled(text, faint)));
        return;
    }
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let dispatches = &measured.dispatches;
    let [started, issued] = if pictures.width >= WIDE {
        Layout::horizontal(halves).spacing(2).areas(pictures)
    } else if pictures.height >= 2 * CHART {
        Layout::vertical(halves).areas(pictures)
    } else {
        [
            Rect {
                height: 0,
                ..pictures
            },
            pictures,
        ]
    };
    scatter(
        frame,
        started,
        model,
        dispatches,
        "in start order",
        |dispatch| dispatch.start_ns,
    );
    scatter(
        frame,
        issued,
        model,
        dispatches,
        "in issue order",
        |dispatch| dispatch.issue_ns,
    );
}

fn words(order: &LiveOrder) -> Vec<String> {
    let sectors = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| size(mean * 512.0));
    let run = |mean: Option<f64>| match mean {
        None => "-".to_owned(),
        Some(mean) if mean < 1000.0 => format!("{mean:.1}"),
        Some(mean) => count(mean),
    };
    let whole = |n: Option<u64>| n.map_or("-".to_owned(), |n| count(n as f64));
    let late = order.late.quantile_range(0.99).map(|(_, high)| high);
    let mut lines = vec![
        format!(
            "reordered {} of {} issues; 99 of 100 at most {} places late",
            share(order.reordered_share),
            count(order.issued as f64),
            whole(late)
        ),
        format!(
            "mean seek {} as started, {} as issued: the scheduler's gain is {}",
            sectors(order.mean_insert_seek_sectors),
            sectors(order.mean_issue_seek_sectors),
            order.scheduler_gain.map_or("-".to_owned(), gain)
        ),
        format!(
            "sequential {}; runs of {} reads, of {} writes on average",
            share(order.sequential_share),
            run(order.mean_read_run),
            run(order.mean_write_run)
        ),
    ];
    if let Some(burst) = &order.burst {
        lines.push(format!(
            "last {} issues: overtaken by {} on average, p99 {}; longest extent {}",
            count(burst.issued as f64),
            run(burst.overtakes_mean),
            whole(burst.overtakes_p99),
            whole(burst.extent_max)
        ));
    }
    lines
}

fn gain(gain: f64) -> String {
    if gain < 1000.0 {
        format!("x{gain:.2}")
    } else {
        format!("x{}", count(gain))
    }
}

fn scatter(
    frame: &mut Frame,
    area: Rect,
    model: &Model,
    dispatches: &[Dispatch],
    title: &str,
    moment: fn(&Dispatch) -> u64,
) {
    if area.height < CHART {
        return;
    }
    let end = dispatches
        .iter()
        .map(|dispatch| dispatch.issue_ns)
        .max()
        .unwrap_or(0);
    let begin = dispatches
        .iter()
        .map(|dispatch| dispatch.issue_ns)
        .min()
        .unwrap_or(0);
    // Only the last moments: a whole second would be a wall of dots.
    let span = (end - begin).clamp(1, 200_000_000);
    let sectors = model.device().disk.size_bytes.unwrap_or(0) as f64 / 512.0;
    let highest = dispatches
        .iter()
        .map(|dispatch| dispatch.sector)
        .max()
        .unwrap_or(1) as f64;
    let top = if highest > sectors / 4.0 {
        sectors.max(highest)
    } else {
        highest
    }
    .max(1.0);
    let points = |wanted: fn(Op) -> bool| -> Vec<(f64, f64)> {
        dispatches
            .iter()
            .filter(|dispatch| wanted(dispatch.op))
            .map(|dispatch| {
                (
                    moment(dispatch) as f64 - end as f64 + span as f64,
                    dispatch.sector as f64,
                )
            })
            .filter(|(x, _)| *x >= 0.0)
            .collect()
    };
    let reads = points(|op| op == Op::Read);
    let writes = points(|op| op != Op::Read);
    let dataset = |marker, series| {
        Dataset::default()
            .marker(marker)
            .graph_type(GraphType::Scatter)
            .style(model.palette.series(series))
    };
    // Reads and writes also differ by their markers, for terminals without colours.
    let datasets = vec![
        dataset(Marker::Braille, 1).data(&writes),
        dataset(Marker::Dot, 0).data(&reads),
    ];
    let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
    let pieces = vec![
        plain(1, "position on disk, ".to_owned()),
        plain(0, format!("{title}: ")),
        Piece::new(0, model.palette.series(0), ["• reads"]),
        plain(0, "  ".to_owned()),
        Piece::new(0, model.palette.series(1), ["⠒ writes"]),
    ];
    let title = fit::line(pieces, area.width);
    let chart = Chart::new(datasets)
        .block(Block::new().title(title))
        .x_axis(
            Axis::default()
                .bounds([0.0, span as f64])
                .labels([format!("-{}", time(Some(span as f64))), "now".to_owned()]),
        )
        .y_axis(
            Axis::default()
                .bounds([0.0, top])
                .labels(["0".to_owned(), size(top * 512.0)]),
        );
    frame.render_widget(chart, area);
}
