//! One row per arm: the size of its histogram, its percentiles, and its ratio to the reference; `n/c` if the arms
//! leave out different waits.
//!
//! When columns are scarce, the throughput is dropped first, then the IOPS, p95, the word after the ratio, the
//! rounds, the ratio's interval, p99.9, the I/Os and p99.

use iosched::ab::statistics::estimate;
use iosched::report::units::{count, throughput};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Sides, label_width, pictures, style};
use crate::ui::sampling::round::Against;
use crate::ui::state::compare::{ArmSeen, Scope, ShownStage, Statistic, metric};
use crate::ui::state::model::Model;
use crate::ui::view::table::{self, Column};
use crate::ui::view::{few, fit, parts};

/// From these levels on, the ratio is shown with its interval, and with its word.
const INTERVAL: u8 = 4;
const WORDS: u8 = 6;

pub fn render(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let view = model.compare;
    let Some((reference, _)) = sides.arms.get(sides.reference) else {
        return;
    };
    let room = usize::from(area.height.saturating_sub(1));
    let shown = parts::window(view.row, sides.arms.len(), room);
    let arms = || shown.clone().map(|index| (index, &sides.arms[index]));
    let quantile = |p: f64| arms().map(move |(_, (_, histogram))| few::compared(histogram, p));
    let label = |(index, (arm, _)): (usize, &(&ArmSeen, _))| {
        let text = if view.is_overlaid {
            format!("{} {}", pictures::symbol(index), arm.label)
        } else {
            arm.label.clone()
        };
        Line::from(Span::styled(text, style(model, index)))
    };
    let per_s = |arm: &ArmSeen, n: f64| n / arm.seconds.max(1e-9);
    let ios = |arm: &ArmSeen| arm.stages.of(ShownStage::Device, Scope::All).count() as f64;
    let width = label_width(sides, area.width) + 2 * u16::from(view.is_overlaid);
    let heading = |most: usize| {
        let words = format!("{} to ", view.statistic.title());
        let room = most.saturating_sub(words.len()).max(4);
        words + &fit::clip(&reference.label, room)
    };
    let ratios: Vec<[String; 3]> = arms()
        .map(|(index, (arm, _))| ratio_cells(model, sides, index, arm, reference))
        .collect();
    let ratio = |form: usize| ratios.iter().map(move |forms| forms[form].clone());
    let columns = [
        Column::name("", 0.., width, width).of(arms().map(label)),
        Column::number("rounds", 5.., 6)
            .of(arms().map(|(_, (arm, _))| sides.seen.rounds_of(&arm.label).to_string())),
        Column::number("I/Os", 2.., 5)
            .of(arms().map(|(_, (_, histogram))| count(histogram.count() as f64))),
        Column::number("p50", 0.., 8).of(quantile(0.5)),
        Column::number("p95", 7.., 8).of(quantile(0.95)),
        Column::number("p99", 1.., 8).of(quantile(0.99)),
        Column::number("p99.9", 3.., 8).of(quantile(0.999)),
        Column::number("IOPS", 8.., 6)
            .of(arms().map(|(_, (arm, _))| count(per_s(arm, ios(arm)).round()))),
        Column::number("throughput", 9.., 10)
            .of(arms().map(|(_, (arm, _))| throughput(per_s(arm, arm.bytes)))),
        Column::words(heading(14), 0.., 12)
            .until(INTERVAL)
            .of(ratio(0)),
        Column::words(heading(24), INTERVAL.., 20)
            .until(WORDS)
            .of(ratio(1)),
        Column::words(heading(32), WORDS.., 20).of(ratio(2)),
    ];
    let row_style = |row: usize| {
        if shown.start + row == view.row && sides.arms.len() > 1 {
            model.palette.strong()
        } else {
            Style::new()
        }
    };
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), area, &columns, faint, row_style);
}

/// The forms, from the shortest to the longest.
fn ratio_cells(
    model: &Model,
    sides: &Sides<'_>,
    index: usize,
    arm: &ArmSeen,
    reference: &ArmSeen,
) -> [String; 3] {
    if index == sides.reference {
        return [(); 3].map(|()| "reference".to_owned());
    }
    let view = model.compare;
    let metric = metric(view.stage, view.scope, view.statistic);
    let seen = sides.seen;
    if !seen.is_comparable(&metric, &arm.label, &reference.label) {
        return ["n/c: stalls", "n/c: stalls differ", "n/c: stalls differ"].map(str::to_owned);
    }
    if let Some(against) = seen.against(&metric, &arm.label, &reference.label) {
        return ratio(against, view.statistic, seen.alpha());
    }
    let why = why_not(model, &metric, &[&arm.label, &reference.label]);
    ["-".to_owned(), format!("- {why}"), format!("- {why}")]
}

fn why_not(model: &Model, metric: &str, arms: &[&str]) -> &'static str {
    let is_short = model.device().seen.rounds.iter().any(|round| {
        arms.contains(&&*round.arm) && round.insufficient_tail.iter().any(|name| name == metric)
    });
    if is_short {
        "too few I/Os per round"
    } else if model.rotating.is_some() {
        "no complete block yet"
    } else {
        "F rotates them"
    }
}

/// `x2.31 slower`, `x2.31 [x1.90..x2.80]`, `x2.31 [x1.90..x2.80] slower`.
fn ratio(against: Against, statistic: Statistic, alpha: f64) -> [String; 3] {
    let Against {
        blocks,
        ratio,
        interval,
    } = against;
    let ratio = factor(ratio);
    let Some((low, high)) = interval else {
        let needed = estimate::always_valid_blocks_needed(alpha);
        let short = format!("{ratio}  {blocks} of {needed}");
        let long = format!("{short} blocks");
        return [short, long.clone(), long];
    };
    let (more, less) = if statistic.is_rate() {
        ("more", "less")
    } else {
        ("slower", "faster")
    };
    let (word, decided) = match (low > 1.0, high < 1.0) {
        (true, _) => (more, more),
        (_, true) => (less, less),
        _ => ("not decided", ""),
    };
    let short = format!("{ratio} {decided}").trim_end().to_owned();
    let middle = format!("{ratio} [{}..{}]", factor(low), factor(high));
    [short, middle.clone(), format!("{middle} {word}")]
}

/// At least two significant digits.
fn factor(ratio: f64) -> String {
    match ratio {
        _ if !ratio.is_finite() => "-".to_owned(),
        _ if ratio < 0.000_995 => format!("x{ratio:.1e}"),
        _ if ratio < 0.009_95 => format!("x{ratio:.4}"),
        _ if ratio < 0.0995 => format!("x{ratio:.3}"),
        _ if ratio < 9.995 => format!("x{ratio:.2}"),
        _ if ratio < 99.95 => format!("x{ratio:.1}"),
        _ if ratio < 99_999.5 => format!("x{ratio:.0}"),
        _ => format!("x{ratio:.1e}"),
    }
}
