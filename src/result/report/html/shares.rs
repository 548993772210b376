//! Who got what: the share of each part of the workload, or process, in the bytes of each round. Pure.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use super::plot::Plot;
use crate::measured::snapshot::{Op, OwnerKind, OwnerNumbers};
use crate::report::axis::{Axis, Spread};
use crate::report::rounds::Rounds;
use crate::report::units;
use crate::statistics::estimate;
use crate::types::result::Round;

/// Parts with a colour of their own; the others are one.
const MOST: usize = 7;
/// Longer than the name of a process.
const OTHERS: &str = "all others";

/// None if no process did I/O.
pub fn figure(rounds: &Rounds<'_>) -> Option<Figure> {
    let result = rounds.result;
    let names = names(rounds);
    if names.is_empty() {
        return None;
    }
    let last = result.rounds.len() as f64;
    let arms = &result.design.arms;
    let panels = arms.iter().enumerate().map(|(index, arm)| {
        let plot = Plot {
            x: Axis::between(Spread::Linear, 0.5, last + 0.5),
            y: Axis::between(Spread::Linear, 0.0, 1.0),
            x_name: "round, in the order of execution",
            y_name: "share of the bytes",
            x_label: &|round| format!("{round:.0}"),
            y_label: &|share| format!("{:.0} %", share * 100.0),
            alternative: &format!("Shares under {}; the table below has the numbers", arm.label),
            is_bare: index + 1 < arms.len(),
        };
        let marks = stacks(&plot, &names, &rounds.under(&arm.label));
        html! { div.panel { h3 { (name(&arm.label)) (jain(rounds, &arm.label)) } (plot.draw(&marks)) } }
    });
    let panels: Vec<Markup> = panels.collect();
    let picture = html! {
        div.heat { @for panel in &panels { (panel) } }
        ul.key {
            @for (index, part) in names.iter().enumerate() {
                li { span.square.(format!("part{index}")) {} (name(part)) }
            }
        }
    };
    Some(Figure {
        id: "shares".to_owned(),
        title: "Who got what".to_owned(),
        says: "Share in the bytes of each round: of the parts of the workload, and of what else used the device. Processes \
               that do not belong to the workload are marked (outside)."
            .to_owned(),
        picture,
        data: data(rounds, &names),
    })
}

/// A part of the workload has its own name; processes outside are marked. Without an io controller nobody knows what is
/// outside, and the process that caused the I/O of a kernel thread is never known.
fn name_of(round: &Round, owner: &OwnerNumbers) -> String {
    if let Some(part) = round.evidence.part_of(owner) {
        return part.to_owned();
    }
    let is_process = matches!(owner.key.kind, OwnerKind::Process | OwnerKind::Writeback);
    if is_process && round.evidence.foreign.is_some() {
        format!("{} (outside)", owner.label())
    } else {
        owner.label()
    }
}

/// Names with the most bytes over all arms, and one for all others.
fn names(rounds: &Rounds<'_>) -> Vec<String> {
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for arm in &rounds.result.design.arms {
        for round in rounds.under(&arm.label) {
            for owner in round
                .evidence
                .owners
                .iter()
                .filter(|owner| owner.bytes() > 0)
            {
                let sum = bytes.entry(name_of(round, owner)).or_default();
                *sum = sum.saturating_add(owner.bytes());
            }
        }
    }
    let mut names: Vec<(String, u64)> = bytes.into_iter().collect();
    names.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let has_others = names.len() > MOST;
    names.truncate(MOST);
    let others = has_others.then(|| OTHERS.to_owned());
    names
        .into_iter()
        .map(|(name, _)| name)
        .chain(others)
        .collect()
}

/// The I/O of a part in a round, or in several.
#[derive(Clone, Copy, Default)]
struct Sums {
    ios: u64,
    bytes: u64,
    /// Sum of the queue waits of reads and of writes, and how many there were.
    waits: [(u64, u64); 2],
    longest_ns: Option<u64>,
    starved_ns: Option<u64>,
}

