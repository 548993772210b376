//! What the pilot has left of a limited time. Pure.

use super::{Needs, WINDOWS_S};
use crate::types::result::Design;
use crate::types::times::{ChosenTimes, PilotRound, took_s};

pub(super) struct Limit {
    left_s: f64,
    arms: f64,
}

impl Limit {
    pub fn of(design: &Design, pilot: &[PilotRound]) -> Option<Limit> {
        Some(Limit {
            left_s: (design.budget_s? - took_s(pilot)).max(0.0),
            arms: design.arms.len() as f64,
        })
    }

    pub fn blocks(&self, round_s: f64) -> usize {
        (self.left_s / (self.arms * round_s)) as usize
    }

    /// Takes the longest window of which so many blocks fit that all rows can be decided, if the chosen one is longer.
    pub fn shorten(&self, needs: &Needs<'_>, chosen: &mut ChosenTimes) {
        let round_s = self.left_s / (self.arms * needs.fewest());
        let window_s = round_s - needs.ramp_s - needs.around_s;
        // In tenths of a second, and not shorter than what is chosen without a limit.
        let longest_s = ((10.0 * window_s).floor() / 10.0).max(WINDOWS_S[0]);
        let wanted_s = chosen.round_time_s;
        if wanted_s > longest_s {
            chosen.round_time_because = format!(
                "the longest that fits into the time often enough; {wanted_s} s without a limit: {}",
                chosen.round_time_because
            );
            chosen.round_time_s = longest_s;
            chosen.unlimited_round_time_s = Some(wanted_s);
        }
    }
}
