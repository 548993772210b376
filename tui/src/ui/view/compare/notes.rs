//! What was left out of the comparison, and how far it can be trusted.

use iosched::ab::analysis::are_stalls_alike;
use iosched::histogram::Histogram;
use iosched::report::units::{count, share, throughput, time};

use super::{LABEL, Sides};
use crate::ui::compare::{ArmSeen, Stage};
use crate::ui::model::Model;
use crate::ui::view::fit;

/// The most important first: where there is no room for all, the last ones are left out.
pub fn notes(sides: &Sides<'_>, model: &Model) -> Vec<String> {
    let seen = sides.seen;
    let mut notes: Vec<String> = different_stalls(sides, model.compare.stage)
        .into_iter()
        .collect();
    if sides.arms.len() < 2 {
        notes.push(
            "one scheduler so far: F rotates through several, f switches to another".to_owned(),
        );
    } else if seen.rounds.is_empty() && model.rotating.is_none() {
        notes.push(
            "seen one after the other, so the load may have changed, too: F takes turns".to_owned(),
        );
    }
    let foreign = seen.flips.iter().filter(|flip| !flip.by_us).count();
    if foreign > 0 {
        notes.push(format!("somebody else flipped it {foreign} times"));
    }
    let problems = seen
        .rounds
        .iter()
        .filter_map(|round| round.problem.as_deref());
    let bad: Vec<&str> = problems.collect();
    if let Some(first) = bad.first() {
        notes.push(format!(
            "{} rounds do not count, the first because {first}",
            bad.len()
        ));
    }
    notes.extend(different_load(sides));
    let out = &seen.left_out;
    notes.push(format!(
        "left out: {} I/Os across a flip, {} while settling, {} disturbed",
        count(out.straddlers as f64),
        count(out.settling as f64),
        count(out.disturbed as f64)
    ));
    if let Some((median, longest)) = seen.freeze_ns() {
        notes.push(format!(
            "flipped {} times; the queue stood still for {} each time (median; longest {})",
            seen.flips.iter().filter(|flip| flip.by_us).count(),
            time(Some(median)),
            time(Some(longest))
        ));
    }
    if sides.arms.len() > 1 && !(seen.rounds.is_empty() && model.rotating.is_none()) {
        notes.push(
            "ratio: mean of all blocks; its [interval] holds at 95 % whenever you look".to_owned(),
        );
    }
    notes
}

/// What a thread would ask for while it stands still is in no queue wait.
fn different_stalls(sides: &Sides<'_>, stage: Stage) -> Option<String> {
    let what = match stage {
        Stage::Wait => "queue waits",
        Stage::Total => "total latencies",
        Stage::Device => return None,
    };
    let arms = sides.arms.iter();
    let mut arms: Vec<(&str, f64)> = arms
        .filter_map(|(arm, _)| Some((&*arm.label, arm.stalled_share()?)))
        .collect();
    arms.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (&most, &least) = (arms.first()?, arms.last()?);
    let said = |(label, stalled)| {
        let label = fit::clip(label, LABEL);
        format!("{} under {label}", share(Some(stalled)))
    };
    (!are_stalls_alike(most.1, least.1)).then(|| {
        format!(
            "{what} do not compare: submitters stalled {}, {}",
            said(most),
            said(least)
        )
    })
}

/// A closed loop does more I/O when it is served faster: latencies are then those of another load.
fn different_load(sides: &Sides<'_>) -> Option<String> {
    let rate =
        |(arm, _): &(&ArmSeen, Histogram)| (arm.seconds > 0.0).then(|| arm.bytes / arm.seconds);
    let rates: Vec<f64> = sides
        .arms
        .iter()
        .filter_map(rate)
        .filter(|rate| *rate > 0.0)
        .collect();
    let (low, high) = rates
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(low, high), &rate| {
            (low.min(rate), high.max(rate))
        });
    (rates.len() > 1 && high > 1.5 * low).then(|| {
        format!(
            "throughput differs, {} to {}: latencies under different loads",
            throughput(low),
            throughput(high)
        )
    })
}