impl Sums {
    fn add(&mut self, owner: &OwnerNumbers) {
        self.ios = self.ios.saturating_add(owner.ios());
        self.bytes = self.bytes.saturating_add(owner.bytes());
        for op in Op::DATA {
            let of = owner.op(op);
            let side = &mut self.waits[usize::from(op != Op::Read)];
            *side = (
                side.0.saturating_add(of.q2d_sum_ns),
                side.1.saturating_add(of.waits),
            );
            self.longest_ns = self.longest_ns.max(of.q2d_max_ns);
        }
        let starved = owner
            .fairness
            .as_ref()
            .and_then(|fairness| fairness.starvation_max_ns);
        self.starved_ns = self.starved_ns.max(starved);
    }
}

fn sums(names: &[String], rounds: &[&Round]) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); names.len()];
    for round in rounds {
        for owner in &round.evidence.owners {
            let part = name_of(round, owner);
            let index = names.iter().position(|name| *name == part);
            let index = index.or_else(|| names.iter().position(|name| name == OTHERS));
            if let Some(index) = index {
                sums[index].add(owner);
            }
        }
    }
    sums
}

fn stacks(plot: &Plot<'_>, names: &[String], rounds: &[&Round]) -> Vec<Markup> {
    let mut boxes: Vec<Vec<[f64; 4]>> = vec![Vec::new(); names.len()];
    for round in rounds {
        let parts = sums(names, &[round]);
        let all = parts
            .iter()
            .map(|part| part.bytes as f64)
            .sum::<f64>()
            .max(1.0);
        let (middle, mut below) = (round.index as f64 + 1.0, 0u64);
        for (boxes, part) in boxes.iter_mut().zip(parts) {
            let above = below.saturating_add(part.bytes);
            let edges = [below, above].map(|bytes| bytes as f64 / all);
            if part.bytes > 0 {
                boxes.push([middle - 0.5, middle + 0.5, edges[0], edges[1]]);
            }
            below = above;
        }
    }
    let parts = boxes.iter().enumerate();
    parts
        .map(|(index, boxes)| plot.boxes(&format!("part{index}"), boxes))
        .collect()
}

/// Jain's index of the arm, where the run has it.
fn jain(rounds: &Rounds<'_>, arm: &str) -> Markup {
    let of_arm = rounds.under(arm);
    let values = of_arm
        .iter()
        .filter_map(|round| round.metrics.get("jain_bytes").copied());
    let median = estimate::median(&values.collect::<Vec<_>>());
    html! { @if let Some(median) = median { span.aside { "Jain's index " (format!("{median:.2}")) } } }
}

fn data(rounds: &Rounds<'_>, names: &[String]) -> Data {
    let head = [
        "who",
        "arm",
        "I/Os",
        "bytes",
        "share",
        "mean wait of reads",
        "mean wait of writes",
        "longest wait",
        "starved for",
    ];
    let mut rows = Vec::new();
    for arm in &rounds.result.design.arms {
        let parts = sums(names, &rounds.under(&arm.label));
        let all = parts.iter().map(|part| part.bytes as f64).sum::<f64>();
        for (name, part) in names.iter().zip(parts).filter(|(_, part)| part.ios > 0) {
            let mean = |(sum, count): (u64, u64)| {
                units::time((count > 0).then(|| sum as f64 / count as f64))
            };
            let time = |ns: Option<u64>| units::time(ns.map(|ns| ns as f64));
            rows.push(vec![
                name.clone(),
                arm.label.clone(),
                part.ios.to_string(),
                units::value(Some(part.bytes as f64), "bytes"),
                units::share((all > 0.0).then(|| part.bytes as f64 / all)),
                mean(part.waits[0]),
                mean(part.waits[1]),
                time(part.longest_ns),
                time(part.starved_ns),
            ]);
        }
    }
    Data {
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
}
