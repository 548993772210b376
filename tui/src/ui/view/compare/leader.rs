//! One sentence: which arm is better than the reference, in what, and what it costs. Pure.

use iosched_result::report::{escape, units};
use iosched_result::statistics::verdict::Verdict;
use iosched_result::types::result::ArmComparison;

use super::{LABEL, change, score};
use crate::ui::sampling::score::Score;
use crate::ui::view::fit;

/// Metrics of the disk, the most important first.
const IMPORTANCE: [&str; 8] = [
    "read_total_p99",
    "read_total_mean",
    "read_total_p50",
    "write_total_p99",
    "write_total_mean",
    "write_throughput",
    "read_throughput",
    "jain_device_time",
];
/// How many changes of a kind are named.
const NAMED: usize = 3;

/// The verdicts on one arm, the most important first.
struct Standing<'a> {
    arm: &'a str,
    better: Vec<&'a ArmComparison>,
    worse: Vec<&'a ArmComparison>,
    /// It did too little for a value, and the reference did enough: no verdict, but never in its favour.
    lacking: Vec<&'a ArmComparison>,
}

impl<'a> Standing<'a> {
    fn costs(&self) -> Vec<&'a ArmComparison> {
        let mut costs = [&self.worse[..], &self.lacking].concat();
        costs.sort_by_key(|row| importance(&row.metric.name));
        costs
    }
}

/// The programs come first: who gains, and who pays. A smaller number is more important.
fn importance(metric: &str) -> usize {
    let of_disk = IMPORTANCE.iter().position(|name| *name == metric);
    of_disk.map_or(0, |at| at + 1)
}

/// None without rounds. `block_s`: how long a block takes.
pub fn sentence(score: &Score, block_s: Option<f64>) -> Option<String> {
    let open = |score: &Score| open(score, block_s);
    let reference = name(&score.arms.get(score.reference)?.label);
    if score.rows.is_empty() {
        return None;
    }
    if let Some(why) = &score.invalid {
        return Some(why.clone());
    }
    let others = score.arms.iter().enumerate();
    let standings: Vec<Standing> = others
        .filter(|(index, _)| *index != score.reference)
        .map(|(_, arm)| standing(score, &arm.label))
        .collect();
    if let Some(best) = best(&standings) {
        let gains = phrases(&best.better, true);
        let costs = phrases(&best.costs(), false);
        let arm = name(best.arm);
        let load = if score.of_other_load.iter().any(|label| label == best.arm) {
            "; the load differs under it"
        } else {
            ""
        };
        return Some(if costs.is_empty() {
            format!(
                "{arm} is better than {reference}: {gains}{load}{}",
                open(score)
            )
        } else {
            format!(
                "{arm} against {reference}: {gains}; but {costs}{load}{}",
                open(score)
            )
        });
    }
    let worst = standings.iter().find(|standing| !standing.worse.is_empty());
    let is_equal = |row: &ArmComparison| row.comparison.verdict == Verdict::Equivalent;
    Some(match worst {
        Some(worst) => format!(
            "nothing is better than {reference} yet; {} is worse: {}{}",
            name(worst.arm),
            phrases(&worst.worse, true),
            open(score)
        ),
        None if score.rows.iter().all(is_equal) => {
            format!("no arm differs from {reference} by more than the margins")
        }
        None => match so_far(score) {
            Some(so_far) => format!("not decided yet; so far {so_far}{}", open(score)),
            None if score.rows.iter().any(is_equal) => {
                format!("no difference is shown yet{}", open(score))
            }
            None => format!("no verdict yet{}", open(score)),
        },
    })
}

/// The largest change that every block so far shows in one direction: no verdict, but what the next blocks are about.
fn so_far(score: &Score) -> Option<String> {
    let is_one_sided = |row: &&ArmComparison| {
        let found = &row.comparison;
        let spread = found.sd.unwrap_or(0.0);
        found.blocks > 0
            && found
                .estimate
                .is_some_and(|estimate| estimate.abs() > spread)
    };
    let changes = score.rows.iter().filter(is_one_sided);
    let logarithmic = changes.filter(|row| row.comparison.ratio.is_some());
    let size = |row: &&ArmComparison| row.comparison.estimate.unwrap_or(0.0).abs();
    let row = logarithmic.max_by(|one, other| size(one).total_cmp(&size(other)))?;
    let what = score::heading(&row.metric.name)?;
    let [_, much] = change::estimate(row)?;
    Some(format!("{}: {what} {much}", name(&row.arm)))
}

