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
    /// The numbers since the last call, by disk; none if that was not asked for then, or there was no room for all requests. From here on
    /// they are kept if they are wanted.
    pub fn take(
        &mut self,
        probe: &mut Option<Probe>,
        disks: &[Watched],
        is_wanted: bool,
    ) -> Result<Vec<WhyDevice>> {
        let Some(probe) = probe else {
            return Ok(Vec::new());
        };
        let is_whole = self.has_begun && !probe.is_stretch_full();
        let stretch = self.has_begun.then(|| probe.end_stretch()).transpose()?;
        if is_wanted {
            probe.begin_stretch();
        }
        self.has_begun = is_wanted;
        let Some(stretch) = stretch.filter(|_| is_whole) else {
            return Ok(Vec::new());
        };
        let facts: Vec<DiskFacts> = disks.iter().map(facts).collect();
        let owner = |row| probe.owner(row);
        Ok(devices(&stretch, &facts, &owner, FEW_PARTIES))
    }
}

fn facts(disk: &Watched) -> DiskFacts {
    let state = disk.state.as_ref();
    DiskFacts {
        name: disk.device.name.clone(),
        scheduler: state.map(|state| state.active.clone()),
        others: Vec::new(),
        hardware_depth: disk.device.slots(),
        ..DiskFacts::default()
    }
}
