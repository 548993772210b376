//! The attached programs, their counts per device and their requests in flight.

use anyhow::Result;
use libbpf_rs::PrintLevel;

use crate::loader::{Loaded, explain, keep_log, load};
use crate::mapped::MappedArray;
use crate::maps::{fill_maps, hardware_queue_at, inflight_bases, inflight_elements};
use crate::rings::Rings;
use crate::skeleton::IoschedSkel;
use crate::wire::{QUEUE_IDS, extra, queue};
use crate::{
    Abilities, Config, DISPATCHES, device_stats, dispatch, enums, inflight, order_stats, owner,
};

/// The attached programs. Dropping it detaches them.
pub struct Tracer {
    pub(crate) abilities: Abilities,
    pub(crate) config: Config,
    devices: MappedArray<device_stats>,
    pub(crate) owners: MappedArray<owner>,
    orders: MappedArray<order_stats>,
    dispatches: MappedArray<dispatch>,
    pub(crate) inflight: MappedArray<inflight>,
    extras: MappedArray<extra>,
    rings: Option<Rings>,
    /// See [`inflight_bases`]; as they were at the attach.
    pub(crate) inflight_bases: Vec<usize>,
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
        if abilities.tasks && abilities.bio_queue.is_some() && !config.detail.without_q2g {
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
            orders: MappedArray::new(&skeleton.maps.orders, sizes.orders as usize)?,
            dispatches: MappedArray::new(&skeleton.maps.dispatches, sizes.dispatches as usize)?,
            inflight: MappedArray::new(&skeleton.maps.inflight, sizes.inflight as usize)?,
            extras: MappedArray::new(&skeleton.maps.extras, sizes.extras as usize)?,
            rings: Some(Rings::new(&skeleton, &sizes)?),
            inflight_bases: inflight_bases(&config),
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

    /// One record per shard, to be summed; empty if order is not measured.
    pub fn order(&self, slot: usize) -> impl Iterator<Item = order_stats> + '_ {
        let shards = if self.config.detail.order {
            self.shards()
        } else {
            0..0
        };
        shards.map(move |shard| self.orders.get(slot * self.config.shards as usize + shard))
    }

    /// The last issues of the device and the places that were given away, at most [`DISPATCHES`], unsorted; empty if
    /// order is not measured.
    pub fn dispatches(&self, slot: usize) -> impl Iterator<Item = dispatch> + '_ {
        let places = if self.config.detail.order {
            0..DISPATCHES
        } else {
            0..0
        };
        places
            .map(move |place| self.dispatches.get(slot * DISPATCHES + place))
            .filter(|dispatch| u32::from(dispatch.kind) != enums::dispatch_kind::DISPATCH_NONE.0)
    }

    /// Number of elements that [`Tracer::inflight`] reads.
    pub fn inflight_elements(&self, slot: usize) -> usize {
        inflight_elements(&self.config.targets[slot], self.config.detail) as usize
    }

    /// The requests in flight on the device.
    pub fn inflight(&self, slot: usize) -> impl Iterator<Item = inflight> + '_ {
        let base = self.inflight_base(slot);
        (base..base + self.inflight_elements(slot))
            .map(|index| self.inflight.get(index))
            .filter(|state| state.request != 0)
    }

    /// The requests in flight on the device with their hardware queue, and with the facts that [`crate::Detail::sectors`] and
    /// `i2d` ask for; without these options they are 0.
    pub fn inflight_with_extra(
        &self,
        slot: usize,
    ) -> impl Iterator<Item = (inflight, usize, extra)> + '_ {
        let base = self.inflight_base(slot);
        let target = &self.config.targets[slot];
        (base..base + self.inflight_elements(slot))
            .map(move |index| {
                let is_kept = index < self.extras.len();
                let extra = is_kept.then(|| self.extras.get(index));
                (
                    self.inflight.get(index),
                    hardware_queue_at(target, index - base),
                    extra.unwrap_or_default(),
                )
            })
            .filter(|(state, ..)| state.request != 0)
    }

    /// Index of the device's first element in `inflight`.
    pub(crate) fn inflight_base(&self, slot: usize) -> usize {
        self.inflight_bases[slot]
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
