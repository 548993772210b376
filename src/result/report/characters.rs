//! Pictures in characters for the text report: the intervals of the verdicts, and the latencies of each arm. Pure.

use std::fmt::Write;

use super::axis::{Axis, Spread};
use super::rounds::{Rounds, SIDES, Side};
use super::units;
use crate::measured::histogram::Histogram;
use crate::measured::snapshot::Stage;
use crate::statistics::scale::Scale;
use crate::types::result::{ArmComparison, ResultFile};

/// The form that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub width: usize,
    pub is_ascii: bool,
}

/// Whether the locale has UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is set decides.
pub fn has_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let mut names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let locale = names.find_map(|name| variable(name).filter(|text| !text.is_empty()));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

struct Glyphs {
    band: char,
    none: char,
    interval: char,
    ends: [char; 2],
    open: [char; 2],
    estimate: char,
    /// From few to many.
    heights: &'static [char],
}

const UNICODE: Glyphs = Glyphs {
    band: '░',
    none: '│',
    interval: '─',
    ends: ['├', '┤'],
    open: ['◂', '▸'],
    estimate: '●',
    heights: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
};
const ASCII: Glyphs = Glyphs {
    band: '.',
    none: '|',
    interval: '-',
    ends: ['[', ']'],
    open: ['<', '>'],
    estimate: 'o',
    heights: &['.', ':', '-', '=', '+', '*', '#', '@'],
};
/// Names that are longer are cut at their beginning, where metrics of one run are alike.
const LONGEST_NAME: usize = 34;

impl Form {
    fn glyphs(self) -> &'static Glyphs {
        if self.is_ascii { &ASCII } else { &UNICODE }
    }

    /// Columns beside the names.
    fn room(self, names: usize) -> usize {
        self.width.saturating_sub(names + 2).clamp(16, 120)
    }
}

/// Ratios with their intervals; empty without one.
pub fn forest(rows: &[&ArmComparison], form: Form) -> String {
    let is_shown = |row: &&&ArmComparison| row.metric.scale == Scale::Log;
    let rows: Vec<(String, &ArmComparison)> = rows
        .iter()
        .filter(is_shown)
        .map(|row| (shown(&format!("{} {}", row.metric.name, row.arm)), *row))
        .collect();
    if rows.iter().all(|(_, row)| row.comparison.ratio.is_none()) {
        return String::new();
    }
    let ends = |row: &ArmComparison| row.comparison.ratio_interval.map(|i| (i.lower, i.upper));
    let bands = |row: &ArmComparison| {
        let margins = row.metric.scale.margins(row.metric.margin);
        ((-margins.down).exp(), margins.up.exp())
    };
    let values = rows.iter().flat_map(|(_, row)| {
        let (band, interval) = (bands(row), ends(row));
        let interval = interval.map(|(lower, upper)| [lower, upper]);
        let known = interval.into_iter().flatten().chain(row.comparison.ratio);
        known.chain([band.0, band.1])
    });
    let Some(axis) = Axis::around(
        Spread::Log,
        values.filter(|value| value.is_finite() && *value > 0.0),
    ) else {
        return String::new();
    };
    let names = rows
        .iter()
        .map(|row| row.0.chars().count())
        .max()
        .unwrap_or(0);
    let (room, glyphs) = (form.room(names), form.glyphs());
    let mut text = format!(
        "Ratio to the reference, on a logarithmic axis; {0}{0}{0}: a difference too small to matter:\n {1:names$} {2}\n",
        glyphs.band,
        "",
        labels(&axis, room, &|ratio| format!("x{}", units::short(ratio)))
    );
    for (name, row) in &rows {
        let mut line = vec![' '; room];
        let at = |value: f64| column(&axis, value, room);
        let band = bands(row);
        line[at(band.0)..=at(band.1)].fill(glyphs.band);
        line[at(1.0)] = glyphs.none;
        if let Some((lower, upper)) = ends(row) {
            line[at(lower)..=at(upper)].fill(glyphs.interval);
            line[at(lower)] = if lower > 0.0 {
                glyphs.ends[0]
            } else {
                glyphs.open[0]
            };
            line[at(upper)] = if upper.is_finite() {
                glyphs.ends[1]
            } else {
                glyphs.open[1]
            };
        }
        match row.comparison.ratio {
            Some(ratio) => line[at(ratio)] = glyphs.estimate,
            None => line.fill(' '),
        }
        let line: String = line.into_iter().collect();
        let _ = writeln!(text, " {name:names$} {}", line.trim_end());
    }
    text
}

/// The latencies of all rounds that count, a line for each arm; empty without I/O.
pub fn latencies(result: &ResultFile, form: Form) -> String {
    let rounds = Rounds::new(result);
    SIDES
        .iter()
        .map(|side| of_side(&rounds, side, form))
        .collect()
}

