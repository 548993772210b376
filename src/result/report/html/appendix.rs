//! The machine, the settings and the commands of the measurement. Pure.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::figure::{self, Data, name};
use crate::report::level;
use crate::report::rounds::Rounds;
use crate::report::times;
use crate::report::units;
use crate::types::level::Levels;
use crate::types::result::{ResultFile, WorkloadInfo};

pub fn section(rounds: &Rounds<'_>) -> Markup {
    let result = rounds.result;
    let (differing, same) = settings(rounds);
    html! {
        section #conditions {
            h2 { "Machine, device and design" }
            (figure::table("Machine, device and design", &machine(result)))
            h2 { "Settings that differ between the arms" }
            @if differing.rows.is_empty() { p { "No setting differs." } }
            @else { (figure::table("Settings that differ", &differing)) }
            @if !same.rows.is_empty() {
                details { summary { "Settings that are the same" } (figure::table("Settings that are the same", &same)) }
            }
            @if let Some(levels) = &result.levels {
                h2 { "Level of the disk" }
                p { (level::HEADING) }
                (figure::table("Level of the disk", &moves(levels)))
            }
            h2 { "What was run" }
            (workload(&result.workload))
        }
    }
}

fn moves(levels: &Levels) -> Data {
    Data {
        head: level::COLUMNS.map(str::to_owned).to_vec(),
        rows: level::rows(levels).into_iter().map(Vec::from).collect(),
    }
}

fn machine(result: &ResultFile) -> Data {
    let (environment, device) = (&result.environment, &result.device);
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let bytes = |bytes: Option<u64>| units::value(bytes.map(|bytes| bytes as f64), "bytes");
    let rows = [
        (
            "kernel",
            format!(
                "{} {}",
                environment.kernel_release, environment.kernel_version
            ),
        ),
        (
            "CPU",
            format!("{} x {}", environment.cpus, or(&environment.cpu_model)),
        ),
        ("memory", bytes(environment.memory_bytes)),
        ("device", device.name()),
        ("model", or(&device.model)),
        ("firmware", or(&device.firmware)),
        ("size", bytes(device.size_bytes)),
        ("hardware queues", device.hardware_queues.to_string()),
        (
            "simulated",
            device
                .scratch
                .as_ref()
                .map_or("no".to_owned(), |truth| truth.text.clone()),
        ),
        ("rounds", times::rounds(result)),
        ("order", format!("drawn from seed {}", result.plan.seed)),
        ("begun", result.started.clone()),
        ("ended", or(&result.finished)),
        ("iosched", environment.iosched_version.clone()),
        ("fio", or(&environment.fio_version)),
    ];
    Data {
        head: Vec::new(),
        rows: rows
            .into_iter()
            .map(|(key, value)| vec![key.to_owned(), value])
            .collect(),
    }
}

/// Attributes of the queue by arm: those that differ, and the others.
fn settings(rounds: &Rounds<'_>) -> (Data, Data) {
    let arms = &rounds.result.design.arms;
    let states: Vec<_> = arms
        .iter()
        .filter_map(|arm| {
            Some((
                arm,
                rounds.under(&arm.label).first()?.evidence.states()[0].clone(),
            ))
        })
        .collect();
    let keys: BTreeSet<&String> = states
        .iter()
        .flat_map(|(_, state)| state.settings.keys())
        .collect();
    let row = |key: &String| {
        let cell = |of: Option<&String>| of.cloned().unwrap_or_else(|| "-".to_owned());
        let cells = states
            .iter()
            .map(|(_, state)| cell(state.settings.get(key)));
        [key.clone()]
            .into_iter()
            .chain(cells)
            .collect::<Vec<String>>()
    };
    let scheduler = states.iter().map(|(_, state)| state.active.clone());
    let first = ["scheduler".to_owned()]
        .into_iter()
        .chain(scheduler)
        .collect::<Vec<String>>();
    let all = [first].into_iter().chain(keys.into_iter().map(row));
    let is_same = |row: &Vec<String>| row[1..].windows(2).all(|pair| pair[0] == pair[1]);
    let (same, differing): (Vec<_>, Vec<_>) = all.filter(|row| row.len() > 1).partition(is_same);
    let head = ["setting".to_owned()]
        .into_iter()
        .chain(states.iter().map(|(arm, _)| arm.label.clone()));
    let head: Vec<String> = head.collect();
    let data = |rows| Data {
        head: head.clone(),
        rows,
    };
    (data(differing), data(same))
}

/// Job files and commands as they were run; they are strings in the description.
pub fn workload(workload: &WorkloadInfo) -> Markup {
    let mut texts = Vec::new();
    collect(&workload.description, String::new(), &mut texts);
    html! {
        p { (name(&workload.name)) }
        dl {
            @for (key, text) in &texts {
                dt { (name(key)) }
                dd { pre tabindex="0" { (name(text.trim_end())) } }
            }
        }
    }
}

/// Every value with its place, `processes.0.job`.
fn collect(value: &serde_json::Value, place: String, texts: &mut Vec<(String, String)>) {
    use serde_json::Value;
    let below = |key: &str| match place.as_str() {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| collect(value, below(key), texts)),
        Value::Array(values)
            if values
                .iter()
                .all(|value| !value.is_object() && !value.is_array()) =>
        {
            let words = values
                .iter()
                .map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
            texts.push((place, words.collect::<Vec<_>>().join(" ")));
        }
        Value::Array(values) => {
            let numbered = values.iter().enumerate();
            numbered.for_each(|(index, value)| collect(value, below(&index.to_string()), texts));
        }
        Value::Null => {}
        Value::String(text) => texts.push((place, text.clone())),
        other => texts.push((place, other.to_string())),
    }
}
