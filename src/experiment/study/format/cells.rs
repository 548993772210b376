//! The cells that each cell of a study's file expands to. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use super::file::{CellFile, StudyFile};
use super::{At, Cell, MOST_CELLS, stages};
use crate::study::axes::{Combination, Room};
use crate::study::load::LoadSpec;
use crate::workload::group_settings::GroupSettings;
use crate::workload::offer;
use iosched_result::metric::Metric;
use iosched_result::metric::offer::Offer;
use iosched_result::study::exact::Exact;
use iosched_result::types::goals::Goals;
use iosched_result::types::goals::asked::Asked;
use toml::Spanned;

const MOST_METRICS: usize = 100;
const NAME_CHARS: usize = 200;

/// All combinations of the axes that the cell's name mentions in braces.
pub(super) fn expand(
    cell: &CellFile,
    study: &StudyFile,
    room: &Room,
    at: &At<'_>,
) -> Result<Vec<Cell>> {
    let name = cell.name.get_ref();
    let combinations = study.axes.combinations(name, MOST_CELLS, room);
    let combinations = combinations.map_err(|what| at(&cell.name, what))?;
    let cells = combinations.iter();
    cells.map(|values| one(cell, study, values, at)).collect()
}

fn one(cell: &CellFile, study: &StudyFile, values: &Combination<'_>, at: &At<'_>) -> Result<Cell> {
    let too_long = || format!("the name of a cell is longer than {NAME_CHARS} characters");
    let name = values.fill(cell.name.get_ref());
    let name = name.map_err(|_| at(&cell.name, too_long()))?;
    if name.chars().count() > NAME_CHARS {
        return Err(at(&cell.name, too_long()));
    }
    if name.contains('{') {
        return Err(at(&cell.name, format!("{name} names no axis of the study")));
    }
    let stage = stages::index_of(&study.stages, values)
        .map_err(|what| at(&cell.name, format!("{name} {what}")))?;
    let load = load(cell, values).map_err(|what| at(&cell.name, format!("{name} {what}")))?;
    let workload = load
        .workload(&name, true)
        .map_err(|error| at(&cell.name, format!("{error:#}")))?;
    let metrics = cell.metrics.as_ref().unwrap_or(&study.metrics);
    if let Some(metric) = metrics.get(MOST_METRICS) {
        let what = format!("{} metrics are more than {MOST_METRICS}", metrics.len());
        return Err(at(metric, what));
    }
    let offer = offer::for_workload(&*workload, Vec::new(), false, false);
    let named = metrics.iter().map(|text| {
        let metric = offer.metric(text.get_ref());
        metric.map_err(|error| at(text, format!("{error:#}")))
    });
    let named = named.collect::<Result<Vec<Metric>>>()?;
    let (metrics, goals) = wanted(cell, study, metrics, &offer, at)?;
    Ok(Cell {
        metrics,
        named,
        goals,
        ramp_s: cell.ramp_s,
        cold: cell.cold,
        exact: exact(cell, values).map_err(|what| at(&cell.name, format!("{name} {what}")))?,
        expect: values
            .fill(&cell.expect)
            .map_err(|what| at(&cell.name, format!("{name} {what}")))?,
        name,
        stage,
        load,
    })
}

/// What decides, and what is wanted of it.
fn wanted(
    cell: &CellFile,
    study: &StudyFile,
    metrics: &[Spanned<String>],
    offer: &Offer,
    at: &At<'_>,
) -> Result<(Vec<Metric>, Option<Goals>)> {
    let prefer = cell.prefer.as_ref().or(study.prefer.as_ref());
    let keep = cell.keep.as_ref().unwrap_or(&study.keep);
    // One after the other, for the line of what is wrong.
    if let Some(text) = prefer {
        Asked::read(offer, &[], Some(text.get_ref()), &[])
            .map_err(|error| at(text, format!("{error:#}")))?;
    }
    for text in keep {
        Asked::read(offer, &[], None, &[text.get_ref().clone()])
            .map_err(|error| at(text, format!("{error:#}")))?;
    }
    let texts = |all: &[Spanned<String>]| all.iter().map(|it| it.get_ref().clone()).collect();
    let (metrics, keep): (Vec<String>, Vec<String>) = (texts(metrics), texts(keep));
    let prefer = prefer.map(|it| it.get_ref().as_str());
    Asked::read(offer, &metrics, prefer, &keep)
        .and_then(|asked| asked.beside(Vec::new()))
        .map_err(|error| at(&cell.name, format!("{error:#}")))
}

