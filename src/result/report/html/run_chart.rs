//! The values in the order of execution, with the rounds that do not count: drift is visible here. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use super::look;
use super::plot::Plot;
use crate::metric::Metric;
use crate::report::axis::{Axis, Spread};
use crate::report::rounds::Rounds;
use crate::report::units;
use crate::statistics::scale::Scale;
use crate::types::result::Round;

/// One panel for each primary metric; None without a value.
pub fn figure(rounds: &Rounds<'_>) -> Option<Figure> {
    let result = rounds.result;
    let panels: Vec<Markup> = result
        .design
        .primary
        .iter()
        .filter_map(|metric| panel(rounds, metric))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "run-chart".to_owned(),
        title: "Every round, in the order of execution".to_owned(),
        says: "A slope or a step that all arms share is drift: it does not favour an arm, because arms are compared within \
               blocks. A dash without a dot is a round that does not count."
            .to_owned(),
        picture: html! {
            @for panel in &panels { (panel) }
            (look::key(result))
        },
        data: data(rounds),
    })
}

fn panel(rounds: &Rounds<'_>, metric: &Metric) -> Option<Markup> {
    let result = rounds.result;
    let value = |round: &Round| round.value(metric);
    let spread = match metric.scale {
        Scale::Log => Spread::Log,
        Scale::Identity => Spread::Linear,
    };
    let y = Axis::around(spread, result.rounds.iter().filter_map(value))?;
    let plot = Plot {
        x: Axis::between(Spread::Linear, 0.5, result.rounds.len() as f64 + 0.5),
        y,
        x_name: "round",
        y_name: &metric.name,
        x_label: &|round| format!("{round:.0}"),
        y_label: &|value| units::value(Some(value), &metric.unit),
        alternative: &format!(
            "{} of every round; the table below has the numbers",
            metric.name
        ),
        is_bare: false,
    };
    let place = |round: &Round| Some((round.index as f64 + 1.0, value(round)?));
    let mut marks: Vec<Markup> = Vec::new();
    for (arm, look) in result
        .design
        .arms
        .iter()
        .zip(look::colours(&result.design.arms))
    {
        let of_arm = rounds.under(&arm.label);
        let points = of_arm.iter().filter_map(|round| place(round));
        marks.push(plot.curve(&format!("thin {look}"), points.clone()));
        for (round, at) in of_arm
            .iter()
            .filter_map(|round| Some((round, place(round)?)))
        {
            let value = units::value(Some(at.1), &metric.unit);
            let says = format!(
                "round {}, block {}, {}: {value}",
                round.index + 1,
                round.block + 1,
                arm.label
            );
            marks.push(plot.dot(&format!("dot {look}"), at, &says));
        }
    }
    for at in result
        .rounds
        .iter()
        .filter(|round| !rounds.counts(round))
        .filter_map(place)
    {
        marks.push(plot.segment("excluded", (at.0 - 0.4, at.1), (at.0 + 0.4, at.1)));
    }
    Some(html! {
        div.panel {
            h3 { (name(&metric.name)) }
            (plot.draw(&marks))
            (without_value(rounds, metric))
        }
    })
}

/// The rounds that count and have no place in the plot, because their arm did too little for a value.
fn without_value(rounds: &Rounds<'_>, metric: &Metric) -> Markup {
    let is_absent = |round: &&&Round| round.value(metric).is_none();
    let arms = rounds.result.design.arms.iter();
    let counts = arms.map(|arm| {
        (
            &arm.label,
            rounds.under(&arm.label).iter().filter(is_absent).count(),
        )
    });
    let absent: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(arm, count)| format!("{arm} in {count}"))
        .collect();
    html! {
        @if !absent.is_empty() {
            p { "Rounds that count and have no value here: " (name(&absent.join(", "))) ". The verdict says what that means." }
        }
    }
}

fn data(rounds: &Rounds<'_>) -> Data {
    let primary = &rounds.result.design.primary;
    let head = ["round", "block", "position", "arm", "counts"]
        .map(str::to_owned)
        .into_iter();
    let row = |round: &Round| {
        let counts = match (rounds.counts(round), &round.problem) {
            (true, None) => "yes".to_owned(),
            (true, Some(problem)) => format!("yes, as worse than every other: {problem}"),
            (false, Some(problem)) => format!("no: {problem}"),
            (false, None) => "no, as another round of its block does not".to_owned(),
        };
        let place = [round.index, round.block, round.position].map(|index| (index + 1).to_string());
        let values = primary
            .iter()
            .map(|metric| units::value(round.value(metric), &metric.unit));
        place
            .into_iter()
            .chain([round.arm.clone(), counts])
            .chain(values)
            .collect()
    };
    Data {
        head: head
            .chain(primary.iter().map(|metric| metric.name.clone()))
            .collect(),
        rows: rounds.result.rounds.iter().map(row).collect(),
    }
}
