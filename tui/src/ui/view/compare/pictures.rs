//! The arms' histograms below each other, or their cumulative curves in one chart.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis as ChartAxis, Chart, Dataset, GraphType, LegendPosition};

use super::{LABEL, Sides, label_width, style};
use crate::ui::state::model::Model;
use crate::ui::view::{fit, line, strip};

/// Axis, its labels, and three lines of curve.
const CHART: u16 = 5;
/// Each series also has its own marker, which is shown before its name.
const MARKERS: [(Marker, &str); 4] = [
    (Marker::Braille, "⠒"),
    (Marker::Dot, "•"),
    (Marker::Block, "█"),
    (Marker::Bar, "▄"),
];

pub fn symbol(index: usize) -> &'static str {
    MARKERS[index % MARKERS.len()].1
}

/// The minimum number of rows: one per arm, and the axis.
pub fn least_rows(sides: &Sides<'_>, is_overlaid: bool) -> u16 {
    if is_overlaid {
        CHART
    } else {
        sides.arms.len() as u16 + 1
    }
}

/// The number of rows that strips of equal height can use.
pub fn useful_rows(sides: &Sides<'_>, is_overlaid: bool, rows: u16) -> u16 {
    let arms = sides.arms.len().max(1) as u16;
    if is_overlaid {
        rows
    } else {
        rows.saturating_sub(1) / arms * arms + 1
    }
}

/// All strips have the same axis and scale.
pub fn strips(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let arms = sides.arms.len().max(1) as u16;
    let each = area.height.saturating_sub(1) / arms;
    if each == 0 {
        return;
    }
    let width = label_width(sides, area.width);
    let drawn = |y: u16, height: u16| Rect {
        x: area.x + width + 1,
        y,
        width: area.width.saturating_sub(width + 1),
        height,
    };
    // The percentiles are marked below the blocks if there is a row for them.
    let with_marks = each >= 3;
    let height = each - u16::from(with_marks);
    let columns = usize::from(drawn(area.y, 1).width);
    let shares: Vec<Vec<f64>> = sides
        .arms
        .iter()
        .map(|(_, histogram)| sides.axis.shares(histogram, columns))
        .collect();
    let highest = strip::highest(&shares);
    for (index, ((arm, histogram), shares)) in sides.arms.iter().zip(&shares).enumerate() {
        let y = area.y + index as u16 * each;
        let label = fit::clip(&arm.label, usize::from(width));
        let at = Rect {
            y,
            height: 1,
            ..area
        };
        line(
            frame,
            at,
            0,
            Line::from(Span::styled(label, style(model, index))),
        );
        let blocks = drawn(y, height);
        let buffer = frame.buffer_mut();
        strip::blocks(buffer, blocks, shares, highest, style(model, index));
        if with_marks {
            let below = drawn(y + height, 1);
            strip::marks(buffer, below, sides.axis, histogram, model.palette.faint());
        }
    }
    let ticks = drawn(area.y + arms * each, 1);
    strip::axis(frame.buffer_mut(), ticks, sides.axis, model.palette);
}

/// Cumulative curves: the share of I/Os that took at most this time.
pub fn curves(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    const POINTS: usize = 200;
    let points: Vec<Vec<(f64, f64)>> = sides
        .arms
        .iter()
        .map(|(_, histogram)| {
            let mut sum = sides.axis.beyond(histogram)[0];
            let shares = sides.axis.shares(histogram, POINTS);
            let cumulative = shares.iter().enumerate().map(|(column, share)| {
                sum += share;
                ((column + 1) as f64 / POINTS as f64, sum * 100.0)
            });
            cumulative.collect()
        })
        .collect();
    let datasets = sides
        .arms
        .iter()
        .zip(&points)
        .enumerate()
        .map(|(index, ((arm, _), points))| {
            Dataset::default()
                .name(format!(
                    "{} {}",
                    symbol(index),
                    fit::clip(&arm.label, LABEL)
                ))
                .marker(MARKERS[index % MARKERS.len()].0)
                .graph_type(GraphType::Line)
                .style(style(model, index))
                .data(points)
        });
    let low = strip::short(sides.axis.low_ns);
    let high = strip::short(sides.axis.high_ns);
    let middle = strip::short((sides.axis.low_ns * sides.axis.high_ns).sqrt());
    let chart = Chart::new(datasets.collect())
        .legend_position(Some(LegendPosition::BottomRight))
        .hidden_legend_constraints((Constraint::Ratio(1, 2), Constraint::Ratio(2, 3)))
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
