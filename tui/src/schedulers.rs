//! `iosched schedulers`.

use anyhow::Result;
use iosched_files::stdout;
use iosched_host::scheduler;
use iosched_host::system::device::{Device, Disks};
use iosched_read::fit;
use iosched_result::report::escape;
use iosched_result::report::page::Page;
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
    let text = if arguments.json {
        escape::json(&serde_json::to_string_pretty(&rows)?) + "\n"
    } else {
        render(&rows, fit::columns(&std::io::stdout()))
    };
    Ok(stdout::write_all(text.as_bytes())?)
}

fn render(rows: &[SchedulerRow], width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let name_width = rows.iter().map(|row| row.device.len()).max().unwrap_or(0);
    for row in rows {
        render_disk(&mut page, row, name_width);
    }
    page.text
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

fn render_disk(page: &mut Page, row: &SchedulerRow, name_width: usize) {
    let names = row.state.available.iter().map(|name| {
        if *name == row.state.active {
            format!("[{name}]")
        } else {
            name.clone()
        }
    });
    let names: Vec<String> = names.collect();
    let head = format!(
        "{:width$} ",
        format!("{}:", row.device),
        width = name_width + 1
    );
    page.sentence(&head, &names.join(" "));
    let depth = row.state.hardware_depth;
    let depth = depth.map_or("unknown".to_owned(), |hardware: HardwareDepth| {
        let source = match hardware.source {
            DepthSource::Debugfs => "",
            DepthSource::NrTags => {
                " (requested by the driver at start-up; a later resize is not visible)"
            }
        };
        format!("{}{source}", hardware.depth)
    });
    page.sentence(
        "  ",
        &format!("hardware queues {}, depth {depth}", row.hardware_queues),
    );
    let (own, queue): (Vec<_>, Vec<_>) = row
        .state
        .settings
        .iter()
        .partition(|(name, _)| name.starts_with("iosched/"));
    for group in [own, queue] {
        let words = group
            .iter()
            .map(|(name, value)| escape::line(&format!("{name}={value}")));
        page.grid(2, &words.collect::<Vec<_>>());
    }
}
