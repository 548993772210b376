//! Preparation of a live run, and checks between its rounds.

use std::time::Duration;

use anyhow::Result;

use super::{Experiment, Observer};
use crate::live::guard::Guard;
use crate::live::memory;
use crate::machine::Machine;
use crate::round::waiting::idle_until;
use crate::round::{LiveRounds, RoundSetup};
use iosched_result::failure::Failure;
use iosched_result::types::live::{LiveDesign, Watched};
use iosched_result::types::result::ResultFile;

impl Experiment<'_> {
    /// Determines the length of the rounds from the load, unless the user gave one, and whether the metrics of the application
    /// say anything.
    pub(super) fn watch_load(
        &self,
        machine: &mut dyn Machine,
        result: &mut ResultFile,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let application = self.workload.application();
        let given = self.design.time();
        let is_wanted = given.is_zero() || application.is_some();
        let is_wanted = is_wanted && result.rounds.is_empty();
        if result.design.live.is_none() || !is_wanted {
            return Ok(());
        }
        let mut tells = |since_s, load: &Watched| observer.watches(since_s, load);
        let seen = memory::watch(machine, application, &mut tells)?;
        if given.is_zero() {
            let (time, why) = seen.window();
            result.design.round_time_s = time.as_secs_f64();
            result.notes.push(why);
        }
        let window = result.design.time();
        if let Some(live) = &mut result.design.live {
            seen.put(live, application, window)?;
        }
        observer.watched(result);
        Ok(())
    }

    pub(super) fn live_rounds(&self) -> Result<Option<LiveRounds>> {
        let Some(live) = &self.design.live else {
            return Ok(None);
        };
        let stop_if = live.stop_if.as_deref().map(str::parse).transpose()?;
        Ok(Some(LiveRounds {
            reference: self.design.reference,
            stop_if: stop_if.map(Guard::new),
            only_when: live.only_when.as_deref().map(str::parse).transpose()?,
            iops: None,
            reference_waits: false,
        }))
    }
}

/// Outside the hours of `--between`, puts the reference in force and waits a while. False: a round may begin.
pub(super) fn waited(
    live: Option<&LiveDesign>,
    bench: &mut RoundSetup<'_>,
    observer: &mut dyn Observer,
) -> Result<bool> {
    const SLICE: Duration = Duration::from_secs(60);
    let Some(between) = live.and_then(|live| live.between) else {
        return Ok(false);
    };
    let wait = between.wait(bench.machine.local_time());
    if wait.is_zero() {
        return Ok(false);
    }
    bench.put_reference_in_force()?;
    observer.waits(&format!("rounds begin between {between}"));
    let until = bench.machine.now() + wait.min(SLICE);
    idle_until(bench.machine, until)?;
    Ok(true)
}

/// Ends the run if the condition held under the reference, since it then does not distinguish arms.
pub(super) fn stopped_reference(result: &ResultFile) -> Result<()> {
    let reference = result.design.reference;
    if !result.stopped_arms().contains(&reference) {
        return Ok(());
    }
    let problem = result.rounds.last().and_then(|round| round.problem.clone());
    Err(Failure::invalid(
        format!(
            "{} under the reference {}: the condition does not distinguish the arms",
            problem.unwrap_or_default(),
            result.design.arms[reference].label
        ),
        "choose a limit that is not reached under the present settings",
    ))
}
