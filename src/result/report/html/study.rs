//! A study as a page: the matrix of verdicts, what is gained and what it costs, and each cell. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use super::plot::Plot;
use super::{forest, look, page, verdict, why};
use crate::metric::Metric;
use crate::report::axis::{Axis, Spread};
use crate::report::{level, study as text, units, words};
use crate::statistics::scale::Direction;
use crate::study::result::{CellResult, StudyResult};
use crate::types::result::{ArmComparison, ResultFile};

pub fn render(study: &StudyResult) -> String {
    let title = title(study);
    page::page(
        &title,
        study,
        &html! { h1 { (name(&title)) } (body(study)) },
    )
}

pub fn title(study: &StudyResult) -> String {
    format!("{}: {}", study.study, study.title)
}

pub fn body(study: &StudyResult) -> Markup {
    let mut conditions = String::new();
    text::heading(&mut conditions, study);
    let mut remarks = String::new();
    text::exact(&mut remarks, study);
    text::level(&mut remarks, study);
    text::without_waiting(&mut remarks, study);
    let mut choice = String::new();
    text::choice(&mut choice, study);
    // The first line is the title.
    let conditions = conditions.lines().skip(1).collect::<Vec<_>>().join("\n");
    html! {
        (verdict::list(&text::decisions(study)))
        (verdict::list(&choice))
        (matrix(study))
        h2 { "What to keep in mind" }
        (verdict::list(&conditions))
        (verdict::list(&remarks))
        @if let Some(figure) = trade(study) { (figure.render()) }
        section #cells {
            h2 { "Each cell" }
            @for cell in study.compared() { (details(cell)) }
        }
    }
}

