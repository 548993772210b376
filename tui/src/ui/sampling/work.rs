//! The thread's loop: it waits for requests and deadlines, samples, switches, and ends rounds.

mod flip;
mod turns;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Result;
use iosched_host::safety::privileges;
use iosched_host::system::device::Device;
use iosched_measure::history::blocks::Blocks;
use iosched_measure::probe::Detail;
use iosched_result::failure::{Kind, kind_of};
use iosched_result::types::arm::Arm;

use super::Setup;
use crate::ui::sampling::control::Control;
use crate::ui::sampling::devices;
use crate::ui::sampling::read::Reader;
use crate::ui::sampling::request::{Request, Wanted};
use crate::ui::sampling::rotation::{self, Step, TimedRotation};
use crate::ui::sampling::sample::{Flip, Sample, SamplerReport};

/// Time for a new scheduler to settle; until then nothing counts.
const SETTLE: Duration = Duration::from_secs(1);
/// The first sample comes early, whatever the interval.
const FIRST: Duration = Duration::from_millis(250);
/// From this interval on, percentiles are always read, because waiting two intervals for them takes too long.
const LONG: Duration = Duration::from_secs(1);

pub(super) struct Work {
    reader: Reader,
    arms: Vec<Vec<Arm>>,
    named_arms: Vec<String>,
    interval: Duration,
    /// Data for the present screen.
    wanted: Wanted,
    next: Instant,
    rotation: Option<TimedRotation>,
    /// The metric that the user looks at.
    metric: String,
    directory: PathBuf,
    /// None: no interval is kept.
    blocks: Option<Blocks>,
    /// Our switches since the last sample.
    flips: Vec<Flip>,
    /// Description of a switch by another program during the rotation.
    rival: Option<String>,
    control: Control,
    report: Box<dyn Fn(SamplerReport)>,
}

impl Work {
    pub(super) fn new(setup: Setup, report: Box<dyn Fn(SamplerReport)>) -> Self {
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
        let deepest = deepest.unwrap_or(0);
        let attached = devices::attach(&setup.devices, setup.were_named, deepest, detail);
        let (probe, attached) = match attached {
            Ok(probe) => {
                let notes = probe.notes();
                (
                    Some(probe),
                    SamplerReport::Attached {
                        notes,
                        refused: None,
                    },
                )
            }
            Err(error) => {
                let hint = match kind_of(&error) {
                    Kind::Refused => String::new(),
                    _ => "\n  `iosched doctor` may show the cause".to_owned(),
                };
                let refused = Some(format!("{error:#}{hint}"));
                (
                    None,
                    SamplerReport::Attached {
                        notes: Vec::new(),
                        refused,
                    },
                )
            }
        };
        report(attached);
        let given_up = privileges::keep_those_of_switching();
        if let Err(error) = given_up {
            report(SamplerReport::Said(format!("{error:#}")));
        }
        Work {
            reader: Reader::new(setup.devices, setup.were_named, probe, setup.labels),
            arms: setup.arms,
            named_arms: setup.named_arms,
            interval: setup.interval,
            wanted: Wanted {
                order: false,
                why: false,
                why_of_arms: false,
                owner_histograms: true,
            },
            next: Instant::now() + FIRST.min(setup.interval),
            rotation: None,
            metric: String::new(),
            directory: setup.directory,
            blocks: setup.has_history.then(Blocks::default),
            flips: Vec::new(),
            rival: None,
            control: setup.control,
            report,
        }
    }

