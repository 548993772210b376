//! Limitations of this machine, of the workload and of caches: told to the user before the first round, and kept in the result.

use anyhow::Result;
use iosched_experiment::workload::{Workload, cgroup};
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::Disks;

use crate::cache;
use crate::cli::Conditions;
use crate::permission::Granted;
use iosched_read::messages::note;

/// Collects what is to be said of caches, and of the limits of this program.
pub fn warnings(
    conditions: &Conditions,
    disks: &Disks,
    granted: &Granted,
    workload: &dyn Workload,
    journal: Option<&Journal>,
) -> Result<Vec<String>> {
    let cache = cache::tell(conditions, granted.place.as_ref(), workload);
    // A dry run makes no control group, and the load of others has its own.
    let journal = journal.filter(|_| !workload.properties().is_live);
    let limits = journal.map_or(Ok(None), limits)?;
    let caches = cache.into_iter().chain(cache::tell_of_disks(disks));
    Ok(caches.chain(limits).collect())
}

/// Tells what becomes of the limits under which this program was started.
pub fn limits(journal: &Journal) -> Result<Option<String>> {
    let said = cgroup::note_on_limits(journal)?;
    if let Some(text) = &said {
        note(text);
    }
    Ok(said)
}

/// Limitations of this machine and of the workload that the result must mention.
pub fn notes_of(
    scratch: Option<&Scratch>,
    of_workload: Vec<String>,
    others: Vec<String>,
) -> Vec<String> {
    let fallback = scratch.and_then(Scratch::fallback);
    let fallback = fallback.map(str::to_owned).into_iter();
    fallback.chain(of_workload).chain(others).collect()
}
