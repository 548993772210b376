//! ```text
//! reordered 12 %   overtakes ...        numbers
//! [LBA over time as started] [as issued]
//! ```

use iosched::order::Dispatch;
use iosched::report::live::LiveOrder;
use iosched::report::units::{count, optional, share, throughput, time};
use iosched::snapshot::Op;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

use super::{line, measured_or_why};
use crate::ui::model::Model;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let inner = area.inner(ratatui::layout::Margin::new(2, 0));
    let Some(order) = &measured.live.order else {
        line(
            frame,
            inner,
            1,
            Line::from("the order of dispatch is not measured here"),
        );
        return;
    };
    let [numbers, pictures] =
        Layout::vertical([Constraint::Length(6), Constraint::Min(4)]).areas(inner);
    for (row, text) in words(order).into_iter().enumerate() {
        line(frame, numbers, row as u16, Line::from(text));
    }
    if measured.dispatches.is_empty() {
        line(
            frame,
            pictures,
            1,
            Line::styled(
                "no request was issued in this interval",
                model.palette.faint(),
            ),
        );
        return;
    }
    let is_wide = pictures.width >= 100;
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [left, right] = if is_wide {
        Layout::horizontal(halves)
    } else {
        Layout::vertical(halves)
    }
    .areas(pictures);
    scatter(
        frame,
        left,
        model,
        &measured.dispatches,
        "as they started",
        |dispatch| dispatch.start_ns,
    );
    scatter(
        frame,
        right,
        model,
        &measured.dispatches,
        "as they were issued",
        |dispatch| dispatch.issue_ns,
    );
}

fn words(order: &LiveOrder) -> Vec<String> {
    let sectors = |mean: Option<f64>| {
        mean.map_or("-".to_owned(), |mean| {
            throughput(mean * 512.0).replace("/s", "")
        })
    };
    let run = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| format!("{mean:.1}"));
    let late = order.late.quantile_range(0.99).map(|(_, high)| high);
    let mut lines = vec![
        format!(
            "reordered {} of {} issues; 99 of 100 at most {} places late",
            share(order.reordered_share),
            count(order.issued as f64),
            optional(late)
        ),
        format!(
            "mean seek {} as started, {} as issued: the scheduler's gain is {}",
            sectors(order.mean_insert_seek_sectors),
            sectors(order.mean_issue_seek_sectors),
            order
                .scheduler_gain
                .map_or("-".to_owned(), |gain| format!("x{gain:.2}"))
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
            "the last {}: overtaken by {} on average, p99 {}; longest extent {}",
            burst.issued,
            run(burst.overtakes_mean),
            optional(burst.overtakes_p99),
            optional(burst.extent_max)
        ));
    }
    lines
}

fn scatter(
    frame: &mut Frame,
    area: Rect,
    model: &Model,
    dispatches: &[Dispatch],
    title: &str,
    moment: fn(&Dispatch) -> u64,
) {
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
    // A look at the last moments: of a second nothing but a wall of dots would be seen.
    let span = (end - begin).clamp(1, 200_000_000);
    let size = model.device().disk.size_bytes.unwrap_or(0) as f64 / 512.0;
    let highest = dispatches
        .iter()
        .map(|dispatch| dispatch.sector)
        .max()
        .unwrap_or(1) as f64;
    let top = if highest > size / 4.0 {
        size.max(highest)
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
    // Reads and writes differ by their marker, too.
    let datasets = vec![
        dataset(Marker::Braille, 1).data(&writes),
        dataset(Marker::Dot, 0).data(&reads),
    ];
    let title = Line::from(vec![
        Span::raw(format!("place on disk, {title}: ")),
        Span::styled("• reads", model.palette.series(0)),
        Span::raw("  "),
        Span::styled("⠒ writes", model.palette.series(1)),
    ]);
    let gib = |sectors: f64| format!("{:.1} GiB", sectors / 2_097_152.0);
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
                .labels(["0".to_owned(), gib(top)]),
        );
    frame.render_widget(chart, area);
}
