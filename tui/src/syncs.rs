//! Waits in fsync, in the throttle of writers and for writeback, over an interval: for `iosched stat` and `iosched why`.

use anyhow::Result;
use iosched_host::system::device::mounts::{self, Mount};
use iosched_host::system::device::{Device, place_of, place_of_bdi};
use iosched_measure::syncs::{SyncProbe, dev_of_place};
use iosched_result::measured::syncs::{SyncNumbers, SyncSnapshot};
use iosched_result::stat::{self, LiveSyncs, Selection, SyncPlace};

pub struct Syncs {
    probe: SyncProbe,
    earlier: SyncSnapshot,
}

impl Syncs {
    pub fn attach() -> Result<Syncs> {
        let mut probe = SyncProbe::attach()?;
        let earlier = probe.snapshot()?;
        Ok(Syncs { probe, earlier })
    }

    /// What cannot be told here.
    pub fn notes(&self) -> Vec<String> {
        self.probe.notes()
    }

    /// Starts the interval that `next` will report.
    pub fn begin(&mut self) -> Result<()> {
        self.earlier = self.probe.snapshot()?;
        Ok(())
    }

    /// The waits on these disks since the last call, or since the begin.
    pub fn next(&mut self, devices: &[Device], selection: &dyn Selection) -> Result<LiveSyncs> {
        let later = self.probe.snapshot()?;
        let numbers = SyncNumbers::between(&self.earlier, &later)?;
        self.earlier = later;
        let disks: Vec<&str> = devices.iter().map(|device| &*device.name).collect();
        let places = Places {
            mounts: mounts::read()?,
            probe: &self.probe,
        };
        Ok(stat::syncs(&numbers, &disks, selection, &places))
    }
}

/// Finds file systems by their numbers.
struct Places<'a> {
    mounts: Vec<Mount>,
    probe: &'a SyncProbe,
}

impl stat::Places for Places<'_> {
    fn place(&self, place: u64, tgid: u32) -> SyncPlace {
        let dev = dev_of_place(place);
        let bdi = self.probe.bdi_of_place(place);
        let find = |seen: &[Mount]| match (dev, &bdi) {
            (Some((major, minor)), _) => place_of(&self.mounts, seen, major, minor),
            (None, Some(name)) => place_of_bdi(&self.mounts, seen, name),
            (None, None) => SyncPlace::default(),
        };
        let found = find(&[]);
        if found.devices.is_some() {
            return found;
        }
        find(&mounts::read_of(tgid))
    }
}
