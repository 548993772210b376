//! ```text
//! queue wait of reads and writes, by scheduler: the further left the better
//! none         [histogram]         all on the same axis and scale
//! bfq          [histogram]
//!              |10us    |100us    |1ms
//! arm     rounds  I/Os   p50   p95   p99  p99.9   p99 to none
//! what was left out
//! ```

mod rows;

use iosched::histogram::Histogram;
use iosched::report::units::{throughput, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis as ChartAxis, Chart, Dataset, GraphType, LegendPosition, Paragraph, Wrap,
};

use super::{line, measured_or_why, strip};
use crate::ui::buckets::Axis;
use crate::ui::compare::{ArmSeen, Seen};
use crate::ui::model::Model;

/// The arms with what is drawn of each.
struct Sides<'a> {
    seen: &'a Seen,
    arms: Vec<(&'a ArmSeen, Histogram)>,
    reference: usize,
    axis: Axis,
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let inner = area.inner(ratatui::layout::Margin::new(1, 0));
    let seen = &model.device().seen;
    if seen.arms.is_empty() && measured_or_why(frame, inner, model).is_none() {
        return;
    }
    let view = model.compare;
    let arms: Vec<(&ArmSeen, Histogram)> = seen
        .arms
        .iter()
        .map(|arm| (arm, arm.stages.of(view.stage, view.scope)))
        .collect();
    let sides = Sides {
        reference: view.reference.min(arms.len().saturating_sub(1)),
        axis: Axis::around(arms.iter().map(|(_, histogram)| histogram)),
        seen,
        arms,
    };
    let notes = notes(&sides, model);
    let lines = if area.height > 26 { 6 } else { 4 };
    let [title, pictures, table, footnotes] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(sides.arms.len() as u16 + 1),
        Constraint::Length(lines),
    ])
    .areas(inner);
    let is_g2d = measured_is_g2d(model);
    let stage = if is_g2d {
        " (G2D: this kernel does not show Q2G)"
    } else {
        ""
    };
    let words = format!(
        " of {}, under each scheduler: further left is faster{stage}",
        view.scope.title()
    );
    line(
        frame,
        title,
        0,
        Line::from(vec![
            Span::styled(view.stage.title(), model.palette.strong()),
            Span::raw(words),
        ]),
    );
    if view.is_overlaid {
        curves(frame, pictures, model, &sides);
    } else {
        strips(frame, pictures, model, &sides);
    }
    rows::render(frame, table, model, &sides);
    let text: Vec<Line> = notes
        .into_iter()
        .map(|note| Line::styled(note, model.palette.faint()))
        .collect();
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), footnotes);
}

fn measured_is_g2d(model: &Model) -> bool {
    let sample = model
        .device_sample()
        .and_then(|sample| sample.measured.as_deref());
    sample.is_some_and(|measured| measured.queue_wait_is_g2d)
}

fn label_width(sides: &Sides<'_>) -> u16 {
    let longest = sides
        .arms
        .iter()
        .map(|(arm, _)| arm.label.chars().count())
        .max();
    longest.unwrap_or(0).clamp(4, 24) as u16 + 2
}

fn style(model: &Model, index: usize) -> Style {
    model.palette.series(index)
}

fn strips(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let mut parts = vec![Constraint::Fill(1); sides.arms.len()];
    parts.push(Constraint::Length(1));
    let areas = Layout::vertical(parts).split(area);
    let width = label_width(sides);
    let drawn = |area: Rect| Rect {
        x: area.x + width,
        width: area.width.saturating_sub(width),
        ..area
    };
    let columns = usize::from(drawn(area).width);
    let shares: Vec<Vec<f64>> = sides
        .arms
        .iter()
        .map(|(_, histogram)| sides.axis.shares(histogram, columns))
        .collect();
    for (index, (((arm, histogram), shares), area)) in
        sides.arms.iter().zip(&shares).zip(areas.iter()).enumerate()
    {
        let label = Span::styled(arm.label.clone(), style(model, index));
        line(
            frame,
            Rect {
                width: width.min(area.width),
                ..*area
            },
            0,
            Line::from(label),
        );
        // Where there is a line to spare, the percentiles stand below the blocks.
        let with_marks = area.height >= 3;
        let height = area.height - u16::from(with_marks);
        // Each as high as its own peak: where it lies is what is compared.
        let highest = shares.iter().copied().fold(0.0, f64::max);
        strip::blocks(
            frame.buffer_mut(),
            drawn(Rect { height, ..*area }),
            shares,
            highest,
            style(model, index),
        );
        if with_marks {
            let below = drawn(Rect {
                y: area.y + height,
                height: 1,
                ..*area
            });
            strip::marks(
                frame.buffer_mut(),
                below,
                sides.axis,
                histogram,
                model.palette.faint(),
            );
        }
    }
    if let Some(ticks) = areas.last() {
        strip::axis(frame.buffer_mut(), drawn(*ticks), sides.axis, model.palette);
    }
}

