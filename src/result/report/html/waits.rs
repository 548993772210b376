//! Queue wait against device time: whether the scheduler, or the device, takes the time. Pure.

use maud::html;

use super::figure::{Data, Figure, name};
use super::plot::number;
use crate::measured::histogram::Histogram;
use crate::measured::snapshot::Stage;
use crate::report::rounds::{Rounds, SIDES, Side};
use crate::report::units;

struct Bar<'a> {
    side: &'static str,
    arm: &'a str,
    /// None: the arm completed no request of this side.
    wait_ns: Option<f64>,
    device_ns: Option<f64>,
}

impl Bar<'_> {
    fn total_ns(&self) -> Option<f64> {
        Some(self.wait_ns? + self.device_ns?)
    }
}

/// None without I/O.
pub fn figure(rounds: &Rounds<'_>) -> Option<Figure> {
    let bars: Vec<Bar<'_>> = SIDES.iter().flat_map(|side| bars(rounds, side)).collect();
    let longest = bars.iter().filter_map(Bar::total_ns).reduce(f64::max)?;
    let width = |ns: Option<f64>| format!("width:{}%", number(ns.unwrap_or(0.0) / longest * 100.0));
    let head = ["I/O", "arm", "mean queue wait", "mean device time"].map(str::to_owned);
    let cells = |bar: &Bar<'_>| {
        let times = [bar.wait_ns, bar.device_ns].map(units::time);
        [bar.side.to_owned(), bar.arm.to_owned()]
            .into_iter()
            .chain(times)
            .collect()
    };
    let picture = html! {
        div.bars {
            @for bar in &bars {
                div { (bar.side) " " strong { (name(bar.arm)) } }
                div.bar-said { (units::time(bar.wait_ns)) " + " (units::time(bar.device_ns)) }
                div.bar role="img" aria-label=(said(bar)) {
                    span.wait style=(width(bar.wait_ns)) {}
                    span.device style=(width(bar.device_ns)) {}
                }
            }
        }
        ul.key {
            li { span.square.wait {} "queue wait (Q2D): scheduler, tags, writeback throttling" }
            li { span.square.device {} "device and driver (D2C)" }
        }
        @for side in &SIDES {
            @let warning = rounds.incomparable(side.scope);
            @if !warning.is_empty() { p { (name(side.name)) ":" (name(&warning)) } }
        }
    };
    Some(Figure {
        id: "waits".to_owned(),
        title: "Where the time goes: queue or device".to_owned(),
        says: "Mean time of a request. Only the queue wait is the scheduler's, but how it mixes requests changes the device \
               time too."
            .to_owned(),
        picture,
        data: Data {
            head: head.to_vec(),
            rows: bars.iter().map(cells).collect(),
        },
    })
}

fn bars<'a>(rounds: &Rounds<'a>, side: &'static Side) -> Vec<Bar<'a>> {
    let ops = side.ops;
    let of = |stage| rounds.of_arms(move |round| round.evidence.device.stage(stage, ops));
    let (waits, device) = (of(Stage::Q2d), of(Stage::D2c));
    if device.iter().all(Histogram::is_empty) {
        return Vec::new();
    }
    let arms = rounds.result.design.arms.iter();
    let times = arms.zip(waits.iter().zip(&device));
    let bar = times.map(|(arm, (wait, device))| Bar {
        side: side.name,
        arm: &arm.label,
        wait_ns: wait.mean_ns(),
        device_ns: device.mean_ns(),
    });
    bar.collect()
}

fn said(bar: &Bar<'_>) -> String {
    let (wait, device) = (units::time(bar.wait_ns), units::time(bar.device_ns));
    format!(
        "{} under {}: mean queue wait {wait}, mean device time {device}",
        bar.side, bar.arm
    )
}
