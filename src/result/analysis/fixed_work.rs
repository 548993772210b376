//! Whether the elapsed time of a command is a result: only where every round does the same work. A benchmark that runs for a
//! fixed time does more work where it is faster, and takes longer where more is still queued at its end. Pure.

use std::fmt;

use super::early::ELAPSED;
use crate::metric::Metric;
use crate::statistics::estimate;
use crate::types::result::{ResultFile, Round};

/// Two or three rounds may be alike by chance.
const FEWEST: usize = 4;
/// The same time to the clock, whatever the work: times differ by less than this share...
const SAME_TIME: f64 = 0.005;
/// ... while the work differs by more than this share, and by this factor more than the time.
const OTHER_WORK: f64 = 0.02;
const MORE_THAN_TIME: f64 = 5.0;
/// Metadata and journals make the bytes of a fixed work differ by less than this.
const SAME_WORK: f64 = 0.003;
/// By how much more the work must vary than the time: both are estimated from few rounds.
const CLEARLY: f64 = 1.5;
/// How much longer than a time that its arguments name a command takes: start-up, and what was queued.
const OVERHEAD: f64 = 0.02;
const OVERHEAD_S: f64 = 0.1;

/// The work of a round, and its time.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    pub arm: &'a str,
    pub elapsed_s: f64,
    pub bytes: f64,
}

impl<'a> Done<'a> {
    fn of(round: &'a Round) -> Option<Self> {
        let ops = &round.evidence.device.ops;
        Some(Done {
            arm: &round.arm,
            elapsed_s: *round
                .metrics
                .get(ELAPSED)
                .filter(|seconds| **seconds > 0.0)?,
            bytes: ops.iter().map(|op| op.bytes).sum::<u64>() as f64,
        })
    }
}

/// Why an elapsed time is no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// It is the same in all rounds, and the work is not.
    SameTime,
    /// Standard deviations of both, as shares.
    WorkVaries { work: f64, time: f64 },
    /// The arm's work as a share of the reference's.
    WorkDiffers { arm: String, share: f64 },
    /// The arm does no I/O in any round, and another does.
    NoWork { arm: String },
    /// Every round takes a little longer than a time among the command's words.
    TimeIsGiven { seconds: f64 },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::SameTime => {
                f.write_str("takes the same time in every round, however much work it does")
            }
            Doubt::WorkVaries { work, time } => write!(
                f,
                "does not do the same work in every round: its bytes vary by {:.1} %, its time by {:.1} %",
                work * 100.0,
                time * 100.0
            ),
            Doubt::WorkDiffers { arm, share } => write!(
                f,
                "does not do the same work under every arm: {share:.2} times the bytes under {arm}"
            ),
            Doubt::NoWork { arm } => {
                write!(
                    f,
                    "does no I/O under {arm}, so it does not do the same work"
                )
            }
            Doubt::TimeIsGiven { seconds } => write!(
                f,
                "seems to run for a fixed time: its arguments say {seconds}, and every round takes a little longer"
            ),
        }
    }
}

/// How sure it is that the work is fixed.
pub struct Claim<'a> {
    /// The user named `elapsed`, and so says that the work is fixed.
    pub is_named: bool,
    pub reference: &'a str,
    /// The smallest difference in time that matters.
    pub margin: f64,
    /// The command's words.
    pub words: &'a [String],
}

