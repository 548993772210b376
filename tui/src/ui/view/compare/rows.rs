//! One row per arm: the size of its histogram, its percentiles, and its ratio to the reference; `n/c` if the arms
//! leave out different waits.
//!
//! When columns are scarce, the throughput is dropped first, then the IOPS, p95, the word after the ratio, the
//! rounds, the ratio's interval, p99.9, the I/Os and p99.

use iosched_result::report::units::{count, throughput};
use iosched_result::statistics::verdict::{Reason, Verdict};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Sides, change, label_width, pictures, style};
use crate::ui::state::compare::{ArmSeen, Scope, ShownStage};
use crate::ui::state::model::Model;
use crate::ui::view::table::{self, Column};
use crate::ui::view::{few, fit, parts};

/// From these levels on, the ratio is shown with its interval, and with its word.
const INTERVAL: u8 = 4;
const WORDS: u8 = 6;

pub fn render(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let view = &model.compare;
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
    // Without any time there is no rate.
    let per_s = |arm: &ArmSeen, n: f64, form: fn(f64) -> String| match arm.sums.seconds {
        0.0 => "-".to_owned(),
        seconds => form(n / seconds),
    };
    let ios = |arm: &ArmSeen| {
        arm.sums
            .stages
            .histogram(ShownStage::Device, view.scope)
            .count() as f64
    };
    let width = label_width(sides, area.width) + 2 * u16::from(view.is_overlaid);
    let heading = |most: usize| {
        let words = format!("{} to ", view.statistic.title());
        let room = most.saturating_sub(words.len()).max(4);
        words + &fit::clip(&reference.label, room)
    };
    let ratios: Vec<[Line<'static>; 3]> = arms()
        .map(|(index, (arm, _))| ratio_cells(model, sides, index, arm))
        .collect();
    let ratio = |form: usize| ratios.iter().map(move |forms| forms[form].clone());
    let columns = [
        Column::name("", 0.., width, width).of(arms().map(label)),
        Column::number("rounds", 5.., 6).of(arms().map(|(_, (arm, _))| rounds(sides, arm))),
        Column::number("I/Os", 2.., 5)
            .of(arms().map(|(_, (_, histogram))| count(histogram.count() as f64))),
        Column::number("p50", 0.., 8).of(quantile(0.5)),
        Column::number("p95", 7.., 8).of(quantile(0.95)),
        Column::number("p99", 1.., 8).of(quantile(0.99)),
        Column::number("p99.9", 3.., 8).of(quantile(0.999)),
        Column::number("IOPS", 8.., 6)
            .of(arms().map(|(_, (arm, _))| per_s(arm, ios(arm), |rate| count(rate.round())))),
        Column::number("throughput", 9.., 10)
            .of(arms().map(|(_, (arm, _))| per_s(arm, bytes(arm, view.scope), throughput))),
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

/// `12`, or `12 of 14` if some do not count.
fn rounds(sides: &Sides<'_>, arm: &ArmSeen) -> String {
    let Some(rounds) = sides.seen.rounds_of(&arm.label) else {
        return "-".to_owned();
    };
    match rounds.all() {
        all if all == rounds.counted => all.to_string(),
        all => format!("{} of {all}", rounds.counted),
    }
}

fn bytes(arm: &ArmSeen, scope: Scope) -> f64 {
    let [read, written] = arm.sums.bytes;
    match scope {
        Scope::All => read + written,
        Scope::Reads => read,
        Scope::Writes => written,
    }
}

/// The change against the reference, from the shortest form to the longest.
fn ratio_cells(
    model: &Model,
    sides: &Sides<'_>,
    index: usize,
    arm: &ArmSeen,
) -> [Line<'static>; 3] {
    let plain = |text: &str| Line::raw(text.to_owned());
    let Some(score) = &sides.seen.score else {
        return ["-", "- F rotates them", "- F rotates them"].map(plain);
    };
    if index == score.reference {
        return [(); 3].map(|()| plain("reference"));
    }
    let Some(row) = score.row(&model.compare.metric(), &arm.label) else {
        return ["-"; 3].map(plain); // it comes with the next report, if this device has rounds
    };
    let comparison = &row.comparison;
    if comparison.question.not_comparable {
        return ["n/c: stalls", "n/c: stalls differ", "n/c: stalls differ"].map(plain);
    }
    let Some([short, long]) = change::estimate(row) else {
        let why = match change::why_none(comparison) {
            "few" => "- too few I/Os per round",
            "gaps" => "- rounds without a value",
            _ => "- no value yet",
        };
        return ["-", why, why].map(plain);
    };
    let style = model.palette.verdict(comparison.verdict);
    let sign = change::sign(comparison);
    let rest = match change::interval(row) {
        Some(interval) => interval,
        None => match (comparison.blocks, comparison.question.blocks_needed()) {
            (blocks, needed) if blocks < needed => format!("{blocks} of {needed} blocks"),
            _ if [Reason::TruthChanged, Reason::Moved]
                .iter()
                .any(|reason| comparison.reasons.contains(reason)) =>
            {
                "it changed".to_owned()
            }
            _ => "no interval".to_owned(),
        },
    };
    let word = match comparison.verdict {
        Verdict::Inconclusive => " not decided",
        Verdict::Equivalent => " equivalent",
        _ => "",
    };
    [
        format!("{sign}{short}"),
        format!("{sign}{long} {rest}"),
        format!("{sign}{long} {rest}{word}"),
    ]
    .map(|text| Line::styled(text, style))
}
