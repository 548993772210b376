//! A saved queue and how to restore it. Runs in processes that are about to end and in those that clean up after
//! others: it continues after an error and reports what it could not restore.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::queue_file::{refuse_stuck, write};
use super::read_back::jiffy_ns;
use super::state::{self, Choice, choice};
use super::value::{self, Acceptance};
use super::{ASYNC_DEPTH, NONE, NR_REQUESTS, WBT_LAT_USEC, is_of_scheduler};
use crate::system::cgroup::group_file;
use crate::system::cgroup::setting::SavedGroup;
use crate::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::{DepthSource, HardwareDepth};

/// The smallest `nr_requests` that the kernel accepts.
const MIN_REQUESTS: u32 = 4;

/// Everything that a comparison may change in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQueue {
    pub device: String,
    /// Used to leave alone another disk that got the same name.
    pub diskseq: Option<u64>,
    /// Identifies the disk where the kernel has no `diskseq`.
    #[serde(default)]
    pub serial: Option<String>,
    pub active: String,
    pub settings: BTreeMap<String, String>,
    pub hardware_depth: Option<HardwareDepth>,
    /// The attributes that the arms set; between two arms they return to the value saved here.
    pub set_by_arms: BTreeSet<String>,
    /// What control groups have for this disk under its scheduler, which the kernel forgets when that is switched away.
    #[serde(default)]
    pub of_groups: Vec<SavedGroup>,
    /// Some arm writes `nr_requests` under `none`. Only matters where the true depth cannot be read.
    pub resized_by_arms: bool,
}

impl SavedQueue {
    /// Saves the current queue, with the attributes that these arms will change.
    pub fn take(device: &Device, arms: &[Arm]) -> Result<Self> {
        let state = state::read(device)?;
        let mut saved = SavedQueue {
            device: device.name.clone(),
            diskseq: device.diskseq,
            serial: device.serial(),
            of_groups: group_file::of_scheduler(device, &state.active)?,
            active: state.active,
            settings: state.settings,
            hardware_depth: state.hardware_depth,
            set_by_arms: BTreeSet::new(),
            resized_by_arms: false,
        };
        for arm in arms {
            saved.admit(arm);
        }
        saved.trust_nr_requests_over_nr_tags(device.reserved_tags());
        Ok(saved)
    }

    /// This arm will change attributes, too.
    pub fn admit(&mut self, arm: &Arm) {
        let names = arm.queue_settings().map(|(name, _)| name.to_owned());
        self.set_by_arms.extend(names);
        self.resized_by_arms |= arm.scheduler == NONE && arm.setting(NR_REQUESTS).is_some();
    }

    /// Whether `device` is the saved disk, and not another one with its name.
    pub fn is_of(&self, device: &Device) -> bool {
        let same_serial = || match (&self.serial, device.serial()) {
            (Some(then), Some(now)) => *then == now,
            _ => true,
        };
        self.device == device.name && self.diskseq == device.diskseq && same_serial()
    }

    /// Without debugfs, `nr_requests` under `none` is the better estimate: it shows a resize as long as `none` stays
    /// active.
    fn trust_nr_requests_over_nr_tags(&mut self, reserved: u32) {
        let shown = self.nr_requests();
        if let (NONE, Some(shown), Some(depth)) = (&*self.active, shown, &mut self.hardware_depth)
            && depth.source == DepthSource::NrTags
        {
            depth.depth = shown.saturating_sub(reserved);
        }
    }

    fn nr_requests(&self) -> Option<u32> {
        self.settings.get(NR_REQUESTS)?.parse().ok()
    }

    /// Settings of `queue/` that another arm may have changed and that this arm does not set. A switch resets
    /// `nr_requests` and `async_depth`; `wbt_lat_usec` must not be written unless asked for, and `preflight` ensures that
    /// either all arms set it or none.
    pub(super) fn left_by_others<'a>(
        &'a self,
        arm: &'a Arm,
    ) -> impl Iterator<Item = (&'a str, &'a String)> {
        self.set_by_arms
            .iter()
            .filter(|name| !is_of_scheduler(name))
            .filter(|name| ![NR_REQUESTS, ASYNC_DEPTH, WBT_LAT_USEC].contains(&name.as_str()))
            .filter(|name| arm.setting(name).is_none())
            .filter_map(|name| Some((name.as_str(), self.settings.get(name)?)))
    }

    /// Restores the driver's depth. May leave `none` active.
    pub(super) fn put_back_depth(&self, device: &Device) -> Result<()> {
        let Some(saved) = self.hardware_depth else {
            return Ok(());
        };
        let is_known = |depth: HardwareDepth| depth.source == DepthSource::Debugfs;
        let now = device.hardware_depth();
        match now.filter(|now| is_known(*now) && is_known(saved)) {
            Some(now) if now.depth == saved.depth => return Ok(()),
            None if !self.resized_by_arms => return Ok(()),
            _ => {}
        }
        let nr_requests = saved.depth.saturating_add(device.reserved_tags());
        resize(device, nr_requests)?;
        match device.hardware_depth().filter(|now| is_known(*now)) {
            Some(now) if now.depth != saved.depth => Err(Failure::runtime(
                format!(
                    "{}: the hardware depth is {}, it was {}",
                    device.name, now.depth, saved.depth
                ),
                format!(
                    "under none, write a number next to {} and then {0} itself to {}",
                    nr_requests,
                    device.sysfs("queue/nr_requests").display()
                ),
            )),
            _ => Ok(()),
        }
    }

    fn differing<'a>(
        &'a self,
        now: &BTreeMap<String, String>,
        skip: Option<&str>,
    ) -> Vec<(&'a str, &'a str)> {
        let mut differing: Vec<(&str, &str)> = self
            .settings
            .iter()
            .filter(|(name, value)| now.get(*name) != Some(*value) && Some(name.as_str()) != skip)
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        differing.sort_by_key(|(name, _)| (is_of_scheduler(name), *name != NR_REQUESTS));
        differing
    }
}

