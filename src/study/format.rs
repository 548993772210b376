//! The TOML file that describes a study, checked before anything is done. Errors name file and line. Pure.

mod file; // as it is written
mod stages; // states of the disk that commands make

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::axes::Combination;
use super::budget;
use super::exact::Exact;
use super::load::LoadSpec;
use super::suits;
use crate::ab::metric::Metric;
use crate::failure::Failure;
use crate::machine::page_cache::Cold;
use crate::scheduler::arm::{self, Arm};
use crate::scratch::DiskSpec;
use crate::workload::group_settings::GroupSettings;

use file::{CellFile, ExactFile, StudyFile};
pub use stages::Stage;

/// File name in `docs/` of the schema of a study's file, for editors.
pub const FILE_SCHEMA: &str = "study-file-1.schema.json";
const MOST_CELLS: usize = 200;

/// The times of a round, in seconds, and the number of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The time between the switch and the measurement.
    pub ramp_s: f64,
    /// The time of the measurement.
    pub round_s: f64,
    /// None: until every comparison has its verdict, at most 20.
    #[serde(default)]
    pub blocks: Option<usize>,
}

/// A checked study with all its cells.
#[derive(Clone, Debug)]
pub struct Study {
    pub name: String,
    pub title: String,
    pub about: String,
    /// The simulated disk it runs on if no device is named.
    pub device: DiskSpec,
    pub arms: Vec<Arm>,
    /// Compared where the disks have their schedulers and settings; of those with one label, the first that fits.
    pub optional_arms: Vec<Arm>,
    /// Index into `arms`.
    pub reference: usize,
    pub times: Times,
    pub quick: Times,
    /// In their order; a study without stages has one without a name.
    pub stages: Vec<Stage>,
    pub cells: Vec<Cell>,
    /// The text of the file.
    pub text: String,
}

/// One workload that is compared under all arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub name: String,
    /// Index into the stages.
    pub stage: usize,
    pub load: LoadSpec,
    pub metrics: Vec<Metric>,
    /// Instead of that of the study's times.
    pub ramp_s: Option<f64>,
    /// What is dropped from the page cache before each round.
    pub cold: Option<Cold>,
    /// Counts that each round must have.
    pub exact: Vec<Exact>,
    /// What the published comparison or its theory says.
    pub expect: String,
}

impl Cell {
    /// How long a round of this cell runs before its measurement begins.
    pub fn ramp(&self, times: Times) -> Duration {
        self.ramp_s.map_or(times.ramp(), Duration::from_secs_f64)
    }
}

impl Study {
    /// Labels of all arms that it may compare.
    pub fn labels(&self) -> Vec<&str> {
        let all = self.arms.iter().chain(&self.optional_arms);
        arm::labels(all)
    }

    /// Times of rounds before the study, from which its budget is planned.
    pub fn pilot(&self) -> Times {
        Times {
            blocks: Some(budget::PILOT_BLOCKS),
            ..self.quick
        }
    }
}

impl Times {
    pub fn ramp(&self) -> Duration {
        Duration::from_secs_f64(self.ramp_s)
    }

    pub fn round(&self) -> Duration {
        Duration::from_secs_f64(self.round_s)
    }

    fn check(&self, at: &dyn Fn(String) -> anyhow::Error, name: &str) -> Result<()> {
        let is_time = |s: f64, least: f64| s.is_finite() && (least..=86_400.0).contains(&s);
        if !is_time(self.ramp_s, 0.0) || !is_time(self.round_s, 0.1) {
            return Err(at(format!(
                "{name}: ramp_s is 0 to 86400 seconds, round_s 0.1 to 86400"
            )));
        }
        if self
            .blocks
            .is_some_and(|blocks| !(1..=1000).contains(&blocks))
        {
            return Err(at(format!("{name}: blocks is 1 to 1000")));
        }
        Ok(())
    }
}

#[cfg(feature = "schema")]
pub fn file_schema() -> schemars::Schema {
    schemars::schema_for!(StudyFile)
}

