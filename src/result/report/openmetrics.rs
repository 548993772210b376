//! OpenMetrics text, which Prometheus reads: gauges only, in base units. Pure.

use std::fmt::Write;

use super::escape::label as escaped;
use super::labels;
use crate::statistics::verdict::Verdict;
use crate::types::result::{ArmComparison, ResultFile, Status};

/// A primary comparison, with the labels of its result.
type Labelled<'a> = (Vec<(&'a str, &'a str)>, &'a ResultFile, &'a ArmComparison);

pub fn render(results: &[&ResultFile]) -> String {
    let mut text = String::new();
    let series: Vec<_> = results
        .iter()
        .map(|result| labels::series(result))
        .collect();
    let common: Vec<Vec<(&str, &str)>> = series.iter().map(|labels| borrowed(labels)).collect();
    let rows = results.iter().zip(&common).flat_map(|(result, common)| {
        let primary = result.primary();
        primary.map(|row| (common.clone(), *result, row))
    });
    let rows: Vec<Labelled<'_>> = rows.collect();
    let ratios =
        |text: &mut String, name: &str, help: &str, of: fn(&ArmComparison) -> Option<f64>| {
            let samples = rows.iter().filter_map(|(common, result, row)| {
                let labels = [
                    ("arm", row.arm.as_str()),
                    ("scheduler", labels::scheduler(result, &row.arm)),
                    ("metric", &row.metric.name),
                    ("reference", &row.reference),
                ];
                Some((with(common, &labels), of(row)?))
            });
            family(text, name, help, samples.collect());
        };
    ratios(
        &mut text,
        "iosched_ab_change_ratio",
        "Ratio of the arm to the reference in the typical block.",
        |row| row.comparison.ratio,
    );
    ratios(
        &mut text,
        "iosched_ab_change_lower_ratio",
        "Lower end of the ratio's confidence interval.",
        |row| row.comparison.ratio_interval.map(|i| i.lower),
    );
    ratios(
        &mut text,
        "iosched_ab_change_upper_ratio",
        "Upper end of the ratio's confidence interval.",
        |row| row.comparison.ratio_interval.map(|i| i.upper),
    );
    medians(&mut text, &rows);
    let verdicts = rows.iter().flat_map(|(common, result, row)| {
        let all = [
            ("better", Verdict::Better),
            ("worse", Verdict::Worse),
            ("differs", Verdict::Differs),
            ("equivalent", Verdict::Equivalent),
            ("inconclusive", Verdict::Inconclusive),
        ];
        all.map(|(name, verdict)| {
            let labels = [
                ("arm", row.arm.as_str()),
                ("scheduler", labels::scheduler(result, &row.arm)),
                ("metric", &row.metric.name),
                ("verdict", name),
            ];
            (
                with(common, &labels),
                f64::from(row.comparison.verdict == verdict),
            )
        })
    });
    family(
        &mut text,
        "iosched_ab_verdict",
        "1 for the verdict on the arm, 0 for the others.",
        verdicts.collect(),
    );
    totals(&mut text, results, &common);
    about(&mut text, results, &common);
    text + "# EOF\n"
}

fn borrowed<'a>(labels: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    let each = labels.iter();
    each.map(|(name, value)| (*name, value.as_str())).collect()
}

/// The kernel and the like are labels of one series: as labels of each, an update would end the history of all.
fn about(text: &mut String, results: &[&ResultFile], common: &[Vec<(&str, &str)>]) {
    let known: Vec<_> = results
        .iter()
        .map(|result| labels::circumstances(result))
        .collect();
    let samples = known.iter().zip(common);
    let samples = samples.map(|(own, common)| (with(common, &borrowed(own)), 1.0));
    family(
        text,
        "iosched_ab_about",
        "1; its labels say on what the result was measured.",
        samples.collect(),
    );
}

type Of<'a> = &'a dyn Fn(&ResultFile) -> f64;

fn totals(text: &mut String, results: &[&ResultFile], common: &[Vec<(&str, &str)>]) {
    let lost = |result: &ResultFile| {
        let lost: u64 = result.rounds.iter().map(|round| round.lost_events).sum();
        lost as f64
    };
    let is_complete = |result: &ResultFile| f64::from(result.status == Status::Complete);
    let totals: [(&str, &str, Of<'_>); 4] = [
        ("iosched_ab_rounds", "Rounds that were run.", &|result| {
            result.rounds.len() as f64
        }),
        (
            "iosched_ab_excluded_blocks",
            "Blocks that do not count.",
            &|result| result.excluded.len() as f64,
        ),
        (
            "iosched_ab_lost_events",
            "Requests that the probe lost completely or in part.",
            &lost,
        ),
        (
            "iosched_ab_complete",
            "Whether the run was completed.",
            &is_complete,
        ),
    ];
    for (name, help, of) in totals {
        let samples = results.iter().zip(common);
        let samples = samples.map(|(result, common)| (common.clone(), of(result)));
        family(text, name, help, samples.collect());
    }
}

fn with<'a>(common: &[(&'a str, &'a str)], own: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    common.iter().chain(own).copied().collect()
}

type LabelledValue<'a> = (Vec<(&'a str, &'a str)>, f64);

/// One metric family per base unit.
fn medians(text: &mut String, rows: &[Labelled<'_>]) {
    for (units, name, factor) in [
        (&["ns"][..], "iosched_ab_median_seconds", 1e-9),
        (&["s"], "iosched_ab_median_elapsed_seconds", 1.0),
        (&["bytes/s"], "iosched_ab_median_bytes_per_second", 1.0),
        (&["bytes"], "iosched_ab_median_bytes", 1.0),
        (&["io/s"], "iosched_ab_median_ios_per_second", 1.0),
        (&["1"], "iosched_ab_median_ratio", 1.0),
    ] {
        let mut samples: Vec<LabelledValue<'_>> = Vec::new();
        for (common, result, row) in rows
            .iter()
            .filter(|(_, _, row)| units.contains(&row.metric.unit.as_str()))
        {
            for (arm, median) in [
                (&row.reference, row.reference_median),
                (&row.arm, row.arm_median),
            ] {
                let own = [
                    ("arm", arm.as_str()),
                    ("scheduler", labels::scheduler(result, arm)),
                    ("metric", row.metric.name.as_str()),
                ];
                let labels = with(common, &own);
                let is_new = samples.iter().all(|sample| sample.0 != labels);
                if let Some(value) = median.filter(|_| is_new) {
                    samples.push((labels, value * factor));
                }
            }
        }
        family(text, name, "Median over the valid rounds.", samples);
    }
}

fn family(text: &mut String, name: &str, help: &str, samples: Vec<LabelledValue<'_>>) {
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(text, "# TYPE {name} gauge\n# HELP {name} {help}");
    for (labels, value) in samples {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}
