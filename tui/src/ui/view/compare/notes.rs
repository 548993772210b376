//! Notes below the comparison: what was left out, and how reliable it is.

use iosched_result::analysis::conclude::are_stalls_alike;
use iosched_result::measured::histogram::Histogram;
use iosched_result::report::units::{count, share, throughput, time};
use iosched_result::report::words;
use iosched_result::statistics::verdict::Reason;

use super::{LABEL, Sides, score};
use crate::ui::state::action::KeyCommand;
use crate::ui::state::compare::{ArmSeen, Scope, ShownStage};
use crate::ui::state::model::Model;
use crate::ui::view::{fit, strip};

/// The maximum width of the cause of an exclusion.
const CAUSE: usize = 70;

/// The most important note first; if there is no room, the last ones are left out.
pub fn notes(sides: &Sides<'_>, model: &Model) -> Vec<String> {
    let seen = sides.seen;
    let mut notes: Vec<String> = different_stalls(sides, model.compare.stage, model.compare.scope)
        .into_iter()
        .collect();
    notes.extend(contradicted(sides));
    let is_past = model.frozen.as_ref().is_some_and(|frozen| frozen.is_past());
    if is_past {
        notes.push("all intervals until then, by their scheduler".to_owned());
    } else if sides.arms.len() < 2 {
        let rotates = model
            .keys
            .does(KeyCommand::Rotate, "rotates through several");
        let switches = model.keys.does(KeyCommand::Flip, "switches to another");
        notes.push(format!("only one scheduler so far: {rotates}, {switches}"));
    } else if seen.score.is_none() {
        let alternates = model.keys.does(KeyCommand::Rotate, "alternates them");
        notes.push(format!(
            "measured one after the other: the load may have changed in between; {alternates}"
        ));
    }
    if seen.score.is_some() && model.rotating.is_none() {
        let begins = model.keys.does(KeyCommand::Clear, "begins anew");
        notes.push(format!(
            "the rotation has ended: these are its rounds; {begins}"
        ));
    }
    if model.compare.whose.is_empty() {
        notes.extend(beyond_the_axis(sides));
    }
    let foreign = seen.flips.iter().filter(|flip| !flip.by_us).count();
    if foreign > 0 {
        notes.push(format!(
            "another program switched the scheduler {}",
            times(foreign)
        ));
    }
    notes.extend(excluded(sides));
    notes.extend(different_load(sides));
    let out = &seen.left_out;
    let mut left_out = format!(
        "left out: {} I/Os across a switch, {} while settling, {} disturbed",
        count(out.straddlers as f64),
        count(out.settling as f64),
        count(out.disturbed as f64)
    );
    if out.without_queue_wait > 0 && model.compare.stage != ShownStage::Device {
        let without = count(out.without_queue_wait as f64);
        left_out = format!("{left_out}, {without} without queue wait");
    }
    notes.push(left_out);
    if let Some((median, longest)) = seen.freeze_ns() {
        notes.push(format!(
            "switched {}; the queue was frozen for {} each time (median; longest {})",
            times(seen.flips.iter().filter(|flip| flip.by_us).count()),
            time(Some(median)),
            time(Some(longest))
        ));
    }
    if seen.score.is_some() {
        notes.push(
            "▲ better, ▼ worse, = equivalent, ? not decided; the upper table is by block, its 95 % intervals hold together"
                .to_owned(),
        );
    }
    notes
}

fn times(n: usize) -> String {
    match n {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

/// I/Os that a chosen axis does not show.
fn beyond_the_axis(sides: &Sides<'_>) -> Option<String> {
    let histograms = sides.arms.iter().map(|(_, histogram)| histogram);
    let most = share(Some(strip::most_beyond(sides.axis, histograms)?));
    Some(format!(
        "the chosen axis does not show up to {most} of an arm's I/Os"
    ))
}

/// Verdicts that later blocks contradict.
fn contradicted(sides: &Sides<'_>) -> Option<String> {
    let rows = sides.seen.score.iter().flat_map(|score| &score.rows);
    let told: Vec<String> = rows
        .filter_map(|row| {
            let mut reasons = row.comparison.reasons.iter();
            let (verdict, blocks) = reasons.find_map(|reason| match reason {
                Reason::Contradicted { verdict, blocks } => Some((*verdict, *blocks)),
                _ => None,
            })?;
            let what = score::heading(&row.metric.name)?;
            let was = words::plain(verdict);
            let arm = fit::clip(&row.arm, LABEL);
            Some(format!("{what} under {arm} was {was} after block {blocks}"))
        })
        .collect();
    (!told.is_empty()).then(|| format!("later blocks contradict: {}", told.join(", ")))
}

/// Rounds that do not count, by arm and cause.
fn excluded(sides: &Sides<'_>) -> Option<String> {
    let arms = &sides.seen.score.as_ref()?.arms;
    let causes = arms
        .iter()
        .flat_map(|arm| arm.excluded.iter().map(move |cause| (&arm.label, cause)));
    let told: Vec<String> = causes
        .map(|(label, (cause, count))| {
            let label = fit::clip(label, LABEL);
            format!("{count} of {label} ({})", fit::clip(cause, CAUSE))
        })
        .collect();
    let others: usize = arms.iter().map(|arm| arm.with_others).sum();
    (!told.is_empty()).then(|| {
        format!(
            "rounds that do not count: {}, and {others} others of the same blocks",
            told.join(", ")
        )
    })
}

/// I/Os that a blocked thread would have submitted are in no queue wait.
pub fn different_stalls(sides: &Sides<'_>, stage: ShownStage, scope: Scope) -> Option<String> {
    let what = match stage {
        ShownStage::Wait => "queue waits",
        ShownStage::Total => "total latencies",
        ShownStage::Device => return None,
    };
    let arms = sides.arms.iter();
    let mut arms: Vec<(&str, f64)> = arms
        .filter_map(|(arm, _)| Some((&*arm.label, arm.sums.stalled_share(scope.whose())?)))
        .collect();
    arms.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (&most, &least) = (arms.first()?, arms.last()?);
    let said = |(label, stalled)| {
        let label = fit::clip(label, LABEL);
        format!("{} under {label}", share(Some(stalled)))
    };
    (!are_stalls_alike(most.1, least.1)).then(|| {
        format!(
            "{what} cannot be compared (n/c): submitters stalled {}, {}",
            said(most),
            said(least)
        )
    })
}

/// A faster device gets more I/O from a closed loop, so the latencies are those of a different load.
fn different_load(sides: &Sides<'_>) -> Option<String> {
    let rate = |(arm, _): &(&ArmSeen, Histogram)| {
        let bytes: f64 = arm.sums.bytes.iter().sum();
        (arm.sums.seconds > 0.0).then(|| bytes / arm.sums.seconds)
    };
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
            "throughput differs, {} to {}: the latencies are under different loads",
            throughput(low),
            throughput(high)
        )
    })
}
