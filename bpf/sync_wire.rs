//! sync_wire.h, in Rust. Structures and enumerations are generated from it; none of its values is repeated here.

use crate::mapped::plain;
use crate::sync_skeleton::types::sync_limits;
pub use crate::sync_skeleton::types::{
    sync_key, sync_kind, sync_losses, sync_row, sync_sleep, sync_sleep_key, sync_thread,
};

pub(crate) const CALLS: usize = sync_limits::SYNC_CALLS.0 as usize;

plain!(
    sync_key,
    sync_losses,
    sync_row,
    sync_sleep,
    sync_sleep_key,
    sync_thread,
);
