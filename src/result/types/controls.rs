//! The difference that a negative control could have shown.

use serde::{Deserialize, Serialize};

/// How much a control varies by itself, and what it could have shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sight {
    /// Standard deviation of the difference between two rounds of one arm, on the metric's scale, from successive rounds
    /// of every arm.
    pub spread: Option<f64>,
    /// The smallest difference that this many blocks show with 80 % power at that spread, in the margin's unit.
    pub detectable: Option<f64>,
    /// A difference as large as the margin could have gone unseen.
    pub is_blind: bool,
}