/// The kernel ignores a write of the value that it shows, whatever the true depth: write a neighbouring value first.
fn resize(device: &Device, nr_requests: u32) -> Result<()> {
    if choice(device)?.active != NONE {
        write(device, "scheduler", NONE)?;
    }
    let neighbour = if nr_requests > MIN_REQUESTS {
        nr_requests - 1
    } else {
        nr_requests + 1
    };
    write(device, NR_REQUESTS, &neighbour.to_string())?;
    write(device, NR_REQUESTS, &nr_requests.to_string()).map(drop)
}

/// Makes the true depth equal to `nr_requests` under `none`: a write of the value shown was ignored, whatever the true
/// depth.
pub(super) fn make_depth_true(device: &Device) -> Result<()> {
    let shown: u32 = device.attribute("queue/nr_requests")?.parse()?;
    match device.hardware_depth() {
        Some(now)
            if now.source == DepthSource::NrTags
                || now.depth.saturating_add(device.reserved_tags()) != shown =>
        {
            resize(device, shown)
        }
        _ => Ok(()),
    }
}

/// Restores a queue; writes only what differs. Succeeds also if the disk is gone or another one has its name. The error
/// lists everything that could not be restored.
pub fn restore(saved: &SavedQueue) -> Result<()> {
    let Some(device) = Device::by_name(&saved.device)? else {
        return Ok(());
    };
    if !saved.is_of(&device) {
        return Ok(());
    }
    refuse_stuck(&device)?;
    let mut problems = Vec::new();
    let mut keep = |result: Result<()>| {
        if let Err(error) = result {
            problems.push(format!("{error:#}"));
        }
    };
    // Depth and scheduler come before the settings, because each switch resets those.
    keep(saved.put_back_depth(&device));
    keep(put_back_scheduler(&device, saved));
    keep(put_back_settings(&device, saved));
    for group in &saved.of_groups {
        keep(group.restore());
    }
    if problems.is_empty() || !device.is_present() {
        return Ok(());
    }
    Err(Failure::runtime(
        format!(
            "{} could not be restored completely: {}",
            saved.device,
            problems.join("; ")
        ),
        format!(
            "restore the rest by hand below {}",
            device.sysfs("queue").display()
        ),
    ))
}

fn put_back_scheduler(device: &Device, saved: &SavedQueue) -> Result<()> {
    if choice(device)?.active != saved.active {
        write(device, "scheduler", &saved.active)?;
    }
    if saved.active == NONE {
        put_back_nr_requests_of_none(device, saved)?;
    }
    let Choice { active, .. } = choice(device)?;
    anyhow::ensure!(
        active == saved.active,
        "the scheduler is {active}, it was {}",
        saved.active
    );
    Ok(())
}

/// Under `none` a write of `nr_requests` also sets the depth. If the saved number was not the true depth, it was the
/// default that a switch to `none` shows, and only a switch restores it.
fn put_back_nr_requests_of_none(device: &Device, saved: &SavedQueue) -> Result<()> {
    if let Some(text) = saved.settings.get(NR_REQUESTS) {
        anyhow::ensure!(
            saved.nr_requests().is_some(),
            "{NR_REQUESTS} was {text:?}, which is no number of requests"
        );
    }
    let (Some(wanted), Some(depth)) = (saved.nr_requests(), saved.hardware_depth) else {
        return Ok(());
    };
    let shows_wanted =
        || -> Result<bool> { Ok(device.attribute("queue/nr_requests")? == wanted.to_string()) };
    if shows_wanted()? {
        return Ok(());
    }
    if wanted == depth.depth.saturating_add(device.reserved_tags()) {
        return write(device, NR_REQUESTS, &wanted.to_string()).map(drop);
    }
    if let Some(other) = choice(device)?.other_than(NONE) {
        write(device, "scheduler", other)?;
        write(device, "scheduler", NONE)?;
    }
    anyhow::ensure!(
        shows_wanted()?,
        "nr_requests under none could not be restored to {wanted}"
    );
    Ok(())
}

pub fn put_back_settings(device: &Device, saved: &SavedQueue) -> Result<()> {
    // `put_back_depth` handles it together with the depth.
    let skip = (saved.active == NONE && saved.hardware_depth.is_some()).then_some(NR_REQUESTS);
    let mut refused: BTreeMap<&str, String> = BTreeMap::new();
    // Some attributes are views of the same value (slice_idle, slice_idle_us) or depend on another one (async_depth):
    // up to three passes.
    for _ in 0..3 {
        let differing = saved.differing(&state::settings(device)?, skip);
        if differing.is_empty() {
            return Ok(());
        }
        for (name, value) in differing {
            match write(device, name, value) {
                Ok(_) => refused.remove(name),
                Err(error) => refused.insert(name, format!("{error:#}")),
            };
        }
    }
    let now = state::settings(device)?;
    let left: Vec<String> = saved
        .differing(&now, skip)
        .into_iter()
        .filter(|(name, was)| {
            now.get(*name).is_none_or(|found| {
                value::acceptance(name, was, found, jiffy_ns()) == Acceptance::Not
            })
        })
        .map(|(name, was)| match (refused.get(name), now.get(name)) {
            (Some(error), _) => error.clone(),
            (None, Some(found)) => format!("{name} is {found}, it was {was}"),
            (None, None) => format!("{name} is gone, it was {was}"),
        })
        .collect();
    anyhow::ensure!(left.is_empty(), "{}", left.join("; "));
    Ok(())
}

#[cfg(test)]
#[path = "saved_tests.rs"]
mod tests;
