//! Whether the reference runs before each round, and what the first blocks showed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::statistics::carry_over::Contrast;
use crate::types::result::Round;

/// The wash-out that the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Washout {
    /// The reference runs so long before each round.
    For(Duration),
    /// As long as [`LAGS`](crate::statistics::layout::LAGS) rounds, unless the first blocks show nothing of what arms leave behind.
    Auto,
}

impl Washout {
    pub const NONE: Washout = Washout::For(Duration::ZERO);

    /// From the first round on.
    pub fn at_first(self) -> Duration {
        match self {
            Washout::For(time) => time,
            Washout::Auto => Duration::ZERO,
        }
    }
}

/// The first blocks of a run with an automatic wash-out, and what followed from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pilot {
    /// The run began again, with a wash-out before each round.
    pub began_again: bool,
    pub left_behind: Vec<Bias>,
    /// If the run began again, the rounds before; none of them counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
}

/// The bias of a primary comparison by what ran before the rounds of both arms, on the metric's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bias {
    pub metric: String,
    pub arm: String,
    /// Absent: it could not be estimated.
    pub bias: Option<Contrast>,
}