fn name(label: &str) -> String {
    fit::clip(&escape::line(label), LABEL)
}

fn standing<'a>(score: &'a Score, arm: &'a str) -> Standing<'a> {
    let mut all: Vec<&ArmComparison> = score.rows.iter().filter(|row| row.arm == arm).collect();
    all.sort_by_key(|row| importance(&row.metric.name));
    let rows = || all.iter().copied();
    let is = |row: &&ArmComparison, verdict| row.comparison.verdict == verdict;
    let lacks = |row: &&ArmComparison| change::did_too_little(&row.comparison);
    Standing {
        arm,
        better: rows().filter(|row| is(row, Verdict::Better)).collect(),
        worse: rows().filter(|row| is(row, Verdict::Worse)).collect(),
        lacking: rows().filter(lacks).collect(),
    }
}

/// An arm that is worse in nothing comes before others; then the most important metric decides, the number of metrics
/// in which it is worse, and the larger change.
fn best<'a, 'b>(standings: &'b [Standing<'a>]) -> Option<&'b Standing<'a>> {
    let rank = |standing: &Standing| {
        let first = standing.better.first()?;
        let importance = importance(&first.metric.name);
        let size = first.comparison.estimate.unwrap_or(0.0).abs();
        let costs = standing.costs().len();
        Some((costs.min(1), importance, costs, size))
    };
    let ranked = standings.iter().filter_map(|s| Some((rank(s)?, s)));
    let best = ranked.min_by(|(one, _), (other, _)| {
        let by_kind = (one.0, one.1, one.2).cmp(&(other.0, other.1, other.2));
        by_kind.then(other.3.total_cmp(&one.3))
    });
    best.map(|(_, standing)| standing)
}

