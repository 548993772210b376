//! Another device in a slot of the attached programs: one that was plugged in after the attach.

use anyhow::{Context, Result};
use libbpf_rs::{ErrorKind, MapCore};

use crate::maps::{inflight_elements, set_target};
use crate::wire::{QUEUE_IDS, queue};
use crate::{Target, Tracer};

impl Tracer {
    /// From now on the device in `slot` is this one: the slot was a spare one, or its device is gone. False, and nothing is
    /// changed, if the device has more tags than the slot has room for.
    pub fn retarget(&mut self, slot: usize, wanted: Target) -> Result<bool> {
        let room = self.inflight_bases[slot + 1] - self.inflight_bases[slot];
        if inflight_elements(&wanted, self.config.detail) as usize > room {
            return Ok(false);
        }
        let old = &self.config.targets[slot];
        if !old.is_spare() && old.dev() != wanted.dev() {
            let gone = self.skeleton.maps.targets.delete(&old.dev().to_ne_bytes());
            let is_known = |error: &libbpf_rs::Error| error.kind() != ErrorKind::NotFound;
            if let Some(error) = gone.err().filter(is_known) {
                return Err(error).context("forgetting a device");
            }
        }
        set_target(&self.skeleton, slot, &wanted, self.inflight_bases[slot])
            .context("tracing another device")?;
        self.config.targets[slot] = wanted;
        self.resolve_again();
        Ok(true)
    }

    /// The queues of devices that were not traced so far are looked up at their next event: one of them may be the new
    /// device's. An entry that is being filled at this moment is filled once more.
    fn resolve_again(&self) {
        for id in 0..QUEUE_IDS {
            let entry = self.queues.get(id);
            if entry.address != 0 && entry.traced == 0 {
                self.queues
                    .store(id, std::mem::offset_of!(queue, address), 0u64);
            }
        }
    }
}
