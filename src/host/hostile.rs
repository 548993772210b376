//! Properties that hold for any input from outside: nothing panics, and accepted input can be used completely. One
//! function per kind of input; tests call them with generated input, `fuzz/` with fuzzed input. Each returns whether
//! its input was accepted, because input that is always refused tests little.

use std::path::Path;

use crate::safety::journal;
use crate::scheduler;
use crate::system::cgroup::cpu_stat;
use crate::system::cgroup::mounts::Mounts;
use crate::system::cgroup::names::weight_of;
use crate::system::{device, environment};

/// The journal of a killed process.
pub fn journal(bytes: &[u8]) -> bool {
    match journal::parse(Path::new("/journal/1-2.json"), bytes) {
        Ok(left) => {
            assert!(left.describe().iter().all(|line| !line.is_empty()));
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("journal"));
            false
        }
    }
}

/// The kernel's tables of mounts and of control groups. Returns whether a parser found an entry.
pub fn tables(text: &str) -> bool {
    let mounts = device::mounts::parse(text);
    assert!(mounts.len() <= text.lines().count());
    let _ = Mounts::among(&mounts);
    for mount in &mounts {
        let _ = device::mounts::above(&mounts, &mount.point);
    }
    let cpu_times = environment::parse_cpu_times(text);
    if let Some(times) = &cpu_times
        && let Some(load) = times.until(times)
    {
        assert!(load.busy_share.is_finite() && load.steal_share.is_finite());
    }
    let weight = weight_of(text, Some("8:0"));
    if let Some(weight) = weight {
        assert!(weight.is_finite() && weight > 0.0, "{weight}");
    }
    !mounts.is_empty()
        || cpu_times.is_some()
        || weight.is_some()
        || cpu_stat::parse(text).is_some()
        || environment::memory_bytes(text).is_some()
}

/// Attributes of a disk. The first line is the attribute's name, the second the value written to it.
pub fn attributes(text: &str) -> bool {
    let choice = scheduler::state::parse_choice(text);
    if let Some(choice) = &choice {
        assert!(!choice.active.is_empty(), "{choice:?}");
        assert!(choice.available.contains(&choice.active), "{choice:?}");
    }
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (name, written, read_back) = (next(), next(), next());
    let kept = scheduler::value::acceptance(name, written, read_back, 4_000_000);
    let same = scheduler::value::acceptance(name, written, written, 4_000_000);
    assert_eq!(same, scheduler::value::Acceptance::AsWritten);
    choice.is_some()
        || (!written.is_empty() && kept != scheduler::value::Acceptance::Not)
        || device::io_stat::parse(text).is_ok()
        || device::hardware_depth::parse_tags(text).is_some()
        || device::parse_dev(text).is_some()
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
