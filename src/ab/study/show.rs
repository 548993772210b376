//! Output of `iosched-ab study` without touching a disk.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::Result;
use iosched_experiment::study::builtin;
use iosched_experiment::study::format::{self, Cell, Study};
use iosched_experiment::workload::recorded;
use iosched_files::{input, interrupt};
use iosched_result::failure::Failure;
use iosched_result::report::units;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::study::original;
use iosched_result::study::times::Times;
use iosched_result::text::glob::glob;

use super::simulated;
use crate::cli::StudyArguments;
use crate::outlook::AROUND_A_ROUND;
use iosched_read::print::{print, print_page};

const FILE_LIMIT: u64 = 1 << 20;

/// Output that needs no disk.
pub fn show(arguments: &StudyArguments) -> Result<()> {
    let mut out = String::new();
    if arguments.list {
        for study in builtin::all()? {
            let (arms, cells) = (study.labels().len(), study.cells.len());
            writeln!(
                out,
                "{:14} {}: {arms} arms x {cells} cells",
                study.name, study.title
            )?;
        }
        writeln!(
            out,
            "\nWith --original, what a published comparison claims and what its own figures support: {}.",
            original::NAMES.join(", ")
        )?;
        return print_page(&out);
    }
    if arguments.original {
        let name = arguments.study.as_deref().unwrap_or_default();
        let judged = original::judge(name).ok_or_else(|| {
            Failure::usage(
                format!("{name} is no published comparison"),
                format!("take one of {}", original::NAMES.join(", ")),
            )
        })?;
        return print_page(&judged.text());
    }
    let (study, _) = read(arguments)?;
    if arguments.print {
        // Into a file, it is the same file again.
        return if std::io::stdout().is_terminal() {
            print_page(&study.text)
        } else {
            print(&study.text)
        };
    }
    let (cells, times) = (chosen(&study, arguments)?, times(&study, arguments));
    let simulated = simulated::wanted(&study, &cells, arguments)?;
    let device = match simulated {
        Some(spec) => format!("a simulated disk, {spec}"),
        None => arguments.devices.join(", "),
    };
    writeln!(
        out,
        "{}: {}\n{}",
        study.name,
        study.title,
        study.about.trim()
    )?;
    writeln!(out, "\non: {device}")?;
    if let Some(missing) = simulated.and_then(|spec| simulated::note_on(&study, spec)) {
        writeln!(out, "  {missing}")?;
    }
    let arms: Vec<String> = study.arms.iter().map(ToString::to_string).collect();
    writeln!(out, "arms: {}", arms.join("; "))?;
    if !study.optional_arms.is_empty() {
        let arms: Vec<String> = study
            .optional_arms
            .iter()
            .map(ToString::to_string)
            .collect();
        writeln!(out, "if the disk has them: {}", arms.join("; "))?;
    }
    for (index, stage) in study.stages.iter().enumerate() {
        let is_used = cells.iter().any(|cell| cell.stage == index);
        for argv in stage.prepare.iter().filter(|_| is_used) {
            let makes = format!("makes {}", stage.name);
            writeln!(out, "  {makes:20} {}", recorded::shown(argv))?;
        }
    }
    for cell in &cells {
        let metrics: Vec<&str> = cell.metrics.iter().map(|metric| &*metric.name).collect();
        writeln!(out, "  {:20} {}", cell.name, metrics.join(", "))?;
    }
    writeln!(out, "{}", outlook(cells.len(), study.labels().len(), times))?;
    print_page(&out)
}

/// The study and, if another user could have written its file, the reason.
pub fn read(arguments: &StudyArguments) -> Result<(Study, Option<String>)> {
    let name = arguments.study.as_deref().unwrap_or_default();
    let is_path =
        name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml");
    if !is_path {
        return Ok((builtin::find(name)?, None));
    }
    let read = input::read_text_with_doubt(Path::new(name), FILE_LIMIT);
    let (text, doubt) = read.map_err(|error| match interrupt::received() {
        Some(signal) => Failure::interrupted(signal),
        None => Failure::usage(
            format!("cannot read the study {name}: {error}"),
            "name a TOML file",
        ),
    })?;
    Ok((format::parse(name, &text)?, doubt))
}

pub fn chosen(study: &Study, arguments: &StudyArguments) -> Result<Vec<Cell>> {
    let globs = &arguments.cells;
    let is_chosen =
        |cell: &&Cell| globs.is_empty() || globs.iter().any(|pattern| glob(pattern, &cell.name));
    let cells: Vec<Cell> = study.cells.iter().filter(is_chosen).cloned().collect();
    if cells.is_empty() {
        let names: Vec<&str> = study.cells.iter().map(|cell| &*cell.name).collect();
        return Err(Failure::usage(
            format!("no cell of {} matches {}", study.name, globs.join(", ")),
            format!("its cells are {}", names.join(", ")),
        ));
    }
    let (prefer, keep) = (arguments.prefer.as_deref(), &arguments.keep);
    if prefer.is_none() && keep.is_empty() {
        return Ok(cells);
    }
    let cells = cells.into_iter().map(|cell| cell.with_goals(prefer, keep));
    cells.collect()
}

pub fn times(study: &Study, arguments: &StudyArguments) -> Times {
    if arguments.quick {
        study.quick
    } else {
        study.times
    }
}

/// `5 cells and A/A, 4 arms: 132 to 440 rounds, about 44 min to 2.4 h`
pub fn outlook(cells: usize, arms: usize, times: Times) -> String {
    let stopping = times
        .blocks
        .map_or(Stopping::LOOKS, |blocks| Stopping::Fixed { blocks });
    let fewest = stopping.next_segment(0).unwrap_or(0);
    let most = stopping.most_blocks().unwrap_or(fewest);
    // The A/A cell has two arms.
    let rounds = |blocks: usize| blocks * (cells * arms + 2);
    let one_s = (times.ramp() + times.round() + AROUND_A_ROUND).as_secs_f64();
    let long = |blocks: usize| units::duration(rounds(blocks) as f64 * one_s);
    let plural = if cells == 1 { "" } else { "s" };
    let head = format!("{cells} cell{plural} and A/A, {arms} arms");
    if fewest == most {
        return format!("{head}: {} rounds, about {}", rounds(most), long(most));
    }
    format!(
        "{head}: {} to {} rounds, about {} to {}",
        rounds(fewest),
        rounds(most),
        long(fewest),
        long(most)
    )
}
