//! Whether the values that arms will replace can be written again. The kernel shows some that it does not take: a loop
//! device's `discard_max_bytes` need not be a multiple of its granularity.

use anyhow::Result;

use super::queue_file::write;
use super::value::{self, Kept};
use super::{ASYNC_DEPTH, NR_REQUESTS, SavedQueue, WBT_LAT_USEC, is_of_scheduler, jiffy_ns};
use crate::failure::Failure;
use crate::machine::device::Device;

/// Writes each value that the arms will replace over itself, and reads it back. Call it under the disk's lock, before
/// anything is changed.
///
/// Three are left out, because they come back by another way: `nr_requests`, whose smallest values the kernel only sets itself, and
/// `wbt_lat_usec`, which the first write changes for good. A scheduler's own attributes and `async_depth` begin anew with
/// each switch.
pub fn ensure_restorable(device: &Device, baseline: &SavedQueue) -> Result<()> {
    const OTHERS: [&str; 3] = [NR_REQUESTS, ASYNC_DEPTH, WBT_LAT_USEC];
    let is_probed = |name: &&String| !is_of_scheduler(name) && !OTHERS.contains(&name.as_str());
    for name in baseline.set_by_arms.iter().filter(is_probed) {
        let Some(own) = baseline.settings.get(name) else {
            continue; // refused as unknown when it is set
        };
        let outcome = write(device, name, own);
        let now = device.optional_attribute(&format!("queue/{name}"));
        let why = match (outcome, now) {
            (Ok(_), Some(now)) if value::kept(name, own, &now, jiffy_ns()) != Kept::Not => continue,
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
