//! The interface between the programs and user space, with the names that user space uses. Structures and enumerations
//! are generated from wire.h; none of its values is repeated here.

use crate::mapped::plain;
use crate::skeleton::types::limits;
pub use crate::skeleton::types::{
    blocked, device_stats, extra, file_path, inflight, op_counters, owner, owner_key, owner_op,
    queue, record, ring, target, waits,
};

/// The enumerations, with their names in wire.h.
pub mod enums {
    pub use crate::skeleton::types::{
        file_kind, inflight_flags, op, owner_flags, owner_kind, pool, record_flags,
    };
}

pub const OPS: usize = enums::op::OP_COUNT.0 as usize;
/// The operations below this move data and have all stages.
pub const DATA_OPS: usize = enums::op::DATA_OPS.0 as usize;

pub const STATUSES: usize = limits::STATUSES.0 as usize;
pub const POOLS: usize = enums::pool::POOLS.0 as usize;
pub(crate) const QUEUE_IDS: usize = limits::QUEUE_IDS.0 as usize;
pub(crate) const THREADS: u32 = limits::THREADS.0;
pub(crate) const RING_LEVELS: u32 = limits::RING_LEVELS.0;

const _: () = assert!(
    size_of::<inflight>() == 64,
    "a request's state fills a cache line"
);

plain!(
    blocked,
    device_stats,
    extra,
    file_path,
    inflight,
    owner,
    owner_key,
    queue,
    record,
    ring,
    target,
    waits,
    u64,
);
