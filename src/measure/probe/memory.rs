//! Limits the probe's kernel memory by the number of devices, CPUs and tags.

use anyhow::Result;
use iosched_bpf::{Config, Target, device_stats, record};

use iosched_host::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::measured::histogram::{DEVICE, Layout, OWNER};

/// Rows for owners: 0.8 KB each.
pub(super) const OWNERS: u32 = 16_384;
/// The owners that have histograms: 7.2 KB each, or 36 KB with all stages, of this process's memory.
pub(super) const OWNER_HISTOGRAMS: usize = 2048;
/// Limit for the counters of all devices together; above it several CPUs share a copy.
const DEVICE_BYTES: usize = 32 << 20;
/// Limit for the histograms of all devices together, if all were used.
const HISTOGRAM_BYTES: usize = 64 << 20;
/// Limit for the rings of all possible CPUs together.
const RING_BYTES: usize = 64 << 20;
const MOST_RING_RECORDS: usize = 65_536;
const MAX_SHARDS: usize = 64;
/// Limit for the in-flight tables of all devices together.
const MAX_INFLIGHT_BYTES: u64 = 1 << 30;

pub(super) fn target(device: &Device, deepest: u32) -> Target {
    let nr_requests = device
        .optional_attribute("queue/nr_requests")
        .and_then(|text| text.parse().ok());
    let tags = device
        .hardware_depth()
        .map(|hardware| hardware.depth + device.reserved_tags());
    // Unless set otherwise, a scheduler has twice the driver's tags, at least 256.
    let depth = [nr_requests, tags, Some(deepest), Some(256)]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(256);
    let head = device.head().and_then(|name| Device::by_name(&name).ok()?);
    Target {
        major: device.major,
        minor: device.minor,
        hardware_queues: device.hardware_queues().max(1) as u32,
        depth,
        head: head.map(|head| (head.major, head.minor)),
    }
}

/// Disks that may be plugged in after the attach, at most.
const MOST_SPARES: usize = 4;
/// Tags and hardware queues of one of them.
const SPARE_ELEMENTS_PER_CPU: usize = 1024;
const MOST_SPARE_ELEMENTS: usize = 32_768;

pub(super) fn spare(cpus: usize) -> Target {
    Target::spare((SPARE_ELEMENTS_PER_CPU * cpus).min(MOST_SPARE_ELEMENTS) as u32)
}

/// As many as cost the other devices nothing: neither copies of their numbers nor the layout of their histograms.
pub(super) fn spares(devices: usize, cpus: usize) -> usize {
    let is_free = |more: &usize| {
        let all = devices + more;
        shards(all, cpus) == shards(devices, cpus) && layout(all) == layout(devices)
    };
    (0..=MOST_SPARES).rev().find(is_free).unwrap_or(0)
}

/// One copy of a device's numbers per CPU, or fewer if the memory does not suffice.
pub(super) fn shards(devices: usize, cpus: usize) -> u32 {
    let mut shards = cpus.next_power_of_two().min(MAX_SHARDS);
    while shards > 1 && devices * shards * size_of::<device_stats>() > DEVICE_BYTES {
        shards /= 2;
    }
    shards as u32
}

/// Records of each CPU's ring: at 500,000 requests per second on one CPU the largest ring is full after 131 ms, that of 128
/// CPUs after 8 ms.
pub(super) fn ring_records(cpus: usize) -> u32 {
    let each = RING_BYTES / cpus / size_of::<record>();
    let records = each.clamp(1, MOST_RING_RECORDS);
    // Rounded down to a power of two.
    1 << records.ilog2()
}

/// Checks that the in-flight tables do not exceed their limit.
pub(super) fn is_bounded(config: &Config) -> Result<()> {
    let bytes = config.inflight_bytes();
    if bytes <= MAX_INFLIGHT_BYTES {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "tracking the requests of {} disks takes {} MiB of kernel memory, given their hardware queues and \
             tags; the limit is {} MiB",
            config.targets.len(),
            bytes >> 20,
            MAX_INFLIGHT_BYTES >> 20
        ),
        "name fewer disks",
    ))
}

/// For hundreds of devices the owners' layout, in a quarter of the memory.
pub(super) fn layout(devices: usize) -> Layout {
    /// Histograms of a device that are in use: 9 of each operation that moves data.
    const USED: usize = 27;
    if devices * USED * DEVICE.cells as usize * 4 > HISTOGRAM_BYTES {
        OWNER
    } else {
        DEVICE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_bpf::Detail;

    use iosched_result::failure::{Kind, kind_of};

    #[test]
    fn the_memory_of_a_thousand_devices_is_bounded_whatever_the_cpus() {
        for cpus in [1, 2, 3, 64, 256, 4096] {
            for devices in 1..=1000 {
                let shards = shards(devices, cpus) as usize;
                assert!(shards.is_power_of_two() && shards <= MAX_SHARDS);
                let bytes = devices * shards * size_of::<device_stats>();
                assert!(
                    bytes <= DEVICE_BYTES,
                    "{devices} devices, {cpus} CPUs: {bytes}"
                );
            }
        }
        assert_eq!(shards(1, 256), 64);
        assert_eq!((layout(1), layout(1000)), (DEVICE, OWNER));
    }

    #[test]
    fn the_rings_are_bounded_too() {
        for (cpus, records) in [
            (1, 65_536),
            (2, 65_536),
            (16, 32_768),
            (128, 4096),
            (512, 1024),
        ] {
            assert_eq!(ring_records(cpus), records, "{cpus} CPUs");
        }
        for cpus in 1..=8192 {
            let bytes = cpus * ring_records(cpus) as usize * size_of::<record>();
            assert!(bytes <= RING_BYTES, "{cpus} CPUs: {bytes}");
        }
    }

    #[test]
    fn spare_room_costs_the_devices_nothing() {
        assert_eq!(spares(1, 2), MOST_SPARES);
        for cpus in [1, 2, 64, 256] {
            for devices in 1..=300 {
                let all = devices + spares(devices, cpus);
                assert_eq!(shards(all, cpus), shards(devices, cpus));
                assert_eq!(layout(all), layout(devices));
            }
        }
        assert_eq!(spare(256).depth, MOST_SPARE_ELEMENTS as u32 - 1);
    }

    fn config(disks: usize, hardware_queues: u32, depth: u32) -> Config {
        let target = Target {
            major: 8,
            minor: 0,
            hardware_queues,
            depth,
            head: None,
        };
        Config {
            targets: vec![target; disks],
            owners: OWNERS,
            shards: 1,
            ring_records: ring_records(2),
            detail: Detail::default(),
        }
    }

    #[test]
    fn what_follows_requests_grows_with_the_tags_and_has_a_limit() {
        assert_eq!(config(1, 1, 256).inflight_bytes(), 257 * 64);
        for (disks, hardware_queues) in [(1, 1), (1000, 1), (60, 256)] {
            is_bounded(&config(disks, hardware_queues, 1023)).expect("room");
        }
        let refused = is_bounded(&config(1000, 256, 1023)).unwrap_err();
        let says = "of 1000 disks takes 16000 MiB of kernel memory";
        assert!(refused.to_string().contains(says), "{refused}");
        assert_eq!(kind_of(&refused), Kind::Refused);
    }
}
