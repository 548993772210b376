//! The TOML file that describes a study, checked before anything is done. Errors name file and line. Pure.

mod cells; // what each cell of the file expands to
mod file; // as it is written
mod stages; // states of the disk that commands make

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use toml::Spanned;

use super::axes::Room;
use super::load::LoadSpec;
use super::{budget, suits};
use crate::workload::{offer, own_groups};
use iosched_result::failure::Failure;
use iosched_result::metric::Metric;
use iosched_result::study::exact::Exact;
use iosched_result::types::arm::{self, Arm};
use iosched_result::types::cold::Cold;
use iosched_result::types::goals::Goals;
use iosched_result::types::goals::asked::Asked;
use iosched_result::types::scratch::spec::DiskSpec;

use file::{ExactFile, StudyFile};
use iosched_result::study::times::Times;
pub use stages::Stage;

/// File name in `docs/` of the schema of a study's file, for editors.
pub const FILE_SCHEMA: &str = "study-file-1.schema.json";
const MOST_CELLS: usize = 200;
const MOST_ARMS: usize = 100;
/// Longest name of a study, which becomes part of the name of a file.
const NAME_CHARS: usize = 64;

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
    /// Whether each round says who waited behind whom.
    pub why: bool,
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
    /// Those of `metrics` in the file, without what is preferred and kept.
    pub named: Vec<Metric>,
    /// What is wanted of them.
    pub goals: Option<Goals>,
    /// Instead of that of the study's times.
    pub ramp_s: Option<f64>,
    /// Caches that are dropped before each round.
    pub cold: Option<Cold>,
    /// Counts that each round must have.
    pub exact: Vec<Exact>,
    /// The expectation from the published comparison or its theory.
    pub expect: String,
}

impl Cell {
    /// Replaces the goals of the study's file, for `--prefer` and `--keep`.
    pub fn with_goals(self, prefer: Option<&str>, keep: &[String]) -> Result<Cell> {
        let workload = self.load.workload(&self.name, true)?;
        let offer = offer::for_workload(&*workload, Vec::new(), false, false);
        let in_cell = || format!("in the cell {}", self.name);
        let asked = Asked::read(&offer, &[], prefer, keep).with_context(in_cell)?;
        let (metrics, goals) = asked.beside(self.named.clone())?;
        Ok(Cell {
            metrics,
            goals,
            ..self
        })
    }

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
    check_name(&written.name, &at)?;
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
    let (room, axes) = (Room::default(), &mut written.axes);
    let stages = stages::all(&written.stages, &written.prepare, (axes, &room), &at)?;
    let mut cells = Vec::new();
    let labels = arm::labels(arms.iter().chain(&optional_arms));
    for cell in &written.cells {
        let unknown = |it: &&ExactFile| !labels.contains(&it.arm.as_str());
        if let Some(exact) = cell.exact.iter().find(unknown) {
            let (name, arm) = (cell.name.get_ref(), &exact.arm);
            let what = format!("{name} has an exact count of {arm}, which is no arm");
            return Err(at(&cell.name, what));
        }
        cells.extend(cells::expand(cell, &written, &room, &at)?);
        if cells.len() > MOST_CELLS {
            let what = format!(
                "with {} there are more than {MOST_CELLS} cells: make several studies of them",
                cell.name.get_ref()
            );
            return Err(at(&cell.name, what));
        }
    }
    ensure_distinct(&cells).map_err(&whole)?;
    suits::check(device, &stages, &cells).map_err(&whole)?;
    let all = [&arms[..], &optional_arms].concat();
    for cell in &cells {
        let workload = cell.load.workload(&cell.name, true)?;
        let there = own_groups::ensure_there(&*workload, &all);
        there.map_err(|error| whole(format!("cell {}: {error}", cell.name)))?;
    }
    Ok(Study {
        name: written.name.into_inner(),
        title: written.title,
        about: written.about,
        device,
        arms,
        optional_arms,
        reference,
        why: written.why,
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

/// It becomes part of the name of a result file, which root writes.
fn check_name(name: &Spanned<String>, at: &At<'_>) -> Result<()> {
    let text = name.get_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=NAME_CHARS).contains(&text.len()) && text.chars().all(is_plain) {
        return Ok(());
    }
    let what = format!(
        "the name of a study has 1 to {NAME_CHARS} of letters, digits, `-`, `_` and `.`, and {text:?} has others"
    );
    Err(at(name, what))
}

/// Arms that are always compared, and the optional ones.
fn arms(written: &StudyFile, at: &At<'_>) -> Result<(Vec<Arm>, Vec<Arm>)> {
    let parsed = |text: &Spanned<String>| {
        let arm = text.get_ref().parse::<Arm>();
        arm.map_err(|error| at(text, format!("{error:#}")))
    };
    let all = written.arms.iter().chain(&written.optional_arms);
    if let Some(arm) = all.clone().nth(MOST_ARMS) {
        let what = format!("{} arms are more than {MOST_ARMS}", all.count());
        return Err(at(arm, what));
    }
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
        let what = format!(
            "{}: a study compares at least two arms",
            written.name.get_ref()
        );
        return Err(Failure::usage(what, "add an arm to `arms`"));
    }
    Ok((always, optional))
}

fn ensure_distinct(cells: &[Cell]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    if cells.is_empty() {
        return Err("a study has at least one cell".to_owned());
    }
    match cells.iter().find(|cell| !names.insert(&cell.name)) {
        Some(cell) => Err(format!("two cells have the name {}", cell.name)),
        None => Ok(()),
    }
}
