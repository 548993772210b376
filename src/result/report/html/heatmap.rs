//! Latencies over time: a panel for each arm, a column for each of its rounds, all on one scale. Pure.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use super::plot::Plot;
use crate::measured::histogram::Histogram;
use crate::measured::snapshot::Stage;
use crate::report::axis::{Axis, Spread};
use crate::report::rounds::{Rounds, SIDES, Side};
use crate::report::units;
use crate::types::result::Round;

/// Rows of a panel.
const BINS: usize = 28;
/// A colour for a share of a round's I/Os above each of these.
const LEVELS: [f64; 5] = [0.0, 0.01, 0.03, 0.1, 0.3];

pub fn figures(rounds: &Rounds<'_>) -> Vec<Figure> {
    SIDES
        .iter()
        .filter_map(|side| figure(rounds, side))
        .collect()
}

fn figure(rounds: &Rounds<'_>, side: &Side) -> Option<Figure> {
    let result = rounds.result;
    let of = |round: &Round| round.evidence.device.stage(Stage::Q2c, side.ops);
    let pooled = rounds.of_arms(of);
    let y = Axis::around(Spread::Log, pooled.iter().flat_map(Histogram::outermost_ns))?;
    let last = result.rounds.len() as f64;
    let arms = &result.design.arms;
    let panels = arms.iter().enumerate().map(|(index, arm)| {
        let plot = Plot {
            x: Axis::between(Spread::Linear, 0.5, last + 0.5),
            y,
            x_name: "round, in the order of execution",
            y_name: "total latency (Q2C)",
            x_label: &|round| format!("{round:.0}"),
            y_label: &|ns| units::tick(ns),
            alternative: &format!("{} under {}: latencies of each round", side.name, arm.label),
            is_bare: index + 1 < arms.len(),
        };
        let marks = columns(&plot, rounds.under(&arm.label).into_iter(), &y, of);
        html! { div.panel { h3 { (name(&arm.label)) } (plot.draw(&marks)) } }
    });
    let panels: Vec<Markup> = panels.collect();
    Some(Figure {
        id: format!("heatmap-{}", side.name.to_lowercase()),
        title: format!("{}: latencies over time", side.name),
        says: format!(
            "Each column is a round; before each round the scheduler was switched, so an arm has gaps where others ran. The \
             colour says how many of the round's I/Os took that long.{}",
            rounds.incomparable(side.scope)
        ),
        picture: html! { div.heat { @for panel in &panels { (panel) } } (key()) },
        data: data(rounds, of),
    })
}

fn columns<'a>(
    plot: &Plot<'_>,
    rounds: impl Iterator<Item = &'a Round>,
    y: &Axis,
    of: impl Fn(&Round) -> Histogram,
) -> Vec<Markup> {
    let mut levels: BTreeMap<usize, Vec<[f64; 4]>> = BTreeMap::new();
    for round in rounds {
        let histogram = of(round);
        let (mut bins, all) = ([0u64; BINS], histogram.count());
        for (cell, count) in histogram.cells() {
            let at = y.position(histogram.layout().mid_ns(cell)) * BINS as f64;
            bins[(at as usize).min(BINS - 1)] += count;
        }
        for (bin, count) in bins.into_iter().enumerate() {
            let share = count as f64 / all.max(1) as f64;
            let Some(level) = LEVELS.iter().rposition(|least| share > *least) else {
                continue;
            };
            let middle = round.index as f64 + 1.0;
            let edge = |bin: usize| y.value(bin as f64 / BINS as f64);
            let box_ = [middle - 0.5, middle + 0.5, edge(bin), edge(bin + 1)];
            levels.entry(level).or_default().push(box_);
        }
    }
    let levels = levels.iter();
    levels
        .map(|(level, boxes)| plot.boxes(&format!("heat{level}"), boxes))
        .collect()
}

fn key() -> Markup {
    html! {
        ul.key {
            @for (level, least) in LEVELS.iter().enumerate() {
                li {
                    svg.swatch viewBox="0 0 28 10" aria-hidden="true" {
                        rect class=(format!("heat{level}")) width="28" height="10" {}
                    }
                    "more than " (format!("{} %", least * 100.0))
                }
            }
        }
    }
}

fn data(rounds: &Rounds<'_>, of: impl Fn(&Round) -> Histogram) -> Data {
    let head = ["round", "block", "arm", "I/Os", "p50", "p99", "counts"];
    let row = |round: &Round| {
        let histogram = of(round);
        let quantile = |p| units::time(histogram.supported_quantile_ns(p));
        vec![
            (round.index + 1).to_string(),
            (round.block + 1).to_string(),
            round.arm.clone(),
            histogram.count().to_string(),
            quantile(0.5),
            quantile(0.99),
            if rounds.counts(round) { "yes" } else { "no" }.to_owned(),
        ]
    };
    Data {
        head: head.map(str::to_owned).to_vec(),
        rows: rounds.result.rounds.iter().map(row).collect(),
    }
}
