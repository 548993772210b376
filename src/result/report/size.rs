//! How many arms and blocks a run has, in words. Pure.

use std::collections::BTreeSet;

use super::times;
use crate::merge::view;
use crate::statistics::stopping::Stopping;
use crate::types::result::ResultFile;

/// `3 arms x 12 blocks`.
pub fn of(result: &ResultFile) -> String {
    let arms = result.design.arms.len();
    if view::is_view(result) {
        return format!("{arms} arms");
    }
    format!("{arms} arms x {}", blocks(result))
}

/// How many were begun and have a round that does not count in their last attempt.
fn spoilt(result: &ResultFile) -> usize {
    let last = |block: usize| {
        let of_block = result.rounds.iter().filter(|round| round.block == block);
        of_block.map(|round| round.attempt).max()
    };
    let excluded = result.excluded.iter();
    let excluded: BTreeSet<usize> = excluded
        .filter(|it| last(it.block) == Some(it.attempt))
        .map(|it| it.block)
        .collect();
    excluded.len()
}

fn blocks(result: &ResultFile) -> String {
    let (begun, spoilt) = (result.blocks_begun(), spoilt(result));
    // Blocks that do not count are in no row.
    let count = match spoilt {
        0 => String::new(),
        _ => format!(" ({} count)", begun.saturating_sub(spoilt)),
    };
    if let Some(how) = extensions(result) {
        return format!("{begun} blocks{count}, {how}");
    }
    match (result.design.stopping, result.design.budget_s) {
        (Stopping::Fixed { blocks }, _) => format!("{blocks} blocks{count}"),
        (Stopping::Looks { .. }, Some(budget_s)) => {
            format!(
                "{begun} blocks{count}, planned into {}",
                times::limit(budget_s)
            )
        }
        (Stopping::Looks { .. }, None) => {
            let most = result.design.stopping.most_blocks().unwrap_or(begun);
            format!("{begun} of at most {most} blocks{count}")
        }
        (Stopping::Open, _) => format!("{begun} blocks{count}, open-ended"),
    }
}

/// How often a run was extended, and after how many blocks.
fn extensions(result: &ResultFile) -> Option<String> {
    let added = &result.design.extensions;
    let after: Vec<String> = added.iter().map(|it| it.after_blocks.to_string()).collect();
    match after.len() {
        0 => None,
        1 => Some(format!("extended after {}", after[0])),
        times => Some(format!(
            "extended {times} times, after {}",
            after.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{empty, play, values};
    use crate::types::result::Exclusion;

    #[test]
    fn blocks_that_do_not_count_are_told_beside_all() {
        let of_spoilt = |spoilt: &'static [usize]| {
            let ten = Stopping::Fixed { blocks: 10 };
            let mut result = empty(&["none", "bfq"], ten, &["throughput"]);
            play(&mut result, |turn| {
                let is_spoilt = turn.planned.position == 1 && spoilt.contains(&turn.planned.index);
                if is_spoilt {
                    Err(Exclusion::ForeignIo)
                } else {
                    Ok(values(turn, &[("throughput", 1e8)]))
                }
            });
            of(&result)
        };
        assert_eq!(of_spoilt(&[]), "2 arms x 10 blocks");
        // Run again, and then it counts.
        assert_eq!(of_spoilt(&[3]), "2 arms x 10 blocks");
        // Too many: none is run again.
        assert_eq!(of_spoilt(&[3, 5, 7]), "2 arms x 10 blocks (7 count)");
    }
}
