//! The thread that owns the probe: takes samples, flips schedulers, and keeps the time of a rotation.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use iosched::arm::Arm;
use iosched::device::Device;
use iosched::failure::{Kind, kind_of};
use iosched::privileges;
use iosched::probe::{Detail, Probe};
use iosched::scheduler;

use super::action::Screen;
use super::control::Control;
use super::read::{Reader, Wanted};
use super::rotation::{self, Rotation, Step};
use super::sample::{Flip, Report};
use super::update::Effect;

/// What a new scheduler needs before it counts.
const SETTLE: Duration = Duration::from_secs(1);
/// The first sample comes soon, whatever the interval.
const FIRST: Duration = Duration::from_millis(250);
/// Nobody should have to wait two such intervals for what a screen shows.
const LONG: Duration = Duration::from_secs(1);

/// What it starts with.
pub struct Setup {
    pub devices: Vec<Device>,
    /// All that may be applied.
    pub arms: Vec<Vec<Arm>>,
    pub interval: Duration,
    /// Whether to measure since the program asked, too.
    pub asked: bool,
    pub control: Control,
    /// Of control groups, by id.
    pub labels: Vec<(u64, String)>,
}

/// Dropping it ends the thread, after everything was put back.
pub struct Sampler {
    requests: Option<Sender<Effect>>,
    thread: Option<JoinHandle<Vec<Result<String>>>>,
}

impl Sampler {
    pub fn start(setup: Setup, report: impl Fn(Report) + Send + 'static) -> Self {
        let (requests, inbox) = channel();
        let thread = std::thread::spawn(move || Work::new(setup, Box::new(report)).run(&inbox));
        Sampler {
            requests: Some(requests),
            thread: Some(thread),
        }
    }

    /// False: the thread has ended.
    pub fn request(&self, effect: Effect) -> bool {
        self.requests
            .as_ref()
            .is_some_and(|requests| requests.send(effect).is_ok())
    }

    /// What was put back, line by line.
    pub fn end(mut self) -> Vec<Result<String>> {
        self.join()
    }

    fn join(&mut self) -> Vec<Result<String>> {
        self.requests = None;
        let panicked = |_| vec![Err(anyhow::anyhow!("the sampling thread has panicked"))];
        self.thread
            .take()
            .map_or_else(Vec::new, |thread| thread.join().unwrap_or_else(panicked))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
    }
}

struct Work {
    reader: Reader,
    arms: Vec<Vec<Arm>>,
    interval: Duration,
    /// What is looked at.
    screen: Screen,
    next: Instant,
    rotation: Option<Rotation>,
    /// Another program that switched the disk under the rotation.
    rival: Option<String>,
    control: Control,
    report: Box<dyn Fn(Report)>,
}

impl Work {
    fn new(setup: Setup, report: Box<dyn Fn(Report)>) -> Self {
        let arms = setup.arms.iter().flatten();
        let deepest = arms
            .filter_map(|arm| arm.setting("nr_requests")?.parse().ok())
            .max();
        let detail = Detail {
            order: true,
            fairness: true,
            asked: setup.asked,
            ..Detail::default()
        };
        let (probe, attached) = match Probe::attach(&setup.devices, deepest.unwrap_or(0), detail) {
            Ok(probe) => {
                let notes = probe.notes();
                (
                    Some(probe),
                    Report::Attached {
                        notes,
                        refused: None,
                    },
                )
            }
            Err(error) => {
                let hint = match kind_of(&error) {
                    Kind::Refused => String::new(),
                    _ => "\n  `iosched stat` may say more".to_owned(),
                };
                let refused = Some(format!("{error:#}{hint}"));
                (
                    None,
                    Report::Attached {
                        notes: Vec::new(),
                        refused,
                    },
                )
            }
        };
        report(attached);
        let given_up = privileges::keep_those_of_switching();
        if let Err(error) = given_up {
            report(Report::Said(format!("{error:#}")));
        }
        Work {
            reader: Reader::new(setup.devices, probe, setup.labels),
            arms: setup.arms,
            interval: setup.interval,
            screen: Screen::Overview,
            next: Instant::now() + FIRST.min(setup.interval),
            rotation: None,
            rival: None,
            control: setup.control,
            report,
        }
    }

