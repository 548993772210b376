//! The real machine: sysfs, the probe, clocks, signals, processes.

mod admission; // one more arm
mod elsewhere; // what arms set elsewhere than in the queue
mod preparation; // what the rounds of a study need, made once
mod resources; // what a run needs beside its design
mod trial; // tries what arms set in the control groups of the workload

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

use self::admission::nr_requests;
use self::elsewhere::Elsewhere;
pub use self::resources::{Resources, probe_info};
use self::trial::OwnGroups;
use super::control::Controls;
use super::{Kept, Machine, OutputDirectory, Task};
use crate::stall::StallWatch;
use crate::workload::{self, Running, Workload, own_groups};
use iosched_files::interrupt;
use iosched_host::preflight::{self, Hold};
use iosched_host::safety::journal::{Entry, TemporaryFiles};
use iosched_host::safety::lock::Lock;
use iosched_host::safety::restorable::ensure_restorable;
use iosched_host::scheduler::{self, SavedQueue};
use iosched_host::scratch::file::ScratchFile;
use iosched_host::system::device::uevents::{HeardUevents, Uevents};
use iosched_host::system::device::{Device, Disks, info};
use iosched_host::system::environment::{self, CpuTimes};
use iosched_host::system::page_cache::{self, Cached};
use iosched_measure::probe::{self, Detail, Probe};
use iosched_result::measured::snapshot::Snapshot;
use iosched_result::measured::trace::Trace;
use iosched_result::types::arm::Arm;
use iosched_result::types::cold::Cold;
use iosched_result::types::participant::Participant;
use iosched_result::types::queue::{Applied, State};
use iosched_result::types::result::Subject;
use iosched_result::types::scratch_place::ScratchPlace;
use iosched_result::why::DiskFacts;

const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);
const REMOVAL_POLL: Duration = Duration::from_millis(20);

/// Dropping it restores the recorded settings. Fields drop in order, so the locks are released last.
pub struct RealMachine<'a> {
    elsewhere: Elsewhere,
    entries: Vec<Entry>,
    uevents: Option<Uevents>,
    probe: Probe,
    detail: Detail,
    /// The largest `nr_requests` of the arms, 0 if none.
    deepest: u32,
    /// By disk.
    baselines: Vec<SavedQueue>,
    scratch_file: Option<ScratchFile>,
    own_groups: OwnGroups,
    _locks: Vec<Lock>,
    disks: Disks,
    controls: Controls,
    resources: Resources<'a>,
    began: Instant,
    /// When participants were last searched for.
    looked: Duration,
    stall: RefCell<StallWatch>,
}

impl<'a> RealMachine<'a> {
    /// Locks the disks, creates the scratch file and attaches the probe. `progress` receives the number of bytes
    /// written to the file.
    pub fn take(
        disks: &Disks,
        arms: &[Arm],
        workload: &dyn Workload,
        place: Option<&ScratchPlace>,
        more: Detail,
        resources: Resources<'a>,
        progress: &mut dyn FnMut(&ScratchPlace, u64),
    ) -> Result<Self> {
        own_groups::ensure_there(workload, arms)?;
        let members = &disks.members;
        // Locks are taken in the order of the device numbers, so that two runs on the same disks cannot deadlock.
        let locks = members
            .iter()
            .map(preflight::lock)
            .collect::<Result<Vec<_>>>()?;
        let baselines = members
            .iter()
            .map(|disk| SavedQueue::take(disk, arms))
            .collect::<Result<Vec<_>>>()?;
        for (disk, baseline) in members.iter().zip(&baselines) {
            ensure_restorable(resources.journal, disk, baseline)?;
        }
        let elsewhere = Elsewhere::take(members, arms, &baselines, resources.journal)?;
        let make = |place: &ScratchPlace| {
            let mut progress = |done_bytes| progress(place, done_bytes);
            ScratchFile::make(place, disks, resources.journal, &mut progress)
        };
        let scratch_file = place.map(make).transpose()?;
        let deepest = arms.iter().map(nr_requests).max().unwrap_or(0);
        let detail = Detail {
            asked: workload.properties().is_asynchronous && probe::can_tell_since_when(),
            ..more
        };
        let probe = Probe::attach(members, deepest, detail)?;
        Ok(RealMachine {
            elsewhere,
            entries: Vec::new(),
            uevents: None,
            controls: Controls::new(resources.control.as_ref())?,
            probe,
            detail,
            deepest,
            baselines,
            scratch_file,
            own_groups: OwnGroups::default(),
            _locks: locks,
            disks: disks.clone(),
            resources,
            began: Instant::now(),
            looked: Duration::ZERO,
            stall: RefCell::default(),
        })
    }

