//! The outlook before the first round: how long the run takes, and whether it can decide anything.

use std::time::Duration;

use anyhow::Result;
use iosched_result::analysis::{budget, times};
use iosched_result::report::times::limit;
use iosched_result::report::units;
use iosched_result::statistics::signed_rank::{FEWEST_BLOCKS, blocks_needed};
use iosched_result::statistics::stopping::{LOOKS, Stopping};
use iosched_result::statistics::verdict::bonferroni;
use iosched_result::types::outcome::Fixed;
use iosched_result::types::washout::Washout;

use crate::rounds::Rounds;
use iosched_read::messages::note;

/// Switching, waiting for idle and starting the workload.
pub const AROUND_A_ROUND: Duration = Duration::from_secs(1);
const ALPHA: f64 = 0.05;
/// A pilot's round, with its start and end.
const PILOT_S: f64 = 11.0;

/// A run, as the arguments ask for it.
pub struct Request {
    pub arms: usize,
    pub stopping: Stopping,
    pub washout: Washout,
    /// For pilot and rounds.
    pub budget: Option<Duration>,
}

impl Request {
    /// Tells the user. Returns the blocks that the run may have, if it ends by itself. Err: it can show nothing.
    pub fn announce(&self, rounds: &Rounds) -> Result<Option<usize>> {
        let is_timed = rounds.workload.properties().fixed == Fixed::Time;
        let washout = self.washout.at_first();
        let outlook = Outlook {
            arms: self.arms,
            metrics: rounds.primary.len(),
            stopping: self.stopping,
            budget: self.budget,
            round: is_timed.then(|| washout + rounds.times.ramp + rounds.times.window),
            washout,
            ramp: rounds.times.ramp,
            window: rounds.times.window,
            is_watched: rounds.live.is_some() && rounds.times.window.is_zero(),
            is_piloted: rounds.times.auto.is_some(),
        };
        let (most, lines) = outlook.lines()?;
        for line in lines {
            note(&line);
        }
        Ok(most)
    }
}

/// A run that has not begun.
struct Outlook {
    arms: usize,
    metrics: usize,
    stopping: Stopping,
    budget: Option<Duration>,
    /// Ramp, window and wash-out; None for a command, which takes as long as it takes.
    round: Option<Duration>,
    washout: Duration,
    /// Zero if a pilot chooses it.
    ramp: Duration,
    /// The same.
    window: Duration,
    /// The window is found by watching the load.
    is_watched: bool,
    /// Ramp or window are found by a pilot.
    is_piloted: bool,
}

impl Outlook {
    /// The most blocks, and what to say.
    fn lines(&self) -> Result<(Option<usize>, Vec<String>)> {
        // Metrics that a command reports are known after its first block: at least one.
        let rows = self.metrics.max(1) * (self.arms - 1);
        if let Some(budget) = self.budget {
            let (most, line) = self.in_budget(budget.as_secs_f64(), rows)?;
            return Ok((Some(most), vec![line]));
        }
        let mut lines = vec![self.duration()];
        lines.extend(decision(self.stopping, rows));
        Ok((self.stopping.most_blocks(), lines))
    }

    /// The blocks that a time is at most enough for, and what to say. Err: so few that they show nothing, however short they are.
    fn in_budget(&self, budget_s: f64, rows: usize) -> Result<(usize, String)> {
        let all = limit(budget_s);
        let Some(round) = self.round else {
            let most = budget::MOST_WITHOUT_PILOT;
            return Ok((
                most,
                format!(
                    "as many rounds as fit into {all}, at most {most} of each arm, each one execution of the command; after one under \
                     each arm it is known how many"
                ),
            ));
        };
        let mut round_s = (round + AROUND_A_ROUND).as_secs_f64();
        let mut pilot_s = 0.0;
        if self.is_piloted {
            let (ramp, window) = times::SHORTEST;
            let or_shortest =
                |time: Duration, shortest| if time.is_zero() { shortest } else { time };
            let whole =
                self.washout + or_shortest(self.ramp, ramp) + or_shortest(self.window, window);
            round_s = (whole + AROUND_A_ROUND).as_secs_f64();
            pilot_s = (PILOT_S + self.washout.as_secs_f64()) * self.arms as f64;
        }
        let block_s = round_s * self.arms as f64;
        let blocks = ((budget_s - pilot_s) / block_s).max(0.0) as usize;
        if blocks < FEWEST_BLOCKS {
            let needed_s = pilot_s + block_s * FEWEST_BLOCKS as f64;
            return Err(budget::too_short(budget_s, needed_s, self.arms));
        }
        if self.is_piloted {
            let line = format!(
                "a pilot of 10 s under each arm chooses the times of the rounds, and says what they can show in {all}"
            );
            return Ok((blocks, line));
        }
        let most = blocks.min(budget::MOST_WITHOUT_PILOT);
        let safe = blocks_needed(bonferroni(self.stopping.level(ALPHA), rows));
        let rounds = format!("at most {} rounds in {all}", most * self.arms);
        let line = if most < safe {
            format!(
                "{rounds}, which decide only large differences: {safe} of each arm would see more"
            )
        } else {
            rounds
        };
        Ok((most, line))
    }

