//! How many blocks fit into the time that a run was given. Pure.

use crate::failure::Failure;
use crate::statistics::signed_rank::FEWEST_BLOCKS;
use crate::statistics::stopping::{LOOKS, Stopping};
use crate::types::result::ResultFile;
use crate::types::times::{mean_around_s, took_s};

/// The most looks of a run without a pilot, which does not know the noise.
const MOST_TIMES: usize = 5;
/// The most blocks of such a run.
pub const MOST_WITHOUT_PILOT: usize = MOST_TIMES * LOOKS[LOOKS.len() - 1];
/// The first block may have been slow by chance.
const TOLERANCE: f64 = 1.1;

/// So many more blocks of these arms end within the time, if they take as long as those so far; None: the run has no such limit, or
/// nothing has shown yet how long a block takes. Blocks that were added after the end are outside of it.
pub fn affordable_blocks(result: &ResultFile, arms: usize) -> Option<usize> {
    if !result.design.extensions.is_empty() {
        return None;
    }
    let left_s = result.design.budget_s? - spent_s(result);
    Some((left_s / block_s(result, arms)?).max(0.0) as usize)
}

/// Called after the pilot: the same for the times that it has chosen.
pub fn ensure_planned(result: &ResultFile) -> anyhow::Result<()> {
    let design = &result.design;
    let has_rounds = !result.rounds.is_empty();
    let (Some(budget_s), Some(times), false) = (design.budget_s, &result.times, has_rounds) else {
        return Ok(());
    };
    let arms = design.arms.len();
    let planned_s = |blocks: usize, window_s: f64| {
        let round_s = times.ramp_s + window_s + mean_around_s(&times.pilot);
        pilot_s(result) + (blocks * arms) as f64 * round_s
    };
    let mut names = design.primary.iter().map(|metric| &metric.name);
    let has_no_value = names.all(|name| times.too_short_for.contains(name));
    let window_s = match times.unlimited_round_time_s {
        Some(longer_s) if has_no_value => longer_s,
        _ if planned_s(FEWEST_BLOCKS, times.round_time_s) > budget_s => times.round_time_s,
        _ => return Ok(()),
    };
    Err(too_short(
        budget_s,
        planned_s(FEWEST_BLOCKS, window_s),
        arms,
    ))
}

/// Called before the first round, and when the first block has ended. Err: it shows that not even the fewest blocks that decide
/// anything fit.
pub fn ensure_enough(result: &ResultFile) -> anyhow::Result<()> {
    match (result.design.budget_s, needed_s(result)) {
        (Some(budget_s), Some(needed_s)) => {
            Err(too_short(budget_s, needed_s, result.design.arms.len()))
        }
        _ => Ok(()),
    }
}

/// The time without which nothing is shown, if there is less. Asked while nothing but the first block is known: what is planned by it
/// is carried out.
pub fn needed_s(result: &ResultFile) -> Option<f64> {
    let is_asked = result.rounds.len() <= result.plan.rounds_of(0);
    let budget_s = result.design.budget_s.filter(|_| is_asked)?;
    let block_s = block_s(result, result.design.arms.len())?;
    let needed_s = pilot_s(result) + block_s * FEWEST_BLOCKS as f64;
    (needed_s > TOLERANCE * budget_s).then_some(needed_s)
}

/// Called after the first block of a run without a pilot: so many times the usual blocks that its looks fill the time.
pub fn fill(result: &mut ResultFile) {
    let is_due = result.times.is_none() && result.rounds.len() == result.plan.rounds_of(0);
    let affordable = affordable_blocks(result, result.design.arms.len());
    if let (true, Some(blocks), Stopping::Looks { .. }) =
        (is_due, affordable, result.design.stopping)
    {
        let usual = LOOKS[LOOKS.len() - 1];
        let times = (blocks + 1).div_ceil(usual).clamp(1, MOST_TIMES);
        result.design.stopping = Stopping::Looks { times };
    }
}

/// A time in which nothing can be decided.
pub fn too_short(budget_s: f64, needed_s: f64, arms: usize) -> anyhow::Error {
    let cure = if arms > 2 {
        "or compare fewer arms"
    } else {
        "or make the rounds shorter"
    };
    // Rounded up, so that this time is enough.
    let needed_s = needed_s.ceil();
    Failure::usage(
        format!(
            "{budget_s} s show nothing: {FEWEST_BLOCKS} rounds of each arm, the fewest that decide anything, take about {needed_s} s",
        ),
        format!("give --budget {needed_s}s or more, {cure}"),
    )
}