/// `file`: its name, for errors.
pub fn parse(file: &str, text: &str) -> Result<Study> {
    let usage = |what: String| {
        Failure::usage(
            what,
            "`iosched-ab study NAME --print` shows a built-in study as an example",
        )
    };
    let mut written: StudyFile = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        usage(format!("{file}:{line}: {}", error.message()))
    })?;
    let at = |spanned: &Spanned<String>, what: String| {
        usage(format!(
            "{file}:{}: {what}",
            line_of(text, spanned.span().start)
        ))
    };
    let (arms, optional_arms) = arms(&written, &at)?;
    arm::refuse_duplicate_labels(&arms)?;
    let reference = match &written.reference {
        None => 0,
        Some(label) => arms
            .iter()
            .position(|arm| arm.label == **label.get_ref())
            .ok_or_else(|| {
                at(
                    label,
                    format!("the reference {} is none of `arms`", label.get_ref()),
                )
            })?,
    };
    let whole = |what: String| usage(format!("{file}: {what}"));
    written.times.check(&whole, "times")?;
    let quick = written.quick.unwrap_or(written.times);
    quick.check(&whole, "quick")?;
    let device = written.device.get_ref().parse::<DiskSpec>();
    let device = device.map_err(|error| at(&written.device, format!("{error:#}")))?;
    let stages = stages::all(&written.stages, &written.prepare, &mut written.axes, &at)?;
    let mut cells = Vec::new();
    let labels = arm::labels(arms.iter().chain(&optional_arms));
    for cell in &written.cells {
        let unknown = |it: &&ExactFile| !labels.contains(&it.arm.as_str());
        if let Some(exact) = cell.exact.iter().find(unknown) {
            let (name, arm) = (cell.name.get_ref(), &exact.arm);
            let what = format!("{name} has an exact count of {arm}, which is no arm");
            return Err(at(&cell.name, what));
        }
        cells.extend(expand(cell, &written, &at)?);
    }
    ensure_distinct(&cells).map_err(whole)?;
    suits::check(device, &stages, &cells).map_err(whole)?;
    Ok(Study {
        name: written.name,
        title: written.title,
        about: written.about,
        device,
        arms,
        optional_arms,
        reference,
        times: written.times,
        quick,
        stages,
        cells,
        text: text.to_owned(),
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.matches('\n').count() + 1
}

type At<'a> = dyn Fn(&Spanned<String>, String) -> anyhow::Error + 'a;

/// Those that are always compared, and the optional ones.
fn arms(written: &StudyFile, at: &At<'_>) -> Result<(Vec<Arm>, Vec<Arm>)> {
    let parsed = |text: &Spanned<String>| {
        let arm = text.get_ref().parse::<Arm>();
        arm.map_err(|error| at(text, format!("{error:#}")))
    };
    let always = written.arms.iter().map(parsed);
    let always = always.collect::<Result<Vec<Arm>>>()?;
    let optional = written.optional_arms.iter().map(|text| {
        let arm = parsed(text)?;
        if always.iter().any(|it| it.label == arm.label) {
            let what = format!("the optional arm {} is in `arms` too", arm.label);
            return Err(at(text, what));
        }
        Ok(arm)
    });
    let optional = optional.collect::<Result<Vec<Arm>>>()?;
    if always.is_empty() || always.len() + optional.len() < 2 {
        let what = format!("{}: a study compares at least two arms", written.name);
        return Err(Failure::usage(what, "add an arm to `arms`"));
    }
    Ok((always, optional))
}

/// All combinations of the axes that the cell's name mentions in braces.
fn expand(cell: &CellFile, study: &StudyFile, at: &At<'_>) -> Result<Vec<Cell>> {
    let combinations = study.axes.combinations(cell.name.get_ref(), MOST_CELLS);
    let combinations = combinations.map_err(|what| at(&cell.name, what))?;
    let cells = combinations.iter();
    cells.map(|values| one(cell, study, values, at)).collect()
}

fn one(cell: &CellFile, study: &StudyFile, values: &Combination<'_>, at: &At<'_>) -> Result<Cell> {
    let name = values.fill(cell.name.get_ref());
    if name.contains('{') {
        return Err(at(&cell.name, format!("{name} names no axis of the study")));
    }
    let stage = stages::of(&study.stages, values)
        .map_err(|what| at(&cell.name, format!("{name} {what}")))?;
    let load = load(cell, values).map_err(|what| at(&cell.name, format!("{name} {what}")))?;
    let workload = load
        .workload(&name, true)
        .map_err(|error| at(&cell.name, format!("{error:#}")))?;
    let metrics = cell
        .metrics
        .as_ref()
        .unwrap_or(&study.metrics)
        .iter()
        .map(|text| {
            let metric = Metric::parse(text.get_ref(), workload.may_report());
            metric.map_err(|error| at(text, format!("{error:#}")))
        });
    Ok(Cell {
        metrics: metrics.collect::<Result<_>>()?,
        ramp_s: cell.ramp_s,
        cold: cell.cold,
        exact: exact(cell, values).map_err(|what| at(&cell.name, format!("{name} {what}")))?,
        expect: values.fill(&cell.expect),
        name,
        stage,
        load,
    })
}

fn exact(cell: &CellFile, values: &Combination<'_>) -> Result<Vec<Exact>, String> {
    let exact = cell.exact.iter().map(|it| {
        Exact::new(&it.arm, &values.fill(&it.metric), &values.fill(&it.count))
            .map_err(|why| format!("has an exact count that is none: {why}"))
    });
    exact.collect()
}

fn load(cell: &CellFile, values: &Combination<'_>) -> Result<LoadSpec, String> {
    let filled = |processes: &BTreeMap<String, String>| {
        let processes = processes.iter();
        processes
            .map(|(label, options)| (label.clone(), values.fill(options)))
            .collect::<BTreeMap<String, String>>()
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
            processes: filled(processes),
            groups,
            disks,
        }),
        (None, Some(name), None) => Ok(LoadSpec::Catalogue(values.fill(name))),
        (None, None, Some(argv)) => Ok(LoadSpec::Command {
            argv: argv.iter().map(|word| values.fill(word)).collect(),
            parse: cell.parse.clone(),
            beside: cell.beside.as_ref().map(filled).unwrap_or_default(),
            lead: Duration::from_secs_f64(cell.lead_s),
        }),
        _ => Err("needs exactly one of fio, workload and command".to_owned()),
    }
}

/// How many of the disks its processes run on.
fn disks(cell: &CellFile, values: &Combination<'_>) -> Result<Option<usize>, String> {
    let Some(text) = cell.disks.as_deref().map(|text| values.fill(text)) else {
        return Ok(None);
    };
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

fn ensure_distinct(cells: &[Cell]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    if cells.is_empty() {
        return Err("a study has at least one cell".to_owned());
    }
    if cells.len() > MOST_CELLS {
        return Err(format!("{} cells are more than {MOST_CELLS}", cells.len()));
    }
    match cells.iter().find(|cell| !names.insert(&cell.name)) {
        Some(cell) => Err(format!("two cells have the name {}", cell.name)),
        None => Ok(()),
    }
}
