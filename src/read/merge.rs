//! `merge`: one answer from the results of many hosts.

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Result;
use clap::Args;
use iosched_files::interrupt;
use iosched_result::failure::Failure;
use iosched_result::merge::{self, Contribution, LeftOut, contribution, other_question};
use iosched_result::report::formats::{self, Asked, FORMATS, Format, OF_MERGED, Source};
use iosched_result::report::text::Look;
use iosched_result::types::result::ResultFile;

use crate::evidence::of_cell;
use crate::input;
use crate::print::Destination;

pub const HELP: &str = "\
Every result must have been asked the same: workload, arms, reference, metrics with their units and
margins, goals. Disks of one model and firmware under kernels of one series are a group, and each
host of it has one vote, however many runs it made. A group has the mean over its hosts (random
effects, the interval of Hartung, Knapp, Sidik and Jonkman), the interval in which a further host
lies, and the hosts that do not fit. A host on which an arm cannot be judged, by what the arm did
there, keeps that arm from being called better.

The formats are text, json, markdown and html; `report` and `gate` take the JSON.

Examples:
  iosched-ab merge results/*.json
  iosched-ab merge results/*.json --format json -o fleet.json
  iosched-ab merge results/*.json --format html -o fleet.html
  iosched-ab merge studies/*.json --cell writers-4
  iosched-ab gate fleet.json --format junit -o fleet.xml";

#[derive(Args)]
pub struct MergeArguments {
    /// Result files of `run`, `tune`, or of `study` with --cell
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The cell of studies
    #[arg(long, value_name = "NAME")]
    pub cell: Option<String>,
    /// Format of what is printed
    #[arg(long, default_value = "text", value_parser = format)]
    pub format: &'static Format,
    #[command(flatten)]
    pub to: Destination,
}

fn format(name: &str) -> Result<&'static Format, String> {
    let known = FORMATS.iter().filter(|row| OF_MERGED.contains(&row.name));
    let mut known = known.filter(|row| row.name == name);
    known
        .next()
        .ok_or_else(|| format!("it is one of: {}", OF_MERGED.join(", ")))
}

pub fn run(arguments: &MergeArguments) -> Result<()> {
    let cell = arguments.cell.as_deref();
    let (first_file, others) = arguments
        .files
        .split_first()
        .ok_or_else(|| Failure::usage("no result is named", "name the files of several hosts"))?;
    let first = read(first_file, cell)?;
    let brought = in_parallel(others, |file| brought(file, cell, &first))?;
    let mut all = vec![contribution(&name(first_file), first)];
    let mut mixed: Vec<(String, Vec<String>)> = Vec::new();
    for one in brought {
        match one {
            Brought::Said(said) => all.push(*said),
            Brought::OtherQuestion { file, why } => mixed.push((file, why)),
        }
    }
    refuse(first_file, &mixed)?;
    let (mut kept, mut left_out): (Vec<Contribution>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Ok(of) => kept.push(of),
            Err(why) => left_out.push(why),
        }
    }
    let why = left_out
        .first()
        .map(|it| format!("{}: {}", it.file, it.why));
    let merged = merge::merge(kept, left_out).ok_or_else(|| {
        Failure::invalid(
            format!(
                "no result says anything; the first: {}",
                why.unwrap_or_default()
            ),
            "name complete, valid runs that compare arms",
        )
    })?;
    let asked = Asked {
        look: Look {
            width: arguments.to.width(),
            ..Look::default()
        },
        ..Asked::default()
    };
    let made = formats::make(arguments.format, Source::Merged(&merged), asked)?;
    let inputs: Vec<&PathBuf> = arguments.files.iter().collect();
    arguments.to.deliver(&made, &inputs)
}

enum Brought {
    Said(Box<Result<Contribution, LeftOut>>),
    OtherQuestion { file: String, why: Vec<String> },
}

fn name(file: &Path) -> String {
    file.display().to_string()
}

fn read(file: &Path, cell: Option<&str>) -> Result<ResultFile> {
    let stored = input::bytes(file)?;
    of_cell(
        input::from_bytes(&stored.bytes, &stored.name)?,
        cell,
        &stored.name,
    )
}

fn brought(file: &Path, cell: Option<&str>, first: &ResultFile) -> Result<Brought> {
    let result = read(file, cell)?;
    let why = other_question(first, &result);
    let file = name(file);
    Ok(if why.is_empty() {
        Brought::Said(Box::new(contribution(&file, result)))
    } else {
        Brought::OtherQuestion { file, why }
    })
}

/// One result is in memory for each processor, and there may be thousands. The first error ends it.
fn in_parallel<T: Send>(
    files: &[PathBuf],
    of: impl Fn(&Path) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let share = files.len().div_ceil(workers).max(1);
    let work = |part: &[PathBuf]| -> Result<Vec<T>> {
        let each = part.iter().map(|file| {
            interrupt::check()?;
            of(file)
        });
        each.collect()
    };
    let parts: Vec<Result<Vec<T>>> = thread::scope(|scope| {
        let running: Vec<_> = files
            .chunks(share)
            .map(|part| scope.spawn(|| work(part)))
            .collect();
        let joined = running.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    let parts: Vec<Vec<T>> = parts.into_iter().collect::<Result<_>>()?;
    Ok(parts.into_iter().flatten().collect())
}

/// What must not be mixed, with what differs.
fn refuse(first: &Path, mixed: &[(String, Vec<String>)]) -> Result<()> {
    const MOST: usize = 3;
    if mixed.is_empty() {
        return Ok(());
    }
    let shown = mixed.iter().take(MOST);
    let mut each: Vec<String> = shown
        .map(|(file, why)| format!("{file}: {}", why.join("; ")))
        .collect();
    if mixed.len() > MOST {
        each.push(format!("and {} more", mixed.len() - MOST));
    }
    Err(Failure::refused(
        format!(
            "{} of the files were asked something else than {}:\n  {}",
            mixed.len(),
            first.display(),
            each.join("\n  ")
        ),
        "merge results of the same workload, arms, reference and metrics",
    ))
}
