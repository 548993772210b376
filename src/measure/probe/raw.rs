//! The kernel's numbers of a device, copied in one go before anything is made of them: they go on counting.

use iosched_bpf::{Tracer, device_stats, inflight};

/// Above so many tags a device's requests under way are not looked through.
const MAX_INFLIGHT: usize = 32_768;
/// How often a device is read until no request is evicted meanwhile.
const TRIES: usize = 3;

pub(super) struct RawDevice {
    /// A record per shard.
    pub stats: Vec<device_stats>,
    /// None where there are too many tags.
    pub inflight: Option<Vec<inflight>>,
    /// When those were read.
    pub inflight_ns: u64,
    pub switches: u64,
}

impl RawDevice {
    pub fn read(tracer: &Tracer, slot: usize) -> RawDevice {
        let is_small = tracer.inflight_elements(slot) <= MAX_INFLIGHT;
        // Together with the entries: what is evicted in between would be counted by neither, or twice.
        let read = || tracer.device_stats(slot).collect::<Vec<_>>();
        let evicted = |stats: &[device_stats]| stats.iter().map(|of| of.evicted).sum::<u64>();
        let (mut stats, mut under_way);
        let mut tries = 0;
        loop {
            stats = read();
            // Requests that are over are evicted here.
            under_way = is_small.then(|| tracer.under_way(slot, super::monotonic_ns()));
            tries += 1;
            if tries >= TRIES || evicted(&stats) == evicted(&read()) {
                break;
            }
        }
        RawDevice {
            stats,
            inflight: under_way,
            inflight_ns: super::monotonic_ns(), // after them: none is younger
            switches: tracer.switches(slot),
        }
    }
}
