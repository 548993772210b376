//! `iosched schedulers`.

use std::io::Write;

use anyhow::Result;
use iosched_files::stdout;
use iosched_host::scheduler;
use iosched_host::system::device::{Device, Disks};
use iosched_result::report::escape;
use iosched_result::types::queue::{DepthSource, HardwareDepth, State};
use serde::Serialize;

use crate::cli::Schedulers;

#[derive(Serialize)]
struct SchedulerRow {
    device: String,
    model: Option<String>,
    rotational: Option<bool>,
    size_bytes: Option<u64>,
    hardware_queues: usize,
    #[serde(flatten)]
    state: State,
}

pub fn run(arguments: &Schedulers) -> Result<()> {
    let devices = if arguments.devices.is_empty() {
        Device::all()?
    } else {
        Disks::resolve(&arguments.devices)?.0.members
    };
    let rows = devices
        .iter()
        .map(row)
        .collect::<Result<Vec<SchedulerRow>>>()?;
    let mut out = stdout::lines();
    if arguments.json {
        let text = escape::json(&serde_json::to_string_pretty(&rows)?);
        writeln!(out, "{text}")?;
        return Ok(());
    }
    for row in &rows {
        print(&mut out, row)?;
    }
    Ok(())
}

fn row(device: &Device) -> Result<SchedulerRow> {
    Ok(SchedulerRow {
        device: device.name.clone(),
        model: device.model(),
        rotational: device.rotational().ok(),
        size_bytes: device.size_bytes().ok(),
        hardware_queues: device.hardware_queues(),
        state: scheduler::read(device)?,
    })
}

fn print(out: &mut impl Write, row: &SchedulerRow) -> Result<()> {
    let names: Vec<String> = row
        .state
        .available
        .iter()
        .map(|name| {
            if *name == row.state.active {
                format!("[{name}]")
            } else {
                name.clone()
            }
        })
        .collect();
    writeln!(out, "{}: {}", row.device, names.join(" "))?;
    let depth = row
        .state
        .hardware_depth
        .map_or("unknown".to_owned(), |d: HardwareDepth| {
            let source = if d.source == DepthSource::Debugfs {
                ""
            } else {
                " (requested by the driver at start-up; a later resize is not visible)"
            };
            format!("{}{source}", d.depth)
        });
    writeln!(
        out,
        "  hardware queues {}, depth {depth}",
        row.hardware_queues
    )?;
    let (own, queue): (Vec<_>, Vec<_>) = row
        .state
        .settings
        .iter()
        .partition(|(name, _)| name.starts_with("iosched/"));
    for group in [own, queue] {
        let line: Vec<String> = group
            .iter()
            .map(|(name, value)| escape::line(&format!("{name}={value}")))
            .collect();
        for piece in wrap(&line, 96) {
            writeln!(out, "  {piece}")?;
        }
    }
    Ok(())
}

/// Joins words to lines of at most `width` characters.
fn wrap(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_stay_whole_and_lines_short() {
        let words: Vec<String> = ["aaaa", "bb", "cccccccccc", "d"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(super::wrap(&words, 8), ["aaaa bb", "cccccccccc", "d"]);
    }
}
