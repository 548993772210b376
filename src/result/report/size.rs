//! How many arms and blocks a run has, in words. Pure.

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

fn blocks(result: &ResultFile) -> String {
    let begun = result.blocks_begun();
    if let Some(how) = extensions(result) {
        return format!("{begun} blocks, {how}");
    }
    match (result.design.stopping, result.design.budget_s) {
        (Stopping::Fixed { blocks }, _) => format!("{blocks} blocks"),
        (Stopping::Looks { .. }, Some(budget_s)) => {
            format!("{begun} blocks, planned into {}", times::limit(budget_s))
        }
        (Stopping::Looks { .. }, None) => {
            let most = result.design.stopping.most_blocks().unwrap_or(begun);
            format!("{begun} of at most {most} blocks")
        }
        (Stopping::Open, _) => format!("{begun} blocks, open-ended"),
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
