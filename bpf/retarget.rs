//! Another device in a slot of the attached programs: one that was plugged in after the attach.

use anyhow::{Context, Result};
use libbpf_rs::{ErrorKind, MapCore};

use crate::maps::{inflight_elements, set_target};
use crate::wire::{QUEUE_IDS, queue};
use crate::{Target, Tracer};

impl Tracer {
    /// From now on the device in `slot` is this one: the slot was a spare one, or its device is gone. A slot that had a
    /// device of the same number loses it. False, and nothing is changed, if the device has more tags than the slot has room
    /// for.
    pub fn retarget(&mut self, slot: usize, wanted: Target) -> Result<bool> {
        let places = self.in_flight.places(slot);
        let room = places.len();
        if inflight_elements(&wanted, self.config.detail) as usize > room {
            return Ok(false);
        }
        let old = self.config.targets[slot].clone();
        if !old.is_spare() && old.dev() != wanted.dev() {
            self.forget(old.dev())?;
        }
        // Another path may still have it.
        let mut others = self.config.targets.iter().enumerate();
        let is_shared = others.any(|(other, target)| other != slot && target.head == old.head);
        if let Some(head) = old
            .head_dev()
            .filter(|_| !is_shared && old.head != wanted.head)
        {
            self.forget(head)?;
        }
        set_target(&self.skeleton, slot, &wanted, places.start)
            .context("tracing another device")?;
        // The key of each number is that of one slot, so that no slot deletes another one's.
        let mut others = self.config.targets.iter_mut().enumerate();
        let displaced =
            others.find(|(other, target)| *other != slot && target.dev() == wanted.dev());
        let displaced = displaced.map(|(other, target)| {
            (target.major, target.minor) = (0, 0);
            other
        });
        self.config.targets[slot] = wanted;
        self.resolve_again(|entry| {
            let its = entry.target.slot as usize;
            entry.traced == 0 || its == slot || Some(its) == displaced
        });
        Ok(true)
    }

    fn forget(&self, dev: u32) -> Result<()> {
        let gone = self.skeleton.maps.targets.delete(&dev.to_ne_bytes());
        let is_known = |error: &libbpf_rs::Error| error.kind() != ErrorKind::NotFound;
        match gone.err().filter(is_known) {
            Some(error) => Err(error).context("forgetting a device"),
            None => Ok(()),
        }
    }

    /// The queues of devices that are not traced are looked up once more at their next event: one of them may be that of a
    /// new device, whose first event came while it was made known.
    pub fn resolve_untraced(&self) {
        self.resolve_again(|entry| entry.traced == 0);
    }

    fn resolve_again(&self, is_meant: impl Fn(&queue) -> bool) {
        for id in 0..QUEUE_IDS {
            let entry = self.queues.get(id);
            if entry.address != 0 && is_meant(&entry) {
                self.queues
                    .store(id, std::mem::offset_of!(queue, address), 0u64);
            }
        }
    }
}
