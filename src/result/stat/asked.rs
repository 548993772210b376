//! Stages since the program asked for its I/O, as in the JSON of `iosched stat`. Pure.

use serde::{Deserialize, Serialize};

use super::latency::{LatencySummary, both};
use crate::measured::snapshot::{Asked, OwnerAsked};

/// Reads and writes, measured since the program asked: since its call of `io_submit`, or since the kernel took the
/// entry from io_uring's ring. Without such an event A equals Q, when the bio was queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveAsked {
    /// A2Q, from asked to queued: this part is in no other stage.
    pub a2q: LatencySummary,
    /// A2D, from asked to first issued, for I/Os whose queue wait is known.
    pub a2d: LatencySummary,
    /// A2C, from asked to completed.
    pub a2c: LatencySummary,
}

impl LiveAsked {
    pub(super) fn of_device(asked: &Asked) -> Self {
        LiveAsked {
            a2q: LatencySummary::of_cells(&asked.a2q),
            a2d: LatencySummary::of_cells(&asked.a2d),
            a2c: LatencySummary::of_cells(&asked.a2c),
        }
    }

    pub(super) fn of_process(asked: &OwnerAsked) -> Self {
        LiveAsked {
            a2q: LatencySummary::of_cells(&both(&asked.a2q)),
            a2d: LatencySummary::of_cells(&both(&asked.a2d)),
            a2c: LatencySummary::of_cells(&both(&asked.a2c)),
        }
    }
}
