//! Checks that the verdicts of the primary rows take into account: p-values, positions, carry-over, drift. Pure.

use comfy_table::{CellAlignment, Table, presets};

use super::level;
use super::units::{self, RatioForm};
use crate::statistics::scale::Scale;
use crate::types::diagnostics::{Diagnostics, EffectEstimate};
use crate::types::level::Levels;
use crate::types::result::{ArmComparison, ResultFile};

const COLUMNS: [&str; 8] = [
    "METRIC",
    "ARM",
    "P",
    "ADJUSTED P",
    "POSITIONS",
    "CARRY-OVER BIAS",
    "DRIFT A BLOCK",
    "LAG 1",
];

const HEADING: &str = "\nChecks of the primary rows. P: exact, of this row alone; adjusted: for all primary rows at this look. \
    Positions: how far the rounds of a block differ by their position, where they do; the row is adjusted for it. Carry-over \
    bias: by what ran before. Lag 1: autocorrelation of the blocks.\n";

pub fn table(result: &ResultFile) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(COLUMNS);
    let primary = result.primary();
    for row in primary {
        let of_metric = |of: &&Diagnostics| of.metric == row.metric.name;
        table.add_row(cells(row, result.diagnostics.iter().find(of_metric)));
    }
    for index in 2..COLUMNS.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{HEADING}{}\n", table.trim_fmt())
}

/// How far the level moves, by arm.
pub fn levels(levels: &Levels) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(level::COLUMNS);
    for row in level::rows(levels) {
        table.add_row(row);
    }
    format!("\n{}\n{}\n", level::HEADING, table.trim_fmt())
}

fn cells(row: &ArmComparison, diagnostics: Option<&Diagnostics>) -> [String; 8] {
    let change = |effect: f64| change(row.metric.scale, effect);
    let none = || "-".to_owned();
    let position = row.position_effect.as_ref().map(|effects| {
        let least = effects.iter().copied().fold(f64::INFINITY, f64::min);
        change(effects.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least)
    });
    let carry_over = row.carry_over_bias.map(|bias| {
        let error = bias.standard_error * 100.0;
        match row.metric.scale {
            Scale::Log => format!("{} ± {error:.1} %", change(bias.estimate)),
            Scale::Identity => format!("{} ± {:.3}", change(bias.estimate), bias.standard_error),
        }
    });
    let drift = diagnostics.and_then(|found| found.drift_per_block);
    let lag = diagnostics.and_then(|found| {
        let mut of_arms = found.autocorrelation.iter();
        of_arms.find(|of| of.arm == row.arm)
    });
    [
        row.metric.name.clone(),
        row.arm.clone(),
        row.comparison.p.map_or_else(none, p),
        row.p_adjusted.map_or_else(none, p),
        position.unwrap_or_else(none),
        carry_over.unwrap_or_else(none),
        drift.map_or_else(none, |drift: EffectEstimate| change(drift.estimate)),
        lag.map_or_else(none, |lag| format!("{:+.2}", lag.lag_1)),
    ]
}

fn change(scale: Scale, effect: f64) -> String {
    match scale {
        Scale::Log => RatioForm::of([effect.exp()]).change(effect.exp()),
        Scale::Identity => units::difference(effect),
    }
}

fn p(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}
