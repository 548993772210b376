//! The interface between the rounds and the kernel. Tests run the same rounds on a fake machine with its own clock.

mod control; // work that does not depend on the arm
#[cfg(test)]
pub mod fake; // a disk, a clock and a workload controlled by a test
mod real;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::workload::{Running, Workload};
use iosched_host::safety::journal::TemporaryFiles;
use iosched_host::system::device::uevents::HeardUevents;
use iosched_host::system::environment::CpuTimes;
use iosched_result::measured::snapshot::Snapshot;
use iosched_result::measured::trace::{Trace, TracedOwner};
use iosched_result::types::arm::Arm;
use iosched_result::types::cold::Cold;
use iosched_result::types::participant::Participant;
use iosched_result::types::plan::PlannedRound;
use iosched_result::types::queue::{Applied, State};
use iosched_result::types::result::Subject;
use iosched_result::why::{DiskFacts, Stretch};

pub use real::{RealMachine, Resources, probe_info};

/// The disks of one experiment and their surroundings. Lists are in the order of the disks.
pub trait Machine {
    /// Monotonic, with an arbitrary origin; stops while the machine is suspended.
    fn now(&self) -> Duration;
    /// Total time for which the machine has been suspended since boot.
    fn suspended(&self) -> Duration;
    fn time_of_day(&self) -> SystemTime;
    /// Since midnight of the local time zone.
    fn local_time(&self) -> Duration;
    fn sleep(&mut self, time: Duration);
    /// Fails after a signal, or when the run cannot continue for another reason.
    fn ensure_uninterrupted(&self) -> Result<()>;

    fn subject(&self) -> Subject;
    fn cpu_times(&self) -> Option<CpuTimes>;
    /// Events of the guardian since the last call.
    fn take_notes(&mut self) -> Vec<String>;

    /// Records the settings of all disks: from then on they are restored however this process ends.
    fn record_settings(&mut self) -> Result<()>;
    fn put_back(&mut self) -> Result<()>;
    /// From here on this arm, which sets what is the disks' own, may be applied, too. To be called before the settings are recorded.
    /// Err: what it changes could not be restored.
    fn admit(&mut self, arm: &Arm) -> Result<()>;
    /// Switches all disks to `arm` or none of them, and resets what other arms or rounds left.
    fn apply(&mut self, arm: &Arm) -> Result<Vec<Applied>>;
    fn read_back(&self) -> Result<Vec<State>>;
    /// The kernel's counts of requests in flight on a disk: reads and writes.
    fn in_flight(&self, disk: usize) -> Result<String>;
    /// Names of disks that no longer exist; waits until one that is being removed has gone.
    fn gone(&self) -> Vec<String>;
    /// Starts to receive kernel events.
    fn listen(&mut self) -> Result<()>;
    /// The kernel's events since the last call.
    fn take_uevents(&mut self) -> HeardUevents;

    /// Runs commands that make what the next rounds need.
    fn make_ready(&mut self, commands: &[Vec<String>]) -> Result<()>;
    /// Writes back what the workload has left in the page cache.
    fn write_back(&mut self, cold: Cold) -> Result<()>;
    /// Drops it from the page cache; how much of the workload's file or devices stays there, if the kernel tells.
    fn drop_pages(&mut self, cold: Cold) -> Result<Option<u64>>;
    /// Times of work that does not depend on the arm, by metric; each `number` reads other places.
    fn measure_controls(&mut self, number: usize) -> Result<BTreeMap<String, f64>>;
    fn snapshot(&mut self) -> Result<Snapshot>;
    /// The same without the owners' histograms, which are most of the work if many owners are busy.
    fn snapshot_of_counters(&mut self) -> Result<Snapshot>;
    /// The longest times between the last snapshot and any later one are exact, whatever snapshots are taken in between.
    fn begin_window(&mut self);
    /// From here on traces can be recorded, which costs more for each I/O; snapshots begin anew.
    fn prepare_traces(&mut self) -> Result<()>;
    /// Begins to record each request. The time of the beginning is for [`Machine::end_trace`].
    fn begin_trace(&mut self) -> Result<u64>;
    fn end_trace(&mut self, begin_ns: u64) -> Result<Trace>;
    /// Begins to keep the records of all requests, for [`Machine::end_stretch`].
    fn begin_stretch(&mut self);
    fn end_stretch(&mut self) -> Result<Kept>;
    /// Processes that already ran and belong to the workload, as far as they have been found.
    fn participants(&mut self) -> Vec<Participant>;
    /// Refuses a disk that has changed since its owner was asked, and creates the directory for the workload's output.
    fn prepare(&mut self) -> Result<OutputDirectory>;
    fn start(
        &mut self,
        workload: &mut dyn Workload,
        task: &Task<'_>,
        output: &OutputDirectory,
    ) -> Result<Box<dyn Running>>;
}

/// The purpose for which a workload is started.
pub struct Task<'a> {
    pub planned: &'a PlannedRound,
    pub arm: &'a Arm,
    pub ramp: Duration,
    pub time: Duration,
}

/// All requests since [`Machine::begin_stretch`].
pub struct Kept {
    pub stretch: Stretch,
    pub disks: Vec<DiskFacts>,
    /// By row.
    pub owners: HashMap<u32, TracedOwner>,
}

/// Directory for a round's output; removed on drop.
pub struct OutputDirectory(Option<TemporaryFiles>);

impl OutputDirectory {
    fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TemporaryFiles::path)
    }
}
