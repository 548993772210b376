//! When a verdict of an open run came. Pure.

use serde::{Deserialize, Serialize};

/// A primary row that had a verdict after this many blocks of the plan, and not before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decided {
    pub metric: String,
    pub arm: String,
    pub after_blocks: usize,
}
