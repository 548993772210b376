//! The HTML report: its pictures show the numbers of the result, names from outside stay text, and browsers, an
//! accessibility checker and an HTML validator find no fault with it.

use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use crate::support::program::Program;
use crate::{BINARY, is_as_kept, path};

/// A name that tries to run a script, to leave its element, to turn the line around, to widen the page.
fn hostile() -> String {
    format!(
        "<script>alert(1)</script></svg></style>\"'&\u{202e}{}",
        "x".repeat(300)
    )
}

fn sample() -> Value {
    let text = std::fs::read_to_string(path("result.json")).expect("the sample");
    serde_json::from_str(&text).expect("JSON")
}

pub fn study() -> Value {
    let cell = |name: &str| json!({ "name": name, "expect": "bfq to be slower", "is_placebo": false, "hopeless": null, "result": sample() });
    let arms = sample()["design"]["arms"].clone();
    let labels = arms.as_array().expect("arms").iter();
    let labels: Vec<&Value> = labels.map(|arm| &arm["label"]).collect();
    json!({
        "$schema": "study-2.schema.json", "schema_version": 2, "iosched_version": "0.1.0",
        "study": "sample", "title": "A study for tests", "file": "", "quick": false,
        "times": { "blocks": 12, "round_s": 20.0, "ramp_s": 5.0 },
        "status": "complete", "error": null, "started": "2026-02-03T04:05:06Z", "finished": "2026-02-03T05:05:06Z",
        "seed": 7, "arms": labels, "cells": [cell("first"), cell("second")],
    })
}

/// The page of a result, in the directory of the program.
fn page(program: &Program, name: &str, result: &Value) -> (String, String) {
    let (input, output) = (format!("{name}.json"), format!("{name}.html"));
    std::fs::write(program.file(&input), result.to_string()).expect("a file");
    let ended = program.run(&["report", &input, "--format", "html", "-o", &output]);
    ended.ends(0, &[]);
    let output = program.file(&output);
    let html = std::fs::read_to_string(&output).expect("the page");
    (output, html)
}

#[test]
fn the_page_is_as_it_was() {
    let (_, html) = page(&Program::new(BINARY), "result", &sample());
    // The style sheet is a file of its own, and how well the data are compressed depends on a library.
    let other = Regex::new("(?s)(<style>).*(</style>)|(base64,)[^\"]*").expect("a pattern");
    is_as_kept("result.html", &other.replace_all(&html, "$1$2$3"));
}

#[test]
fn names_from_outside_stay_text() {
    let program = Program::new(BINARY);
    let mut result = sample();
    let bad = Value::from(hostile());
    result["device"]["model"] = bad.clone();
    result["workload"]["name"] = bad.clone();
    result["workload"]["description"] = json!({ "kind": "fake", hostile(): [bad.clone()] });
    result["notes"] = json!([bad.clone()]);
    result["environment"]["cpu_model"] = bad.clone();
    result["rounds"][0]["problem"] = bad.clone();
    let settings = &mut result["rounds"][1]["evidence"]["applied"]["effective"]["settings"];
    settings[hostile()] = bad.clone();
    let mut of_cell = study();
    for key in ["study", "title"] {
        of_cell[key] = bad.clone();
    }
    for key in ["name", "expect"] {
        of_cell["cells"][0][key] = bad.clone();
    }
    let mut pages = Vec::new();
    for (name, result) in [("result", result), ("study", of_cell)] {
        let (file, html) = page(&program, name, &result);
        assert!(!html.contains("<script"), "{name}");
        assert!(!html.contains('\u{202e}'), "{name}");
        assert!(
            html.contains("&lt;script&gt;alert(1)"),
            "{name}: it is shown"
        );
        pages.push(file);
    }
    browsers_find_no_fault(&pages);
}