fn of_side(rounds: &Rounds<'_>, side: &Side, form: Form) -> String {
    let pooled = rounds.of_arms(|round| round.evidence.device.stage(Stage::Q2c, side.ops));
    let ends = pooled.iter().flat_map(Histogram::outermost_ns);
    let Some(axis) = Axis::around(Spread::Log, ends) else {
        return String::new();
    };
    let names: Vec<String> = rounds
        .result
        .design
        .arms
        .iter()
        .map(|arm| shown(&arm.label))
        .collect();
    let longest = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let room = form.room(longest);
    let mut text = format!("{} by latency (Q2C), the higher the more:\n", side.name);
    for (name, histogram) in names.iter().zip(&pooled) {
        let mut counts = vec![0u64; room];
        for (cell, count) in histogram.cells() {
            counts[column(&axis, histogram.layout().mid_ns(cell), room)] += count;
        }
        let line = heights(&counts, form.glyphs().heights);
        let _ = writeln!(text, " {name:longest$} {}", line.trim_end());
    }
    let _ = writeln!(
        text,
        " {:longest$} {}",
        "",
        labels(&axis, room, &units::tick)
    );
    text
}

/// Every column with I/O shows something.
fn heights(counts: &[u64], glyphs: &[char]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let height = |count: u64| {
        let level = (count as f64 / most as f64 * glyphs.len() as f64).ceil() as usize;
        if count == 0 {
            ' '
        } else {
            glyphs[level.clamp(1, glyphs.len()) - 1]
        }
    };
    counts.iter().map(|count| height(*count)).collect()
}

fn column(axis: &Axis, value: f64, room: usize) -> usize {
    ((axis.position(value) * room as f64) as usize).min(room - 1)
}

/// Ticks below or above a picture: each label begins at its tick, unless it would touch the one before it.
fn labels(axis: &Axis, room: usize, label: &dyn Fn(f64) -> String) -> String {
    let mut line = String::new();
    for tick in axis.ticks(room / 10) {
        let (at, label) = (column(axis, tick, room), label(tick));
        let used = line.chars().count();
        if at >= used + usize::from(used > 0) && at + label.len() <= room {
            let _ = write!(line, "{:width$}{label}", "", width = at - used);
        }
    }
    line
}

fn shown(name: &str) -> String {
    let length = name.chars().count();
    if length <= LONGEST_NAME {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - LONGEST_NAME + 2).collect();
    format!("..{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::sample;

    fn forms() -> [Form; 2] {
        [false, true].map(|is_ascii| Form {
            width: 80,
            is_ascii,
        })
    }

    #[test]
    fn the_locale_decides() {
        let with = |variables: &[(&str, &str)]| {
            has_utf8(|name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[("LANG", "en_US.UTF-8")]));
        assert!(with(&[
            ("LC_ALL", ""),
            ("LC_CTYPE", "C.utf8"),
            ("LANG", "C")
        ]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!with(&[]));
    }

    #[test]
    fn the_estimate_lies_in_its_interval_and_the_line_of_no_difference_in_its_band() {
        let result = sample();
        let rows: Vec<&ArmComparison> = result.primary().collect();
        for form in forms() {
            let (text, glyphs) = (forest(&rows, form), form.glyphs());
            let lines: Vec<&str> = text.lines().collect();
            let ratios = rows
                .iter()
                .filter(|row| row.comparison.ratio.is_some())
                .count();
            assert_eq!(lines.len(), ratios + 2, "{text}");
            for line in &lines[2..] {
                assert!(line.chars().count() <= 80, "{text}");
                // Names have letters that are marks in ASCII.
                let place = |glyph: char| line.chars().position(|c| c == glyph && !form.is_ascii);
                let Some(estimate) = place(glyphs.estimate) else {
                    continue;
                };
                let ends = [place(glyphs.ends[0]), place(glyphs.ends[1])];
                assert!(ends[0].is_none_or(|end| end <= estimate), "{text}");
                assert!(ends[1].is_none_or(|end| end >= estimate), "{text}");
            }
            assert_eq!(text.is_ascii(), form.is_ascii, "{text}");
        }
    }

    #[test]
    fn every_arm_with_io_has_a_line_of_latencies() {
        let result = sample();
        for form in forms() {
            let text = latencies(&result, form);
            assert!(text.starts_with("Reads by latency"), "{text}");
            assert_eq!(
                text.lines().count(),
                1 + result.design.arms.len() + 1,
                "{text}"
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert!(!form.is_ascii || text.is_ascii(), "{text}");
        }
    }

    #[test]
    fn one_io_among_many_is_visible() {
        assert_eq!(heights(&[1_000_000, 0, 1], UNICODE.heights), "█ ▁");
        assert_eq!(shown(&"x".repeat(40)).len(), LONGEST_NAME);
    }
}
