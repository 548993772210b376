//! One round: switch and verify, idle, start the workload, skip the ramp, measure over its window, let it end,
//! verify again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use super::plan::PlannedRound;
use super::turn::Turn;
use super::vigil::Vigil;
use super::{drift, exclusion, values};
use crate::arm::Arm;
use crate::device::uevents::{Told, Uevent, Uevents};
use crate::device::{Device, Disks};
use crate::environment::CpuTimes;
use crate::interrupt;
use crate::journal::{Journal, TemporaryFiles};
use crate::preflight::Hold;
use crate::probe::Probe;
use crate::report::result::{Evidence, Exclusion, Member, Round};
use crate::scheduler::{self, Applied, SavedQueue, State};
use crate::scratch_file::ScratchFile;
use crate::snapshot::{Interval, Snapshot};
use crate::workload::{self, CgroupRef, Fixed, Outcome, Running, Workload};

/// What all rounds have in common.
pub struct Bench<'a> {
    pub disks: &'a Disks,
    pub arms: &'a [Arm],
    /// By disk.
    pub baselines: &'a [SavedQueue],
    pub probe: &'a mut Probe,
    pub workload: &'a mut dyn Workload,
    pub ramp: Duration,
    pub time: Duration,
    pub journal: &'a Journal,
    /// A binary of ours that starts workloads, see `workload::launch`.
    pub launcher: &'a Path,
    pub scratch_file: Option<&'a ScratchFile>,
    /// The raw disk that the workload may overwrite.
    pub hold: Option<&'a Hold>,
    pub uevents: &'a Uevents,
    /// By arm, what was in force on each disk at the beginning of its first round: what others change and nothing resets
    /// stays changed, and would make later rounds of the arm another arm.
    pub first: BTreeMap<usize, Vec<State>>,
}

const POLL: Duration = Duration::from_millis(20);
/// The first I/O is noticed up to one poll late; the window ends so much earlier, to lie inside fio's own.
const GUARD: Duration = Duration::from_millis(40);
/// How long requests of before may take to drain, and a workload to begin with its I/O.
const PATIENCE: Duration = Duration::from_secs(30);

/// The part of a round that is measured.
struct Measured {
    window: Option<Interval>,
    /// From before the start of the workload to after its end.
    whole: Interval,
    outcome: Outcome,
    cgroups: Vec<CgroupRef>,
    /// The machine was suspended, or this process was stopped.
    pause: Option<String>,
    /// What the kernel told of the disks.
    told: Told,
}

/// A round, and what ends the run after it.
pub struct Done {
    pub round: Round,
    /// Another program has switched the scheduler meanwhile.
    pub rival: Option<String>,
}

