//! The confidence of a run's intervals together, the effect that it could detect, and how often rounds may stall unseen.

use std::fmt::Write;

use crate::statistics::scale::Scale;
use crate::statistics::stalls::StalledRounds;
use crate::statistics::verdict::Reason;
use crate::types::result::ArmComparison;

/// The confidence of the intervals, and the smallest effect that the run could detect.
pub fn in_words(primary: &[&ArmComparison]) -> String {
    let mut text = String::new();
    if primary.is_empty() {
        return text;
    }
    let attained = primary
        .iter()
        .filter_map(|row| {
            row.comparison
                .interval
                .map(|interval| interval.attained_confidence)
        })
        .fold(f64::INFINITY, f64::min);
    if attained.is_finite() {
        let _ = writeln!(
            text,
            "Values are medians; changes and intervals are computed within blocks. All intervals hold together with 95 % \
             confidence, whenever the run ended ({:.1} % each).",
            attained * 100.0
        );
    }
    let blocks = primary.iter().map(|row| row.comparison.blocks);
    let (fewest, most) = (blocks.clone().min().unwrap_or(0), blocks.max().unwrap_or(0));
    let is_known = primary.iter().any(|row| row.comparison.mde.is_some());
    let _ = match detectable(primary) {
        Some(smallest) => writeln!(
            text,
            "With {} this run could detect, in every row{}, {smallest}.",
            if fewest == most {
                format!("{most} blocks")
            } else {
                format!("{fewest} to {most} blocks")
            },
            if primary.iter().any(|row| lacks_values(row)) {
                " whose rounds all have a value"
            } else {
                ""
            }
        ),
        None if is_known => Ok(()),
        None => writeln!(
            text,
            "There are too few blocks to say which differences this run could detect."
        ),
    };
    let has_stalls = primary
        .iter()
        .any(|row| row.comparison.stalled != StalledRounds::default() || lacks_values(row));
    let unseen = StalledRounds::unseen_share(fewest).filter(|_| !has_stalls);
    if let Some(share) = unseen {
        let _ = writeln!(
            text,
            "No round stalled; up to {:.0} % of an arm's rounds may do so and not be seen in {fewest} blocks (95 %).",
            share * 100.0
        );
    }
    text
}

/// Whether a block of the row has no value.
fn lacks_values(row: &ArmComparison) -> bool {
    let is_censored = |reason: &Reason| matches!(reason, Reason::Censored { .. });
    row.comparison.reasons.iter().any(is_censored)
}

/// The smallest effect that every log-scale row could detect; of shares only if there is no other row.
fn detectable(primary: &[&ArmComparison]) -> Option<String> {
    let largest = |scale| {
        let rows = primary.iter().filter(|row| row.metric.scale == scale);
        // Where all values are alike, nothing says what could be detected.
        let known = rows
            .filter_map(|row| row.comparison.mde)
            .filter(|mde| *mde > 0.0);
        known.reduce(f64::max)
    };
    match largest(Scale::Log) {
        None => largest(Scale::Identity).map(|mde| format!("differences of {mde:.3} or more")),
        Some(mde) if mde < 1.0 => Some(format!(
            "differences of {:.0} % or more",
            (mde * 100.0).ceil()
        )),
        Some(mde) if mde < 99.0 => {
            let factor = 1.0 + mde;
            Some(format!(
                "only differences of a factor of {factor:.1} or more"
            ))
        }
        Some(_) => Some("hardly any difference: there are too few blocks".to_owned()),
    }
}
