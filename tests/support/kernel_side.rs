//! The programs alone, without the probe.

use iosched_bpf::{Config, Rings, Target, Tracer};
use iosched_measure::probe::Detail;

use crate::support::LoopDevice;

/// Attached to one disk, with rings of this size.
pub fn attach(
    disk: &LoopDevice,
    owners: u32,
    ring_records: u32,
    detail: Detail,
) -> (Tracer, Rings) {
    let mut tracer = Tracer::attach(Config {
        targets: vec![Target {
            major: disk.device.major,
            minor: disk.device.minor,
            hardware_queues: 1,
            depth: 256,
            head: None,
        }],
        owners,
        shards: 1,
        ring_records,
        detail,
    })
    .expect("a tracer");
    let rings = tracer.take_rings().expect("its rings");
    (tracer, rings)
}
