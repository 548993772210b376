//! A disk that disappears during a run.

use crate::machine::Machine;
use iosched_host::system::device::Disks;
use iosched_result::failure::{Failure, Kind, kind_of};

/// If a disk no longer exists, that explains the failure.
pub fn explain(
    error: anyhow::Error,
    disks: &Disks,
    machine: &dyn Machine,
    round: usize,
) -> anyhow::Error {
    if matches!(kind_of(&error), Kind::Interrupted(_)) {
        return error;
    }
    let gone = machine.gone();
    if gone.is_empty() {
        return error;
    }
    let is_all = gone.len() == disks.members.len();
    Failure::runtime(
        format!(
            "{} disappeared (unplugged, removed, or unbound from its driver) in round {round}: {error:#}",
            gone.join(", "),
        ),
        if is_all {
            "there is nothing left to restore, since its settings went with it; every finished round is kept"
        } else {
            "the settings of the other disks were restored, and every finished round is kept"
        },
    )
}
