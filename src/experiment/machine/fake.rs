//! A machine for tests: one disk in memory, a clock that advances only on sleep, and faults injected by the test.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use super::{Kept, Machine, OutputDirectory, Task};
use crate::workload::{self, Running, Workload};
use iosched_host::safety::journal::Journal;
use iosched_host::system::device::uevents::{HeardUevents, Uevent};
use iosched_host::system::device::{Device, Disks};
use iosched_host::system::environment::CpuTimes;
use iosched_result::failure::Failure;
use iosched_result::measured::record::Record;
use iosched_result::measured::snapshot::{
    DeviceNumbers, Op, OwnerId, OwnerKind, OwnerTotals, Snapshot,
};
use iosched_result::measured::trace::{Trace, TracedOwner};
use iosched_result::metric::CONTROL_CPU;
use iosched_result::report::fixture;
use iosched_result::types::arm::Arm;
use iosched_result::types::cold::Cold;
use iosched_result::types::outcome::CgroupRef;
use iosched_result::types::participant::Participant;
use iosched_result::types::queue::{Applied, State};
use iosched_result::types::result::Subject;
use iosched_result::why::{DiskFacts, Stretch};

/// The control group of the workload.
pub const CGROUP_ID: u64 = 50;
const BYTES: u64 = 4096;

/// A fault in a round; rounds are counted by the switches of this machine, from 0.
#[derive(Clone, Debug)]
pub struct Mishap {
    pub round: usize,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// The kernel refuses the switch.
    Refused,
    /// The switch panics when the arm is in force.
    PanicsInSwitch,
    /// Earlier requests never complete.
    NeverIdle,
    /// The workload does its first I/O this long after its start.
    IdleFor(Duration),
    /// The event happens this long after the start of the workload.
    After(Duration, FakeEvent),
}