fn exact(cell: &CellFile, values: &Combination<'_>) -> Result<Vec<Exact>, String> {
    let exact = cell.exact.iter().map(|it| {
        Exact::new(&it.arm, &values.fill(&it.metric)?, &values.fill(&it.count)?)
            .map_err(|why| format!("has an exact count that is none: {why}"))
    });
    exact.collect()
}

fn load(cell: &CellFile, values: &Combination<'_>) -> Result<LoadSpec, String> {
    let filled = |processes: &BTreeMap<String, String>| {
        let processes = processes.iter();
        processes
            .map(|(label, options)| Ok((label.clone(), values.fill(options)?)))
            .collect::<Result<BTreeMap<String, String>, String>>()
    };
    let is_command = cell.command.is_some();
    if !is_command && (cell.beside.is_some() || cell.parse.is_some()) {
        return Err("has no command, which beside and parse belong to".to_owned());
    }
    if !(cell.lead_s.is_finite() && (0.0..=3600.0).contains(&cell.lead_s)) {
        return Err("starts after lead_s of 0 to 3600 seconds".to_owned());
    }
    if cell
        .ramp_s
        .is_some_and(|s| !(s.is_finite() && (0.0..=86_400.0).contains(&s)))
    {
        return Err("has a ramp_s that is not 0 to 86400 seconds".to_owned());
    }
    let (groups, disks) = (groups(cell)?, disks(cell, values)?);
    match (&cell.fio, &cell.workload, &cell.command) {
        (Some(processes), None, None) if !processes.is_empty() => Ok(LoadSpec::Fio {
            processes: filled(processes)?,
            groups,
            disks,
        }),
        (None, Some(name), None) => Ok(LoadSpec::Catalogue(values.fill(name)?)),
        (None, None, Some(argv)) => Ok(LoadSpec::Command {
            argv: argv
                .iter()
                .map(|word| values.fill(word))
                .collect::<Result<_, _>>()?,
            parse: cell.parse.clone(),
            beside: cell
                .beside
                .as_ref()
                .map_or_else(|| Ok(BTreeMap::new()), filled)?,
            lead: Duration::from_secs_f64(cell.lead_s),
        }),
        _ => Err("needs exactly one of fio, workload and command".to_owned()),
    }
}

/// How many of the disks its processes run on.
fn disks(cell: &CellFile, values: &Combination<'_>) -> Result<Option<usize>, String> {
    let Some(text) = cell.disks.as_deref() else {
        return Ok(None);
    };
    let text = values.fill(text)?;
    match text.parse() {
        Ok(disks @ 1..) if cell.fio.is_some() => Ok(Some(disks)),
        Ok(1..) => Err("has no fio, which disks belongs to".to_owned()),
        _ => Err(format!(
            "runs on {text:?} disks, which is no number above 0"
        )),
    }
}

/// The settings of the control groups of its processes.
fn groups(cell: &CellFile) -> Result<BTreeMap<String, GroupSettings>, String> {
    let mut groups: BTreeMap<String, GroupSettings> = BTreeMap::new();
    for (label, weight) in &cell.weight {
        groups.entry(label.clone()).or_default().weight = Some(*weight);
    }
    for (label, limits) in &cell.io_max {
        groups.entry(label.clone()).or_default().io_max = Some(limits.clone());
    }
    for (label, target) in &cell.io_latency_us {
        groups.entry(label.clone()).or_default().io_latency_us = Some(*target);
    }
    let processes = cell.fio.as_ref();
    for (label, group) in &groups {
        if !processes.is_some_and(|processes| processes.contains_key(label)) {
            return Err(format!("has no fio.{label} to set a control group for"));
        }
        let wrong = |what: String| format!("has a control group {label} whose {what}");
        group.check().map_err(wrong)?;
    }
    Ok(groups)
}
