//! Why blocks have no ratio. Pure.

use std::collections::BTreeMap;

use super::difference::{is_doubtful, valid};
use super::table::Table;
use crate::metric::Metric;
use crate::statistics::rows::RowBlock;
use crate::statistics::scale::Scale;
use crate::statistics::signed_rank::Difference;
use crate::statistics::verdict::Reason;
use crate::types::result::{Censored, NoRatio, ResultFile, Round, WhyNoRatio};

/// Why the blocks that a comparison counts have no ratio: one entry for each arm and cause, the most frequent first.
pub(super) fn found(
    table: &Table<'_>,
    metric: &Metric,
    (arm, reference): (&str, &str),
    blocks: &[RowBlock],
) -> Vec<NoRatio> {
    let mut counts: BTreeMap<(&str, WhyNoRatio), usize> = BTreeMap::new();
    for (pair, block) in table.pairs(arm, reference).into_iter().zip(blocks) {
        let has_none = block.difference.is_some_and(Difference::is_censored);
        let rounds = [(arm, pair.arm), (reference, pair.reference)].into_iter();
        for (label, round) in rounds.filter(|_| has_none) {
            if let Some(why) = round.and_then(|round| why(metric, round)) {
                *counts.entry((label, why)).or_default() += 1;
            }
        }
    }
    let all = counts.into_iter();
    let mut all: Vec<NoRatio> = all
        .map(|((arm, why), blocks)| NoRatio {
            arm: arm.to_owned(),
            why,
            blocks,
        })
        .collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.blocks));
    all
}

/// It follows from the rounds, whatever a file says.
pub fn draw_again(result: &mut ResultFile) {
    let table = Table::new(result);
    let found = result.comparisons.iter().map(|row| {
        let mut reasons = row.comparison.reasons.iter();
        if !reasons.any(|reason| matches!(reason, Reason::Censored { .. })) {
            return Vec::new();
        }
        let blocks = table.blocks(&row.metric, &row.arm, &row.reference);
        let arms = (row.arm.as_str(), row.reference.as_str());
        found(&table, &row.metric, arms, &blocks)
    });
    let found: Vec<Vec<NoRatio>> = found.collect();
    for (row, no_ratio) in result.comparisons.iter_mut().zip(found) {
        row.no_ratio = no_ratio;
    }
}

/// None: the round has a value, and one that has a ratio.
fn why(metric: &Metric, round: &Round) -> Option<WhyNoRatio> {
    if let Some(value) = valid(metric, round) {
        let is_zero = metric.scale == Scale::Log && value == 0.0;
        return is_zero.then_some(WhyNoRatio::Zero);
    }
    Some(match round.censored {
        Some(Censored::Overrun) => WhyNoRatio::Overrun,
        Some(Censored::Starved) => WhyNoRatio::Starved,
        Some(Censored::Failed) => WhyNoRatio::Failed,
        Some(Censored::Stopped) => WhyNoRatio::Stopped,
        None if round.value(metric).is_some() => WhyNoRatio::Negative,
        None if is_doubtful(metric, round) => WhyNoRatio::Lost,
        None if round.evidence.insufficient_tail.contains(&metric.name) => WhyNoRatio::TooFew,
        None => WhyNoRatio::Unreported,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::conclude;
    use crate::report::fixture::{empty, play, values};
    use crate::report::words;
    use crate::statistics::stopping::Stopping;
    use crate::types::result::Status;

    /// Eight blocks, in which bfq fails once, has 0 twice and the reference 0 once.
    fn played() -> ResultFile {
        let eight = Stopping::Fixed { blocks: 8 };
        let mut result = empty(&["none", "bfq"], eight, &["throughput"]);
        play(&mut result, |turn| {
            let is_zero = matches!((turn.planned.arm, turn.planned.block), (1, 2 | 3) | (0, 5));
            let level = if is_zero { 0.0 } else { 1e8 };
            Ok(values(turn, &[("throughput", level)]))
        });
        let failed = |round: &&mut Round| round.arm == "bfq" && round.block == 6;
        let failed = result.rounds.iter_mut().find(failed).expect("it");
        failed.censored = Some(Censored::Failed);
        failed.metrics.clear();
        conclude::conclude(&mut result);
        result
    }

    #[test]
    fn each_reason_is_counted_and_told_with_its_arm() {
        let mut result = played();
        let of = |arm: &str, why, blocks| NoRatio {
            arm: arm.to_owned(),
            why,
            blocks,
        };
        let wanted = [
            of("bfq", WhyNoRatio::Zero, 2),
            of("bfq", WhyNoRatio::Failed, 1),
            of("none", WhyNoRatio::Zero, 1),
        ];
        assert_eq!(result.comparisons[0].no_ratio, wanted);
        let told = words::verdict(&result.comparisons[0]);
        let says =
            "in 4 of 8 blocks there is no ratio: bfq has 0 in 2, bfq failed in 1, none has 0 in 1";
        assert!(told.contains(says), "{told}");
        // A file that does not say it yet.
        result.comparisons[0].no_ratio.clear();
        assert!(words::verdict(&result.comparisons[0]).contains("an arm stalled, failed"));
        result.status = Status::Complete;
        draw_again(&mut result);
        assert_eq!(result.comparisons[0].no_ratio, wanted);
        // And one that says something else.
        result.comparisons[0].no_ratio = vec![of("nobody", WhyNoRatio::Failed, 99_999)];
        draw_again(&mut result);
        assert_eq!(result.comparisons[0].no_ratio, wanted);
    }

    #[test]
    fn one_reason_in_all_blocks_needs_no_second_number() {
        let mut result = played();
        result.comparisons[0].no_ratio = vec![NoRatio {
            arm: "bfq".to_owned(),
            why: WhyNoRatio::Starved,
            blocks: 4,
        }];
        let told = words::verdict(&result.comparisons[0]);
        let says = "in 4 of 8 blocks there is no ratio: bfq did no I/O for too long";
        assert!(
            told.contains(says) && !told.contains("too long in"),
            "{told}"
        );
    }
}
