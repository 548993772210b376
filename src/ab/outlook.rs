//! The outlook before the first round: how long the run takes, and whether it can decide anything.

use std::time::Duration;

use iosched_result::analysis::times;
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

/// Tells the user of a run of so many arms.
pub fn announce(arms: usize, rounds: &Rounds, stopping: Stopping, washout: Washout) {
    let is_timed = rounds.workload.properties().fixed == Fixed::Time;
    let outlook = Outlook {
        arms,
        metrics: rounds.primary.len(),
        stopping,
        round: is_timed.then(|| washout.at_first() + rounds.times.ramp + rounds.times.window),
        washout: washout.at_first(),
        ramp: rounds.times.ramp,
        window: rounds.times.window,
        is_watched: rounds.live.is_some() && rounds.times.window.is_zero(),
        is_piloted: rounds.times.auto.is_some(),
    };
    outlook.lines().iter().for_each(|line| note(line));
}

/// A run that has not begun.
struct Outlook {
    arms: usize,
    metrics: usize,
    stopping: Stopping,
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
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.duration()];
        // Metrics that a command reports are known after its first block: at least one.
        let rows = self.metrics.max(1) * (self.arms - 1);
        lines.extend(decision(self.stopping, rows));
        lines
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
            round: Some(Duration::from_secs(25)),
            is_watched: false,
            is_piloted: false,
            washout: Duration::ZERO,
            ramp: Duration::ZERO,
            window: Duration::ZERO,
        };
        assert_eq!(outlook.lines(), ["12 to 40 rounds, about 5 min to 17 min"]);
        outlook.stopping = Stopping::Fixed { blocks: 6 };
        assert_eq!(outlook.lines(), ["12 rounds, about 5 min"]);
        outlook.is_piloted = true;
        let text = |outlook: &Outlook| outlook.lines().concat();
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
            outlook.lines(),
            ["12 rounds, each one execution of the command"]
        );
    }
}