    /// Servers start new processes, some of them short-lived.
    fn look_at_participants(&mut self) {
        const PAUSE: Duration = Duration::from_millis(500);
        let now = self.began.elapsed();
        if now.saturating_sub(self.looked) >= PAUSE {
            self.resources.participants.look();
            self.looked = now;
        }
    }

    /// Called before a disk is switched and before the workload may write to it.
    fn ensure_unchanged(&self) -> Result<()> {
        let hold = self.resources.hold.as_ref();
        hold.map_or(Ok(()), Hold::ensure_unchanged)
    }

    /// The scratch file or the devices that the workload runs on.
    fn cached<'b>(&'b self, nodes: &'b [PathBuf]) -> Cached<'b> {
        let file = self.scratch_file.as_ref().and_then(ScratchFile::file);
        file.map_or(Cached::Devices(nodes), |file| Cached::File(&file.path))
    }
}

impl RealMachine<'_> {
    /// A disk loses its attributes before its name.
    fn wait_for_removals(&self) {
        let begin = Instant::now();
        let is_partial =
            |disk: &Device| disk.is_present() && !disk.sysfs("queue/scheduler").exists();
        while self.disks.members.iter().any(is_partial) && begin.elapsed() < REMOVAL_TIMEOUT {
            std::thread::sleep(REMOVAL_POLL);
        }
    }
}

