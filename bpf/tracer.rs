//! The attached programs, their counts per device and their requests in flight.

use std::sync::Arc;

use anyhow::Result;
use libbpf_rs::PrintLevel;

use crate::in_flight::InFlightTable;
use crate::loader::{Loaded, explain, keep_log, load};
use crate::mapped::MappedArray;
use crate::maps::{fill_maps, inflight_bases, inflight_elements};
use crate::rings::Rings;
use crate::skeleton::IoschedSkel;
use crate::wire::{QUEUE_IDS, queue};
use crate::{Abilities, Config, device_stats, file_path, owner};

/// The attached programs. Dropping it detaches them.
pub struct Tracer {
    pub(crate) abilities: Abilities,
    pub(crate) config: Config,
    devices: MappedArray<device_stats>,
    pub(crate) owners: MappedArray<owner>,
    pub(crate) file_paths: Option<MappedArray<file_path>>,
    pub(crate) owner_epoch: MappedArray<u64>,
    pub(crate) in_flight: Arc<InFlightTable>,
    rings: Option<Rings>,
    pub(crate) queues: MappedArray<queue>,
    queue_places: MappedArray<u64>,
    memory_bytes: u64,
    pub(crate) skeleton: IoschedSkel<'static>,
}

impl Tracer {
    pub fn attach(config: Config) -> Result<Self> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep_log)));
        let Loaded {
            mut abilities,
            sizes,
            mut skeleton,
        } = load(&config, |_| ())?;
        fill_maps(&skeleton, &config)?;
        libbpf_rs::skel::Skel::attach(&mut skeleton)
            .map_err(|e| explain(&e, "attaching the BPF programs", None))?;
        // Not where bios are not looked at.
        if abilities.tasks && config.detail.sees_bios(&abilities) {
            match skeleton.progs.tell_blocked.attach() {
                Ok(link) => skeleton.links.tell_blocked = Some(link),
                Err(_) => abilities.tasks = false,
            }
        }
        if abilities.throttle {
            match skeleton.progs.blk_throtl_bio.attach() {
                Ok(link) => skeleton.links.blk_throtl_bio = Some(link),
                Err(_) => abilities.throttle = false,
            }
        }

        Ok(Tracer {
            devices: MappedArray::new(&skeleton.maps.devices, sizes.devices as usize)?,
            owners: MappedArray::writable(&skeleton.maps.owners, config.owners as usize)?,
            owner_epoch: MappedArray::writable(&skeleton.maps.owner_epoch, 1)?,
            file_paths: (config.detail.files)
                .then(|| MappedArray::new(&skeleton.maps.file_paths, config.owners as usize))
                .transpose()?,
            in_flight: Arc::new(InFlightTable::new(
                &skeleton,
                &sizes,
                inflight_bases(&config),
            )?),
            rings: Some(Rings::new(&skeleton, &sizes)?),
            queues: MappedArray::writable(&skeleton.maps.queues, QUEUE_IDS)?,
            queue_places: MappedArray::new(&skeleton.maps.queue_places, config.targets.len())?,
            memory_bytes: sizes.memory_bytes,
            abilities,
            config,
            skeleton,
        })
    }

    pub fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    /// Kernel memory of the arrays, fixed at the load.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The records of completed requests, for one reader; None at a second call.
    pub fn take_rings(&mut self) -> Option<Rings> {
        self.rings.take()
    }

    fn shards(&self) -> std::ops::Range<usize> {
        0..self.config.shards as usize
    }

    /// One record per shard of the device in `slot` (its index in `Config::targets`), to be summed.
    pub fn device_stats(&self, slot: usize) -> impl Iterator<Item = device_stats> + '_ {
        self.shards()
            .map(move |shard| self.devices.get(slot * self.config.shards as usize + shard))
    }

    /// Number of elements of the device's table of requests in flight.
    pub fn inflight_elements(&self, slot: usize) -> usize {
        inflight_elements(&self.config.targets[slot], self.config.detail) as usize
    }

    /// The requests in flight.
    pub fn in_flight(&self) -> &Arc<InFlightTable> {
        &self.in_flight
    }

    /// The kernel side's entry for the device's queue; None before its first I/O.
    pub(crate) fn queue(&self, slot: usize) -> Option<(usize, queue)> {
        let id = self.queue_places.get(slot).checked_sub(1)? as usize;
        let queue = self.queues.get(id);
        // The entry may have been reused by another device's queue.
        (queue.traced == 1 && queue.target.slot as usize == slot).then_some((id, queue))
    }

    /// How often the device's scheduler was changed, by any process, with I/O before and after the change.
    pub fn switches(&self, slot: usize) -> u64 {
        self.queue(slot)
            .map_or(0, |(_, queue)| u64::from(queue.switches))
    }

    /// From now on requests that started before `ns` (CLOCK_MONOTONIC) are straddlers: they are counted as such and
    /// nowhere else.
    pub fn begin_epoch(&self, slot: usize, ns: u64) {
        if let Some((id, _)) = self.queue(slot) {
            self.queues
                .store(id, std::mem::offset_of!(queue, epoch_ns), ns);
        }
    }
}
