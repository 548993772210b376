//! Since when a program waits, as it stands in the JSON of `iosched stat`. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::live::{Latency, both};
use crate::snapshot::{Asked, OwnerAsked};

/// Reads and writes since the program asked: at its call of `io_submit`, or when the kernel took the entry from
/// io_uring's ring. Without such a moment before it A is Q, when the bio was queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveAsked {
    /// A2Q, asked to queued: the part that is in no other stage.
    pub a2q: Latency,
    /// A2D, asked to first issued; of those whose queue wait is known.
    pub a2d: Latency,
    /// A2C, asked to completed.
    pub a2c: Latency,
}

impl LiveAsked {
    pub(super) fn of_device(asked: &Asked) -> Self {
        LiveAsked {
            a2q: Latency::of_cells(&asked.a2q),
            a2d: Latency::of_cells(&asked.a2d),
            a2c: Latency::of_cells(&asked.a2c),
        }
    }

    pub(super) fn of_process(asked: &OwnerAsked) -> Self {
        LiveAsked {
            a2q: Latency::of_cells(&both(&asked.a2q)),
            a2d: Latency::of_cells(&both(&asked.a2d)),
            a2c: Latency::of_cells(&both(&asked.a2c)),
        }
    }
}
