//! Why blocks have no ratio, in words.

use super::escape;
use crate::types::result::{NoRatio, WhyNoRatio};

/// `in 3 of 8 blocks there is no ratio: bfq failed in 2, none has 0 in 1`.
pub fn words(censored: usize, blocks: usize, found: &[NoRatio]) -> String {
    let why = match found {
        // A merged result has no rounds.
        [] => {
            "an arm stalled, failed, did too little, has 0 or a negative value, or the probe lost too much".to_owned()
        }
        [only] if only.blocks == censored => did(only),
        all => {
            let each = all.iter().map(|it| format!("{} in {}", did(it), it.blocks));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    format!("in {censored} of {blocks} blocks there is no ratio: {why}")
}

fn did(found: &NoRatio) -> String {
    let did = match found.why {
        WhyNoRatio::Overrun => "ran longer than --limit",
        WhyNoRatio::Starved => "did no I/O for too long",
        WhyNoRatio::Failed => "failed",
        WhyNoRatio::Stopped => "was stopped by --stop-if",
        WhyNoRatio::Unreported => "reported no value",
        WhyNoRatio::TooFew => "did too few I/Os",
        WhyNoRatio::Zero => "has 0",
        WhyNoRatio::Negative => "has a negative value",
        WhyNoRatio::Lost => "has too many requests that the probe lost",
    };
    format!("{} {did}", escape::line(&found.arm))
}
