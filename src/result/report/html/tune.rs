//! A search as a page: the referee's answer, and the path that led to it. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name, table};
use super::look;
use super::page;
use super::plot::Plot;
use crate::report::axis::{Axis, Spread};
use crate::report::tune as text;
use crate::statistics::scale::Scale;
use crate::tune::score::{self, standings_after};
use crate::tune::{DEFAULT, TuneResult};

pub fn render(tune: &TuneResult) -> String {
    let title = text::title(tune);
    page::page(&title, tune, &html! { h1 { (name(&title)) } (body(tune)) })
}

fn body(tune: &TuneResult) -> Markup {
    let rows = text::ledger(tune)
        .iter()
        .map(|row| row.cells().to_vec())
        .collect();
    let ledger = Data {
        head: text::HEAD.map(str::to_owned).to_vec(),
        rows,
    };
    html! {
        @match text::ended(tune) {
            Some(referee) => (super::body(referee)),
            None => p { strong { (name(&text::answer(tune))) } },
        }
        section #search {
            h2 { "What was tried" }
            @for line in text::heading(tune) { p { (name(&line)) } }
            p { (text::CLAIMS_NOTHING) }
            @if let Some(figure) = path(tune) { (figure.render()) }
            (table("Each arm that was tried", &ledger))
            @if !tune.skipped.is_empty() {
                details { summary { "What was not tried" } ul { @for line in &tune.skipped { li { (name(line)) } } } }
            }
        }
    }
}

/// An arm, and what the rounds so far say after each of its stages.
struct Path<'a> {
    arm: &'a str,
    look: String,
    points: Vec<(f64, f64)>,
}

/// None without a stage.
fn path(tune: &TuneResult) -> Option<Figure> {
    let scale = score::preferred(tune)?.scale;
    let paths = paths(tune);
    let values = || {
        paths
            .iter()
            .flat_map(|path| path.points.iter().map(|point| point.1))
    };
    let y = Axis::around(Spread::Linear, values().chain([0.0]))?;
    let stages = tune.stages.len();
    let x = Axis::between(Spread::Linear, 0.7, stages as f64 + 0.3);
    let percent = |value: f64| match scale {
        Scale::Log => format!("{value:+.0} %"),
        Scale::Identity => format!("{value:+.3}"),
    };
    let plot = Plot {
        x,
        y,
        x_name: "stage of the search",
        y_name: "change against the disk's own",
        x_label: &|stage| {
            if stage.fract() == 0.0 {
                format!("{stage}")
            } else {
                String::new()
            }
        },
        y_label: &percent,
        alternative: "The change of each arm after each stage; the table below has the numbers",
        is_bare: false,
    };
    let mut marks = vec![plot.level("none", 0.0)];
    for path in &paths {
        marks.push(plot.curve(&format!("thin {}", path.look), path.points.iter().copied()));
        for point in &path.points {
            let says = format!("{}: {}", path.arm, percent(point.1));
            marks.push(plot.dot(&format!("dot small {}", path.look), *point, &says));
        }
    }
    let rows = paths.iter().map(|path| {
        let of = |stage: usize| {
            let mut points = path.points.iter();
            let point = points.find(|point| point.0 as usize == stage);
            point.map_or("-".to_owned(), |point| percent(point.1))
        };
        let cells = (1..=stages).map(of);
        std::iter::once(path.arm.to_owned()).chain(cells).collect()
    });
    let head = (1..=stages).map(|stage| format!("stage {stage}"));
    Some(Figure {
        id: "path".to_owned(),
        title: "The path of the search".to_owned(),
        says: "The change of the preferred metric against what the disk had, by all rounds so far, better upwards. A line ends where \
               its arm was left behind. Arms that stalled or failed are in the table only."
            .to_owned(),
        picture: plot.draw(&marks),
        data: Data {
            head: std::iter::once("arm".to_owned()).chain(head).collect(),
            rows: rows.collect(),
        },
    })
}

fn paths(tune: &TuneResult) -> Vec<Path<'_>> {
    let scale = score::preferred(tune).map_or(Scale::Log, |metric| metric.scale);
    let percent = |score: f64| match scale {
        Scale::Log => score.exp_m1() * 100.0,
        Scale::Identity => score,
    };
    let arms: Vec<_> = tune.candidates.iter().map(|it| it.arm.clone()).collect();
    let looks: Vec<String> = arms
        .iter()
        .map(|arm| look::colours(std::slice::from_ref(arm)).concat())
        .collect();
    let path = |index: usize| {
        let label = &tune.candidates[index].arm.label;
        let is_in = |stage: &usize| {
            let design = &tune.stages[*stage].result.design;
            design.arms.iter().any(|arm| arm.label == *label)
        };
        let stages = (0..tune.stages.len()).filter(is_in);
        let points = stages.filter_map(|stage| {
            let standing = standings_after(tune, stage + 1, &[index]);
            let score = standing.first()?.score;
            score
                .is_finite()
                .then(|| (stage as f64 + 1.0, percent(score)))
        });
        Path {
            arm: label,
            look: looks[index].clone(),
            points: points.collect(),
        }
    };
    let paths = (DEFAULT + 1..tune.candidates.len()).map(path);
    paths.filter(|path| !path.points.is_empty()).collect()
}
