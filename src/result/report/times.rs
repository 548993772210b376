//! What the wall-clock time of a run was spent on, in words. Pure.

use super::{escape, units};
use crate::analysis::budget;
use crate::metric::Metric;
use crate::statistics::scale::Scale;
use crate::types::result::{ResultFile, Round};
use crate::types::times::{ChosenTimes, RoundTimes};

/// So many times the time that was given is said to be longer.
const BEYOND: f64 = 1.1;

/// `4 s after a ramp of 1 s`, and why, if a pilot chose them.
pub fn rounds(result: &ResultFile) -> String {
    let design = &result.design;
    let auto = design.auto_times.unwrap_or_default();
    if auto.any() && result.times.is_none() {
        return "as long as a pilot was to say".to_owned();
    }
    let because = |is_chosen: bool, of: fn(&ChosenTimes) -> &str| {
        let chosen = result.times.as_ref().filter(|_| is_chosen);
        chosen.map_or(String::new(), |chosen| {
            format!(" ({})", escape::line(of(chosen)))
        })
    };
    format!(
        "{} s{} after a ramp of {} s{}",
        design.round_time_s,
        because(auto.round_time, |chosen| &chosen.round_time_because),
        design.ramp_s,
        because(auto.ramp, |chosen| &chosen.ramp_because),
    )
}

/// What a limited time can show, by the pilot.
pub fn in_budget(result: &ResultFile) -> Option<String> {
    let chosen = result.times.as_ref()?;
    let (blocks, budget_s) = (chosen.blocks_in_budget?, result.design.budget_s?);
    let differences: Vec<String> = chosen
        .detectable
        .iter()
        .map(|it| format!("{} of {}", effect(&it.metric, it.effect), it.metric))
        .collect();
    let is_known = |name: &str| chosen.detectable.iter().any(|it| it.metric == name);
    let unknown: Vec<&str> = result
        .design
        .primary
        .iter()
        .map(|metric| metric.name.as_str())
        .filter(|name| !is_known(name) && !chosen.too_short_for.iter().any(|it| it == name))
        .collect();
    let mut shown = Vec::new();
    if !differences.is_empty() {
        shown.push(format!(
            "they show differences of about {}",
            differences.join(", ")
        ));
    }
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        shown.push(format!(
            "the pilot does not tell what they show of {unknown}"
        ));
    }
    if !chosen.too_short_for.is_empty() {
        let short = chosen.too_short_for.join(", ");
        shown.push(format!(
            "rounds of {} s are too short for {short}, which has no verdict where an arm does fewer I/Os than 100 beyond it",
            chosen.round_time_s
        ));
    }
    let shown = shown.join("; ");
    let all = limit(budget_s);
    Some(format!("at most {blocks} blocks in {all}: {shown}"))
}

/// A limit of time, not rounded while it is short.
pub fn limit(seconds: f64) -> String {
    if seconds < 600.0 {
        format!("{seconds} s")
    } else {
        units::duration(seconds)
    }
}

/// Rounds that became slower than those from which the run was planned.
pub fn beyond_budget(result: &ResultFile) -> Option<String> {
    let budget_s = result.design.budget_s?;
    let took_s = budget::spent_s(result);
    let is_beyond = result.design.extensions.is_empty() && took_s > BEYOND * budget_s;
    let are_repeated = result.rounds.iter().any(|round| round.attempt > 0);
    let why = if are_repeated {
        "blocks that did not count were repeated"
    } else {
        "rounds took longer than those before"
    };
    is_beyond.then(|| {
        let took = units::duration(took_s);
        format!("Pilot and rounds took {took}, longer than planned: {why}.")
    })
}

/// A difference of a metric, without its sign.
pub fn effect(metric: &str, effect: f64) -> String {
    let metric = Metric::named(metric);
    match metric.filter(|metric| metric.scale == Scale::Identity) {
        Some(metric) => units::value(Some(effect), &metric.unit),
        None if effect < 1.0 => format!("{:.0} %", 100.0 * effect),
        None => format!("x{:.1}", 1.0 + effect),
    }
}

/// What a pilot says about the number of blocks, if they are too few.
pub fn too_few_blocks(result: &ResultFile) -> Option<String> {
    let chosen = result.times.as_ref()?;
    let planned = result.design.schedule().most_blocks()?;
    let is_extended = !result.design.extensions.is_empty();
    let most = chosen.blocks_in_budget.filter(|_| !is_extended);
    let most = most.unwrap_or(planned);
    let shows_something = chosen.pilot.iter().any(|round| !round.series.is_empty());
    match chosen.blocks_needed {
        None if !shows_something => None,
        None => Some("the noise of the pilot hides differences as small as the margins".to_owned()),
        Some(needed) if needed > most => {
            let design = &result.design;
            let more = match design.budget_s {
                Some(_) if !is_extended => "give more time",
                _ => "use --rounds with more",
            };
            Some(format!(
                "in the noise of the pilot, differences as small as the margins need about {needed} blocks, and this run ends after \
                 {most}: {more}, or a wider margin",
            ))
        }
        Some(_) => None,
    }
}

/// Shares of the time below this are not listed.
const SMALL: f64 = 0.01;

/// None for results of earlier versions, which do not say it.
pub fn line(result: &ResultFile) -> Option<String> {
    let took_s = result.rounds_took_s.filter(|took| *took > 0.0)?;
    let again = result.pilot.iter().flat_map(|pilot| &pilot.rounds);
    let rounds: Vec<&Round> = result.rounds.iter().chain(again).collect();
    let windows_s: f64 = rounds.iter().map(|round| round.window_s).sum();
    // A file may say anything.
    if windows_s > 1.01 * took_s {
        return None;
    }
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
