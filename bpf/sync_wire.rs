//! sync_wire.h, in Rust. Structures and enumerations are generated from it; none of its values is repeated here.

use crate::mapped::Plain;
use crate::sync_skeleton::types::sync_limits;
pub use crate::sync_skeleton::types::{
    sync_key, sync_kind, sync_losses, sync_row, sync_sleep, sync_sleep_key, sync_thread,
};

pub(crate) const CALLS: usize = sync_limits::SYNC_CALLS.0 as usize;
pub(crate) const FRAMES: usize = sync_limits::SYNC_FRAMES.0 as usize;

macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        $(
            const _: () = assert!(size_of::<$type>().is_multiple_of(8));
            // SAFETY: integers only, generated from sync_wire.h without padding: bpf/tests/sources.rs.
            unsafe impl Plain for $type {}
        )*
    };
}

plain!(
    sync_key,
    sync_losses,
    sync_row,
    sync_sleep,
    sync_sleep_key,
    sync_thread,
);