#[test]
fn browsers_and_validators_find_no_fault_with_a_run_and_a_study() {
    let program = Program::new(BINARY);
    let pages = [("result", sample()), ("study", study())]
        .map(|(name, result)| page(&program, name, &result).0);
    browsers_find_no_fault(&pages);
    let jar = tools().join("node_modules/vnu-jar/build/dist/vnu.jar");
    if !jar.exists() {
        println!("skipped: no HTML validator: run contrib/setup.sh test");
        return;
    }
    // This validator does not know the property.
    let known = ".*“vector-effect”.*";
    let checked = Command::new("java")
        .args([
            "-jar",
            &jar.display().to_string(),
            "--stdout",
            "--filterpattern",
            known,
        ])
        .args(&pages)
        .output();
    match checked {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        ),
        Err(error) => println!("skipped: java cannot be run: {error}"),
    }
}

fn tools() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/browser")
}

fn browsers_find_no_fault(pages: &[String]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/browser/check.mjs");
    let has_chromium = Command::new("chromium").arg("--version").output().is_ok();
    if !has_chromium || !tools().join("node_modules/axe-core").exists() {
        println!("skipped: no Chromium, or not its tools: run contrib/setup.sh test");
        return;
    }
    let mut node = Command::new("node");
    let checked = node
        .arg(script)
        .args(pages)
        .env("BROWSER_TOOLS", tools())
        .output()
        .expect("node");
    assert!(checked.status.success(), "{checked:#?}");
}

#[test]
fn an_invalid_cell_has_no_verdicts() {
    let program = Program::new(BINARY);
    let mut of_cell = study();
    let result = &mut of_cell["cells"][0]["result"];
    let excluded = result["excluded"][0].clone();
    let all = (0..12).map(|block| {
        let mut one = excluded.clone();
        one["block"] = block.into();
        one["attempt"] = 0.into();
        one
    });
    result["excluded"] = all.collect();
    let (_, html) = page(&program, "study", &of_cell);
    let text = program.run(&["report", "study.json"]).ends(0, &[]).stdout;
    let markdown = program.run(&["report", "study.json", "--format", "markdown"]);
    assert!(text.contains("INVALID: first: "), "{text}");
    let matrix = part(&html, "<table class=\"matrix\"", "</table>");
    let (of_first, of_second) = matrix.split_once("second").expect("both cells");
    assert!(of_first.contains("<td>invalid</td>") && !of_first.contains("verdict"));
    assert!(of_second.contains("verdict") && !of_second.contains("invalid"));
    for page in [text, markdown.ends(0, &[]).stdout] {
        let row = page
            .lines()
            .find(|line| line.contains("first") && line.contains("throughput"));
        let row = row.expect("the row of the first cell");
        assert!(row.contains("invalid") && !row.contains("worse"), "{row}");
    }
}

#[test]
fn a_cell_that_contradicts_itself_is_refused() {
    let program = Program::new(BINARY);
    let mut of_cell = study();
    of_cell["cells"][1]["result"]["design"]["reference"] = 77.into();
    std::fs::write(program.file("study.json"), of_cell.to_string()).expect("a file");
    for command in [
        &["report", "study.json"][..],
        &["report", "study.json", "--format", "benchfmt"],
        &["gate", "study.json"],
        &["persist", "study.json"],
    ] {
        let says = ["cell second: design.reference: arm 77 does not exist"];
        program.run(command).ends(2, &says);
    }
}

#[test]
fn nobody_is_outside_where_nobody_knows() {
    let program = Program::new(BINARY);
    let mut result = sample();
    let (mut known, mut kernel) = (owner("stranger", "process"), owner("jbd2", "kernel_thread"));
    for owner in [&mut known, &mut kernel] {
        owner["ops"][0]["ios"] = 9.into();
        owner["ops"][0]["bytes"] = 4096.into();
    }
    for round in result["rounds"].as_array_mut().expect("rounds") {
        round["evidence"]["owners"] = json!([known, kernel]);
    }
    let shares = |html: &str| part(html, "<figure id=\"shares\"", "</figure>").to_owned();
    let with = shares(&page(&program, "result", &result).1);
    assert!(
        with.contains("stranger (outside)") && with.contains("[jbd2]"),
        "{with}"
    );
    assert!(!with.contains("[jbd2] (outside)"));
    for round in result["rounds"].as_array_mut().expect("rounds") {
        round["evidence"]["foreign"] = Value::Null;
    }
    let without = shares(&page(&program, "unknown", &result).1);
    assert!(without.contains("stranger") && !without.contains("stranger (outside)"));
}

