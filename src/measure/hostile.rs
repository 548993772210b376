//! Properties that hold for any input from outside: nothing panics, and accepted input can be used completely. One
//! function per kind of input; tests call them with generated input, `fuzz/` with fuzzed input. Each returns whether
//! its input was accepted, because input that is always refused tests little.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use iosched_result::measured::snapshot::by_cgroup;
use iosched_result::measured::stalls::Stalls;
use iosched_result::stat;

use crate::history::file;

/// Lines of a history, not yet compressed.
pub fn history(lines: &[u8]) -> bool {
    let mut file = GzEncoder::new(Vec::new(), Compression::fast());
    file.write_all(lines).expect("memory");
    let Ok(history) = file::parse(&file.finish().expect("memory")) else {
        return false;
    };
    for packed in &history.frames {
        let frame = packed.frame().expect("what was kept");
        let Some(interval) = &frame.interval else {
            continue;
        };
        let states = vec![stat::DeviceState::default(); frame.devices.len()];
        let time = frame.time_of_day().to_owned();
        let record = stat::record(interval, time, !frame.measures_q2g, &states, &frame);
        assert_eq!(record.devices.len(), history.head.disks.len());
        let _ = by_cgroup(&interval.owners);
        for device in &interval.devices {
            let _ = Stalls::of(device, &interval.owners.iter());
        }
    }
    true
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