    pub(super) fn run(mut self, inbox: &Receiver<Request>) -> Vec<Result<String>> {
        loop {
            let rotation = self.rotation.as_ref();
            let rotation = rotation.and_then(|rotation| rotation.deadline(Instant::now()));
            let deadline = [Some(self.next), self.reader.settled_at(), rotation]
                .into_iter()
                .flatten()
                .min();
            let wait = deadline.map_or(self.interval, |at| {
                at.saturating_duration_since(Instant::now())
            });
            let outcome = match inbox.recv_timeout(wait) {
                Ok(effect) => self.answer(effect),
                Err(RecvTimeoutError::Timeout) => self.turn(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = outcome {
                let mut texts = vec![format!("{error:#}")];
                if self.rotation.is_some() {
                    let (kept, restored) = self.end_rotation();
                    texts.push(kept);
                    texts.extend(restored.err().map(|error| format!("{error:#}")));
                }
                self.say(texts.join("; "));
            }
        }
        let mut lines = self.control.put_back();
        let mut ended = std::mem::take(&mut self.reader.finished);
        if let Some(mut rotation) = self.rotation {
            lines.extend(rotation.save().err().map(Err));
            ended.retain(|other| other.device() != rotation.device());
            ended.push(rotation);
        }
        let written = ended.iter().filter_map(TimedRotation::written);
        lines.extend(written.map(|path| Ok(format!("written: {}", path.display()))));
        let decisions = ended.iter().filter_map(TimedRotation::decision);
        lines.extend(decisions.map(Ok));
        lines
    }

    fn say(&self, text: String) {
        (self.report)(SamplerReport::Said(text));
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
            .filter(|rotation| rotation.deadline(now).is_some_and(|at| at <= now))
        else {
            return Ok(());
        };
        match rotation.step() {
            Step::Begin => {
                let start = self.reader.begin_window(self.wanted.why_of_arms);
                rotation.begin(start, now);
                Ok(())
            }
            Step::Flip => self.next_round(),
        }
    }

    /// Two programs that switch a disk at the same moment can crash the kernel, so the rotation stops.
    fn ends_for_a_rival(&mut self) -> Result<bool> {
        let (Some(rival), Some(rotation)) = (self.rival.take(), &self.rotation) else {
            return Ok(false);
        };
        // In a pause the settings are the user's again, and another program may change them.
        let (kept, outcome) = if rotation.is_paused() {
            (self.keep_rotation(), Ok(()))
        } else {
            self.end_rotation()
        };
        self.say(format!("{rival}: the rotation was stopped; {kept}"));
        outcome?;
        Ok(true)
    }

    /// Expensive data is read only for the screens that show it. Percentiles of processes are then available from the
    /// second interval on; with long intervals they are always read.
    fn wanted(&self) -> Wanted {
        Wanted {
            order: self.wanted.order,
            why: self.wanted.why,
            why_of_arms: self.wanted.why_of_arms,
            owner_histograms: self.wanted.owner_histograms
                || self.rotation.is_some()
                || self.interval >= LONG,
        }
    }

    fn sample(&mut self) -> Result<()> {
        let mut frame = self.reader.read(self.wanted())?;
        for added in self.reader.take_added() {
            match added {
                Ok((place, device)) => self.add(place, &device),
                Err(error) => self.say(format!("{error:#}")),
            }
        }
        for flip in &frame.flips {
            if let Some(rotation) = self
                .rotation
                .as_mut()
                .filter(|rotation| rotation.device() == flip.device)
            {
                let rival = format!("another program switched {} to {}", flip.from, flip.to);
                rotation.disturb(rival.clone());
                self.rival = Some(rival);
            }
            (self.report)(SamplerReport::Flipped(flip.clone()));
        }
        frame.flips.splice(0..0, self.flips.drain(..));
        let blocks = match &mut self.blocks {
            Some(blocks) => blocks.add(&frame)?,
            None => Vec::new(),
        };
        let sample = Sample::of(frame, self.reader.by_cgroup);
        (self.report)(SamplerReport::Sample(Box::new(sample), blocks));
        let now = Instant::now();
        if let Some(rotation) = &self.rotation {
            (self.report)(SamplerReport::Rotating(Some(rotation.progress(now))));
        }
        if self.next > now {
            // An extra sample: the next interval starts here, so that none is too short.
            self.next = now + self.interval;
        }
        while self.next <= now {
            self.next += self.interval;
        }
        Ok(())
    }

    /// A disk that appeared. One of its name was there before: what is known of that one is not of this one.
    fn add(&mut self, place: usize, device: &Device) {
        let arms = devices::arms(device, &self.named_arms).unwrap_or_default();
        devices::put(&mut self.arms, place, arms);
        let disk = devices::disk(device);
        (self.report)(SamplerReport::Added { place, disk });
        let rotation = self.rotation.as_ref();
        if rotation.is_some_and(|rotation| rotation.device() == place) {
            let kept = self.keep_rotation();
            self.say(format!(
                "the disk was replaced by another one: the rotation was stopped; {kept}"
            ));
        }
        let finished = &mut self.reader.finished;
        finished.retain(|rotation| rotation.device() != place);
    }

    fn answer(&mut self, request: Request) -> Result<()> {
        let switches = matches!(request, Request::Flip { .. } | Request::Rotate { .. });
        if switches && self.rotation.is_some() {
            self.say("a rotation is running; stop it first".to_owned());
            return Ok(());
        }
        match request {
            Request::Interval(seconds) => {
                self.interval = Duration::from_secs_f64(seconds);
                self.next = Instant::now() + self.interval;
            }
            Request::ByCgroup(by_cgroup) => self.reader.by_cgroup = by_cgroup,
            Request::Read(wanted) => self.wanted = wanted,
            Request::Flip {
                device,
                arm,
                put_back,
            } => {
                let arm = self.arm(device, &arm)?;
                self.sample()?;
                self.flip(device, &arm, put_back, SETTLE)?;
                // Shows the new scheduler at once.
                self.sample()?;
            }
            Request::Rotate {
                device,
                arms,
                reference,
                seconds,
                programs,
            } => {
                // Its scores would be taken for those of this one.
                self.reader
                    .finished
                    .retain(|rotation| rotation.device() != device);
                let before = self.present(device, self.reader.label(device))?;
                let design = rotation::Chosen {
                    arms: arms
                        .iter()
                        .map(|label| self.arm(device, label))
                        .collect::<Result<_>>()?,
                    reference,
                    seconds,
                    programs,
                    directory: self.directory.clone(),
                    before,
                };
                let rotation = TimedRotation::new(device, design, self.reader.probe(device)?);
                (self.report)(SamplerReport::Rotating(Some(
                    rotation.progress(Instant::now()),
                )));
                self.rotation = Some(rotation);
                self.next_round()?;
            }
            Request::Compare {
                device,
                metric,
                reference,
            } => {
                self.compare(device, metric, reference);
            }
            Request::PauseRotation => self.pause_or_go_on()?,
            Request::StopRotating => {
                self.sample()?;
                self.stop_rotating()?;
            }
            Request::ExportComparison(device) => {
                self.export(device);
            }
        }
        Ok(())
    }
}