/// Cumulative: at each time the share of I/Os that took no longer.
fn curves(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    const POINTS: usize = 200;
    let points: Vec<Vec<(f64, f64)>> = sides
        .arms
        .iter()
        .map(|(_, histogram)| {
            let mut sum = 0.0;
            let shares = sides.axis.shares(histogram, POINTS);
            let cumulative = shares.iter().enumerate().map(|(column, share)| {
                sum += share;
                ((column + 1) as f64 / POINTS as f64, sum * 100.0)
            });
            cumulative.collect()
        })
        .collect();
    // Markers differ as well as colours do, and stand before the names.
    let markers = [
        (Marker::Braille, "⠒"),
        (Marker::Dot, "•"),
        (Marker::Block, "█"),
        (Marker::Bar, "▄"),
    ];
    let datasets = sides
        .arms
        .iter()
        .zip(&points)
        .enumerate()
        .map(|(index, ((arm, _), points))| {
            let (marker, symbol) = markers[index % markers.len()];
            Dataset::default()
                .name(format!("{symbol} {}", arm.label))
                .marker(marker)
                .graph_type(GraphType::Line)
                .style(style(model, index))
                .data(points)
        });
    let low = strip::short(sides.axis.low_ns);
    let high = strip::short(sides.axis.high_ns);
    let middle = strip::short((sides.axis.low_ns * sides.axis.high_ns).sqrt());
    let chart = Chart::new(datasets.collect())
        .legend_position(Some(LegendPosition::BottomRight))
        .hidden_legend_constraints((Constraint::Ratio(1, 1), Constraint::Ratio(1, 1)))
        .x_axis(
            ChartAxis::default()
                .bounds([0.0, 1.0])
                .labels([low, middle, high]),
        )
        .y_axis(
            ChartAxis::default()
                .bounds([0.0, 100.0])
                .labels(["0 %", "50 %", "100 %"]),
        );
    frame.render_widget(chart, area);
}

fn notes(sides: &Sides<'_>, model: &Model) -> Vec<String> {
    let seen = sides.seen;
    let mut notes = Vec::new();
    let out = &seen.left_out;
    notes.push(format!(
        "left out: {} I/Os across a flip, {} while settling, {} disturbed",
        out.straddlers, out.settling, out.disturbed
    ));
    if let Some((median, longest)) = seen.freeze_ns() {
        notes.push(format!(
            "flipped {} times; the queue stood still for {} each time (median; longest {})",
            seen.flips.iter().filter(|flip| flip.by_us).count(),
            time(Some(median)),
            time(Some(longest))
        ));
    }
    let foreign = seen.flips.iter().filter(|flip| !flip.by_us).count();
    if foreign > 0 {
        notes.push(format!("somebody else flipped it {foreign} times"));
    }
    let bad: Vec<&str> = seen
        .rounds
        .iter()
        .filter_map(|round| round.problem.as_deref())
        .collect();
    if let Some(first) = bad.first() {
        notes.push(format!(
            "{} rounds do not count, the first because {first}",
            bad.len()
        ));
    }
    if sides.arms.len() < 2 {
        notes.push(
            "one scheduler so far: F rotates through several, f switches to another".to_owned(),
        );
    } else if seen.rounds.is_empty() && model.rotating.is_none() {
        notes.push(
            "seen one after the other, so the load may have changed, too: F takes turns".to_owned(),
        );
    } else {
        notes.push(
            "ratio: mean of all blocks; its [interval] holds at 95 % whenever you look".to_owned(),
        );
    }
    notes.extend(different_load(sides));
    notes
}

/// A closed loop does more I/O when it is served faster: latencies are then those of another load.
fn different_load(sides: &Sides<'_>) -> Option<String> {
    let rate =
        |(arm, _): &(&ArmSeen, Histogram)| (arm.seconds > 0.0).then(|| arm.bytes / arm.seconds);
    let rates: Vec<f64> = sides
        .arms
        .iter()
        .filter_map(rate)
        .filter(|rate| *rate > 0.0)
        .collect();
    let (low, high) = rates
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(low, high), &rate| {
            (low.min(rate), high.max(rate))
        });
    (rates.len() > 1 && high > 1.5 * low).then(|| {
        format!(
            "throughput differs, {} to {}: latencies under different loads",
            throughput(low),
            throughput(high)
        )
    })
}
