//! Chooses blocks and lengths of rounds so that a study fits into a given time, from pilot rounds. Pure.

use std::time::Duration;

use iosched_result::statistics::power;
use iosched_result::statistics::scale::Scale;
use iosched_result::statistics::signed_rank::{FEWEST_BLOCKS, blocks_needed};
use iosched_result::statistics::stopping::LOOKS;
use iosched_result::statistics::verdict::bonferroni;
use iosched_result::study::times::{Detectable, Times};
use iosched_result::types::outcome::Fixed;
use iosched_result::types::result::ResultFile;

/// The fewest that tell something about the noise.
pub const PILOT_BLOCKS: usize = 2;
const ALPHA: f64 = 0.05;

/// A cell after its pilot rounds.
pub struct Piloted<'a> {
    pub result: &'a ResultFile,
    /// The time of one block.
    pub took: Duration,
    /// It is the same whatever times are chosen.
    pub has_own_ramp: bool,
    /// Its workload cannot run: it ends after one block.
    pub is_hopeless: bool,
}

/// When each stage of a study must have ended, and how long the steps take that it does not end in the middle of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// When each stage ends, on the machine's clock. The stages after it then have the time that was planned for them.
    pub ends: Vec<Duration>,
    /// One block of each cell.
    pub blocks: Vec<Duration>,
    /// Making each stage.
    pub making: Vec<Duration>,
}

impl Deadline {
    /// `end`: of the study. `stages`: that of each cell. `number`: of blocks that are planned for each cell.
    pub fn new(
        end: Duration,
        blocks: Vec<Duration>,
        stages: &[usize],
        making: Vec<Duration>,
        number: usize,
    ) -> Deadline {
        let of = |stage: usize| {
            let cells = blocks.iter().zip(stages);
            let own = cells.filter(|(_, of)| **of == stage);
            making[stage]
                + own
                    .map(|(block, _)| *block * number as u32)
                    .sum::<Duration>()
        };
        let after = |stage: usize| (stage + 1..making.len()).map(of).sum::<Duration>();
        let ends = (0..making.len()).map(|stage| end.saturating_sub(after(stage)));
        Deadline {
            ends: ends.collect(),
            blocks,
            making,
        }
    }
}

