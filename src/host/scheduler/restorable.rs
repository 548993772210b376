//! Whether the values that arms will replace can be written again. The kernel shows some that it does not take: a loop
//! device's `discard_max_bytes` need not be a multiple of its granularity.

use anyhow::Result;

use super::queue_file::write;
use super::read_back::jiffy_ns;
use super::value::{self, Acceptance};
use super::{ASYNC_DEPTH, NR_REQUESTS, SavedQueue, WBT_LAT_USEC, is_of_scheduler};
use crate::system::device::Device;
use iosched_result::failure::Failure;

/// Whether arms replace a value that [`try_to_restore`] writes.
pub fn needs_a_trial(baseline: &SavedQueue) -> bool {
    tried(baseline).next().is_some()
}

/// Writes each value that the arms will replace over itself, and reads it back. Call it under the disk's lock and with an
/// entry in the journal, before anything is changed: a write may change other values, see [`read_ahead`](super::read_ahead).
///
/// Three are left out, because they come back by another way: `nr_requests`, whose smallest values the kernel only sets itself, and
/// `wbt_lat_usec`, which the first write changes for good. A scheduler's own attributes and `async_depth` begin anew with
/// each switch.
pub fn try_to_restore(device: &Device, baseline: &SavedQueue) -> Result<()> {
    for (name, own) in tried(baseline) {
        let outcome = write(device, name, own);
        let now = device.optional_attribute(&format!("queue/{name}"));
        let why = match (outcome, now) {
            (Ok(_), Some(now))
                if value::acceptance(name, own, &now, jiffy_ns()) != Acceptance::Not =>
            {
                continue;
            }
            (Ok(_), now) => format!("reads back as {}", now.unwrap_or_default()),
            (Err(error), _) => format!("is refused by the kernel ({:#})", error.root_cause()),
        };
        return Err(Failure::refused(
            format!(
                "{}: the present {name} {own:?} could not be restored: written again, it {why}",
                device.name
            ),
            format!(
                "leave {name} out of the arms, or first set it to a value that {} takes and keeps",
                device.sysfs("queue").join(name).display()
            ),
        ));
    }
    Ok(())
}

/// An attribute that the disk does not have is refused when it is set.
fn tried(baseline: &SavedQueue) -> impl Iterator<Item = (&str, &str)> {
    const OTHERS: [&str; 3] = [NR_REQUESTS, ASYNC_DEPTH, WBT_LAT_USEC];
    let names = baseline.set_by_arms.iter().map(String::as_str);
    let names = names.filter(|name| !is_of_scheduler(name) && !OTHERS.contains(name));
    names.filter_map(|name| Some((name, baseline.settings.get(name)?.as_str())))
}