    fn duration(&self) -> String {
        let (fewest, most) = match self.stopping {
            Stopping::Fixed { blocks } => (blocks, Some(blocks)),
            Stopping::Looks { .. } => (LOOKS[0], LOOKS.last().copied()),
            Stopping::Open => (1, None),
        };
        let of = |blocks: usize| blocks * self.arms;
        let rounds = match most {
            Some(most) if most == fewest => format!("{} rounds", of(most)),
            Some(most) => format!("{} to {} rounds", of(fewest), of(most)),
            None => "rounds until Ctrl-C".to_owned(),
        };
        let Some(round) = self.round else {
            return format!("{rounds}, each one execution of the command");
        };
        if self.is_watched {
            return format!("{rounds} of 20 s to 2 min, after a minute of watching the load");
        }
        if self.is_piloted {
            let (ramp, window) = times::FIRST;
            let or_longest = |time: Duration, longest| if time.is_zero() { longest } else { time };
            let whole =
                self.washout + or_longest(self.ramp, ramp) + or_longest(self.window, window);
            let mut round_s = (whole + AROUND_A_ROUND).as_secs_f64();
            if matches!(self.stopping, Stopping::Looks { .. }) {
                // Shorter ones are more.
                round_s = round_s.max(times::LONGEST_ROUND_S);
            }
            let longest = most.map_or(String::new(), |most| {
                let rounds_s = round_s * of(most) as f64;
                let pilot_s = (PILOT_S + self.washout.as_secs_f64()) * self.arms as f64;
                format!(
                    "; at most about {} in all",
                    units::duration(rounds_s + pilot_s)
                )
            });
            return format!(
                "a pilot of 10 s under each arm chooses the times of the rounds, as short as the noise allows{longest}"
            );
        }
        let round = (round + AROUND_A_ROUND).as_secs_f64();
        let time = |blocks: usize| units::duration(round * of(blocks) as f64);
        match most {
            Some(most) if most == fewest => format!("{rounds}, about {}", time(most)),
            Some(most) => format!("{rounds}, about {} to {}", time(fewest), time(most)),
            None => format!("{rounds}, about {} each", units::duration(round)),
        }
    }
}

/// A design with which no difference, however large, can be decided.
fn decision(stopping: Stopping, rows: usize) -> Option<String> {
    let Stopping::Fixed { blocks } = stopping else {
        return None;
    };
    if blocks < FEWEST_BLOCKS {
        return Some(format!(
            "{blocks} rounds per arm decide nothing, however large the difference: use --rounds {FEWEST_BLOCKS} or more, or auto"
        ));
    }
    let safe = blocks_needed(bonferroni(ALPHA, rows));
    (blocks < safe).then(|| {
        format!(
            "{rows} comparisons share one error rate: with {blocks} rounds per arm only large differences can be decided; \
             --rounds {safe} or auto, or fewer metrics, see more"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_that_cannot_decide_is_told() {
        let fixed = |blocks, rows| decision(Stopping::Fixed { blocks }, rows);
        assert!(
            fixed(4, 1)
                .unwrap()
                .contains("4 rounds per arm decide nothing")
        );
        assert_eq!(fixed(6, 1), None);
        assert!(fixed(6, 6).unwrap().contains("--rounds 8"));
        assert_eq!(fixed(12, 6), None);
        assert_eq!(decision(Stopping::LOOKS, 6), None);
    }

    #[test]
    fn the_duration_is_told() {
        let mut outlook = Outlook {
            arms: 2,
            metrics: 1,
            stopping: Stopping::LOOKS,
            budget: None,
            round: Some(Duration::from_secs(25)),
            is_watched: false,
            is_piloted: false,
            washout: Duration::ZERO,
            ramp: Duration::ZERO,
            window: Duration::ZERO,
        };
        assert_eq!(
            outlook.lines().unwrap().1,
            ["12 to 40 rounds, about 5 min to 17 min"]
        );
        outlook.stopping = Stopping::Fixed { blocks: 6 };
        assert_eq!(outlook.lines().unwrap().1, ["12 rounds, about 5 min"]);
        outlook.is_piloted = true;
        let text = |outlook: &Outlook| outlook.lines().unwrap().1.concat();
        assert!(
            text(&outlook).ends_with("; at most about 6 min in all"),
            "{}",
            text(&outlook)
        );
        (outlook.window, outlook.washout) = (Duration::from_secs(120), Duration::from_secs(60));
        assert!(
            text(&outlook).ends_with("; at most about 40 min in all"),
            "{}",
            text(&outlook)
        );
        outlook.stopping = Stopping::LOOKS;
        (outlook.window, outlook.washout) = (Duration::from_secs(2), Duration::ZERO);
        assert!(
            text(&outlook).ends_with("; at most about 18 min in all"),
            "{}",
            text(&outlook)
        );
        outlook.is_piloted = false;
        outlook.stopping = Stopping::Fixed { blocks: 6 };
        outlook.round = None;
        assert_eq!(
            outlook.lines().unwrap().1,
            ["12 rounds, each one execution of the command"]
        );
    }

    #[test]
    fn a_budget_buys_rounds_or_is_refused() {
        let mut outlook = Outlook {
            arms: 2,
            metrics: 1,
            stopping: Stopping::LOOKS,
            budget: Some(Duration::from_secs(600)),
            round: Some(Duration::from_secs(19)),
            is_watched: false,
            is_piloted: false,
            washout: Duration::ZERO,
            ramp: Duration::from_secs(4),
            window: Duration::from_secs(15),
        };
        // Rounds of 20 s, with what is around them.
        assert_eq!(outlook.lines().unwrap().1, ["at most 30 rounds in 10 min"]);
        outlook.metrics = 4000;
        let text = outlook.lines().unwrap().1.concat();
        assert!(text.contains("only large differences"), "{text}");
        outlook.budget = Some(Duration::from_secs(200));
        let error = outlook.lines().unwrap_err();
        assert!(
            format!("{error:#}").contains("200 s show nothing"),
            "{error:#}"
        );
        // A command may be quick.
        outlook.round = None;
        assert!(outlook.lines().is_ok());
    }
}