/// Times with the number of blocks; None of these stands for all that a study may have. Err: the least time that it needs.
pub fn choose(
    cells: &[Piloted<'_>],
    pilot: Times,
    full: Times,
    left: Duration,
) -> Result<Times, Duration> {
    let most = LOOKS.last().copied().unwrap_or(FEWEST_BLOCKS);
    let rows = cells.iter().map(|cell| {
        let design = &cell.result.design;
        design.primary.len().max(1) * (design.arms.len() - 1)
    });
    let fewest =
        blocks_needed(bonferroni(ALPHA, rows.max().unwrap_or(1))).clamp(FEWEST_BLOCKS, most);
    let (quick_s, full_s) = (pass_s(cells, pilot, pilot), pass_s(cells, pilot, full));
    let affordable = |pass_s: f64| (left.as_secs_f64() / pass_s) as usize;
    if affordable(full_s) >= most {
        return Ok(Times {
            blocks: None,
            ..full
        });
    }
    if affordable(full_s) >= fewest {
        let blocks = Some(affordable(full_s));
        return Ok(Times { blocks, ..full });
    }
    let least_s = fewest as f64 * quick_s;
    if affordable(quick_s) < fewest {
        return Err(Duration::from_secs_f64(least_s));
    }
    // As long as fits, between the pilot's rounds and whole ones.
    let share = (left.as_secs_f64() / fewest as f64 - quick_s) / (full_s - quick_s);
    let between = |quick: f64, full: f64| (10.0 * (quick + share * (full - quick))).floor() / 10.0;
    Ok(Times {
        ramp_s: between(pilot.ramp_s, full.ramp_s).max(pilot.ramp_s),
        round_s: between(pilot.round_s, full.round_s).max(pilot.round_s),
        blocks: Some(fewest),
    })
}

/// One block of each cell.
fn pass_s(cells: &[Piloted<'_>], pilot: Times, times: Times) -> f64 {
    let blocks = cells.iter().map(|cell| block_s(cell, pilot, times));
    blocks.sum::<f64>().max(f64::MIN_POSITIVE)
}

/// One block with rounds of other times than the pilot's.
pub fn block_s(cell: &Piloted<'_>, pilot: Times, times: Times) -> f64 {
    let longer_ramp_s = if cell.has_own_ramp {
        0.0
    } else {
        times.ramp_s - pilot.ramp_s
    };
    let longer_s = longer_ramp_s + times.round_s - pilot.round_s;
    let rounds = match cell.result.workload.fixed {
        Fixed::Time if !cell.is_hopeless => cell.result.design.arms.len(),
        _ => 0,
    };
    (cell.took.as_secs_f64() + rounds as f64 * longer_s).max(0.0)
}

/// Detectable differences of the primary metrics of all cells but A/A.
pub fn detectable(cells: &[Piloted<'_>], blocks: usize) -> Vec<Detectable> {
    let cells = cells.iter().filter(|cell| !cell.result.design.is_placebo);
    cells
        .flat_map(|cell| of_cell(cell.result, blocks))
        .collect()
}

fn of_cell(result: &ResultFile, blocks: usize) -> Vec<Detectable> {
    let metrics = result.design.primary.iter();
    let found = metrics.filter_map(|metric| {
        let rows = result.comparisons.iter();
        let rows: Vec<_> = rows
            .filter(|row| row.primary && row.metric.name == metric.name)
            .collect();
        let variances: Option<Vec<f64>> = rows
            .iter()
            .map(|row| row.comparison.sd.map(|sd| sd * sd))
            .collect();
        let variances = variances.filter(|all| !all.is_empty())?;
        let sd = (variances.iter().sum::<f64>() / variances.len() as f64).sqrt();
        // The arms share the reference, so they tell less than as many pairs: counted as one.
        let sd = power::effective_sd(power::upper_sd(sd, PILOT_BLOCKS)?, false);
        let question = rows.first()?.comparison.question;
        let effect = power::reach_of(question, sd, blocks)?;
        Some(Detectable {
            cell: result.workload.name.clone(),
            metric: metric.name.clone(),
            effect: match metric.scale {
                Scale::Log => effect.exp_m1(),
                Scale::Identity => effect,
            },
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::report::fixture;

    const QUICK: Times = Times {
        ramp_s: 1.0,
        round_s: 3.0,
        blocks: Some(6),
    };
    const FULL: Times = Times {
        ramp_s: 5.0,
        round_s: 15.0,
        blocks: None,
    };

    #[test]
    fn a_budget_buys_blocks_then_length() {
        let mut result = fixture::sample();
        result.workload.fixed = Fixed::Time;
        result.design.primary.truncate(1);
        // Three rounds of 4 s and 1 s around each.
        let cells = [Piloted {
            result: &result,
            took: Duration::from_secs(15),
            has_own_ramp: false,
            is_hopeless: false,
        }];
        let chosen = |left_s| choose(&cells, QUICK, FULL, Duration::from_secs(left_s));
        // A whole pass takes 15 + 3 x 16 s; two rows need seven blocks.
        assert_eq!(chosen(63 * 20), Ok(FULL));
        assert_eq!(
            chosen(63 * 9),
            Ok(Times {
                blocks: Some(9),
                ..FULL
            })
        );
        let fewest = blocks_needed(0.025) as u64;
        let half = chosen(39 * fewest).expect("half of the length");
        assert_eq!(
            half,
            Times {
                ramp_s: 3.0,
                round_s: 9.0,
                blocks: Some(fewest as usize)
            }
        );
        assert_eq!(chosen(15 * fewest).map(|times| times.round_s), Ok(3.0));
        assert_eq!(
            chosen(15 * fewest - 1),
            Err(Duration::from_secs(15 * fewest))
        );
    }

    #[test]
    fn a_ramp_of_its_own_and_a_hopeless_cell_take_no_longer_than_in_the_pilot() {
        let mut result = fixture::sample();
        result.workload.fixed = Fixed::Time;
        let of = |has_own_ramp, is_hopeless| {
            let cell = Piloted {
                result: &result,
                took: Duration::from_secs(15),
                has_own_ramp,
                is_hopeless,
            };
            Duration::from_secs_f64(block_s(&cell, QUICK, FULL)).as_secs()
        };
        // Three rounds, each with 4 s more ramp and 12 s more measurement.
        assert_eq!(of(false, false), 15 + 3 * 16);
        assert_eq!(of(true, false), 15 + 3 * 12);
        assert_eq!(of(false, true), 15);
    }

    #[test]
    fn each_stage_leaves_the_time_that_is_planned_for_the_next() {
        let s = Duration::from_secs;
        let blocks = vec![s(3), s(5), s(2)];
        let deadline = Deadline::new(s(1000), blocks, &[0, 1, 2], vec![s(1), s(10), s(20)], 6);
        // 20 + 6 x 2 s for the last stage, and 10 + 6 x 5 s for the one before.
        assert_eq!(deadline.ends, [s(1000 - 32 - 40), s(1000 - 32), s(1000)]);
    }

    #[test]
    fn more_blocks_show_smaller_differences() {
        let result = fixture::sample();
        let cells = [Piloted {
            result: &result,
            took: Duration::from_secs(15),
            has_own_ramp: false,
            is_hopeless: false,
        }];
        let (few, many) = (detectable(&cells, 8), detectable(&cells, 20));
        assert_eq!(few.len(), result.design.primary.len());
        for (few, many) in few.iter().zip(&many) {
            assert!(
                many.effect < few.effect && many.effect > 0.0,
                "{few:?} {many:?}"
            );
        }
    }
}