impl Bench<'_> {
    /// An error ends the whole run; a workload that failed only spoils its round.
    pub fn carry_out(&mut self, turn: &Turn) -> Result<Done> {
        let planned = &turn.planned;
        self.ensure_unchanged()?;
        let arm = &self.arms[planned.arm];
        if let Some(scratch_file) = self.scratch_file {
            scratch_file.make_ready()?;
        }
        let disks = &self.disks.members;
        let applied = scheduler::apply_onto_all(disks, arm, self.baselines)?;
        disks.iter().try_for_each(wait_until_idle)?;
        interrupt::sleep_until(Instant::now() + Duration::from_nanos(planned.phase_ns))?;
        let started = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        let cpu = CpuTimes::read();
        self.ensure_unchanged()?;
        let measured = self.measure(planned, arm)?;
        let load = cpu.and_then(|earlier| earlier.until(&CpuTimes::read()?));
        let first = self.first.entry(planned.arm).or_insert_with(|| {
            let states = applied.iter().map(|applied| applied.effective.clone());
            states.collect()
        });
        let now = disks.iter().map(scheduler::read);
        let now = now.collect::<Result<Vec<_>>>()?;
        let mut drifted = drift::drifted(disks, first, &applied, &now);
        // What a rule of udev makes of those that were asked for shows in the settings.
        let told = measured.told.events.iter();
        let own = told.filter(|event| !event.is_asked_for);
        drifted.extend(own.map(|event| format!("the kernel told of a {event}")));
        let rival = rival(disks, &applied, &now, &measured.whole);
        if let Some(rival) = &rival {
            drifted.push(rival.clone());
        }
        let round = self.round(turn, applied, started, drifted, measured, load);
        Ok(Done { round, rival })
    }

    /// Before a disk is switched, and before the workload may write to it.
    fn ensure_unchanged(&self) -> Result<()> {
        self.hold.map_or(Ok(()), Hold::ensure_unchanged)
    }

    fn round(
        &self,
        turn: &Turn,
        applied: Vec<Applied>,
        started: String,
        drifted: Vec<String>,
        measured: Measured,
        load: Option<crate::environment::Load>,
    ) -> Round {
        let Measured {
            window,
            whole,
            outcome,
            cgroups,
            pause,
            told,
        } = measured;
        let name = self.disks.name();
        let window = window.map_or_else(|| Interval::nothing(&name), |w| w.together(&name));
        let device = window.devices[0].clone();
        let is_fixed_work = self.workload.fixed() == Fixed::Work;
        let values = values::values(&window, Some(&whole), &cgroups, &outcome, is_fixed_work);
        let foreign = exclusion::foreign(&window, &cgroups);
        // Whatever else there is to say of the round may come of it.
        let excluded = pause
            .map(|pause| (Exclusion::Paused, pause))
            .or_else(|| exclusion::exclusion(&outcome, &drifted, &window, foreign));
        let (planned, arm) = (turn.planned, &self.arms[turn.planned.arm]);
        Round {
            index: planned.index,
            block: planned.block,
            attempt: turn.attempt,
            position: planned.position,
            arm: arm.label.clone(),
            scheduler: arm.scheduler.clone(),
            workload_seed: planned.workload_seed,
            started,
            window_s: window.duration_s(),
            foreign_share: foreign.map(|foreign| foreign.share_of_bytes),
            lost_events: device.quality.lost_events(),
            busy_share: load.map(|load| load.busy_share),
            steal_share: load.map(|load| load.steal_share),
            exclusion: excluded.as_ref().map(|excluded| excluded.0),
            problem: excluded.map(|excluded| excluded.1),
            metrics: values.metrics,
            evidence: Evidence {
                applied: applied[0].clone(),
                members: self.members(applied),
                drifted,
                device,
                owners: window.owners,
                cgroups,
                outcome,
                foreign,
                load,
                uevents: told.lines(),
                insufficient_tail: values.insufficient_tail,
                fragile_percentile: values.fragile_percentile,
            },
        }
    }

    fn members(&self, applied: Vec<Applied>) -> Vec<Member> {
        let disks = &self.disks.members;
        if disks.len() == 1 {
            return Vec::new();
        }
        let members = disks.iter().zip(applied);
        members
            .map(|(disk, applied)| Member {
                device: disk.name.clone(),
                applied,
            })
            .collect()
    }

    fn measure(&mut self, planned: &PlannedRound, arm: &Arm) -> Result<Measured> {
        let files = TemporaryFiles::create(self.journal, "round")?;
        self.uevents.take();
        let before = self.probe.snapshot()?;
        let mut vigil = Vigil::begin();
        let mut running = self.workload.start(&workload::Round {
            device_nodes: &self.disks.nodes(),
            arm_label: &arm.label,
            index: planned.index,
            block: planned.block,
            seed: planned.workload_seed,
            ramp: self.ramp,
            time: self.time,
            directory: files.path(),
            scratch_file: self.scratch_file,
            journal: self.journal,
            launcher: self.launcher,
        })?;
        vigil.attend();
        let cgroups = running.cgroups();
        let timed = match self.workload.fixed() {
            Fixed::Work => None,
            Fixed::Time => Some(self.timed_window(&before, &cgroups, &mut *running, &mut vigil)?),
        };
        let outcome = wait_for_end(&mut *running, &mut vigil)?;
        let pause = vigil.problem();
        let whole = Interval::between(&before, &self.probe.snapshot()?)?;
        let mut told = self.uevents.take();
        let is_ours = |event: &Uevent| self.disks.stack.iter().any(|disk| event.is_of(&disk.name));
        told.events.retain(is_ours);
        Ok(Measured {
            window: timed.unwrap_or_else(|| Some(whole.clone())),
            whole,
            outcome,
            cgroups,
            pause,
            told,
        })
    }

    /// From the end of the ramp, as long as the round's time less [`GUARD`]. The clock starts with the first I/O that every
    /// control group of the workload has completed, as fio's own does. None if the workload ended early.
    fn timed_window(
        &mut self,
        before: &Snapshot,
        cgroups: &[CgroupRef],
        running: &mut dyn Running,
        vigil: &mut Vigil,
    ) -> Result<Option<Interval>> {
        let lead = Instant::now() + self.workload.lead();
        let deadline = lead + PATIENCE;
        loop {
            let so_far = Interval::between(before, &self.probe.snapshot()?)?;
            if Instant::now() >= lead && has_begun(&so_far, cgroups) {
                break;
            }
            if running.poll()?.is_some() || Instant::now() > deadline {
                return Ok(None);
            }
            interrupt::check()?;
            vigil.sleep(POLL);
        }
        let start = Instant::now() + self.ramp;
        if !sleep_beside(running, start, vigil)? {
            return Ok(None);
        }
        let earlier = self.probe.snapshot()?;
        let end = start + self.time.saturating_sub(GUARD);
        if !sleep_beside(running, end, vigil)? {
            return Ok(None);
        }
        vigil.window_ends(end);
        Ok(Some(Interval::between(&earlier, &self.probe.snapshot()?)?))
    }
}

