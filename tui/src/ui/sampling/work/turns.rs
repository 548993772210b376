//! The turns of a rotation: the next one, a pause, the end, and what the rounds say.

use std::time::Instant;

use anyhow::Result;

use super::{SETTLE, Work};
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
        let device = rotation.device();
        let end = self.reader.last_snapshot();
        rotation.end(end, self.reader.device(device), self.reader.names())?;
        (self.report)(SamplerReport::Score(Box::new(rotation.score(&self.metric))));
        if let Err(error) = rotation.save_now_and_then() {
            self.say(format!("saving the rounds: {error:#}"));
        }
        let Some((arm, settle)) = rotation.next_turn() else {
            self.rotation = Some(rotation);
            return self.stop_rotating();
        };
        match self.flip(device, &arm, true, settle) {
            Ok(applied) => {
                let now = Instant::now();
                rotation.flipped(applied, now + settle);
                (self.report)(SamplerReport::Rotating(Some(rotation.progress(now))));
                self.rotation = Some(rotation);
                Ok(())
            }
            Err(error) => {
                self.reader.finished = Some(rotation);
                (self.report)(SamplerReport::Rotating(None));
                Err(error)
            }
        }
    }

    /// While it is paused, the settings from before the rotation are in force.
    pub(super) fn pause_or_go_on(&mut self) -> Result<()> {
        self.sample()?;
        let Some(mut rotation) = self.rotation.take() else {
            return Ok(());
        };
        if rotation.is_paused() {
            rotation.go_on();
            self.rotation = Some(rotation);
            return self.next_round();
        }
        rotation.pause()?;
        let (device, before) = (rotation.device(), rotation.before().clone());
        (self.report)(SamplerReport::Rotating(Some(
            rotation.progress(Instant::now()),
        )));
        self.rotation = Some(rotation);
        self.flip(device, &before, true, SETTLE)?;
        Ok(())
    }

    /// Restores the arm that was in force before the rotation.
    pub(super) fn stop_rotating(&mut self) -> Result<()> {
        let Some(mut rotation) = self.rotation.take() else {
            return Ok(());
        };
        let (device, before) = (rotation.device(), rotation.before().clone());
        let rounds = rotation.rounds();
        let outcome = self.flip(device, &before, true, SETTLE);
        (self.report)(SamplerReport::Rotating(None));
        let saved = rotation.save();
        self.reader.finished = Some(rotation);
        self.say(match saved {
            Ok(Some(path)) => {
                format!(
                    "rotation ended after {rounds} rounds, written: {}",
                    path.display()
                )
            }
            Ok(None) => "rotation ended before its first round".to_owned(),
            Err(error) => format!("rotation ended after {rounds} rounds; {error:#}"),
        });
        outcome.map(drop)
    }

    /// By another metric, or with another arm.
    pub(super) fn compare(&mut self, device: usize, metric: String, reference: usize) {
        self.metric = metric;
        let rotation = self.rotation.as_mut().or(self.reader.finished.as_mut());
        if let Some(rotation) = rotation.filter(|rotation| rotation.device() == device) {
            rotation.compare_with(reference);
            let score = rotation.score(&self.metric);
            (self.report)(SamplerReport::Score(Box::new(score)));
        }
    }

    pub(super) fn export(&mut self, device: usize) -> Result<()> {
        let rotation = self.rotation.as_mut().or(self.reader.finished.as_mut());
        let saved = match rotation.filter(|rotation| rotation.device() == device) {
            None => None,
            Some(rotation) => rotation.save()?,
        };
        self.say(match saved {
            None => "there are no rounds to export: F starts a rotation".to_owned(),
            Some(path) => format!("written: {}", path.display()),
        });
        Ok(())
    }
}
