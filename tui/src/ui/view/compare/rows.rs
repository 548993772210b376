//! A row for each arm: what its histogram is made of, its percentiles, and its ratio to the reference.

use iosched::ab::stats;
use iosched::histogram::Histogram;
use iosched::report::units::{count, throughput, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

use super::{Sides, label_width, strip, style};
use crate::ui::compare::{Scope, Stage, Statistic, metric};
use crate::ui::model::Model;
use crate::ui::round::Against;

const WIDE: u16 = 110;

pub fn render(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let view = model.compare;
    let Some((reference, _)) = sides.arms.get(sides.reference) else {
        return;
    };
    let metric = metric(view.stage, view.scope, view.statistic);
    let is_wide = area.width >= WIDE;
    let quantiles = || {
        strip::QUANTILES
            .iter()
            .filter(|(name, _)| is_wide || *name != "p95")
    };
    let mut names = vec!["", "rounds", "I/Os"];
    names.extend(quantiles().map(|(name, _)| *name));
    if is_wide {
        names.extend(["IOPS", "throughput"]);
    }
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let to = format!(" {} to {}", view.statistic.title(), reference.label);
    let header = names
        .iter()
        .map(|name| right((*name).to_owned()))
        .chain([Cell::from(to)]);
    let lines = sides
        .arms
        .iter()
        .enumerate()
        .map(|(index, (arm, histogram))| {
            let rounds = sides.seen.rounds_of(&arm.label);
            let mut cells = vec![rounds.to_string(), count(histogram.count() as f64)];
            cells.extend(quantiles().map(|(_, p)| quantile(histogram, *p)));
            if is_wide {
                let ios = arm.stages.of(Stage::Device, Scope::All).count();
                let seconds = arm.seconds.max(1e-9);
                cells.extend([
                    count((ios as f64 / seconds).round()),
                    throughput(arm.bytes / seconds),
                ]);
            }
            let last = if index == sides.reference {
                " reference".to_owned()
            } else {
                let against = sides.seen.against(&metric, &arm.label, &reference.label);
                against.map_or_else(
                    || why_not(model, &metric, &[&arm.label, &reference.label]),
                    |against| ratio(against, view.statistic, is_wide, sides.seen.alpha()),
                )
            };
            let label = Cell::from(Span::styled(arm.label.clone(), style(model, index)));
            let cells = std::iter::once(label).chain(cells.into_iter().map(right));
            let row = Row::new(cells.chain([Cell::from(last)]));
            let is_chosen = index == view.row && sides.arms.len() > 1;
            if is_chosen {
                row.style(model.palette.strong())
            } else {
                row
            }
        });
    let mut widths: Vec<Constraint> = [label_width(sides), 6, 5].map(Constraint::Length).to_vec();
    widths.extend(quantiles().map(|_| Constraint::Length(8)));
    if is_wide {
        widths.extend([6, 10].map(Constraint::Length));
    }
    widths.push(Constraint::Min(20));
    let header = Row::new(header).style(model.palette.faint());
    frame.render_widget(
        Table::new(lines, widths).header(header).column_spacing(1),
        area,
    );
}

/// With too few beyond it a percentile is one I/O's story: `~` below a hundred, and none below ten.
fn quantile(histogram: &Histogram, p: f64) -> String {
    match histogram.quantile_ns(p) {
        None => "-".to_owned(),
        some if histogram.supports_quantile(p) => time(some),
        some if histogram.count() as f64 * (1.0 - p) >= 10.0 => format!("~{}", time(some)),
        _ => "few".to_owned(),
    }
}

fn why_not(model: &Model, metric: &str, arms: &[&str]) -> String {
    let is_short = model.device().seen.rounds.iter().any(|round| {
        arms.contains(&&*round.arm) && round.insufficient_tail.iter().any(|name| name == metric)
    });
    if is_short {
        " - too few I/Os a round".to_owned()
    } else if model.rotating.is_some() {
        " - no block of both yet".to_owned()
    } else {
        " - F takes turns".to_owned()
    }
}

/// `x2.31 [x1.90..x2.80] slower`.
fn ratio(against: Against, statistic: Statistic, is_wide: bool, alpha: f64) -> String {
    let Against {
        blocks,
        ratio,
        interval,
    } = against;
    let Some((low, high)) = interval else {
        return format!(
            " {}  {blocks} of {} blocks",
            factor(ratio),
            stats::always_valid_blocks_needed(alpha)
        );
    };
    let (more, less) = if statistic.is_rate() {
        ("more", "less")
    } else {
        ("slower", "faster")
    };
    let word = match (low > 1.0, high < 1.0) {
        (true, _) => more,
        (_, true) => less,
        _ => "not decided",
    };
    let text = format!(" {} [{}..{}]", factor(ratio), factor(low), factor(high));
    if is_wide {
        format!("{text} {word}")
    } else {
        text
    }
}

/// Two significant digits at least.
fn factor(ratio: f64) -> String {
    match ratio {
        _ if ratio < 0.000_995 => format!("x{ratio:.1e}"),
        _ if ratio < 0.009_95 => format!("x{ratio:.4}"),
        _ if ratio < 0.0995 => format!("x{ratio:.3}"),
        _ if ratio < 9.995 => format!("x{ratio:.2}"),
        _ if ratio < 99.95 => format!("x{ratio:.1}"),
        _ => format!("x{ratio:.0}"),
    }
}
