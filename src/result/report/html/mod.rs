//! The report as one HTML file with pictures. Pure.

mod appendix; // machine, settings, commands
mod deciles; // shift functions
mod dispatch; // where successive requests lie on the disk
mod figure; // a picture with its title, text and numbers
mod forest; // ratios with intervals
pub mod gate; // the findings of a gate
mod heatmap; // latencies over time
mod look; // colours and lines of arms
mod merge; // what many hosts say together
mod page; // the page around it
mod percentiles; // percentile curves
mod plot; // a plot with axes
mod run_chart; // every round in the order of execution
mod shares; // who got what
mod study; // a study
mod tune; // a search and its referee
mod verdict; // what came out, in words
mod waits; // queue wait against device time
mod why; // who waits behind whom

pub use self::merge::render as render_merge;
pub use self::study::render as render_study;
pub use self::tune::render as render_tune;

use maud::{Markup, html};

use self::figure::{Figure, name};
use super::rounds::Rounds;
use super::words;
use crate::analysis::turn;
use crate::types::result::{ArmComparison, ResultFile};

pub fn render(result: &ResultFile) -> String {
    let title = words::title(result);
    page::page(
        &title,
        result,
        &html! { h1 { (name(&title)) } (body(result)) },
    )
}

fn body(result: &ResultFile) -> Markup {
    let arms = words::arms(result);
    html! {
        (verdict::section(result))
        @if let Some(arms) = arms { p { (name(&arms)) } }
        (figures(result))
    }
}

fn figures(result: &ResultFile) -> Markup {
    let rounds = Rounds::new(result);
    let primary: Vec<&ArmComparison> = result.primary().collect();
    let verdicts = forest::ratios(&primary)
        .into_iter()
        .chain(forest::differences(&primary));
    let mut figures: Vec<Figure> = Vec::new();
    figures.extend(percentiles::figures(&rounds));
    figures.extend(deciles::figure(result));
    figures.extend(heatmap::figures(&rounds));
    figures.extend(shares::figure(&rounds));
    figures.extend(waits::figure(&rounds));
    figures.extend(why::figures(result, ""));
    figures.extend(dispatch::figure(result));
    figures.extend(run_chart::figure(&rounds));
    html! {
        @if turn::why_invalid(result).is_none() { @for figure in verdicts { (figure.render()) } }
        (verdict::remarks(result))
        @for figure in &figures { (figure.render()) }
        (appendix::section(&rounds))
    }
}
