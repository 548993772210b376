//! The turns of a rotation: the next one, a pause, the end, and what the rounds say.

use std::time::Instant;

use anyhow::Result;
use iosched_experiment::round::refuse_a_long_stop;

use super::{SETTLE, Work};
use crate::ui::sampling::rotation::TimedRotation;
use crate::ui::sampling::sample::SamplerReport;

impl Work {
    pub(super) fn next_round(&mut self) -> Result<()> {
        self.sample()?;
        if self.ends_for_a_rival()? {
            return Ok(());
        }
        let Some(mut rotation) = self.rotation.take() else {
            return Ok(());
        };
        let outcome = self.turn_of(&mut rotation);
        // Whatever went wrong, its rounds are not lost.
        self.rotation = Some(rotation);
        if outcome? {
            return Ok(());
        }
        self.stop_rotating()
    }

    /// From one turn to the next; false if there is none.
    fn turn_of(&mut self, rotation: &mut TimedRotation) -> Result<bool> {
        let device = rotation.device();
        let end = self.reader.last_snapshot();
        let why = self.reader.end_blame(device)?;
        rotation.end(end, self.reader.device(device), self.reader.names(), why)?;
        (self.report)(SamplerReport::Score(Box::new(rotation.score(&self.metric))));
        if let Err(error) = rotation.save_now_and_then() {
            self.say(format!("saving the rounds: {error:#}"));
        }
        if rotation.why_none_counts().is_some() {
            return Ok(false);
        }
        let Some((arm, settle)) = rotation.next_turn() else {
            return Ok(false);
        };
        let applied = self.flip(device, &arm, true, settle)?;
        let disk = self.reader.device(device).clone();
        refuse_a_long_stop(std::slice::from_ref(&applied), std::slice::from_ref(&disk))?;
        let now = Instant::now();
        rotation.flipped(applied, now + settle);
        (self.report)(SamplerReport::Rotating(Some(rotation.progress(now))));
        Ok(true)
    }

    /// While it is paused, the settings from before the rotation are in force.
    pub(super) fn pause_or_go_on(&mut self) -> Result<()> {
        self.sample()?;
        let Some(rotation) = &mut self.rotation else {
            return Ok(());
        };
        if rotation.is_paused() {
            rotation.go_on();
            return self.next_round();
        }
        self.reader.end_blame(rotation.device())?;
        let (end, disk) = (
            self.reader.last_snapshot(),
            self.reader.device(rotation.device()),
        );
        rotation.pause(end, disk, self.reader.names())?;
        let (device, before) = (rotation.device(), rotation.before().clone());
        let progress = rotation.progress(Instant::now());
        let score = rotation.score(&self.metric);
        (self.report)(SamplerReport::Rotating(Some(progress)));
        (self.report)(SamplerReport::Score(Box::new(score)));
        self.flip(device, &before, true, SETTLE)?;
        Ok(())
    }

    pub(super) fn stop_rotating(&mut self) -> Result<()> {
        let (text, outcome) = self.end_rotation();
        self.say(text);
        outcome
    }

    /// Restores the arm that was in force before the rotation, and keeps its rounds. Returns what to say.
    pub(super) fn end_rotation(&mut self) -> (String, Result<()>) {
        let Some(rotation) = &self.rotation else {
            return (String::new(), Ok(()));
        };
        let (device, before) = (rotation.device(), rotation.before().clone());
        let outcome = self.flip(device, &before, true, SETTLE).map(drop);
        (self.keep_rotation(), outcome)
    }

    /// Saves the rounds. Returns what to say.
    pub(super) fn keep_rotation(&mut self) -> String {
        let Some(mut rotation) = self.rotation.take() else {
            return String::new();
        };
        (self.report)(SamplerReport::Rotating(None));
        // What its last window kept for it goes with it.
        let device = rotation.device();
        if let Err(error) = self.reader.end_blame(device) {
            self.say(format!("{error:#}"));
        }
        let rounds = rotation.rounds();
        let why = match rotation.why_none_counts() {
            Some(why) => format!(", of which none counts: {why}"),
            None => String::new(),
        };
        let text = match rotation.save() {
            Ok(Some(path)) => {
                // Its directory was told at the beginning, and is again at the end.
                let name = path.file_name().unwrap_or_default().display();
                format!("rotation ended after {rounds} rounds{why}; written: {name}")
            }
            Ok(None) => "rotation ended before its first round".to_owned(),
            Err(error) => format!("rotation ended after {rounds} rounds{why}; {error:#}"),
        };
        let finished = &mut self.reader.finished;
        finished.retain(|other| other.device() != device);
        finished.push(rotation);
        text
    }

    /// The rotation of a device that runs, or else its last one.
    fn rotation_of(&mut self, device: usize) -> Option<&mut TimedRotation> {
        let all = self.rotation.iter_mut().chain(&mut self.reader.finished);
        all.into_iter().find(|rotation| rotation.device() == device)
    }

    /// By another metric, or with another arm.
    pub(super) fn compare(&mut self, device: usize, metric: String, reference: usize) {
        let score = self.rotation_of(device).map(|rotation| {
            rotation.compare_with(reference);
            rotation.score(&metric)
        });
        self.metric = metric;
        if let Some(score) = score {
            (self.report)(SamplerReport::Score(Box::new(score)));
        }
    }

    /// A file that cannot be written does not end the rotation.
    pub(super) fn export(&mut self, device: usize) {
        let saved = self.rotation_of(device).map(TimedRotation::save);
        self.say(match saved {
            None | Some(Ok(None)) => "there are no rounds to export: start a rotation".to_owned(),
            Some(Ok(Some(path))) => format!("written: {}", path.display()),
            Some(Err(error)) => format!("{error:#}"),
        });
    }
}
