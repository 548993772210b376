//! The leftover of an arm, as far as a comparison must allow for it. Pure.

use super::carry_over::Contrast;
use super::verdict::Reason;

/// Carry-over bias of an estimate.
#[derive(Clone, Copy, Debug)]
pub enum Leftover {
    /// The same arm preceded every round.
    Nothing,
    /// The plan so far does not separate it from the arms.
    Unknown,
    /// The other arm's leftover may have caused the rounds without a value.
    Censored,
    Bias(Contrast),
}

impl Leftover {
    pub fn reason(self) -> Reason {
        match self {
            Leftover::Bias(bias) => Reason::CarryOver {
                bias: Some(bias.estimate),
            },
            Leftover::Censored => Reason::CensoredAfterOthers,
            Leftover::Nothing | Leftover::Unknown => Reason::CarryOver { bias: None },
        }
    }
}
