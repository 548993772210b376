//! What a run on the real machine needs beside its design, and what a result says of the probe.

use std::path::Path;

use iosched_host::preflight::Hold;
use iosched_host::safety::guardian::Guardian;
use iosched_host::safety::journal::Journal;
use iosched_host::system::device::Device;
use iosched_measure::probe::Probe;
use iosched_result::types::result::ProbeInfo;
use iosched_result::types::scratch::truth::Truth;

use crate::workload::participants::Participants;

/// Resources that a run on the real machine needs in addition to its design.
pub struct Resources<'a> {
    /// Configuration of a scratch device.
    pub scratch: Option<Truth>,
    /// The raw disk that the workload may overwrite.
    pub hold: Option<Hold>,
    /// A disk that no arm touches, read before and after each round.
    pub control: Option<Device>,
    /// Processes that already run and belong to the workload.
    pub participants: Participants,
    pub guardian: &'a Guardian,
    pub fio_version: Option<String>,
    pub journal: &'a Journal,
    /// The iosched binary that starts workloads, see `workload::launch`.
    pub launcher: &'a Path,
}

pub fn probe_info(probe: &Probe) -> ProbeInfo {
    ProbeInfo {
        measures_q2g: probe.measures_q2g(),
        memory_bytes: probe.memory_bytes(),
        notes: probe.notes(),
    }
}