/// Pilot and rounds so far.
pub fn spent_s(result: &ResultFile) -> f64 {
    pilot_s(result) + result.rounds_took_s.unwrap_or(0.0)
}

/// The pilot's rounds, with their start and end.
fn pilot_s(result: &ResultFile) -> f64 {
    let times = result.times.as_ref();
    times.map_or(0.0, |times| took_s(&times.pilot))
}

/// The wall-clock time of one block with so many arms, as long as the rounds so far took; None: not known.
pub fn block_s(result: &ResultFile, arms: usize) -> Option<f64> {
    // Rounds before a run began again with a wash-out took their time, too.
    let again = result.pilot.as_ref().map_or(0, |pilot| pilot.rounds.len());
    let rounds = result.rounds.len() + again;
    let per_round_s = result.rounds_took_s.filter(|took| *took > 0.0)? / rounds as f64;
    (rounds > 0).then_some(per_round_s * arms as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::empty;
    use crate::statistics::stopping::{Extension, Stopping};
    use crate::types::times::{ChosenTimes, PilotRound, PilotSeries};

    /// Two arms, rounds of 10 s, and a pilot of 20 s.
    fn run(rounds: usize, budget_s: f64) -> ResultFile {
        let mut result = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
        result.design.budget_s = Some(budget_s);
        let round = crate::report::fixture::sample().rounds[0].clone();
        result.rounds = vec![round; rounds];
        result.rounds_took_s = Some(10.0 * rounds as f64);
        let pilot = PilotRound {
            bin_s: 0.5,
            around_s: 1.0,
            series: vec![PilotSeries {
                values: vec![None; 18],
                ..PilotSeries::default()
            }],
            ..PilotRound::default()
        };
        result.times = Some(ChosenTimes {
            pilot: vec![pilot.clone(), pilot],
            ..ChosenTimes::default()
        });
        result
    }

    #[test]
    fn blocks_take_as_long_as_those_before() {
        // 20 s of pilot and 120 s of rounds: 180 s are left, for 9 blocks of two arms.
        let mut result = run(12, 320.0);
        assert_eq!(affordable_blocks(&result, 2), Some(9));
        assert_eq!(affordable_blocks(&result, 3), Some(6));
        assert_eq!(affordable_blocks(&run(12, 100.0), 2), Some(0));
        assert_eq!(affordable_blocks(&run(0, 320.0), 2), None);
        result.design.extensions = vec![Extension {
            after_blocks: 6,
            blocks: 6,
        }];
        assert_eq!(affordable_blocks(&result, 2), None);
        result.design.budget_s = None;
        assert_eq!(affordable_blocks(&result, 2), None);
    }

    #[test]
    fn without_a_pilot_the_first_block_says_how_many_looks_fill_the_time() {
        let filled = |budget_s: f64| {
            let mut result = run(2, budget_s);
            result.times = None;
            fill(&mut result);
            result.design.stopping
        };
        // Blocks of 20 s.
        assert_eq!(filled(390.0), Stopping::Looks { times: 1 });
        assert_eq!(filled(600.0), Stopping::Looks { times: 2 });
        assert_eq!(filled(90_000.0), Stopping::Looks { times: 5 });
        // A pilot has chosen them.
        let mut piloted = run(2, 600.0);
        fill(&mut piloted);
        assert_eq!(piloted.design.stopping, Stopping::LOOKS);
    }

    #[test]
    fn what_the_first_block_has_passed_is_not_asked_again() {
        assert!(ensure_enough(&run(2, 100.0)).is_err());
        assert!(ensure_enough(&run(4, 100.0)).is_ok());
    }

    #[test]
    fn a_time_that_shows_nothing_is_refused_after_the_first_block() {
        // 20 s and six blocks of 20 s.
        assert!(ensure_enough(&run(2, 140.0)).is_ok());
        let error = ensure_enough(&run(2, 100.0)).unwrap_err();
        assert!(
            format!("{error:#}").contains("take about 140 s"),
            "{error:#}"
        );
    }
}
