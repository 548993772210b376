//! Checks all preconditions before anything is changed, for new and for resumed runs, and reports the findings.

use anyhow::Result;
use iosched_experiment::workload::Workload;
use iosched_host::preflight::{self, Findings, Hold, Intent, Loss, Severity};
use iosched_host::system::device::{Disks, RawTarget};
use iosched_result::types::arm::Arm;
use iosched_result::types::scratch_place::ScratchPlace;

use crate::cli::Conditions;
use crate::consent;
use crate::place::{self, WantedPlace};
use iosched_read::messages::note;

pub struct PermissionRequest<'a> {
    pub disks: &'a Disks,
    pub arms: &'a [Arm],
    pub workload: &'a dyn Workload,
    /// Set if the workload runs on a scratch file.
    pub place: Option<&'a WantedPlace>,
    pub consent: Consent<'a>,
    /// The device is a scratch device made by iosched: no consent is needed.
    pub is_ours: bool,
    pub dry_run: bool,
}

/// Actions that the user allows.
#[derive(Clone, Copy)]
pub struct Consent<'a> {
    pub allow_mounted: bool,
    pub destroy_data: bool,
    /// The serial number or name of the disk whose data may be lost.
    pub yes_destroy: Option<&'a str>,
}

impl<'a> From<&'a Conditions> for Consent<'a> {
    fn from(conditions: &'a Conditions) -> Self {
        Consent {
            allow_mounted: conditions.allow_mounted,
            destroy_data: conditions.destroy_data,
            yes_destroy: conditions.yes_destroy.as_deref(),
        }
    }
}

/// The place or disk that the workload is allowed to write to.
#[derive(Default)]
pub struct Granted {
    /// Where the scratch file is made.
    pub place: Option<ScratchPlace>,
    /// The raw disk or partition, after its owner has confirmed.
    pub hold: Option<Hold>,
    /// Notes on what the workload does not do as it was written.
    pub notes: Vec<String>,
}

impl PermissionRequest<'_> {
    pub fn grant(&self) -> Result<Granted> {
        let writes_raw_device = self.workload.properties().writes && self.place.is_none();
        let target = &self.disks.targets[0];
        let is_asked = writes_raw_device && !self.is_ours && !self.dry_run;
        // Held open from before the first check, so that the disk that is checked, confirmed and written is the same.
        let hold = is_asked.then(|| Hold::open(target, &self.disks.stack));
        let intent = Intent {
            arms: self.arms,
            writes_raw_device,
            allow_mounted: self.consent.allow_mounted || self.is_ours,
            loss: match self.consent.destroy_data {
                _ if self.is_ours => Loss::OfNothing,
                true => Loss::Accepted,
                false => Loss::Refused,
            },
        };
        let mut findings = preflight::check_all(self.disks, &intent)?;
        findings.add_failure_of(self.workload.check())?;
        let place = match self.place {
            Some(wanted) => place::find(wanted, self.disks, &mut findings)?,
            None => None,
        };
        let notes = self.notes(place.as_ref(), &mut findings)?;
        for finding in findings.into_result()? {
            if finding.severity > Severity::Note || !self.is_ours {
                note(&finding.to_string());
            }
        }
        for text in &notes {
            note(text);
        }
        if let Some(place) = &place {
            note(&format!("the workload uses {place}"));
        }
        let hold = match hold.transpose()? {
            Some(hold) => Some(self.ask(target, hold)?),
            None => None,
        };
        Ok(Granted { place, hold, notes })
    }

    /// None, and one of the `findings`, if the workload cannot run on what it would run on.
    fn notes(&self, place: Option<&ScratchPlace>, findings: &mut Findings) -> Result<Vec<String>> {
        // A scratch file that cannot be made is a finding already.
        if self.place.is_some() && place.is_none() {
            return Ok(Vec::new());
        }
        let Some(target) = place::target(place, self.disks)? else {
            return Ok(Vec::new());
        };
        match self.workload.check_on(&target) {
            Ok(notes) => Ok(notes),
            Err(error) => findings.add_failure_of(Err(error)).map(|()| Vec::new()),
        }
    }

    /// The disk is checked again after the question: its state may have changed while the user was typing.
    fn ask(&self, target: &RawTarget, mut hold: Hold) -> Result<Hold> {
        consent::to_destroy(target, self.consent.yes_destroy)?;
        hold.ensure_unchanged()?;
        if !self.workload.properties().may_claim_the_device {
            hold.claim()?;
        }
        Ok(hold)
    }
}