/// An owner as the probe saw it, without I/O.
fn owner(name: &str, kind: &str) -> Value {
    use iosched_result::measured::snapshot::{OwnerKey, OwnerKind, OwnerNumbers};
    let key = OwnerKey {
        device: "nvme0n1".to_owned(),
        kind: if kind == "process" {
            OwnerKind::Process
        } else {
            OwnerKind::KernelThread
        },
        tgid: 7,
        start_ms: 1,
        cgroup_id: 1,
        file: None,
    };
    serde_json::to_value(OwnerNumbers::new(key, name)).expect("JSON")
}

#[test]
fn rounds_without_a_value_are_said_and_no_arm_gains_by_them() {
    let program = Program::new(BINARY);
    let mut result = sample();
    let rounds = result["rounds"].as_array_mut().expect("rounds").iter_mut();
    for round in rounds.filter(|round| round["arm"] == "bfq" && round["block"] == 0) {
        round["censored"] = "overrun".into();
        round["problem"] = "ran longer than --limit".into();
        for metric in ["throughput", "total_p99", "jain_bytes"] {
            let values = round["metrics"].as_object_mut();
            values.expect("metrics").remove(metric);
        }
    }
    let (_, html) = page(&program, "result", &result);
    let chart = part(&html, "<figure id=\"run-chart\"", "</figure>");
    assert_eq!(
        chart.matches("no value here: <bdi>bfq in 1</bdi>").count(),
        3,
        "{chart}"
    );
    assert!(chart.contains("yes, as worse than every other: ran longer than --limit"));
}

#[test]
fn a_row_without_an_estimate_stays() {
    let program = Program::new(BINARY);
    let mut result = sample();
    let rows = result["comparisons"]
        .as_array_mut()
        .expect("rows")
        .iter_mut();
    for row in rows.filter(|row| row["arm"] == "bfq" && row["metric"]["name"] == "throughput") {
        for key in ["estimate", "interval", "ratio", "ratio_interval"] {
            row[key] = Value::Null;
        }
        row["verdict"] = "inconclusive".into();
        row["reasons"] = json!([{ "kind": "not_comparable" }]);
    }
    let (_, html) = page(&program, "result", &result);
    let forest = part(&html, "<figure id=\"forest\"", "</figure>");
    assert!(
        forest.contains("throughput: bfq against none: -: not decided (not comparable"),
        "{forest}"
    );
    let lead = part(&html, "<p class=\"lead\"", "</p>");
    assert!(
        lead.contains("but throughput is not shown to be no worse beyond 5 %: not decided"),
        "{lead}"
    );
}

/// The positions of a figure's ticks, and the values that they name.
struct Ticks(Vec<(f64, f64)>);

impl Ticks {
    /// Interpolates between the two outermost ticks, in logarithms.
    fn value(&self, at: f64) -> f64 {
        let ((from, low), (to, high)) = (self.0[0], self.0[self.0.len() - 1]);
        (low.ln() + (at - from) / (to - from) * (high.ln() - low.ln())).exp()
    }
}

fn all(pattern: &str, text: &str) -> Vec<Vec<String>> {
    let pattern = Regex::new(pattern).expect("a pattern");
    let captures = pattern.captures_iter(text);
    captures
        .map(|found| {
            found
                .iter()
                .flatten()
                .map(|part| part.as_str().to_owned())
                .collect()
        })
        .collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// `-50 %`, `0` or `x20` as a ratio.
fn ratio(label: &str) -> f64 {
    match label.strip_suffix(" %") {
        Some(percent) => 1.0 + number(percent) / 100.0,
        None if label == "0" => 1.0,
        None => number(label.trim_start_matches('x')),
    }
}

fn part<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let start = html.find(from).unwrap_or_else(|| panic!("{from}"));
    let length = html[start..].find(to).unwrap_or_else(|| panic!("{to}"));
    &html[start..start + length]
}