/// None: its elapsed time may decide.
pub fn doubt(rounds: &[Done<'_>], claim: &Claim<'_>) -> Option<Doubt> {
    if rounds.len() < FEWEST {
        return None;
    }
    if let Some(idle) = idle(rounds) {
        return Some(idle);
    }
    let times: Vec<f64> = rounds.iter().map(|round| round.elapsed_s).collect();
    let works: Vec<f64> = rounds.iter().map(|round| round.bytes).collect();
    let (of_times, of_works) = (range(&times)?, range(&works).unwrap_or(0.0));
    if of_times < SAME_TIME && of_works > OTHER_WORK.max(MORE_THAN_TIME * of_times) {
        return Some(Doubt::SameTime);
    }
    if claim.is_named {
        return None;
    }
    differs(rounds, claim)
        .or_else(|| varies(&times, &works))
        .or_else(|| given(&times, claim.words))
}

/// Nobody can mean this by a fixed work.
fn idle(rounds: &[Done<'_>]) -> Option<Doubt> {
    let does_some = |arm: &str| {
        let mut own = rounds.iter().filter(|round| round.arm == arm);
        own.any(|round| round.bytes > 0.0)
    };
    let is_work = rounds.iter().any(|round| round.bytes > 0.0);
    let idle = rounds
        .iter()
        .find(|round| is_work && !does_some(round.arm))?;
    Some(Doubt::NoWork {
        arm: idle.arm.to_owned(),
    })
}

/// By arm, against the reference: the typical work of its rounds.
fn differs(rounds: &[Done<'_>], claim: &Claim<'_>) -> Option<Doubt> {
    let typical = |arm: &str| {
        let own = rounds.iter().filter(|round| round.arm == arm);
        let own: Vec<f64> = own.map(|round| round.bytes).collect();
        estimate::median(&own).filter(|bytes| own.len() > 1 && *bytes > 0.0)
    };
    let of_reference = typical(claim.reference)?;
    let mut arms: Vec<&str> = rounds.iter().map(|round| round.arm).collect();
    arms.sort_unstable();
    arms.dedup();
    let shares = arms
        .into_iter()
        .filter_map(|arm| Some((arm, typical(arm)? / of_reference)));
    let (arm, share) = shares.max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()))?;
    (share.ln().abs() > claim.margin.ln_1p()).then(|| Doubt::WorkDiffers {
        arm: arm.to_owned(),
        share,
    })
}

fn varies(times: &[f64], works: &[f64]) -> Option<Doubt> {
    let (time, work) = (spread(times)?, spread(works)?);
    (work > SAME_WORK.max(CLEARLY * time)).then_some(Doubt::WorkVaries { work, time })
}

/// Range divided by median.
fn range(values: &[f64]) -> Option<f64> {
    let middle = estimate::median(values).filter(|middle| *middle > 0.0)?;
    let highest = values.iter().copied().reduce(f64::max)?;
    let lowest = values.iter().copied().reduce(f64::min)?;
    Some((highest - lowest) / middle)
}

/// Standard deviation divided by mean.
fn spread(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean > 0.0 && count > 1.0).then(|| (squares / (count - 1.0)).sqrt() / mean)
}

fn given(times: &[f64], words: &[String]) -> Option<Doubt> {
    let shortest = times.iter().copied().reduce(f64::min)?;
    let longest = times.iter().copied().reduce(f64::max)?;
    let parts = words
        .iter()
        .flat_map(|word| word.split(|c: char| c.is_whitespace() || "=:'\"".contains(c)));
    let mut named = parts.filter_map(seconds);
    let seconds = named.find(|seconds| {
        *seconds <= shortest && longest <= seconds * (1.0 + OVERHEAD) + OVERHEAD_S
    })?;
    Some(Doubt::TimeIsGiven { seconds })
}

/// A time in a word: `5`, `5s`, `1m`, `-T5`. Below a second, it is more likely something else.
fn seconds(word: &str) -> Option<f64> {
    let word = match word.strip_prefix('-') {
        Some(option) => option.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
        None => word,
    };
    let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &word[number.len()..] {
        "" | "s" | "sec" | "seconds" => 1.0,
        "m" | "min" => 60.0,
        _ => return None,
    };
    let starts = number.starts_with(|c: char| c.is_ascii_digit());
    let seconds = number.parse::<f64>().ok().filter(|_| starts)? * unit;
    (seconds.is_finite() && seconds >= 1.0).then_some(seconds)
}

/// The same for the rounds of a result.
pub fn doubt_in<'a>(result: &ResultFile, rounds: impl Iterator<Item = &'a Round>) -> Option<Doubt> {
    let rounds: Vec<Done<'_>> = rounds.filter_map(Done::of).collect();
    let design = &result.design;
    let argv = result
        .workload
        .description
        .get("argv")
        .and_then(|argv| argv.as_array());
    let words = argv
        .into_iter()
        .flatten()
        .filter_map(|word| Some(word.as_str()?.to_owned()));
    let decides = design.primary.iter().find(|metric| metric.name == ELAPSED);
    let elapsed = decides.cloned().or_else(|| Metric::named(ELAPSED));
    let margin = elapsed.map_or(0.05, |elapsed| elapsed.margin);
    doubt(
        &rounds,
        &Claim {
            is_named: design.elapsed_is_named,
            reference: &design.arms[design.reference].label,
            margin,
            words: &words.collect::<Vec<_>>(),
        },
    )
}

#[cfg(test)]
#[path = "fixed_work_tests.rs"]
mod tests;
