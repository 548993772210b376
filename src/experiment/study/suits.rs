//! Whether cells can run on a simulated disk. Pure.

use super::format::{Cell, Stage};
use crate::workload::places;
use iosched_result::types::scratch::spec::DiskSpec;

/// Err: what contradicts the disk. `stages`: all of the study; those of no cell do not matter.
pub fn check(device: DiskSpec, stages: &[Stage], cells: &[Cell]) -> Result<(), String> {
    let on_some = cells.iter().find(|cell| cell.load.disks().is_some());
    if let Some(cell) = on_some.filter(|_| device.file_system.is_some()) {
        return Err(format!(
            "{} runs on some of the disks, and the file system of {device} is on all of them",
            cell.name
        ));
    }
    let uses_files = device.file_system.is_some() || needs_files(stages, cells).is_some();
    if uses_files && prepares(stages, cells, |word| word.contains(places::DEVICE)) {
        return Err("prepare names {device}, on which the file system of the cells is".to_owned());
    }
    Ok(())
}

/// The reason why they need a file system; None if they can run on a raw device.
pub fn needs_files(stages: &[Stage], cells: &[Cell]) -> Option<String> {
    match cells.iter().find(|cell| cell.load.needs_files()) {
        Some(cell) => Some(format!("{} needs a file system", cell.name)),
        None => prepares(stages, cells, places::is_of_files)
            .then(|| "prepare needs a file system".to_owned()),
    }
}

/// Whether a command of the cells' stages has such a word.
fn prepares(stages: &[Stage], cells: &[Cell], is_it: impl Fn(&str) -> bool) -> bool {
    let is_used = |stage: &usize| cells.iter().any(|cell| cell.stage == *stage);
    let used = (0..stages.len()).filter(is_used);
    let mut words = used.flat_map(|stage| stages[stage].prepare.iter().flatten());
    words.any(|word| is_it(word))
}