#[derive(Clone, Debug)]
pub enum FakeEvent {
    /// Another program writes this setting.
    Sets(&'static str, &'static str),
    /// Another program switches the scheduler.
    Switches(&'static str),
    /// Another program switches the scheduler and switches it back.
    SwitchesAndBack,
    /// The kernel reports an event of the disk.
    Tells(&'static str),
    Goes,
    Signal(i32),
    Suspended(Duration),
    Panics,
}

/// The part that the test can inspect after it has passed the machine on.
#[derive(Default)]
pub struct World {
    /// Actions on the disk, in order.
    pub done: Vec<String>,
    /// `active NAME=VALUE ...`, the current settings.
    pub settings: String,
}

pub struct FakeMachine {
    now: Duration,
    suspended: Duration,
    mishaps: Vec<Mishap>,
    world: Rc<RefCell<World>>,
    disk: Device,
    before: State,
    state: State,
    /// Number of switches so far.
    switches: usize,
    /// When the workload of this round was started.
    started: Option<Duration>,
    /// I/Os of the rounds before.
    ios: u64,
    told: HeardUevents,
    switches_seen: u64,
    snapshots: u64,
    signal: Option<i32>,
    has_gone: bool,
    /// Restoring the settings fails with this error.
    pub stays: Option<&'static str>,
    /// Bytes that stay in the page cache whenever it is dropped.
    pub stays_cached: u64,
    /// How long it takes to make ready what the rounds need.
    pub making: Duration,
    /// I/Os per second by scheduler and round.
    pub speed: fn(scheduler: &str, round: usize) -> u64,
    journal: Journal,
    /// When the stretch began whose requests are kept.
    stretch_ns: u64,
}

impl FakeMachine {
    pub fn new(mishaps: &[Mishap]) -> Self {
        let before = State {
            active: "mq-deadline".into(),
            available: ["none", "mq-deadline", "bfq"].map(Into::into).into(),
            settings: [("nomerges", "0"), ("nr_requests", "64")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            hardware_depth: None,
        };
        let machine = FakeMachine {
            now: Duration::from_secs(1000),
            suspended: Duration::ZERO,
            mishaps: mishaps.to_vec(),
            world: Rc::default(),
            disk: disk(),
            state: before.clone(),
            before,
            switches: 0,
            started: None,
            ios: 0,
            told: HeardUevents::default(),
            switches_seen: 0,
            snapshots: 0,
            signal: None,
            has_gone: false,
            stays: None,
            stays_cached: 0,
            making: Duration::ZERO,
            speed: |_, _| 1000,
            journal: Journal::create().expect("a journal"),
            stretch_ns: 0,
        };
        machine.show();
        machine
    }

    /// Sets an attribute as the user would, outside the run.
    pub fn set(&mut self, name: &str, value: &str) {
        self.before.settings.insert(name.into(), value.into());
        self.state = self.before.clone();
        self.show();
    }

    pub fn world(&self) -> Rc<RefCell<World>> {
        self.world.clone()
    }

    fn did(&self, what: impl Into<String>) {
        self.world.borrow_mut().done.push(what.into());
        self.show();
    }

    fn show(&self) {
        let settings = self.state.settings.iter();
        let settings = settings.map(|(name, value)| format!(" {name}={value}"));
        self.world.borrow_mut().settings =
            format!("{}{}", self.state.active, settings.collect::<String>());
    }

    /// Counted from 0.
    fn round(&self) -> usize {
        self.switches.saturating_sub(1)
    }

    /// Faults of this round.
    fn here(&self) -> impl Iterator<Item = &What> {
        let mishaps = self.mishaps.iter();
        let here = mishaps.filter(|mishap| mishap.round == self.round());
        here.map(|mishap| &mishap.what)
    }

    fn ensure_there(&self) -> Result<()> {
        if self.has_gone {
            bail!("reading /sys/block/{}: no such file", self.disk.name);
        }
        Ok(())
    }

    fn ios(&self) -> u64 {
        let Some(started) = self.started else {
            return self.ios;
        };
        let speed = (self.speed)(&self.state.active, self.round());
        let idle = self.here().find_map(|what| match what {
            What::IdleFor(time) => Some(*time),
            _ => None,
        });
        let ran = self.now.saturating_sub(started + idle.unwrap_or_default());
        let ran = ran.as_millis() as u64;
        self.ios + speed * ran / 1000
    }

    fn happen(&mut self, event: &FakeEvent) {
        match event {
            FakeEvent::Sets(name, value) => {
                let settings = &mut self.state.settings;
                settings.insert((*name).into(), (*value).into());
            }
            FakeEvent::Switches(scheduler) => {
                self.state.active = (*scheduler).into();
                self.switches_seen += 1;
            }
            FakeEvent::SwitchesAndBack => self.switches_seen += 2,
            FakeEvent::Tells(fact) => {
                let path = format!("change@/devices/block/{}\0{fact}\0", self.disk.name);
                self.told.events.extend(Uevent::parse(path.as_bytes()));
            }
            FakeEvent::Goes => self.has_gone = true,
            FakeEvent::Signal(signal) => self.signal = Some(*signal),
            FakeEvent::Suspended(time) => self.suspended += *time,
            FakeEvent::Panics => panic!("on purpose"),
        }
        self.did(format!("{event:?}"));
    }

    fn end_workload(&mut self) {
        self.ios = self.ios();
        self.started = None;
    }
}

pub fn disk() -> Device {
    let id = fixture::subject().device.device;
    Device {
        name: id.name,
        major: id.major,
        minor: id.minor,
        diskseq: id.diskseq,
    }
}

pub fn cgroup() -> CgroupRef {
    CgroupRef {
        label: "fake".into(),
        path: "/fake".into(),
        id: CGROUP_ID,
        on_bios: true,
    }
}

impl Machine for FakeMachine {
    fn now(&self) -> Duration {
        self.now
    }

    fn suspended(&self) -> Duration {
        self.suspended
    }

    fn time_of_day(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.now
    }

    fn local_time(&self) -> Duration {
        Duration::from_secs(self.now.as_secs() % 86_400)
    }

    fn sleep(&mut self, time: Duration) {
        let earlier = self.now;
        self.now += time;
        let Some(started) = self.started else { return };
        let is_due = |at: Duration| earlier < started + at && started + at <= self.now;
        let due: Vec<FakeEvent> = self
            .here()
            .filter_map(|what| match what {
                What::After(at, event) if is_due(*at) => Some(event.clone()),
                _ => None,
            })
            .collect();
        for event in &due {
            self.happen(event);
        }
    }

    fn ensure_uninterrupted(&self) -> Result<()> {
        self.signal
            .map_or(Ok(()), |signal| Err(Failure::interrupted(signal)))
    }

    fn subject(&self) -> Subject {
        fixture::subject()
    }

    fn cpu_times(&self) -> Option<CpuTimes> {
        None
    }

    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn record_settings(&mut self) -> Result<()> {
        self.did("record");
        Ok(())
    }

    fn put_back(&mut self) -> Result<()> {
        if let Some(why) = self.stays {
            bail!("{why}");
        }
        if !self.has_gone {
            self.state = self.before.clone();
        }
        self.did("put back");
        Ok(())
    }

    fn admit(&mut self, _arm: &Arm) -> Result<()> {
        Ok(())
    }

    fn apply(&mut self, arm: &Arm) -> Result<Vec<Applied>> {
        self.ensure_there()?;
        self.end_workload();
        self.switches += 1;
        if self.here().any(|what| matches!(what, What::Refused)) {
            self.did(format!("refuse {}", arm.label));
            return Err(Failure::usage(
                format!("{} has no scheduler {:?}", self.disk.name, arm.scheduler),
                "choose one of these",
            ));
        }
        self.state.active.clone_from(&arm.scheduler);
        // A switch resets this attribute, and no other of `queue/`.
        let fresh = self.before.settings.get_key_value("nr_requests");
        let settings = fresh.map(|(name, value)| (name.clone(), value.clone()));
        let settings = settings.into_iter().chain(arm.settings.iter().cloned());
        self.state.settings.extend(settings);
        self.did(format!("apply {}", arm.label));
        let panics = self.here().any(|what| matches!(what, What::PanicsInSwitch));
        assert!(!panics, "on purpose");
        Ok(vec![Applied {
            effective: self.state.clone(),
            switch_ns: Some(1),
            notes: Vec::new(),
        }])
    }

    fn make_ready(&mut self, commands: &[Vec<String>]) -> Result<()> {
        self.did(format!("make ready with {} commands", commands.len()));
        self.now += self.making;
        Ok(())
    }

    fn write_back(&mut self, cold: Cold) -> Result<()> {
        self.did(format!("write back {cold}"));
        Ok(())
    }

    fn drop_pages(&mut self, cold: Cold) -> Result<Option<u64>> {
        self.did(format!("drop {cold}"));
        Ok(Some(self.stays_cached))
    }

    fn read_back(&self) -> Result<Vec<State>> {
        self.ensure_there()?;
        Ok(vec![self.state.clone()])
    }

    fn in_flight(&self, _disk: usize) -> Result<String> {
        self.ensure_there()?;
        let is_busy = self.here().any(|what| matches!(what, What::NeverIdle));
        Ok(if is_busy {
            "       1        0\n"
        } else {
            "       0        0\n"
        }
        .to_owned())
    }

    fn gone(&self) -> Vec<String> {
        let name = self.has_gone.then(|| self.disk.name.clone());
        name.into_iter().collect()
    }

    fn listen(&mut self) -> Result<()> {
        Ok(())
    }

    fn take_uevents(&mut self) -> HeardUevents {
        std::mem::take(&mut self.told)
    }

    /// Slower after the workload.
    fn measure_controls(&mut self, number: usize) -> Result<BTreeMap<String, f64>> {
        let ns = if number.is_multiple_of(2) { 1e6 } else { 2e6 };
        Ok(BTreeMap::from([(CONTROL_CPU.to_owned(), ns)]))
    }

    fn snapshot_of_counters(&mut self) -> Result<Snapshot> {
        self.snapshot()
    }

    fn begin_window(&mut self) {}

    fn snapshot(&mut self) -> Result<Snapshot> {
        self.snapshots += 1;
        let ios = self.ios();
        let mut device = DeviceNumbers::new(&self.disk.name);
        let op = &mut device.ops[Op::Read as usize];
        (op.ios, op.bytes, op.bios) = (ios, ios * BYTES, ios);
        device.edges.switches = self.switches_seen;
        let mut owner = OwnerTotals::new(OwnerId {
            device: Some(0),
            kind: OwnerKind::Process,
            tgid: 9,
            start_ms: 1,
            cgroup_id: CGROUP_ID,
            file: None,
        });
        let op = &mut owner.ops[Op::Read as usize];
        (op.ios, op.bytes) = (ios, ios * BYTES);
        Ok(Snapshot {
            time_ns: self.now.as_nanos() as u64,
            number: self.snapshots,
            window: 0,
            devices: vec![device],
            owners: vec![owner],
            lines: Arc::default(),
            skipped: 0,
        })
    }

    fn prepare_traces(&mut self) -> Result<()> {
        self.did("prepare traces");
        Ok(())
    }

    fn begin_trace(&mut self) -> Result<u64> {
        self.did(format!("trace {}", self.state.active));
        Ok(self.now.as_nanos() as u64)
    }

    fn end_trace(&mut self, begin_ns: u64) -> Result<Trace> {
        let time = self.now.saturating_sub(Duration::from_nanos(begin_ns));
        Ok(Trace {
            time_s: time.as_secs_f64(),
            ..Trace::default()
        })
    }

    fn begin_stretch(&mut self) {
        self.did("begin stretch");
        self.stretch_ns = self.now.as_nanos() as u64;
    }

    /// Two processes of the workload, of which one waits 1 ms behind the other.
    fn end_stretch(&mut self) -> Result<Kept> {
        self.did("end stretch");
        let begin_ns = self.stretch_ns;
        let request = |owner: u32, times_us: [u64; 3]| {
            let [q_ns, d_ns, c_ns] = times_us.map(|us| begin_ns + 1000 * us);
            Record {
                q_ns,
                g_ns: q_ns,
                owner,
                ..Record::issued(Op::Read, d_ns, c_ns)
            }
        };
        let owner = |pid: u32| TracedOwner {
            name: format!("fake{pid}"),
            kind: OwnerKind::Process,
            pid,
            cgroup_id: CGROUP_ID,
            part: None,
        };
        Ok(Kept {
            stretch: Stretch::new(
                begin_ns..self.now.as_nanos() as u64,
                [request(1, [1, 1, 1001]), request(2, [1, 1001, 1501])]
                    .into_iter()
                    .collect(),
                0,
            ),
            disks: vec![DiskFacts {
                name: self.disk.name.clone(),
                scheduler: Some(self.state.active.clone()),
                others: Vec::new(),
                hardware_depth: Some(1),
                ..DiskFacts::default()
            }],
            owners: HashMap::from([(1, owner(1)), (2, owner(2))]),
        })
    }

    fn participants(&mut self) -> Vec<Participant> {
        Vec::new()
    }

    fn prepare(&mut self) -> Result<OutputDirectory> {
        Ok(OutputDirectory(None))
    }

    fn start(
        &mut self,
        workload: &mut dyn Workload,
        task: &Task<'_>,
        output: &OutputDirectory,
    ) -> Result<Box<dyn Running>> {
        self.did(format!("start {}", task.planned.index));
        let nodes = Disks::from(self.disk.clone()).nodes();
        let running = workload.start(&workload::Execution {
            device_nodes: &nodes,
            arm: Some(task.arm),
            disks: &[],
            index: task.planned.index,
            block: task.planned.block,
            seed: task.planned.workload_seed,
            ramp: task.ramp,
            time: task.time,
            directory: output.path(),
            scratch_file: None,
            journal: &self.journal,
            launcher: Path::new(""),
        })?;
        self.started = Some(self.now);
        // The probe also sees our own switch.
        self.switches_seen += 1;
        Ok(running)
    }
}
