//! Effects of caches on a run, and what `--cold` does about them.

use iosched_experiment::workload::Workload;
use iosched_host::system::device::Disks;
use iosched_result::types::cold::Cold;
use iosched_result::types::scratch_place::ScratchPlace;

use crate::cli::Conditions;
use iosched_read::messages::note;

/// Says what is dropped before each round. A warning for the result, if rounds can be answered from the page cache.
pub fn tell(
    conditions: &Conditions,
    place: Option<&ScratchPlace>,
    workload: &dyn Workload,
) -> Option<String> {
    let is_file = place.is_some_and(|place| place.size_bytes.is_some());
    if let Some(cold) = conditions.cold {
        let what = cold.in_words(is_file);
        note(&format!(
            "before each round {what} are written back and dropped"
        ));
    }
    let warning = warning(conditions, is_file, workload)?;
    note(&warning);
    Some(warning)
}

/// A warning for the result, if a disk is a cache of another one.
pub fn tell_of_disks(disks: &Disks) -> Option<String> {
    let warning = format!(
        "{} keeps on a disk what earlier rounds read, and --cold does not drop it: later rounds may find it there",
        disks.cached()?.name
    );
    note(&warning);
    Some(warning)
}

fn warning(conditions: &Conditions, is_file: bool, workload: &dyn Workload) -> Option<String> {
    let is_command = !conditions.command.is_empty();
    match conditions.cold {
        Some(Cold::File) if is_command && !is_file => Some(
            "--cold drops only the pages of the device: the files that the command reads may stay in the page cache; \
             --cold=ALL drops them too"
                .to_owned(),
        ),
        Some(Cold::File | Cold::All) => None,
        None if is_command => Some(
            "a command may read what earlier rounds left in the page cache, without I/O on the disk; --cold=ALL drops it \
             before each round"
                .to_owned(),
        ),
        None => workload.properties().through_page_cache.map(|why| {
            format!(
                "{why}: rounds can be answered from what earlier ones left in the page cache; --cold drops it before each \
                 round"
            )
        }),
    }
}