impl Machine for RealMachine<'_> {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Difference of two clocks: only one counts suspended time. Setting the time changes neither.
    fn suspended(&self) -> Duration {
        let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
        // In this order, a delay between the readings cannot look like the end of a suspension.
        let monotonic = read(ClockId::Monotonic);
        read(ClockId::Boottime).saturating_sub(monotonic)
    }

    fn time_of_day(&self) -> SystemTime {
        SystemTime::now()
    }

    fn local_time(&self) -> Duration {
        let time = jiff::Zoned::now().time();
        let (hours, minutes) = (time.hour() as u64, time.minute() as u64);
        Duration::from_secs(hours * 3600 + minutes * 60 + time.second() as u64)
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
        self.look_at_participants();
    }

    /// Every wait of a run asks this, so that none outlasts a disk that does not respond.
    fn ensure_uninterrupted(&self) -> Result<()> {
        interrupt::check()?;
        let now = self.began.elapsed();
        let mut stall = self.stall.borrow_mut();
        if !stall.is_due(now) {
            return Ok(());
        }
        let members = self.disks.members.iter();
        let stats: Vec<_> = members
            .map(|disk| (disk.name.as_str(), disk.io_stat().ok()))
            .collect();
        stall.look(now, &stats)
    }

    fn subject(&self) -> Subject {
        Subject {
            environment: environment::read(self.resources.fio_version.clone()),
            device: info::of_all(&self.disks, self.resources.scratch.clone()),
            probe: probe_info(&self.probe),
        }
    }

    fn cpu_times(&self) -> Option<CpuTimes> {
        CpuTimes::read()
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.resources.guardian.take_notes()
    }

    fn record_settings(&mut self) -> Result<()> {
        self.entries = self
            .elsewhere
            .record(&self.baselines, self.resources.journal)?;
        Ok(())
    }

    fn put_back(&mut self) -> Result<()> {
        let entries = std::mem::take(&mut self.entries);
        self.elsewhere.undo(&self.disks.members, entries)
    }

    fn admit(&mut self, arm: &Arm) -> Result<()> {
        self.admit_arm(arm)
    }

    fn apply(&mut self, arm: &Arm) -> Result<Vec<Applied>> {
        self.ensure_unchanged()?;
        if let Some(scratch_file) = &self.scratch_file {
            scratch_file.make_ready()?;
        }
        let members = &self.disks.members;
        self.elsewhere.apply_before(arm, members)?;
        let mut applied = scheduler::apply_onto_all(members, arm, &self.baselines)?;
        let journal = self.resources.journal;
        self.elsewhere
            .apply_after(arm, members, journal, &mut applied)?;
        self.own_groups.try_out(arm, members, journal)?;
        Ok(applied)
    }

    fn read_back(&self) -> Result<Vec<State>> {
        let read = |disk: &Device| {
            let mut state = scheduler::read(disk)?;
            self.elsewhere.read_into(&mut state, disk);
            Ok(state)
        };
        self.disks.members.iter().map(read).collect()
    }

    fn in_flight(&self, disk: usize) -> Result<String> {
        self.disks.members[disk].attribute("inflight")
    }

    fn gone(&self) -> Vec<String> {
        self.wait_for_removals();
        let gone = self.disks.gone();
        gone.into_iter().map(|disk| disk.name.clone()).collect()
    }

    fn listen(&mut self) -> Result<()> {
        self.uevents = Some(Uevents::listen()?);
        Ok(())
    }

    fn take_uevents(&mut self) -> HeardUevents {
        self.uevents
            .as_ref()
            .map_or_else(HeardUevents::default, Uevents::take)
    }

    fn make_ready(&mut self, commands: &[Vec<String>]) -> Result<()> {
        self.run_all(commands)
    }

    fn write_back(&mut self, cold: Cold) -> Result<()> {
        if let Some(scratch_file) = &self.scratch_file {
            scratch_file.write_back()?;
        }
        let nodes = self.disks.nodes();
        page_cache::write_back(cold, self.cached(&nodes))
    }

    fn drop_pages(&mut self, cold: Cold) -> Result<Option<u64>> {
        let nodes = self.disks.nodes();
        let cached = self.cached(&nodes);
        page_cache::drop_pages(cold, cached)?;
        Ok(page_cache::cached_bytes(cached))
    }

    fn measure_controls(&mut self, number: usize) -> Result<BTreeMap<String, f64>> {
        self.controls.measure(number)
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        self.look_at_participants();
        self.probe.snapshot()
    }

    fn snapshot_of_counters(&mut self) -> Result<Snapshot> {
        self.probe.snapshot_of_counters()
    }

    fn begin_window(&mut self) {
        self.probe.begin_window();
    }

    fn prepare_traces(&mut self) -> Result<()> {
        let detail = Detail {
            i2d: true,
            ..Detail::default()
        };
        self.probe = Probe::attach(&self.disks.members, self.deepest, detail)?;
        Ok(())
    }

    fn begin_trace(&mut self) -> Result<u64> {
        Ok(self.probe.begin_trace())
    }

    fn end_trace(&mut self, begin_ns: u64) -> Result<Trace> {
        self.probe.end_trace(begin_ns)
    }

    fn begin_stretch(&mut self) {
        self.probe.begin_stretch();
    }

    fn end_stretch(&mut self) -> Result<Kept> {
        let stretch = self.probe.end_stretch()?;
        let mut owners = HashMap::new();
        for request in stretch.requests().iter() {
            let row = request.owner;
            owners.entry(row).or_insert_with(|| self.probe.owner(row));
        }
        let facts = |disk: &Device| DiskFacts {
            name: disk.name.clone(),
            scheduler: scheduler::choice(disk).ok().map(|choice| choice.active),
            others: Vec::new(),
            hardware_depth: disk.slots(),
            ..DiskFacts::default()
        };
        Ok(Kept {
            stretch,
            disks: self.disks.members.iter().map(facts).collect(),
            owners,
        })
    }

    fn participants(&mut self) -> Vec<Participant> {
        self.resources.participants.look();
        self.resources.participants.found()
    }

    fn prepare(&mut self) -> Result<OutputDirectory> {
        self.ensure_unchanged()?;
        let files = TemporaryFiles::create(self.resources.journal, "round")?;
        Ok(OutputDirectory(Some(files)))
    }

    fn start(
        &mut self,
        workload: &mut dyn Workload,
        task: &Task<'_>,
        output: &OutputDirectory,
    ) -> Result<Box<dyn Running>> {
        workload.start(&workload::Execution {
            device_nodes: &self.disks.nodes(),
            arm: Some(task.arm),
            disks: &self.disks.members,
            index: task.planned.index,
            block: task.planned.block,
            seed: task.planned.workload_seed,
            ramp: task.ramp,
            time: task.time,
            directory: output.path(),
            scratch_file: self.scratch_file.as_ref(),
            journal: self.resources.journal,
            launcher: self.resources.launcher,
        })
    }
}
