//! Percentile curves: each round thin, all rounds of an arm together thick. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure};
use super::look;
use super::plot::Plot;
use crate::measured::histogram::Histogram;
use crate::measured::snapshot::Stage;
use crate::report::axis::{Axis, Spread};
use crate::report::rounds::{Rounds, SIDES, Side};
use crate::report::units;

/// More thin lines than these hide each other.
const MOST_ROUNDS: usize = 20;
const STEPS: usize = 48;
const NAMED: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// One figure for reads and one for writes, where there are any.
pub fn figures(rounds: &Rounds<'_>) -> Vec<Figure> {
    SIDES
        .iter()
        .filter_map(|side| figure(rounds, side))
        .collect()
}

fn figure(rounds: &Rounds<'_>, side: &Side) -> Option<Figure> {
    let Side { name, scope, ops } = side;
    let result = rounds.result;
    let looks = look::colours(&result.design.arms);
    let pooled: Vec<Histogram> =
        rounds.of_arms(|round| round.evidence.device.stage(Stage::Q2c, ops));
    let curves: Vec<Vec<(f64, f64)>> = pooled.iter().map(curve).collect();
    let deepest = curves
        .iter()
        .filter_map(|curve| curve.last())
        .map(|end| end.0);
    let deepest = deepest.fold(0.0, f64::max);
    let y = Axis::around(Spread::Log, curves.iter().flatten().map(|point| point.1))?;
    let alternative = format!(
        "{name}: latency by percentile, a curve for each arm; the table below has the numbers"
    );
    let plot = Plot {
        x: Axis::between(Spread::Tail, 0.0, deepest.max(0.5)),
        y,
        x_name: "percentile",
        y_name: "total latency (Q2C)",
        x_label: &|p| format!("p{}", (p * 100_000.0).round() / 1000.0),
        y_label: &|ns| units::tick(ns),
        alternative: &alternative,
        is_bare: false,
    };
    let mut marks: Vec<Markup> = Vec::new();
    for (arm, look) in result.design.arms.iter().zip(&looks) {
        let of_arm = rounds.under(&arm.label);
        let every = of_arm.len().div_ceil(MOST_ROUNDS).max(1);
        for round in of_arm.iter().step_by(every) {
            let points = curve(&round.evidence.device.stage(Stage::Q2c, ops));
            marks.push(plot.curve(&format!("thin {look}"), points));
        }
    }
    for (curve, look) in curves.iter().zip(&looks) {
        marks.push(plot.curve(&format!("line {look}"), curve.iter().copied()));
    }
    Some(Figure {
        id: format!("percentiles-{}", name.to_lowercase()),
        title: format!("{name}: the latency of each percentile"),
        says: format!(
            "From queued to completed. Thick: all rounds of an arm; thin: single rounds, so that the scatter between rounds \
             is visible. A curve ends where fewer than 100 I/Os are slower.{}",
            rounds.incomparable(scope)
        ),
        picture: html! { (plot.draw(&marks)) (look::key(result)) },
        data: data(rounds, &pooled),
    })
}

/// Points (percentile, latency), as far as the I/Os reach.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let end = Spread::Tail.fraction(0.99999);
    let steps = (0..=STEPS).map(|step| 1.0 - 10f64.powf(-end * step as f64 / STEPS as f64));
    steps
        .filter_map(|p| Some((p, histogram.supported_quantile_ns(p)?)))
        .filter(|(_, ns)| *ns > 0.0)
        .collect()
}

fn data(rounds: &Rounds<'_>, pooled: &[Histogram]) -> Data {
    let head = ["arm", "I/Os"]
        .into_iter()
        .chain(NAMED.map(|(name, _)| name));
    let rows = rounds.result.design.arms.iter().zip(pooled);
    let cell = |histogram: &Histogram, p: f64| units::time(histogram.supported_quantile_ns(p));
    let row = |label: &str, histogram: &Histogram| {
        let first = [label.to_owned(), histogram.count().to_string()];
        first
            .into_iter()
            .chain(NAMED.map(|(_, p)| cell(histogram, p)))
            .collect()
    };
    Data {
        head: head.map(str::to_owned).collect(),
        rows: rows
            .map(|(arm, histogram)| row(&arm.label, histogram))
            .collect(),
    }
}
