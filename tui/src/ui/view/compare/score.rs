//! One row per arm: how it compares with the reference in each metric that a rotation decides on.
//!
//! ```text
//!       read mean   read p99  write bytes/s  fairness  probe read wait  hog bytes/s
//! none    2.10 ms     310 ms       520 MB/s     0.610          1.90 ms     520 MB/s    the reference has its values
//! bfq       ▲12x       ▲83x          ▼-98 %   ▲+0.310            ▲12x       ▼-98 %    the others their changes
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
use crate::ui::view::{few, fit, parts};

/// The headings of [`METRICS`], and from which level on a metric is shown.
const HEADINGS: [(&str, u8); 8] = [
    ("read mean", 0),
    ("read p50", 8),
    ("read p99", 2),
    ("read bytes/s", 6),
    ("write mean", 5),
    ("write p99", 7),
    ("write bytes/s", 3),
    ("fairness", 9),
];
/// The levels of what matters most to a program, the wait of a reader and the throughput of a writer, and of the rest.
const OF_PROGRAM: u8 = 1;
const MORE_OF_PROGRAM: u8 = 4;
/// The level of what no arm has a change in.
const LACKING: u8 = 9;
/// From these levels on, a change has its word, its bound, and the arm's value.
const WORDS: u8 = 10;
const BOUNDS: u8 = 11;
const VALUES: u8 = 12;
/// The maximum width of a program's name.
const PROGRAM: usize = 12;

/// The heading of a metric of the table.
pub fn heading(metric: &str) -> Option<String> {
    if let Some(at) = METRICS.iter().position(|name| *name == metric) {
        return Some(HEADINGS[at].0.to_owned());
    }
    let (program, of) = metric.rsplit_once('.')?;
    let what = match of {
        "read_queue_wait_mean" => "read wait",
        "write_queue_wait_mean" => "write wait",
        "throughput" => "bytes/s",
        _ => return None,
    };
    Some(format!("{} {what}", fit::clip(program, PROGRAM)))
}

/// The metrics of the table with their headings and levels: those of the disk, then those of the programs.
fn metrics(score: Option<&Score>) -> Vec<(String, String, u8)> {
    let of_disk = METRICS.iter().zip(HEADINGS);
    let mut all: Vec<(String, String, u8)> = of_disk
        .map(|(name, (heading, level))| ((*name).to_owned(), heading.to_owned(), level))
        .collect();
    let rows = || score.iter().flat_map(|score| &score.rows);
    for row in rows() {
        let name = &row.metric.name;
        let program = name.rsplit_once('.').map_or("", |(program, _)| program);
        let read_wait = format!("{program}.read_queue_wait_mean");
        let is_reader = rows().any(|row| row.metric.name == read_wait);
        let matters = if is_reader {
            *name == read_wait
        } else {
            name.ends_with("throughput")
        };
        let level = if matters { OF_PROGRAM } else { MORE_OF_PROGRAM };
        if let Some(heading) = heading(name).filter(|_| all.iter().all(|(known, ..)| known != name))
        {
            all.push((name.clone(), heading, level));
        }
    }
    all
}

/// Rounds were compared, and none of them says anything of this metric.
fn has_no_value(score: Option<&Score>, metric: &str) -> bool {
    let mut rows = score.iter().flat_map(|score| &score.rows);
    let is_begun = rows.clone().any(|row| row.comparison.estimate.is_some());
    is_begun && !rows.any(|row| row.metric.name == metric && row.comparison.estimate.is_some())
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let room = usize::from(area.height.saturating_sub(1));
    let shown = parts::window(model.compare.row, sides.arms.len(), room);
    let arms = || shown.clone().map(|index| (index, sides.arms[index].0));
    let width = label_width(sides, area.width);
    let labels =
        arms().map(|(index, arm)| Line::from(Span::styled(arm.label.clone(), style(model, index))));
    let mut columns = vec![Column::name("", 0.., width, width).of(labels)];
    let mut metrics = metrics(sides.seen.score.as_ref());
    for (metric, _, level) in &mut metrics {
        if has_no_value(sides.seen.score.as_ref(), metric) {
            *level = (*level).max(LACKING);
        }
    }
    for (metric, heading, from) in &metrics {
        let (heading, from) = (heading.as_str(), *from);
        let cells: Vec<[Line<'static>; 4]> = arms()
            .map(|(_, arm)| cells(model.palette, sides, metric, arm))
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
            let why = format!("?{}", change::why_none(comparison));
            return [(); 4]
                .map(|()| Line::styled(why.clone(), palette.verdict(comparison.verdict)));
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
    let total = |scope| sums.stages.histogram(ShownStage::Total, scope);
    let quantile = |scope, p| few::compared(&total(scope), p);
    let mean = |scope| units::time(total(scope).mean_ns());
    if sums.seconds == 0.0 {
        return "-".to_owned();
    }
    let per_s = |n: f64| n / sums.seconds;
    match metric {
        "read_total_mean" => mean(Scope::Reads),
        "write_total_mean" => mean(Scope::Writes),
        "read_total_p50" => quantile(Scope::Reads, 0.5),
        "read_total_p99" => quantile(Scope::Reads, 0.99),
        "write_total_p99" => quantile(Scope::Writes, 0.99),
        "read_throughput" => units::throughput(per_s(sums.bytes[0])),
        "write_throughput" => units::throughput(per_s(sums.bytes[1])),
        // Fairness is the index of a window.
        _ => "-".to_owned(),
    }
}
