//! The ratios of all rows with their intervals, and the band in which a difference does not matter. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use super::plot::{self, number};
use crate::metric::Metric;
use crate::report::axis::{Axis, Spread};
use crate::report::{units, words};
use crate::statistics::scale::Scale;
use crate::statistics::verdict::{Comparison, Verdict};
use crate::types::result::ArmComparison;

/// The strip of a row, stretched to the width of the page.
const WIDTH: f64 = 1000.0;
const MIDDLE: f64 = 12.0;

/// Ratios on a logarithmic axis; None without a row that has one.
pub fn ratios(rows: &[&ArmComparison]) -> Option<Figure> {
    ratios_of(&entries(rows))
}

/// Differences of shares and indices.
pub fn differences(rows: &[&ArmComparison]) -> Option<Figure> {
    differences_of(&entries(rows))
}

/// What stands in a row of the picture.
pub struct Entry {
    pub metric: Metric,
    pub comparison: Comparison,
    /// Before the picture; the second one stands out.
    pub names: [String; 2],
    /// The row in a sentence.
    pub says: String,
    /// The row of the table below.
    pub cells: Vec<String>,
}

fn entries(rows: &[&ArmComparison]) -> Vec<Entry> {
    let entry = |row: &&ArmComparison| Entry {
        metric: row.metric.clone(),
        comparison: row.comparison.clone(),
        names: [row.metric.name.clone(), row.arm.clone()],
        says: words::sentence(row),
        cells: words::cells(row).to_vec(),
    };
    rows.iter().map(entry).collect()
}

pub fn ratios_of(entries: &[Entry]) -> Option<Figure> {
    let rows: Vec<Row<'_>> = entries.iter().filter_map(Row::of_ratio).collect();
    let figure = figure(&rows, Spread::Log, &|ratio| match ratio {
        r if (r - 1.0).abs() < 1e-9 => "0".to_owned(),
        r if (0.5..2.0).contains(&r) => format!("{} %", units::signed((r - 1.0) * 100.0)),
        r => format!("x{}", units::short(r)),
    })?;
    Some(Figure {
        id: "forest".to_owned(),
        title: "How much each arm changes".to_owned(),
        says: "Ratio of the arm to the reference with its interval, on a logarithmic axis. In the band, a difference is too \
               small to matter. An interval that ends in an arrow has no bound there."
            .to_owned(),
        ..figure
    })
}

pub fn differences_of(entries: &[Entry]) -> Option<Figure> {
    let rows: Vec<Row<'_>> = entries.iter().filter_map(Row::of_difference).collect();
    let figure = figure(&rows, Spread::Linear, &units::difference)?;
    Some(Figure {
        id: "differences".to_owned(),
        title: "How much each arm changes shares and indices".to_owned(),
        says: "Difference between the arm and the reference with its interval. In the band, a difference is too small to \
               matter."
            .to_owned(),
        ..figure
    })
}

struct Row<'a> {
    of: &'a Entry,
    /// None: nothing is known, and the row says why.
    estimate: Option<f64>,
    interval: Option<(f64, f64)>,
    /// No difference, and how far from it a difference does not matter.
    none: f64,
    band: (f64, f64),
}

impl<'a> Row<'a> {
    fn of_ratio(row: &'a Entry) -> Option<Self> {
        let margins = row.metric.scale.margins(row.metric.margin);
        let interval = row.comparison.ratio_interval;
        (row.metric.scale == Scale::Log).then_some(())?;
        Some(Row {
            of: row,
            estimate: row.comparison.ratio,
            interval: interval.map(|i| (i.lower, i.upper)),
            none: 1.0,
            band: ((-margins.down.abs()).exp(), margins.up.exp()),
        })
    }

    fn of_difference(row: &'a Entry) -> Option<Self> {
        (row.metric.scale == Scale::Identity).then_some(())?;
        let interval = row.comparison.interval;
        Some(Row {
            of: row,
            estimate: row.comparison.estimate,
            interval: interval.map(|i| (i.lower, i.upper)),
            none: 0.0,
            band: (-row.metric.margin, row.metric.margin),
        })
    }

    fn ends(&self) -> impl Iterator<Item = f64> {
        let ends = self.interval.map(|(lower, upper)| [lower, upper]);
        let known = ends.into_iter().flatten().chain(self.estimate);
        known
            .chain([self.band.0, self.band.1])
            .filter(|end| end.is_finite())
    }
}

/// None without rows.
fn figure(rows: &[Row<'_>], spread: Spread, label: &dyn Fn(f64) -> String) -> Option<Figure> {
    let axis = Axis::around(spread, rows.iter().flat_map(Row::ends))?;
    let ticks = axis.ticks(6);
    let picture = html! {
        div.forest {
            @for row in rows { (drawn(row, &axis, &ticks)) }
            div.forest-axis aria-hidden="true" {
                @for tick in &ticks {
                    span style=(format!("left:{}%", number(axis.position(*tick) * 100.0))) { (label(*tick)) }
                }
            }
        }
    };
    let head = [
        "metric",
        "arm",
        "value",
        "reference",
        "its value",
        "change",
        "interval",
        "verdict",
    ];
    Some(Figure {
        id: String::new(),
        title: String::new(),
        says: String::new(),
        picture,
        data: Data {
            head: head.map(str::to_owned).to_vec(),
            rows: rows.iter().map(|row| row.of.cells.clone()).collect(),
        },
    })
}

fn drawn(row: &Row<'_>, axis: &Axis, ticks: &[f64]) -> Markup {
    let x = |value: f64| axis.position(value) * WIDTH;
    let (verdict, word) = verdict(&row.of.comparison);
    let says = &row.of.says;
    let [first, second] = &row.of.names;
    html! {
        div.forest-row {
            div.forest-name { (name(first)) " " strong { (name(second)) } }
            svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label=(says) {
                rect.band x=(number(x(row.band.0))) width=(number(x(row.band.1) - x(row.band.0))) y="0" height="24" {}
                @for tick in ticks { (plot::line("grid", (x(*tick), 0.0), (x(*tick), 24.0))) }
                (plot::line("none", (x(row.none), 0.0), (x(row.none), 24.0)))
                @if let Some((lower, upper)) = row.interval {
                    (plot::line(&format!("interval {verdict}"), (x(lower), MIDDLE), (x(upper), MIDDLE)))
                    @if !lower.is_finite() { (arrow(verdict, 0.0, 12.0)) }
                    @if !upper.is_finite() { (arrow(verdict, WIDTH, WIDTH - 12.0)) }
                }
                @if let Some(estimate) = row.estimate {
                    (plot::dot(&format!("estimate {verdict}"), (x(estimate), MIDDLE), says))
                }
            }
            div.forest-said {
                (words::change(&row.of.comparison)) " "
                span.verdict.(verdict) { (word) }
            }
        }
    }
}

/// At an end without a bound.
fn arrow(verdict: &str, tip: f64, back: f64) -> Markup {
    let points = format!("{},5 {},12 {},19", number(back), number(tip), number(back));
    html! { polyline class=(format!("arrow {verdict}")) points=(points) {} }
}

/// The class and the word of a verdict; the sign says it without colour.
pub fn verdict(comparison: &Comparison) -> (&'static str, &'static str) {
    match comparison.verdict {
        Verdict::Better => ("better", "▲ better"),
        Verdict::Worse => ("worse", "▼ worse"),
        Verdict::Differs => ("differs", "≠ differs"),
        Verdict::Equivalent => ("same", "= same"),
        Verdict::Inconclusive => ("open", "? not decided"),
    }
}
