//! The load of a window, as the device saw it. Pure.

use std::collections::BTreeMap;

use iosched_result::measured::snapshot::{Interval, Op};
use iosched_result::metric::ARRIVALS;

/// I/Os per second that the machine asked for in the window, by metric: an outcome of the round.
pub fn arrivals(window: &Interval) -> BTreeMap<String, f64> {
    let seconds = window.duration_s();
    let sides: [&[Op]; 2] = [&[Op::Read], &Op::WRITES];
    let of_device = |ops: &[Op]| {
        let ops = window
            .devices
            .iter()
            .flat_map(|device| ops.iter().map(|op| &device.ops[*op as usize]));
        ops.map(|op| op.bios).sum::<u64>()
    };
    let sides = ARRIVALS.into_iter().zip(sides);
    sides
        .map(|(name, ops)| (name.to_owned(), of_device(ops) as f64 / seconds))
        .filter(|(_, rate)| *rate > 0.0 && rate.is_finite())
        .collect()
}

/// Requests per second; None for an empty window.
pub fn iops(window: &Interval) -> Option<f64> {
    let devices = window.devices.iter().flat_map(|device| &device.ops);
    let ios = devices.map(|op| op.ios).sum::<u64>() as f64;
    (window.duration_s() > 0.0).then(|| ios / window.duration_s())
}
