//! OpenMetrics text, which Prometheus' own format is too: gauges only, in base units. Pure.

use std::fmt::Write;

use super::escape;
use super::result::{ArmComparison, ResultFile, Status};
use crate::ab::verdict::Verdict;

pub fn render(result: &ResultFile) -> String {
    let mut text = String::new();
    let rows: Vec<&ArmComparison> = result.comparisons.iter().filter(|c| c.primary).collect();
    let device = result.device.name();
    let common = [
        ("device", device.as_str()),
        ("workload", result.workload.name.as_str()),
    ];
    let ratios =
        |text: &mut String, name: &str, help: &str, of: fn(&ArmComparison) -> Option<f64>| {
            let samples = rows.iter().filter_map(|row| {
                let labels = [
                    ("arm", row.arm.as_str()),
                    ("metric", &row.metric.name),
                    ("reference", &row.reference),
                ];
                Some((labels.to_vec(), of(row)?))
            });
            family(text, name, help, &common, samples.collect());
        };
    ratios(
        &mut text,
        "iosched_ab_change_ratio",
        "Of the arm to the reference, the typical block.",
        |row| row.comparison.ratio,
    );
    ratios(
        &mut text,
        "iosched_ab_change_lower_ratio",
        "Lower end of its interval.",
        |row| row.comparison.ratio_interval.map(|i| i.lower),
    );
    ratios(
        &mut text,
        "iosched_ab_change_upper_ratio",
        "Upper end of its interval.",
        |row| row.comparison.ratio_interval.map(|i| i.upper),
    );
    medians(&mut text, &rows, &common);
    let verdicts = rows.iter().flat_map(|row| {
        let all = [
            ("better", Verdict::Better),
            ("worse", Verdict::Worse),
            ("equivalent", Verdict::Equivalent),
            ("inconclusive", Verdict::Inconclusive),
        ];
        all.map(|(name, verdict)| {
            let labels = vec![
                ("arm", row.arm.as_str()),
                ("metric", &row.metric.name),
                ("verdict", name),
            ];
            (labels, f64::from(row.comparison.verdict == verdict))
        })
    });
    family(
        &mut text,
        "iosched_ab_verdict",
        "1 for the verdict on the arm, 0 for the others.",
        &common,
        verdicts.collect(),
    );
    let lost: u64 = result.rounds.iter().map(|round| round.lost_events).sum();
    for (name, help, value) in [
        (
            "iosched_ab_rounds",
            "Rounds carried out.",
            result.rounds.len() as f64,
        ),
        (
            "iosched_ab_excluded_blocks",
            "Blocks that do not count.",
            result.excluded.len() as f64,
        ),
        (
            "iosched_ab_lost_events",
            "Requests that the probe lost, whole or in part.",
            lost as f64,
        ),
        (
            "iosched_ab_complete",
            "Whether the run came to its end.",
            f64::from(result.status == Status::Complete),
        ),
    ] {
        family(&mut text, name, help, &common, vec![(Vec::new(), value)]);
    }
    text + "# EOF\n"
}

type Sample<'a> = (Vec<(&'a str, &'a str)>, f64);

/// A family per base unit.
fn medians(text: &mut String, rows: &[&ArmComparison], common: &[(&str, &str)]) {
    for (units, name, factor) in [
        (&["ns"][..], "iosched_ab_median_seconds", 1e-9),
        (&["s"], "iosched_ab_median_elapsed_seconds", 1.0),
        (&["bytes/s"], "iosched_ab_median_bytes_per_second", 1.0),
        (&["bytes"], "iosched_ab_median_bytes", 1.0),
        (&["io/s"], "iosched_ab_median_ios_per_second", 1.0),
        (&["1"], "iosched_ab_median_ratio", 1.0),
    ] {
        let mut samples: Vec<Sample<'_>> = Vec::new();
        for row in rows
            .iter()
            .filter(|row| units.contains(&row.metric.unit.as_str()))
        {
            for (arm, median) in [
                (&row.reference, row.reference_median),
                (&row.arm, row.arm_median),
            ] {
                let labels = vec![("arm", arm.as_str()), ("metric", row.metric.name.as_str())];
                let is_new = samples.iter().all(|sample| sample.0 != labels);
                if let Some(value) = median.filter(|_| is_new) {
                    samples.push((labels, value * factor));
                }
            }
        }
        family(
            text,
            name,
            "Median of the rounds that count.",
            common,
            samples,
        );
    }
}

fn family(
    text: &mut String,
    name: &str,
    help: &str,
    common: &[(&str, &str)],
    samples: Vec<Sample<'_>>,
) {
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(text, "# TYPE {name} gauge\n# HELP {name} {help}");
    for (labels, value) in samples {
        let all = common.iter().chain(&labels);
        let labels: Vec<String> = all
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}

fn escaped(text: &str) -> String {
    // What is left of controls after that has no escape in this format.
    escape::line(
        &text
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n"),
    )
}