/// Another program that has switched a disk since the arm was applied, also where it has switched back.
fn rival(disks: &[Device], applied: &[Applied], now: &[State], whole: &Interval) -> Option<String> {
    let mut all = disks.iter().zip(applied).zip(now);
    let differs = all.find_map(|((disk, applied), now)| {
        let (was, is) = (&applied.effective.active, &now.active);
        (was != is).then(|| format!("another program switched {} from {was} to {is}", disk.name))
    });
    let switched_back = || {
        let mut devices = whole.devices.iter();
        // Ours is seen by the first I/O after it.
        let device = devices.find(|device| device.edges.switches > 1)?;
        Some(format!("another program switched {} and back", device.name))
    };
    differs.or_else(switched_back)
}

/// False if the workload ended before the deadline; a fio that ends just before its time is not early.
fn sleep_beside(running: &mut dyn Running, deadline: Instant, vigil: &mut Vigil) -> Result<bool> {
    const TOLERANCE: Duration = Duration::from_millis(250);
    while Instant::now() < deadline {
        interrupt::check()?;
        if running.poll()?.is_some() {
            return Ok(deadline.saturating_duration_since(Instant::now()) < TOLERANCE);
        }
        vigil.sleep(POLL.min(deadline.saturating_duration_since(Instant::now())));
    }
    Ok(true)
}

fn has_begun(so_far: &Interval, cgroups: &[CgroupRef]) -> bool {
    let seen = |cgroup: &CgroupRef| {
        so_far
            .owners
            .iter()
            .any(|owner| owner.ios() > 0 && (!cgroup.on_bios || owner.key.cgroup_id == cgroup.id))
    };
    if cgroups.is_empty() {
        so_far.owners.iter().any(|owner| owner.ios() > 0)
    } else {
        cgroups.iter().all(seen)
    }
}

fn wait_for_end(running: &mut dyn Running, vigil: &mut Vigil) -> Result<Outcome> {
    loop {
        if let Some(outcome) = running.poll()? {
            return Ok(outcome);
        }
        interrupt::check()?;
        vigil.sleep(POLL);
    }
}

/// Nothing of the round before may reach into this one.
fn wait_until_idle(device: &Device) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let inflight = device.attribute("inflight")?;
        if inflight.split_whitespace().all(|count| count == "0") {
            return Ok(());
        }
        anyhow::ensure!(
            Instant::now() < deadline,
            "{} has requests in flight ({}) {} s after the scheduler was switched; something else is using it",
            device.name,
            inflight.trim(),
            PATIENCE.as_secs()
        );
        interrupt::check()?;
        std::thread::sleep(POLL);
    }
}
