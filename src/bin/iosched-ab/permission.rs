//! All that must hold before anything is touched, for a new run and for one that goes on; what is found is told.

use anyhow::Result;
use iosched::arm::Arm;
use iosched::device::{Device, Disks};
use iosched::preflight::{self, Hold, Intent, Severity};
use iosched::scratch_file::Place;
use iosched::workload::Workload;

use crate::cli::Conditions;
use crate::place::{self, Wanted};
use crate::{consent, note};

pub struct Request<'a> {
    pub disks: &'a Disks,
    pub arms: &'a [Arm],
    pub workload: &'a dyn Workload,
    /// Asks for a scratch file.
    pub place: Option<&'a Wanted>,
    pub conditions: &'a Conditions,
    /// A scratch device of our own: nobody need be asked.
    pub is_ours: bool,
    pub dry_run: bool,
}

/// What the workload may write to.
#[derive(Default)]
pub struct Granted {
    /// A scratch file there.
    pub place: Option<Place>,
    /// The raw disk, on its owner's word.
    pub hold: Option<Hold>,
}

impl Request<'_> {
    pub fn grant(&self) -> Result<Granted> {
        let writes_raw_device = self.workload.writes() && self.place.is_none();
        let target = &self.disks.targets[0];
        let is_asked = writes_raw_device && !self.is_ours && !self.dry_run;
        // Held from before the first look: what is looked at, asked about and written is one and the same disk.
        let hold = is_asked.then(|| Hold::open(target, &self.disks.stack));
        let intent = Intent {
            arms: self.arms,
            writes_raw_device,
            allow_mounted: self.conditions.allow_mounted,
            destroy_data: self.conditions.destroy_data || self.is_ours,
        };
        let mut report = preflight::check_all(self.disks, &intent)?;
        report.add_failure_of(self.workload.check())?;
        let place = match self.place {
            Some(wanted) => place::find(wanted, self.disks, self.workload, &mut report)?,
            None => None,
        };
        for finding in report.into_result()? {
            if finding.severity > Severity::Note || !self.is_ours {
                note(&finding.to_string());
            }
        }
        if let Some(place) = &place {
            note(&format!("the workload is given {place}"));
        }
        let hold = match hold.transpose()? {
            Some(hold) => Some(self.ask(target, hold)?),
            None => None,
        };
        Ok(Granted { place, hold })
    }

    /// Much may have happened until the answer came.
    fn ask(&self, target: &Device, mut hold: Hold) -> Result<Hold> {
        consent::to_destroy(target, self.conditions.yes_destroy.as_deref())?;
        hold.ensure_unchanged()?;
        if !self.workload.may_claim_the_device() {
            hold.claim()?;
        }
        Ok(hold)
    }
}