/// `read p99 83x faster (95 %: at least 70x), IOPS +12 %`
fn phrases(rows: &[&ArmComparison], with_bound: bool) -> String {
    let phrases = rows.iter().take(NAMED).enumerate().map(|(index, row)| {
        let what = score::heading(&row.metric.name).unwrap_or_else(|| row.metric.name.clone());
        let much = match change::estimate(row) {
            Some([_, much]) => much,
            None => "has no value in some rounds".to_owned(),
        };
        match change::bound(row).filter(|_| with_bound && index == 0) {
            Some(bound) => {
                let bound = bound.trim_start_matches(['+', '-']);
                format!("{what} {much} (95 %: at least {bound})")
            }
            None => format!("{what} {much}"),
        }
    });
    let text = phrases.collect::<Vec<_>>().join(", ");
    match rows.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// How many rows have no verdict, and when the next one is likely.
fn open(score: &Score, block_s: Option<f64>) -> String {
    let is_open = |row: &&ArmComparison| row.comparison.verdict == Verdict::Inconclusive;
    let open: Vec<&ArmComparison> = score.rows.iter().filter(is_open).collect();
    let waits = open.iter().map(|row| change::blocks_until(&row.comparison));
    let waits: Vec<Result<usize, ()>> = waits.flatten().collect();
    let done = score.rows.iter().map(|row| row.comparison.blocks).max();
    let next = waits.iter().flatten().min();
    let said = format!("; {} of {} not decided", open.len(), score.rows.len());
    match next {
        _ if open.is_empty() => String::new(),
        Some(next) => {
            let done = done.unwrap_or(0);
            let left = block_s.map(|block_s| next.saturating_sub(done) as f64 * block_s);
            let wait = left.map_or_else(String::new, |left| {
                format!(", in {}", units::duration(left))
            });
            format!("{said}, the next after about {next} blocks{wait} ({done} so far)")
        }
        None if waits.is_empty() => said,
        None => format!("{said}; nobody knows how many blocks that takes, perhaps a thousand"),
    }
}

#[cfg(test)]
mod tests {
    use iosched_result::statistics::verdict::Reason;

    use super::*;
    use crate::ui::state::model::Model;
    use crate::ui::view::tests::data::rotated;

    fn said(change: impl FnOnce(&mut Score)) -> String {
        let mut model: Model = rotated();
        let score = model.devices[0].seen.score.as_mut().expect("a score");
        change(score);
        sentence(score, None).expect("a sentence")
    }

    fn rows<'a>(score: &'a mut Score, arm: &'a str) -> impl Iterator<Item = &'a mut ArmComparison> {
        score.rows.iter_mut().filter(move |row| row.arm == arm)
    }

    #[test]
    fn an_arm_without_costs_comes_first_and_costs_are_told() {
        let text = said(|_| ());
        assert!(
            text.starts_with("kyber against none: write p99 15x faster (95 %: at least 6"),
            "{text}"
        );
        assert!(
            text.contains("; but hog bytes/s -58 %, write bytes/s -58 %; 9 of 24 not decided"),
            "{text}"
        );
        let text = said(|score| {
            for row in rows(score, "mq-deadline") {
                if row.comparison.verdict == Verdict::Worse {
                    row.comparison.verdict = Verdict::Equivalent;
                }
            }
        });
        assert!(
            text.starts_with("mq-deadline is better than none: fairness +0.3"),
            "{text}"
        );
    }

    /// A missing number never favours the arm that caused it.
    #[test]
    fn an_arm_that_did_too_little_for_a_value_is_not_better_and_not_worse() {
        let lacks = |score: &mut Score| {
            for row in rows(score, "kyber").filter(|row| row.metric.name == "read_total_p99") {
                let comparison = &mut row.comparison;
                (comparison.estimate, comparison.ratio) = (None, None);
                (comparison.interval, comparison.ratio_interval) = (None, None);
                comparison.reasons.push(Reason::Censored { blocks: 7 });
                comparison.reasons.push(Reason::StalledRounds {
                    arm: 7,
                    reference: 0,
                });
            }
        };
        let text = said(lacks);
        assert!(
            text.contains(", read p99 has no value in some rounds, "),
            "{text}"
        );
        assert!(text.contains("; 9 of 24 not decided"), "{text}");
        // After the first block nothing is decided.
        let text = said(|score| {
            for row in &mut score.rows {
                row.comparison.verdict = Verdict::Inconclusive;
                row.comparison.blocks = 1;
            }
            lacks(score);
        });
        assert!(
            text.starts_with("not decided yet; so far mq-deadline: ")
                && text.contains("; 24 of 24 not decided"),
            "{text}"
        );
    }

    #[test]
    fn an_invalid_run_has_no_verdict() {
        let why = "the run is invalid: 3 of 8 blocks had a round that does not count";
        assert_eq!(said(|score| score.invalid = Some(why.to_owned())), why);
    }

    /// Nothing was shown about them.
    #[test]
    fn rows_that_cannot_be_compared_are_not_equal() {
        let text = said(|score| {
            for row in &mut score.rows {
                row.comparison.reasons.clear();
                row.comparison.verdict = if row.metric.unit == "ns" {
                    Verdict::Inconclusive
                } else {
                    Verdict::Equivalent
                };
            }
        });
        let so_far =
            "not decided yet; so far mq-deadline: probe read wait 46x slower; 14 of 24 not decided";
        assert_eq!(text, so_far);
    }

    #[test]
    fn without_a_better_arm_the_sentence_says_so() {
        let text = said(|score| {
            for row in &mut score.rows {
                row.comparison.verdict = Verdict::Equivalent;
                row.comparison.reasons.clear();
            }
        });
        assert_eq!(text, "no arm differs from none by more than the margins");
        let text = said(|score| {
            for row in &mut score.rows {
                if row.comparison.verdict == Verdict::Better {
                    row.comparison.verdict = Verdict::Equivalent;
                }
            }
        });
        assert!(
            text.starts_with(
                "nothing is better than none yet; mq-deadline is worse: probe read wait"
            ),
            "{text}"
        );
    }
}