#[test]
fn the_forest_shows_the_ratios_of_the_result() {
    let result = sample();
    let (_, html) = page(&Program::new(BINARY), "result", &result);
    let figure = part(&html, "<figure id=\"forest\"", "</figure>");
    let labels = all(r#"<span style="left:[\d.]+%">([^<]+)</span>"#, figure);
    let first_row = part(figure, "<svg", "</svg>");
    let grid = all(r#"class="grid" x1="([\d.]+)""#, first_row);
    assert_eq!(labels.len(), grid.len());
    let ticks = labels.iter().zip(&grid);
    let ticks = Ticks(
        ticks
            .map(|(label, grid)| (number(&grid[1]), ratio(&label[1])))
            .collect(),
    );
    let drawn = all(
        r#"class="interval \w+" x1="([\d.]+)" x2="([\d.]+)".*?class="estimate \w+" x1="([\d.]+)""#,
        figure,
    );
    let rows = result["comparisons"].as_array().expect("rows").iter();
    let rows: Vec<&Value> = rows
        .filter(|row| row["primary"] == true && !row["ratio"].is_null())
        .collect();
    assert!(
        rows.len() >= 4 && rows.len() == drawn.len(),
        "{} {}",
        rows.len(),
        drawn.len()
    );
    for (row, drawn) in rows.iter().zip(&drawn) {
        let wanted = ["/ratio_interval/lower", "/ratio_interval/upper", "/ratio"];
        for (wanted, drawn) in wanted.iter().zip(&drawn[1..]) {
            let (wanted, drawn) = (
                row.pointer(wanted)
                    .and_then(Value::as_f64)
                    .expect("a number"),
                ticks.value(number(drawn)),
            );
            assert!((drawn / wanted - 1.0).abs() < 0.02, "{drawn} for {wanted}");
        }
    }
}

/// Nanoseconds of `1 ms`.
fn nanoseconds(label: &str) -> f64 {
    let (value, unit) = label.split_once(' ').expect("a unit");
    let unit = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        unit => panic!("{unit}"),
    };
    number(value) * unit
}

/// The ticks of the y axis, whose SVG is 1000 high and counts from the top.
fn y_ticks(figure: &str) -> Ticks {
    let labels = all(r#"<span style="bottom:([\d.]+)%">([^<]+)</span>"#, figure);
    assert!(labels.len() >= 2, "{figure}");
    Ticks(
        labels
            .iter()
            .map(|label| (1000.0 - number(&label[1]) * 10.0, nanoseconds(&label[2])))
            .collect(),
    )
}

/// The latencies of reads of an arm: (upper end of the cell, count), computed from the file alone. Cells are a power of
/// two divided in 2^sub_bits.
fn cells(result: &Value, arm: &str) -> Vec<(f64, f64)> {
    let mut cells = Vec::new();
    for round in result["rounds"].as_array().expect("rounds") {
        if round["arm"] != arm || !round["exclusion"].is_null() {
            continue;
        }
        let is_excluded = |block: &Value| {
            (&block["block"], &block["attempt"]) == (&round["block"], &round["attempt"])
        };
        if result["excluded"]
            .as_array()
            .expect("blocks")
            .iter()
            .any(is_excluded)
        {
            continue;
        }
        let read = &round["evidence"]["device"]["ops"][0]["q2c"];
        let layout = &read["layout"];
        let (shift, bits) = (
            layout["unit_shift"].as_u64().expect("it"),
            layout["sub_bits"].as_u64().expect("it"),
        );
        let lower = |cell: u64| {
            let octave = cell >> bits;
            let unit = if octave < 2 {
                cell
            } else {
                ((cell & ((1 << bits) - 1)) | (1 << bits)) << (octave - 1)
            };
            (unit << shift) as f64
        };
        for cell in read["cells"].as_array().expect("cells") {
            let place = cell[0].as_u64().expect("a place");
            cells.push((
                f64::midpoint(lower(place), lower(place + 1)),
                cell[1].as_f64().expect("a count"),
            ));
        }
    }
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    cells
}

#[test]
fn the_percentile_curves_show_the_histograms() {
    let result = sample();
    let (_, html) = page(&Program::new(BINARY), "result", &result);
    let figure = part(&html, "<figure id=\"percentiles-reads\"", "</figure>");
    let y = y_ticks(figure);
    let x = all(r#"<span style="left:([\d.]+)%">p([\d.]+)</span>"#, figure);
    let tail = |label: &str| -(1.0 - number(label) / 100.0).log10();
    let (from, to) = (&x[0], &x[x.len() - 1]);
    let scale = (tail(&to[2]) - tail(&from[2])) / (number(&to[1]) - number(&from[1])) / 10.0;
    let curves = all(r#"class="line (arm\d)" points="([^"]+)""#, figure);
    let arms = result["design"]["arms"].as_array().expect("arms");
    assert_eq!(curves.len(), arms.len());
    for (arm, curve) in arms.iter().zip(&curves) {
        let cells = cells(&result, arm["label"].as_str().expect("a label"));
        let all: f64 = cells.iter().map(|cell| cell.1).sum();
        assert!(all > 1000.0);
        let mut checked = 0;
        for point in curve[2].split(' ') {
            let (at, height) = point.split_once(',').expect("a point");
            let p =
                1.0 - 10f64.powf(-(number(at) - number(&from[1]) * 10.0) * scale - tail(&from[2]));
            // A quantile lies in the cell that holds its rank; at the edge of a cell the next is as good.
            let near = |p: f64| {
                let mut below = 0.0;
                let found = cells.iter().find(|cell| {
                    below += cell.1;
                    below >= p * all
                });
                found.unwrap_or(&cells[cells.len() - 1]).0
            };
            let drawn = y.value(number(height));
            let (low, high) = (
                near((p - 0.01).max(0.0)) * 0.93,
                near((p + 0.01).min(1.0)) * 1.07,
            );
            assert!(
                (low..=high).contains(&drawn),
                "p{}: {drawn} is not in {low}..{high}",
                p * 100.0
            );
            checked += 1;
        }
        assert!(checked > 10);
    }
}

#[test]
fn the_heatmap_shows_the_rounds() {
    let result = sample();
    let (_, html) = page(&Program::new(BINARY), "result", &result);
    let figure = part(&html, "<figure id=\"heatmap-reads\"", "</figure>");
    let y = y_ticks(figure);
    let rounds = result["rounds"].as_array().expect("rounds").len() as f64;
    let arms = result["design"]["arms"].as_array().expect("arms");
    let panels: Vec<&str> = figure
        .split("<svg")
        .skip(1)
        .filter(|panel| panel.contains("class=\"heat"))
        .collect();
    for (arm, panel) in arms.iter().zip(&panels) {
        let cells = cells(&result, arm["label"].as_str().expect("a label"));
        let (least, most) = (cells[0].0, cells[cells.len() - 1].0);
        let boxes = all(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)", panel);
        assert!(!boxes.is_empty());
        for found in boxes {
            let [x, top, width, height] = [1, 2, 3, 4].map(|index| number(&found[index]));
            let round = (x + width / 2.0) / 1000.0 * rounds;
            let index = round.floor() as usize;
            assert_eq!(result["rounds"][index]["arm"], arm["label"], "{round}");
            let (low, high) = (y.value(top + height), y.value(top));
            assert!(
                high > least * 0.9 && low < most * 1.1,
                "{low}..{high} is not in {least}..{most}"
            );
        }
    }
}
