//! The shift function: what an arm does to each decile of the latencies. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure};
use super::look;
use super::plot::Plot;
use crate::report::axis::{Axis, Spread};
use crate::report::shift::in_words;
use crate::report::units::{self, RatioForm};
use crate::types::result::{DecileShift, ResultFile, ShiftFunction};

/// One figure for all arms and distributions; None without a shift function.
pub fn figure(result: &ResultFile) -> Option<Figure> {
    let shifts = crate::report::shift::distinct(result);
    let values = shifts
        .iter()
        .flat_map(|shift| &shift.deciles)
        .flat_map(values);
    let y = Axis::around(Spread::Log, values.chain([1.0]))?;
    let looks = look::colours(&result.design.arms);
    let look = |arm: &str| result.arm_index(arm).map_or("", |index| &*looks[index]);
    let panels = shifts.iter().map(|shift| panel(shift, look(&shift.arm), y));
    let picture: Vec<Markup> = panels.collect();
    (!picture.is_empty()).then(|| Figure {
        id: "deciles".to_owned(),
        title: "Which latencies each arm makes shorter or longer".to_owned(),
        says: "Ratio of each decile to the reference. Below the line x1 the arm is faster. The nine intervals of a band hold \
               together with 95 % confidence; each band stands on its own."
            .to_owned(),
        picture: html! { div.panels { @for panel in &picture { (panel) } } },
        data: data(&shifts),
    })
}

fn values(decile: &DecileShift) -> impl Iterator<Item = f64> + use<> {
    let interval = decile.ratio_interval;
    let ends = interval.map(|i| [i.lower, i.upper]).into_iter().flatten();
    decile
        .ratio
        .into_iter()
        .chain(ends)
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn panel(shift: &ShiftFunction, look: &str, y: Axis) -> Markup {
    let title = format!(
        "{}: {} against {}",
        shift.distribution, shift.arm, shift.reference
    );
    let says = in_words(&shift.deciles);
    let plot = Plot {
        x: Axis::between(Spread::Linear, 0.05, 0.95),
        y,
        x_name: "decile",
        y_name: "ratio",
        x_label: &|p| format!("p{:.0}", p * 100.0),
        y_label: &|ratio| format!("x{}", units::short(ratio)),
        alternative: &format!("{title}: {says}"),
        is_bare: false,
    };
    let banded = shift
        .deciles
        .iter()
        .filter_map(|decile| Some((decile.p, decile.ratio_interval?)));
    let banded: Vec<_> = banded.collect();
    let upper = banded.iter().map(|(p, interval)| (*p, interval.upper));
    let lower = banded
        .iter()
        .rev()
        .map(|(p, interval)| (*p, interval.lower));
    let middle = shift
        .deciles
        .iter()
        .filter_map(|decile| Some((decile.p, decile.ratio?)));
    let marks = [
        plot.area(&format!("area {look}"), upper.chain(lower)),
        plot.level("none", 1.0),
        plot.curve(&format!("line {look}"), middle),
    ];
    html! {
        div.panel {
            h3 { (super::figure::name(&title)) }
            p { (says) ", " (shift.blocks) " blocks" }
            (plot.draw(&marks))
        }
    }
}

fn data(shifts: &[&ShiftFunction]) -> Data {
    let deciles = shifts.first().map_or(&[][..], |shift| &shift.deciles);
    let head = ["latencies", "arm"].map(str::to_owned).into_iter();
    let cell = |decile: &DecileShift| {
        let form = RatioForm::of(values(decile));
        let ratio = decile
            .ratio
            .map_or("-".to_owned(), |ratio| form.change(ratio));
        let interval = decile.ratio_interval.map(|i| form.range(i.lower, i.upper));
        format!(
            "{ratio} ({})",
            interval.unwrap_or_else(|| "no interval".to_owned())
        )
    };
    Data {
        head: head
            .chain(
                deciles
                    .iter()
                    .map(|decile| format!("p{:.0}", decile.p * 100.0)),
            )
            .collect(),
        rows: shifts
            .iter()
            .map(|shift| {
                let first = [shift.distribution.clone(), shift.arm.clone()];
                first
                    .into_iter()
                    .chain(shift.deciles.iter().map(cell))
                    .collect()
            })
            .collect(),
    }
}
