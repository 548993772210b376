//! Whether the reference runs before each round, so that every round comes after the same. Pure.

use super::conclude;
use super::turn::Next;
use crate::statistics::layout::LAGS;
use crate::types::plan::Plan;
use crate::types::result::ResultFile;
use crate::types::washout::{Bias, Pilot};

/// Number of blocks after which it is decided.
pub const PILOT_BLOCKS: usize = 6;
/// A day: a file may say anything.
const LONGEST_S: f64 = 86_400.0;
/// A carry-over with a larger p-value than this counts as not shown. Calibrated in `tests/verdicts.rs`: with a smaller one, more of the verdicts on arms that
/// are alike are false where little is left behind for three rounds.
pub const NOTHING_SHOWS: f64 = 0.45;

/// Whether the first blocks are complete and nothing has followed from them. `next` is what the run would do.
pub fn is_due(result: &ResultFile, next: &Next) -> bool {
    let is_in_pilot = match next {
        Next::Round(turn) => turn.planned.block < PILOT_BLOCKS,
        Next::Draw(_) => result.plan.blocks() < PILOT_BLOCKS,
        // A verdict that what is left behind may have made does not end the run.
        Next::End => result.blocks_begun() < PILOT_BLOCKS,
    };
    result.design.washout_is_auto && result.pilot.is_none() && !is_in_pilot
}

/// Begins the run again where arms may leave something behind.
pub fn decide(result: &mut ResultFile) {
    let rows = conclude::primary_comparisons(result).into_iter();
    let left_behind = rows.map(|row| Bias {
        metric: row.metric.name,
        arm: row.arm,
        bias: row.carry_over_bias,
    });
    let left_behind: Vec<Bias> = left_behind.collect();
    let shows = |it: &&Bias| it.bias.is_none_or(|bias| bias.p <= NOTHING_SHOWS);
    let worst = left_behind.iter().filter(shows).min_by(|a, b| {
        let p = |it: &Bias| it.bias.map_or(0.0, |bias| bias.p);
        p(a).total_cmp(&p(b))
    });
    let began_again = worst.is_some();
    let why = worst.map(|it| match it.bias {
        Some(bias) => format!(
            "what arms leave behind shifts {} of {} by {:+.3} (p = {:.2})",
            it.metric, it.arm, bias.estimate, bias.p
        ),
        None => format!(
            "what arms leave behind in {} of {} cannot be estimated",
            it.metric, it.arm
        ),
    });
    let mut rounds = Vec::new();
    if let Some(why) = why {
        rounds = std::mem::take(&mut result.rounds);
        let design = &mut result.design;
        // A command takes as long as it takes.
        let longest = rounds
            .iter()
            .map(|round| round.window_s)
            .fold(0.0, f64::max)
            .min(LONGEST_S);
        // As long as carry-over is looked for: after a shorter one, it gave false verdicts like none.
        design.washout_s = LAGS as f64 * (design.ramp_s + design.round_time_s.max(longest));
        let blocks = design.stopping.next_segment(0).unwrap_or(0);
        result.plan = Plan::new(result.plan.seed.wrapping_add(1), result.plan.arms, blocks);
        result.excluded.clear();
        result.notes.push(format!(
            "the run began again after {} rounds, which do not count, with the reference before each round: {why}",
            rounds.len()
        ));
    }
    result.pilot = Some(Pilot {
        began_again,
        left_behind,
        rounds,
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::analysis::turn;
    use crate::report::fixture::{empty, round, values};
    use crate::statistics::stopping::Stopping;
    use crate::types::result::Round;

    /// Plays a run in which rounds after the second arm have `left` of the throughput, unless they are washed out.
    fn played(left: f64) -> ResultFile {
        let mut result = empty(&["none", "bfq"], Stopping::Fixed { blocks: 12 }, &["iops"]);
        result.design.washout_is_auto = true;
        loop {
            let next = turn::next(&result);
            if is_due(&result, &next) {
                decide(&mut result);
                continue;
            }
            match next {
                Next::Round(turn) => {
                    let after = result.rounds.last().is_some_and(|round| round.arm == "bfq");
                    let is_hit = after && result.design.washout().is_none();
                    let iops = if is_hit { left * 1000.0 } else { 1000.0 };
                    let values: BTreeMap<String, f64> = values(&turn, &[("iops", iops)]);
                    result.rounds.push(round(&result, &turn, Ok(values)));
                }
                Next::Draw(segment) => result.plan.extend(segment.blocks, &segment.arms),
                Next::End => return result,
            }
        }
    }

    #[test]
    fn a_run_in_which_arms_leave_something_behind_begins_again() {
        let result = played(0.7);
        let pilot = result.pilot.as_ref().expect("a pilot");
        assert!(pilot.began_again, "{pilot:?}");
        assert_eq!(pilot.rounds.len(), 2 * PILOT_BLOCKS);
        let found = pilot.left_behind[0].bias.expect("an estimate");
        assert!(found.p < 0.01 && found.estimate.abs() > 0.1, "{found:?}");
        // All blocks that were asked for, in orders of their own, each after the reference.
        assert_eq!((result.rounds.len(), result.blocks_begun()), (24, 12));
        assert_eq!(result.design.washout(), Some((0, Duration::from_secs(75))));
        let orders = |rounds: &[Round]| -> Vec<String> {
            rounds.iter().map(|round| round.arm.clone()).collect()
        };
        assert_ne!(orders(&pilot.rounds), orders(&result.rounds[..12]));
        assert!(
            result.notes[0].contains("which do not count"),
            "{:?}",
            result.notes
        );
    }

    #[test]
    fn a_run_in_which_nothing_shows_goes_on() {
        let result = played(1.0);
        let pilot = result.pilot.as_ref().expect("a pilot");
        assert!(!pilot.began_again && pilot.rounds.is_empty(), "{pilot:?}");
        assert_eq!((result.rounds.len(), result.design.washout()), (24, None));
        assert!(result.notes.is_empty(), "{:?}", result.notes);
    }

    /// A file that was saved at any moment says what is next.
    #[test]
    fn it_is_decided_once() {
        let result = played(0.7);
        let read: ResultFile =
            serde_json::from_slice(&serde_json::to_vec(&result).expect("JSON")).expect("a result");
        assert_eq!(read.pilot, result.pilot);
        assert!(!is_due(&read, &turn::next(&read)));
    }
}