    fn run(mut self, inbox: &Receiver<Effect>) -> Vec<Result<String>> {
        loop {
            let rotation = self.rotation.as_ref().map(Rotation::deadline);
            let deadline = [Some(self.next), self.reader.settled_at(), rotation]
                .into_iter()
                .flatten()
                .min();
            let wait = deadline.map_or(self.interval, |at| {
                at.saturating_duration_since(Instant::now())
            });
            let outcome = match inbox.recv_timeout(wait) {
                Ok(effect) => self.carry_out(effect),
                Err(RecvTimeoutError::Timeout) => self.turn(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = outcome {
                self.say(format!("{error:#}"));
                if self.rotation.take().is_some() {
                    (self.report)(Report::Rotating(None));
                }
            }
        }
        self.control.put_back()
    }

    fn say(&self, text: String) {
        (self.report)(Report::Said(text));
    }

    fn turn(&mut self) -> Result<()> {
        let now = Instant::now();
        let is_settled = self.reader.settled_at().is_some_and(|at| at <= now);
        if is_settled || now >= self.next {
            self.sample()?;
        }
        if self.ends_for_a_rival()? {
            return Ok(());
        }
        let Some(rotation) = self
            .rotation
            .as_mut()
            .filter(|rotation| rotation.deadline() <= now)
        else {
            return Ok(());
        };
        match rotation.step() {
            Step::Begin => {
                let start = self.reader.last_snapshot();
                rotation.begin(start, now);
                Ok(())
            }
            Step::Flip => self.next_round(),
        }
    }

    /// Two that switch a disk at the same moment can crash the kernel: there is no fight.
    fn ends_for_a_rival(&mut self) -> Result<bool> {
        let (Some(rival), Some(_)) = (self.rival.take(), &self.rotation) else {
            return Ok(false);
        };
        self.stop_rotating()?;
        self.say(format!("{rival}: the rotation has ended"));
        Ok(true)
    }

    /// Nothing is read that nobody looks at. Screens that show percentiles of processes have them from the second
    /// interval on; where intervals are long that would be too late.
    fn wanted(&self) -> Wanted {
        Wanted {
            order: self.screen == Screen::Order,
            owner_histograms: matches!(self.screen, Screen::Overview | Screen::Processes)
                || self.rotation.is_some()
                || self.interval >= LONG,
        }
    }

    fn sample(&mut self) -> Result<()> {
        let (sample, flips) = self.reader.sample(self.wanted())?;
        for flip in flips {
            if let Some(rotation) = self
                .rotation
                .as_mut()
                .filter(|rotation| rotation.device() == flip.device)
            {
                let rival = format!("somebody else switched {} to {}", flip.from, flip.to);
                rotation.disturb(rival.clone());
                self.rival = Some(rival);
            }
            (self.report)(Report::Flipped(flip));
        }
        (self.report)(Report::Sample(Box::new(sample)));
        let now = Instant::now();
        if self.next > now {
            // Out of turn: the next interval begins here, so that none is too short to be worth its snapshot.
            self.next = now + self.interval;
        }
        while self.next <= now {
            self.next += self.interval;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<()> {
        match effect {
            Effect::Interval(seconds) => {
                self.interval = Duration::from_secs_f64(seconds);
                self.next = Instant::now() + self.interval;
            }
            Effect::ByCgroup(by_cgroup) => self.reader.by_cgroup = by_cgroup,
            Effect::Show(screen) => self.screen = screen,
            Effect::Flip {
                device,
                arm,
                put_back,
            } => {
                let arm = self.arm(device, &arm)?;
                self.sample()?;
                self.flip(device, &arm, put_back, SETTLE)?;
                // The new scheduler is on the screen at once.
                self.sample()?;
            }
            Effect::Rotate {
                device,
                arms,
                reference,
                seconds,
            } => {
                let before = self.reader.label(device).to_owned();
                let design = rotation::Chosen {
                    arms: arms
                        .iter()
                        .map(|label| self.arm(device, label))
                        .collect::<Result<_>>()?,
                    reference,
                    seconds,
                    before: self.arm(device, &before)?,
                };
                let rotation = Rotation::new(device, design, self.reader.probe(device)?);
                (self.report)(Report::Rotating(Some(rotation.progress())));
                self.rotation = Some(rotation);
                self.next_round()?;
            }
            Effect::StopRotating => {
                self.sample()?;
                self.stop_rotating()?;
            }
            Effect::ExportComparison(device) => {
                let rotation = self.rotation.as_ref().or(self.reader.finished.as_ref());
                let text = match rotation.filter(|rotation| rotation.device() == device) {
                    None => "there are no rounds to export: F begins a rotation".to_owned(),
                    Some(rotation) => format!("written: {}", rotation.export()?.display()),
                };
                self.say(text);
            }
            Effect::Quit | Effect::ExportProcesses => {}
        }
        Ok(())
    }

    fn arm(&self, device: usize, label: &str) -> Result<Arm> {
        let known = self
            .arms
            .get(device)
            .and_then(|arms| arms.iter().find(|arm| arm.label == label));
        known.cloned().map_or_else(|| label.parse(), Ok)
    }

    /// The old side has ended with a sample, and the new one begins when it has settled.
    fn flip(
        &mut self,
        device: usize,
        arm: &Arm,
        put_back: bool,
        settle: Duration,
    ) -> Result<scheduler::Applied> {
        let disk = self.reader.device(device).clone();
        let from = self.reader.label(device).to_owned();
        let switched = self
            .control
            .switch(&disk, arm, &self.arms[device], put_back);
        let applied = match switched {
            Ok(applied) => applied,
            Err(error) => {
                // What was done until it failed was undone: the old scheduler, but begun afresh.
                self.reader.expect(device, &from, settle);
                return Err(error);
            }
        };
        (self.report)(Report::Modified { device, put_back });
        self.reader.expect(device, &arm.label, settle);
        (self.report)(Report::Flipped(Flip {
            device,
            time: super::read::time_of_day(),
            from,
            to: arm.label.clone(),
            by_us: true,
            switch_ns: applied.switch_ns,
            changes: applied.notes.clone(),
        }));
        Ok(applied)
    }

    fn next_round(&mut self) -> Result<()> {
        self.sample()?;
        if self.ends_for_a_rival()? {
            return Ok(());
        }
        let Some(mut rotation) = self.rotation.take() else {
            return Ok(());
        };
        let device = rotation.device();
        if let Some(round) =
            rotation.end(self.reader.last_snapshot(), self.reader.device(device))?
        {
            (self.report)(Report::Round(Box::new(round)));
        }
        let Some((arm, settle)) = rotation.next() else {
            self.rotation = Some(rotation);
            return self.stop_rotating();
        };
        match self.flip(device, &arm, true, settle) {
            Ok(applied) => {
                rotation.flipped(applied, Instant::now() + settle);
                (self.report)(Report::Rotating(Some(rotation.progress())));
                self.rotation = Some(rotation);
                Ok(())
            }
            Err(error) => {
                self.reader.finished = Some(rotation);
                (self.report)(Report::Rotating(None));
                Err(error)
            }
        }
    }

    /// What was in force before the rotation is in force after it.
    fn stop_rotating(&mut self) -> Result<()> {
        let Some(rotation) = self.rotation.take() else {
            return Ok(());
        };
        let (device, before) = (rotation.device(), rotation.before().clone());
        self.reader.finished = Some(rotation);
        let outcome = self.flip(device, &before, true, SETTLE);
        (self.report)(Report::Rotating(None));
        outcome.map(drop)
    }
}
