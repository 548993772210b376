//! Shift functions as text: a table of the deciles, and where an arm is faster or slower. Pure.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::units::RatioForm;
use crate::types::result::{DecileShift, ResultFile, ShiftFunction};

/// Every shift function of the result; nothing where there is none.
pub fn section(result: &ResultFile) -> String {
    let mut text = String::new();
    for shift in distinct(result) {
        let is_device = shift.distribution.ends_with("device");
        let _ = writeln!(
            text,
            "{}: {} against {}, {} blocks: {}{}\n{}",
            shift.distribution,
            shift.arm,
            shift.reference,
            shift.blocks,
            in_words(&shift.deciles),
            if is_device {
                "; the totals are not comparable, see Stalls"
            } else {
                ""
            },
            table(&shift.deciles),
        );
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\nShift functions: the change of each decile of the latencies. The nine intervals of a table hold together with 95 % \
         confidence; each table stands on its own.\n{text}"
    )
}

/// Leaves out a function of all I/Os that is the same as one of reads or of writes.
pub(super) fn distinct(result: &ResultFile) -> Vec<&ShiftFunction> {
    let is_repeated = |index: usize, shift: &ShiftFunction| {
        let mut later = result.shifts[index + 1..].iter();
        later.any(|other| other.arm == shift.arm && other.deciles == shift.deciles)
    };
    let shifts = result.shifts.iter().enumerate();
    let distinct = shifts.filter(|(index, shift)| !is_repeated(*index, shift));
    distinct.map(|(_, shift)| shift).collect()
}

fn table(deciles: &[DecileShift]) -> String {
    let ends = deciles.iter().filter_map(|decile| decile.ratio_interval);
    let ends = ends.flat_map(|interval| [interval.lower, interval.upper]);
    let ratios = deciles.iter().filter_map(|decile| decile.ratio);
    let form = RatioForm::of(ratios.chain(ends));
    let cell = |ratio: Option<f64>| match ratio {
        Some(ratio) if ratio.is_finite() => form.change(ratio),
        Some(_) => "none".to_owned(),
        None => "-".to_owned(),
    };
    let row = |name: &str, of: fn(&DecileShift) -> Option<f64>| {
        let cells = deciles
            .iter()
            .map(|decile| cell(of(decile)))
            .collect::<Vec<_>>();
        [name.to_owned()].into_iter().chain(cells)
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let names = deciles.iter().map(|decile| name(decile.p));
    table.set_header(["DECILE".to_owned()].into_iter().chain(names));
    table.add_row(row("change", |decile| decile.ratio));
    table.add_row(row("lower end", |decile| {
        Some(decile.ratio_interval?.lower)
    }));
    table.add_row(row("upper end", |decile| {
        Some(decile.ratio_interval?.upper)
    }));
    for index in 1..=deciles.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// As in the names of the metrics.
fn name(p: f64) -> String {
    format!("p{:.0}", p * 100.0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Faster,
    Slower,
    /// The interval contains 1.
    Open,
}

fn side(decile: &DecileShift) -> Side {
    match decile.interval {
        Some(interval) if interval.upper < 0.0 => Side::Faster,
        Some(interval) if interval.lower > 0.0 => Side::Slower,
        _ => Side::Open,
    }
}

/// `faster up to the median, slower from p80 up`.
pub(super) fn in_words(deciles: &[DecileShift]) -> String {
    if deciles.iter().all(|decile| decile.interval.is_none()) {
        return "too few blocks for intervals".to_owned();
    }
    let mut found = Vec::new();
    let mut at = 0;
    for run in deciles.chunk_by(|a, b| side(a) == side(b)) {
        let (is_first, is_last) = (at == 0, at + run.len() == deciles.len());
        at += run.len();
        let word = match side(&run[0]) {
            Side::Faster => "faster",
            Side::Slower => "slower",
            Side::Open => continue,
        };
        let place = |decile: &DecileShift| match name(decile.p).as_str() {
            "p50" => "the median".to_owned(),
            other => other.to_owned(),
        };
        let (low, high) = (place(&run[0]), place(&run[run.len() - 1]));
        found.push(match (is_first, is_last, run.len()) {
            (true, true, _) => format!("{word} at every decile"),
            (_, _, 1) => format!("{word} at {low}"),
            (true, false, _) => format!("{word} up to {high}"),
            (false, true, _) => format!("{word} from {low} up"),
            (false, false, _) => format!("{word} from {low} to {high}"),
        });
    }
    if found.is_empty() {
        "no difference shown".to_owned()
    } else {
        found.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::shift::DECILES;
    use crate::statistics::estimate::ConfidenceInterval;

    /// `-` faster, `+` slower, `0` undecided, ` ` without an interval.
    fn said(signs: &str) -> String {
        let deciles = DECILES.into_iter().zip(signs.chars());
        let deciles: Vec<DecileShift> = deciles
            .map(|(p, sign)| {
                let interval = match sign {
                    '-' => Some((-0.2, -0.1)),
                    '+' => Some((0.1, f64::INFINITY)),
                    '0' => Some((-0.1, 0.1)),
                    _ => None,
                };
                DecileShift {
                    p,
                    estimate: None,
                    interval: interval.map(|(lower, upper)| ConfidenceInterval {
                        lower,
                        upper,
                        attained_confidence: 0.99,
                    }),
                    ratio: None,
                    ratio_interval: None,
                }
            })
            .collect();
        in_words(&deciles)
    }

    #[test]
    fn where_an_arm_is_faster_is_said_in_words() {
        for (signs, words) in [
            ("-----++++", "faster up to the median, slower from p60 up"),
            ("-----0+++", "faster up to the median, slower from p70 up"),
            ("---------", "faster at every decile"),
            ("000000000", "no difference shown"),
            ("-000+0000", "faster at p10, slower at the median"),
            ("0++++0000", "slower from p20 to the median"),
            ("00000000+", "slower at p90"),
            ("         ", "too few blocks for intervals"),
        ] {
            assert_eq!(said(signs), words, "{signs}");
        }
    }
}
