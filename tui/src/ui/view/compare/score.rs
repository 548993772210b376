//! One row per arm: how it compares with the reference in each metric that a rotation decides on.
//!
//! ```text
//!        read p50   read p99  write p99    IOPS  throughput  fairness
//! none    2.10 ms     310 ms    12.0 ms   4210/s   520 MB/s     0.610    the reference has its values
//! bfq       ▲12x       ▲83x      ▼3.0x    ▼-98 %     ▼-98 %   ▲+0.310    the others their changes
//! ```
//! Before a rotation the rows are what was measured under each scheduler, without verdicts. When columns are scarce,
//! the values beside the changes are dropped first, then the bounds, the words, and whole metrics.

use iosched_experiment::rotation::METRICS;
use iosched_result::report::units;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Sides, change, label_width, style};
use crate::ui::sampling::score::Score;
use crate::ui::state::appearance::Palette;
use crate::ui::state::compare::{ArmSeen, Scope, ShownStage};
use crate::ui::state::model::Model;
use crate::ui::view::table::{self, Column};
use crate::ui::view::{few, parts};

/// The headings of [`METRICS`], and from which level on a metric is shown.
const HEADINGS: [(&str, u8); 6] = [
    ("read p50", 2),
    ("read p99", 0),
    ("write p99", 1),
    ("IOPS", 4),
    ("throughput", 3),
    ("fairness", 5),
];
/// From these levels on, a change has its word, its bound, and the arm's value.
const WORDS: u8 = 6;
const BOUNDS: u8 = 7;
const VALUES: u8 = 8;

/// The heading of a metric of the table.
pub fn heading(metric: &str) -> Option<&'static str> {
    let at = METRICS.iter().position(|name| *name == metric)?;
    Some(HEADINGS[at].0)
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let room = usize::from(area.height.saturating_sub(1));
    let shown = parts::window(model.compare.row, sides.arms.len(), room);
    let arms = || shown.clone().map(|index| (index, sides.arms[index].0));
    let width = label_width(sides, area.width);
    let labels =
        arms().map(|(index, arm)| Line::from(Span::styled(arm.label.clone(), style(model, index))));
    let mut columns = vec![Column::name("", 0.., width, width).of(labels)];
    for (at, (heading, from)) in HEADINGS.into_iter().enumerate() {
        let cells: Vec<[Line<'static>; 4]> = arms()
            .map(|(_, arm)| cells(model.palette, sides, METRICS[at], arm))
            .collect();
        let form = |form: usize| cells.iter().map(move |forms| forms[form].clone());
        let levels = [(0, from, WORDS), (1, WORDS, BOUNDS), (2, BOUNDS, VALUES)];
        for (index, from, until) in levels {
            let column = Column::number(heading, from.., 6).until(until);
            columns.push(column.of(form(index)));
        }
        columns.push(Column::number(heading, VALUES.., 6).of(form(3)));
    }
    let row_style = |row: usize| {
        if shown.start + row == model.compare.row && sides.arms.len() > 1 {
            model.palette.strong()
        } else {
            Style::new()
        }
    };
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), area, &columns, faint, row_style);
}

/// From the shortest form to the longest.
fn cells(palette: Palette, sides: &Sides<'_>, metric: &str, arm: &ArmSeen) -> [Line<'static>; 4] {
    let Some(score) = &sides.seen.score else {
        return [(); 4].map(|()| Line::raw(value_so_far(arm, metric)));
    };
    let Some(row) = score.row(metric, &arm.label) else {
        let reference = score.arms.get(score.reference);
        let is_it = reference.is_some_and(|reference| reference.label == arm.label);
        let text = is_it.then(|| reference_value(score, metric));
        return [(); 4].map(|()| Line::raw(text.clone().unwrap_or_else(|| "-".to_owned())));
    };
    let comparison = &row.comparison;
    let Some([short, long]) = change::estimate(row) else {
        if change::did_too_little(comparison) {
            return [(); 4].map(|()| Line::styled("?few", palette.verdict(comparison.verdict)));
        }
        let why = change::why_none(comparison);
        return [(); 4].map(|()| Line::styled(why, palette.faint()));
    };
    let style = palette.verdict(comparison.verdict);
    let sign = change::sign(comparison);
    let bounded = match change::bound(row) {
        Some(bound) => format!("{sign}{long} ≥{}", bound.trim_start_matches(['+', '-'])),
        None => format!("{sign}{long}"),
    };
    let value = units::value(row.arm_median, &row.metric.unit);
    [
        Line::styled(format!("{sign}{short}"), style),
        Line::styled(format!("{sign}{long}"), style),
        Line::styled(bounded.clone(), style),
        Line::from(vec![
            Span::raw(format!("{value} ")),
            Span::styled(bounded, style),
        ]),
    ]
}

/// The median over the reference's rounds.
fn reference_value(score: &Score, metric: &str) -> String {
    let mut rows = score.rows.iter().filter(|row| row.metric.name == metric);
    match rows.next() {
        Some(row) => units::value(row.reference_median, &row.metric.unit),
        None => "-".to_owned(),
    }
}

/// Without rounds: over all the time under the arm.
fn value_so_far(arm: &ArmSeen, metric: &str) -> String {
    let sums = &arm.sums;
    let quantile = |scope, p| few::compared(&sums.stages.histogram(ShownStage::Total, scope), p);
    if sums.seconds == 0.0 {
        return "-".to_owned();
    }
    let per_s = |n: f64| n / sums.seconds;
    let ios = || {
        sums.stages
            .histogram(ShownStage::Device, Scope::All)
            .count() as f64
    };
    match metric {
        "read_total_p50" => quantile(Scope::Reads, 0.5),
        "read_total_p99" => quantile(Scope::Reads, 0.99),
        "write_total_p99" => quantile(Scope::Writes, 0.99),
        "iops" => units::count(per_s(ios()).round()),
        "throughput" => units::throughput(per_s(sums.bytes.iter().sum())),
        // It is the index of a window.
        _ => "-".to_owned(),
    }
}
