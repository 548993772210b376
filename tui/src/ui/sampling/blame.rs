//! Who waits behind whom: in each interval, while a screen shows it, or in the window of a rotation's round. All requests of that time
//! are kept for it, and there is room for one such time: what a screen shows now ends that of a window.

use anyhow::Result;
use iosched_measure::probe::Probe;
use iosched_result::why::{DiskFacts, FEW_PARTIES, RoundWhy, WhyDevice, devices, of_round};

use super::watched::Watched;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kept {
    #[default]
    Nothing,
    Interval,
    Window,
}

#[derive(Default)]
pub struct Blame {
    kept: Kept,
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
        if self.kept == Kept::Window && !is_wanted {
            return Ok(Vec::new());
        }
        let is_whole = self.kept == Kept::Interval && !probe.is_stretch_full();
        let has_begun = self.kept != Kept::Nothing;
        let stretch = has_begun.then(|| probe.end_stretch()).transpose()?;
        self.kept = Kept::Nothing;
        if is_wanted {
            probe.begin_stretch();
            self.kept = Kept::Interval;
        }
        let Some(stretch) = stretch.filter(|_| is_whole) else {
            return Ok(Vec::new());
        };
        let facts: Vec<DiskFacts> = disks.iter().map(facts).collect();
        let owner = |row| probe.owner(row);
        let whys = devices(&stretch, &facts, &owner, FEW_PARTIES);
        if is_wanted {
            probe.reuse_stretch(stretch);
        }
        Ok(whys)
    }

    /// No effect while a screen shows each interval.
    pub fn begin_window(&mut self, probe: &mut Probe) {
        if self.kept == Kept::Nothing {
            probe.begin_stretch();
            self.kept = Kept::Window;
        }
    }

    /// The numbers of one disk since the window began; None if it did not, or a screen has ended it.
    pub fn end_window(&mut self, probe: &mut Probe, disk: &Watched) -> Result<Option<RoundWhy>> {
        if self.kept != Kept::Window {
            return Ok(None);
        }
        self.kept = Kept::Nothing;
        let stretch = probe.end_stretch()?;
        let owner = |row| probe.owner(row);
        Ok(Some(of_round(stretch, &[facts(disk)], &owner)))
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
