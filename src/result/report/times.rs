//! What the wall-clock time of a run was spent on, in words. Pure.

use super::units;
use crate::types::result::{ResultFile, Round};
use crate::types::times::RoundTimes;

/// Shares of the time below this are not listed.
const SMALL: f64 = 0.01;

/// None for results of earlier versions, which do not say it.
pub fn line(result: &ResultFile) -> Option<String> {
    let took_s = result.rounds_took_s.filter(|took| *took > 0.0)?;
    let again = result.pilot.iter().flat_map(|pilot| &pilot.rounds);
    let rounds: Vec<&Round> = result.rounds.iter().chain(again).collect();
    let windows_s: f64 = rounds.iter().map(|round| round.window_s).sum();
    let sum = |of: fn(&RoundTimes) -> f64| -> f64 {
        let times = rounds
            .iter()
            .filter_map(|round| round.evidence.times.as_ref());
        times.map(of).sum()
    };
    let parts = [
        ("ramps", sum(|times| times.ramp_s)),
        ("the workload's start", sum(|times| times.start_s)),
        ("its end", sum(|times| times.end_s)),
        ("switching and pauses", sum(|times| times.switch_s)),
        ("wash-out", sum(|times| times.washout_s)),
    ];
    let known_s: f64 = windows_s + parts.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let rest = ("evaluation", (took_s - known_s).max(0.0));
    let parts = parts.into_iter().chain([rest]);
    let parts = parts.filter(|(_, seconds)| *seconds >= SMALL * took_s);
    let parts: Vec<String> = parts
        .map(|(name, seconds)| format!("{name} {:.0} %", seconds / took_s * 100.0))
        .collect();
    let mut line = format!(
        "The rounds took {}: windows {:.0} %",
        units::duration(took_s),
        windows_s / took_s * 100.0,
    );
    for part in parts {
        line += ", ";
        line += &part;
    }
    Some(line + ".")
}
