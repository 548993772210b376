//! The sizes of the maps, and their content before the programs run.

use anyhow::Result;
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{MapCore, MapFlags, MapType, OpenMap};

use crate::mapped::bytes_of;
use crate::skeleton::{IoschedSkel, OpenIoschedSkel};
use crate::wire::{RING_LEVELS, THREADS, target};
use crate::{Abilities, Config, Detail, Target, possible_cpus};

/// Elements of a device in the in-flight table: its tags, one row per hardware queue for flush commands, and the tags
/// again if passthrough is measured.
pub(crate) fn inflight_elements(target: &Target, detail: Detail) -> u32 {
    let tags = target.hardware_queues * target.depth;
    tags + target.hardware_queues + if detail.passthrough { tags } else { 0 }
}

/// Number of inodes whose last writer is remembered.
const DIRTIERS: u32 = 65_536;

/// Bios between their Q and the first sight of their request: an LRU table, with a separate free list per CPU.
fn kept_by_bio() -> u32 {
    // Each CPU may reserve 128 free elements.
    (256 * possible_cpus() as u32).max(16_384)
}

/// Overhead per element of a hash table: an estimate; all other sizes are exact.
const HASH_ELEMENT: u32 = 64;

/// Rings of each CPU.
pub(crate) fn ring_levels(abilities: &Abilities) -> u32 {
    if abilities.runs_alone { 1 } else { RING_LEVELS }
}

/// Records of each ring. Hardly any completion is interrupted by another: then three rings share what one has otherwise.
pub(crate) fn ring_size(config: &Config, abilities: &Abilities) -> u32 {
    let share = ring_levels(abilities).next_power_of_two();
    (config.ring_records / share).max(1)
}

pub(crate) struct Sizes {
    pub devices: u32,
    pub inflight: u32,
    pub extras: u32,
    pub rings: u32,
    pub ring_records: u32,
    pub memory_bytes: u64,
}

pub(crate) fn size_maps(
    open: &mut OpenIoschedSkel<'_>,
    config: &Config,
    abilities: &Abilities,
) -> Result<Sizes> {
    let slots = config.targets.len() as u32;
    let devices = slots * config.shards;
    let inflight: u32 = config
        .targets
        .iter()
        .map(|target| inflight_elements(target, config.detail))
        .sum();
    let wanted = |is_wanted: bool, elements: u32| if is_wanted { elements } else { 1 };
    let dirtiers = wanted(config.detail.writeback, DIRTIERS);
    let detail = config.detail;
    let extras = wanted(detail.asked || detail.i2d, inflight);
    let rings = possible_cpus() as u32 * ring_levels(abilities);
    let is_pending = abilities.io_start.is_none() && !detail.light;
    let pendings = wanted(is_pending, kept_by_bio());
    let by_request = wanted(config.detail.asked, kept_by_bio());
    let maps = &mut open.maps;
    maps.devices.set_max_entries(devices)?;
    maps.inflight.set_max_entries(inflight)?;
    maps.owners.set_max_entries(config.owners)?;
    maps.owner_index.set_max_entries(config.owners)?;
    maps.free_owners.set_max_entries(config.owners)?;
    maps.targets.set_max_entries(2 * slots)?; // with their heads
    maps.queue_places.set_max_entries(slots)?;
    maps.elevators.set_max_entries(4 * slots)?;
    maps.dirtiers.set_max_entries(dirtiers)?;
    maps.pendings.set_max_entries(pendings)?;
    maps.last_bios
        .set_max_entries(wanted(is_pending, THREADS))?;
    maps.nowait_failures
        .set_max_entries(wanted(detail.sees_bios(abilities), kept_by_bio()))?;
    maps.threads
        .set_max_entries(wanted(!detail.light, THREADS))?;
    maps.sleeps
        .set_max_entries(wanted(detail.sees_bios(abilities), THREADS))?;
    maps.file_paths
        .set_max_entries(wanted(detail.files, config.owners))?;
    maps.held_back
        .set_max_entries(wanted(abilities.throttle, kept_by_bio()))?;
    maps.handed_over.set_max_entries(by_request)?;
    maps.askings
        .set_max_entries(wanted(config.detail.asked, THREADS))?;
    maps.extras.set_max_entries(extras)?;
    maps.rings.set_max_entries(rings)?;
    maps.records
        .set_max_entries(rings * ring_size(config, abilities))?;
    Ok(Sizes {
        devices,
        inflight,
        extras,
        rings,
        ring_records: ring_size(config, abilities),
        memory_bytes: open
            .open_object()
            .maps()
            .filter(OpenMap::autocreate)
            .map(|map| map_bytes(&map))
            .sum(),
    })
}

fn map_bytes(map: &OpenMap<'_>) -> u64 {
    let [key, value] = [map.key_size(), map.value_size()].map(|size| size.next_multiple_of(8));
    let element = match map.map_type() {
        MapType::Hash | MapType::LruHash => key + value + HASH_ELEMENT,
        MapType::Stack => map.value_size(),
        _ => value,
    };
    u64::from(map.max_entries()) * u64::from(element)
}

pub(crate) fn fill_maps(skeleton: &IoschedSkel<'_>, config: &Config) -> Result<()> {
    // A stack: the last index pushed is the first one used.
    for index in (1..config.owners).rev() {
        skeleton
            .maps
            .free_owners
            .update(&[], &index.to_ne_bytes(), MapFlags::ANY)?;
    }
    let bases = inflight_bases(config);
    for ((slot, wanted), base) in config.targets.iter().enumerate().zip(bases) {
        if !wanted.is_spare() {
            set_target(skeleton, slot, wanted, base)?;
        }
    }
    Ok(())
}

/// Index of each device's first element in `inflight`, and the end of the last one.
pub(crate) fn inflight_bases(config: &Config) -> Vec<usize> {
    let mut bases = vec![0];
    for target in &config.targets {
        let elements = inflight_elements(target, config.detail) as usize;
        bases.push(bases[bases.len() - 1] + elements);
    }
    bases
}

pub(crate) fn set_target(
    skeleton: &IoschedSkel<'_>,
    slot: usize,
    wanted: &Target,
    inflight_base: usize,
) -> Result<()> {
    let value = target {
        slot: slot as u32,
        inflight_base: inflight_base as u32,
        depth: wanted.depth,
        hardware_queues: wanted.hardware_queues,
    };
    let targets = &skeleton.maps.targets;
    let key = wanted.dev().to_ne_bytes();
    targets.update(&key, bytes_of(&value), MapFlags::ANY)?;
    if let Some(head) = wanted.head_dev() {
        // The head has no hardware queues, because it has no requests. Its slot is that of any of its paths.
        let value = target {
            hardware_queues: 0,
            ..value
        };
        targets.update(&head.to_ne_bytes(), bytes_of(&value), MapFlags::ANY)?;
    }
    Ok(())
}
