//! What a gate found, as a text table. Pure.

use comfy_table::{Table, presets};

use super::{escape, units, words};
use crate::ab::gate::{ASSUMED_RUN_SD, Basis, Check, Outcome};
use crate::ab::verdict::{Scale, Verdict};

pub fn render(checks: &[Check]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "GATE", "METRIC", "ARM", "CHANGE", "INTERVAL", "VERDICT", "VALUE",
    ]);
    for check in checks {
        let row = &check.comparison;
        let scale = row.metric.scale;
        let change = check.change.map_or("-".to_owned(), |x| shown(scale, x));
        let interval = check.interval.map_or("-".to_owned(), |i| match scale {
            Scale::Log => units::change_range(i.lower.exp(), i.upper.exp()),
            Scale::Identity => format!("{} .. {}", shown(scale, i.lower), shown(scale, i.upper)),
        });
        table.add_row([
            match check.outcome {
                Outcome::Passed => "pass".to_owned(),
                Outcome::Failed => "FAIL".to_owned(),
                Outcome::Undecided => "no decision".to_owned(),
            },
            row.metric.name.clone(),
            format!("{} against {}", row.arm, row.reference),
            change,
            interval,
            verdict(check),
            values(check),
        ]);
    }
    escape::page(&format!("{}\n{}", table.trim_fmt(), basis(checks)))
}

fn basis(checks: &[Check]) -> String {
    match checks.first().map(|check| check.basis) {
        Some(Basis::Prediction(n)) => format!(
            "Changes are of the ratio to the reference, against {n} earlier runs; intervals are what a run like \
             them would show.\n"
        ),
        Some(Basis::Assumed(n)) => format!(
            "Changes are of the ratio to the reference, against {n} earlier run{}; ASSUMED: it varies by {} % from \
             run to run (five earlier runs would show how much).\n",
            if n == 1 { "" } else { "s" },
            ASSUMED_RUN_SD * 100.0
        ),
        Some(Basis::Own) | None => String::new(),
    }
}

fn shown(scale: Scale, x: f64) -> String {
    match scale {
        Scale::Log => units::change(x.exp()),
        Scale::Identity => units::difference(x),
    }
}

fn verdict(check: &Check) -> String {
    match (check.basis, check.verdict) {
        (Basis::Own, _) => words::verdict(&check.comparison),
        (_, Verdict::Better) => "better".to_owned(),
        (_, Verdict::Worse) => "worse".to_owned(),
        (_, Verdict::Equivalent) => {
            format!(
                "equivalent within {}",
                words::margin(&check.comparison.metric)
            )
        }
        (_, Verdict::Inconclusive) => "inconclusive".to_owned(),
    }
}

/// Absolute values gate nothing.
fn values(check: &Check) -> String {
    let row = &check.comparison;
    let now = units::value(row.arm_median, &row.metric.unit);
    match check.earlier_median {
        Some(earlier) => format!(
            "{now} (was {})",
            units::value(Some(earlier), &row.metric.unit)
        ),
        None => now,
    }
}
