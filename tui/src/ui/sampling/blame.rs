//! Who waits behind whom in each interval, while a screen shows it: all requests of the interval are kept for it.

use anyhow::Result;
use iosched_measure::probe::Probe;
use iosched_result::why::{DiskFacts, FEW_PARTIES, WhyDevice, devices};

use super::watched::Watched;

#[derive(Default)]
pub struct Blame {
    has_begun: bool,
}

impl Blame {
    /// The numbers since the last call, by disk; none if that was not asked for then, or disks were added since. From here on they
    /// are kept if they are wanted.
    pub fn take(
        &mut self,
        probe: &mut Option<Probe>,
        disks: &[Watched],
        is_wanted: bool,
    ) -> Result<Vec<WhyDevice>> {
        let Some(probe) = probe else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        if self.has_begun {
            let stretch = probe.end_stretch()?;
            let facts: Vec<DiskFacts> = disks.iter().map(facts).collect();
            found = devices(&stretch, &facts, &|row| probe.owner(row), FEW_PARTIES);
        }
        if is_wanted {
            probe.begin_stretch();
        }
        self.has_begun = is_wanted;
        Ok(found)
    }
}

fn facts(disk: &Watched) -> DiskFacts {
    let state = disk.state.as_ref();
    DiskFacts {
        name: disk.device.name.clone(),
        scheduler: state.map(|state| state.active.clone()),
        others: Vec::new(),
        hardware_depth: disk.device.slots(),
    }
}