/// A row for each metric of each cell, a column for each arm.
fn matrix(study: &StudyResult) -> Markup {
    let (reference, arms) = study
        .arms
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    html! {
        div.scroll tabindex="0" role="region" aria-label="Verdicts" {
            table.matrix {
                thead { tr {
                    th scope="col" { "cell" } th scope="col" { "metric" } th scope="col" { (name(reference)) }
                    @for arm in arms { th scope="col" { (name(arm)) } }
                } }
                tbody {
                    @for cell in study.compared() {
                        @for (index, metric) in cell.result.design.primary.iter().enumerate() {
                            tr {
                                @if index == 0 {
                                    th scope="rowgroup" rowspan=(cell.result.design.primary.len()) { (name(&cell.name)) }
                                }
                                td { (name(&metric.name)) }
                                td { (units::value(reference_median(cell, metric), &metric.unit)) }
                                @for arm in arms { (of_arm(cell, row(cell, metric, arm))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row<'a>(cell: &'a CellResult, metric: &Metric, arm: &str) -> Option<&'a ArmComparison> {
    cell.primary()
        .find(|row| row.arm == arm && row.metric.name == metric.name)
}

fn reference_median(cell: &CellResult, metric: &Metric) -> Option<f64> {
    cell.primary()
        .filter(|row| row.metric.name == metric.name)
        .find_map(|row| row.reference_median)
}

/// The stronger the change, the stronger its colour.
fn of_arm(cell: &CellResult, row: Option<&ArmComparison>) -> Markup {
    let Some(row) = row else {
        return html! { td { "-" } };
    };
    if cell.why_invalid().is_some() {
        return html! { td { "invalid" } };
    }
    let (class, word) = forest::verdict(&row.comparison);
    let factor = row
        .comparison
        .ratio
        .map_or(1.0, |ratio| ratio.max(1.0 / ratio));
    let strength = match factor {
        f if f >= 5.0 => "strong",
        f if f >= 1.5 => "middle",
        _ => "weak",
    };
    html! {
        td.cell.(class).(strength) title=(words::sentence(row)) {
            (words::change(&row.comparison)) " " span.verdict.(class) { (word) }
        }
    }
}

/// The metrics of a picture of gain and cost: the first of which more is better, and the first of which less is.
struct Trade<'a> {
    cell: &'a CellResult,
    more: &'a Metric,
    less: &'a Metric,
}

impl<'a> Trade<'a> {
    fn of(cell: &'a CellResult) -> Option<Self> {
        let first = |direction| {
            cell.result
                .design
                .primary
                .iter()
                .find(|metric| metric.direction == direction)
        };
        Some(Trade {
            cell,
            more: first(Direction::HigherIsBetter)?,
            less: first(Direction::LowerIsBetter)?,
        })
    }

    /// Each compared arm with both ratios, as far as they are known.
    fn ratios(&self) -> Vec<(&'a str, Option<f64>, Option<f64>)> {
        let design = &self.cell.result.design;
        let arms = design.arms.iter().enumerate();
        let others = arms.filter(|(index, _)| *index != design.reference);
        let ratio = |metric, arm| row(self.cell, metric, arm)?.comparison.ratio;
        others
            .map(|(_, arm)| &*arm.label)
            .map(|arm| (arm, ratio(self.more, arm), ratio(self.less, arm)))
            .collect()
    }

    /// The arms that have a place in the picture.
    fn points(&self) -> Vec<(&'a str, f64, f64)> {
        let ratios = self.ratios().into_iter();
        let known = ratios.filter_map(|(arm, more, less)| Some((arm, more?, less?)));
        known
            .filter(|(_, more, less)| *more > 0.0 && *less > 0.0)
            .collect()
    }
}

/// None without a cell that has both a gain and a cost.
fn trade(study: &StudyResult) -> Option<Figure> {
    let trades: Vec<Trade<'_>> = study
        .compared()
        .filter(|cell| cell.why_invalid().is_none())
        .filter_map(Trade::of)
        .collect();
    let all: Vec<_> = trades.iter().flat_map(Trade::points).collect();
    all.first()?;
    let x = Axis::around(Spread::Log, all.iter().map(|point| point.1).chain([1.0]))?;
    let y = Axis::around(Spread::Log, all.iter().map(|point| point.2).chain([1.0]))?;
    let picture = html! {
        div.panels { @for trade in &trades { (panel(trade, x, y)) } }
        @if let Some(trade) = trades.first() { (look::key(&trade.cell.result)) }
    };
    let rows = trades.iter().flat_map(|trade| {
        let ratios = trade.ratios().into_iter();
        ratios.map(|(arm, more, less)| {
            let ratio = |ratio: Option<f64>| {
                ratio.map_or("-".to_owned(), |it| format!("x{}", units::short(it)))
            };
            let names = [&trade.cell.name, &trade.more.name, &trade.less.name].map(String::clone);
            let [cell, gain, cost] = names;
            vec![cell, arm.to_owned(), gain, ratio(more), cost, ratio(less)]
        })
    });
    let head = [
        "cell",
        "arm",
        "more is better",
        "ratio",
        "less is better",
        "ratio",
    ];
    Some(Figure {
        id: "trade".to_owned(),
        title: "What each arm gains, and what it costs".to_owned(),
        says: "Ratios to the reference, which is where the arrows begin. To the right there is more of what should be more, and \
               further down less of what should be less: the best place is at the bottom on the right. Whether a difference is \
               shown is in the table above; an arm without one of the ratios is in the numbers only."
            .to_owned(),
        picture,
        data: Data {
            head: head.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        },
    })
}

fn panel(trade: &Trade<'_>, x: Axis, y: Axis) -> Markup {
    let result: &ResultFile = &trade.cell.result;
    let ratio = |ratio: f64| format!("x{}", units::short(ratio));
    let plot = Plot {
        x,
        y,
        x_name: &trade.more.name,
        y_name: &trade.less.name,
        x_label: &ratio,
        y_label: &ratio,
        alternative: &format!(
            "{}: gain and cost of each arm; the table below has the numbers",
            trade.cell.name
        ),
        is_bare: false,
    };
    let looks = look::colours(&result.design.arms);
    let mut marks: Vec<Markup> = vec![
        plot.level("none", 1.0),
        plot.segment("none", (1.0, 0.0), (1.0, f64::MAX)),
    ];
    for (arm, more, less) in trade.points() {
        let look = &looks[result.arm_index(arm).unwrap_or(0)];
        let says = format!(
            "{arm}: {} {}, {} {}",
            trade.more.name,
            ratio(more),
            trade.less.name,
            ratio(less)
        );
        marks.push(plot.segment(&format!("thin {look}"), (1.0, 1.0), (more, less)));
        marks.push(plot.dot(&format!("dot {look}"), (more, less), &says));
    }
    html! { div.panel { h3 { (name(&trade.cell.name)) } (plot.draw(&marks)) } }
}

fn details(cell: &CellResult) -> Markup {
    let is_valid = cell.why_invalid().is_none();
    let rows: Vec<&ArmComparison> = cell.primary().filter(|_| is_valid).collect();
    html! {
        details {
            summary { strong { (name(&cell.name)) } }
            @if !cell.expect.is_empty() { p { "Expected: " (name(&cell.expect)) } }
            @if let Some(why) = &cell.hopeless { p { "Given up: " (name(why)) } }
            @for figure in forest::ratios(&rows).into_iter().chain(forest::differences(&rows)) { (figure.picture) }
            @for figure in why::figures(&cell.result, &format!(" in {}", cell.name)) {
                h3 { (name(&figure.title)) }
                p { (name(&figure.says)) }
                (figure.picture)
            }
            ul.remarks {
                @for row in &rows { li { (name(&words::sentence(row))) } }
                @for line in level::remarks(&cell.result) { li { (name(&line)) } }
            }
            (super::appendix::workload(&cell.result.workload))
        }
    }
}
