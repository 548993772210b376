//! Whether a study can run on a simulated disk. Pure.

use super::format::{Cell, Stage};
use crate::scratch::DiskSpec;
use crate::workload::places;

/// Err: why not.
pub fn check(device: DiskSpec, stages: &[Stage], cells: &[Cell]) -> Result<(), String> {
    let on_some = cells.iter().find(|cell| cell.load.disks().is_some());
    if let Some(cell) = on_some.filter(|_| device.file_system.is_some()) {
        return Err(format!(
            "{} runs on some of the disks, and the file system of {device} is on all of them",
            cell.name
        ));
    }
    let uses_files = device.file_system.is_some()
        || cells.iter().any(|cell| cell.load.needs_files())
        || names(stages, places::is_of_files);
    if uses_files && names(stages, |word| word.contains(places::DEVICE)) {
        return Err("prepare names {device}, on which the file system of the cells is".to_owned());
    }
    Ok(())
}

/// Whether the commands of the stages name what only a file system or only a whole device has.
fn names(stages: &[Stage], is_named: impl Fn(&str) -> bool) -> bool {
    let commands = stages.iter().flat_map(|stage| &stage.prepare);
    commands.flatten().any(|word| is_named(word))
}
