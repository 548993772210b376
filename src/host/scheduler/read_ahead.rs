//! The one attribute that the writes of others change: the kernel sets it anew when a limit of the queue is written, even
//! with the value that it has.

use anyhow::Result;

use super::SavedQueue;
use super::queue_file::write;
use crate::system::device::Device;

pub(super) const READ_AHEAD_KB: &str = "read_ahead_kb";

pub(super) fn put_back(device: &Device, baseline: &SavedQueue) -> Result<()> {
    let found = device.optional_attribute(&format!("queue/{READ_AHEAD_KB}"));
    match baseline.settings.get(READ_AHEAD_KB) {
        Some(own) if found.is_some_and(|found| found != *own) => {
            write(device, READ_AHEAD_KB, own).map(drop)
        }
        _ => Ok(()),
    }
}
