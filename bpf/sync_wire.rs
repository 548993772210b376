//! sync_wire.h, in Rust. Structures and enumerations are generated from it; none of its values is repeated here.

use crate::mapped::plain;
pub use crate::sync_skeleton::types::{
    sync_bdi, sync_key, sync_kind, sync_losses, sync_row, sync_sleep, sync_sleep_key, sync_thread,
};
use crate::sync_skeleton::types::{sync_limits, sync_place};

pub(crate) const CALLS: usize = sync_limits::SYNC_CALLS.0 as usize;

/// The number of the `backing_dev_info` without a device that a place is.
pub fn bdi_of_place(place: u64) -> Option<u32> {
    const UPPER_HALF: u32 = 32;
    let is_bdi = place >> UPPER_HALF == u64::from(sync_place::SYNC_BDI.0);
    is_bdi.then_some(place as u32)
}

plain!(
    sync_bdi,
    sync_key,
    sync_losses,
    sync_row,
    sync_sleep,
    sync_sleep_key,
    sync_thread,
);
