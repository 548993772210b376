//! All that must hold before anything is touched, for a new run and for one that goes on; what is found is told.

use anyhow::Result;
use iosched::arm::Arm;
use iosched::device::Disks;
use iosched::preflight::{self, Intent, Severity};
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

impl Request<'_> {
    /// Where the workload gets a scratch file, if it does.
    pub fn grant(&self) -> Result<Option<Place>> {
        let writes_raw_device = self.workload.writes() && self.place.is_none();
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
        if writes_raw_device && !self.is_ours && !self.dry_run {
            consent::to_destroy(
                &self.disks.targets[0],
                self.conditions.yes_destroy.as_deref(),
            )?;
        }
        Ok(place)
    }
}
