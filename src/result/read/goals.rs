//! Whether the goals of an untrusted result can be its own, and what it says of its limits. Pure.

use super::require;
use crate::analysis::limits;
use crate::types::goals::Goals;
use crate::types::limit::ArmLimit;
use crate::types::result::ResultFile;

/// Goals name metrics that decide, and limits that fit them.
pub(super) fn check(result: &ResultFile) -> Result<(), String> {
    let design = &result.design;
    let Some(goals) = &design.goals else {
        return Ok(());
    };
    let is_primary = |name: &String| design.primary.iter().any(|metric| metric.name == *name);
    are_limits(result, goals)?;
    let limited = goals.limits.iter().map(|limit| &limit.metric);
    let mut named = goals.prefer.iter().chain(&goals.keep).chain(limited);
    match named.find(|name| !is_primary(name)) {
        Some(name) => Err(format!("design.goals: {name:?} does not decide")),
        None => Ok(()),
    }
}

/// Each limit fits its metric, and what is said of the arms follows from it.
fn are_limits(result: &ResultFile, goals: &Goals) -> Result<(), String> {
    for (index, limit) in goals.limits.iter().enumerate() {
        let name = &limit.metric;
        let is_twice = goals.limits[..index].iter().any(|it| it.metric == *name);
        require(!is_twice && limit.value > 0.0, || {
            format!("design.goals: the limit of {name:?} is none")
        })?;
        let mut primary = result.design.primary.iter();
        let known = primary.find(|it| it.name == *name && !it.is_open());
        let why = known.and_then(|metric| limit.contradiction(metric));
        why.map_or(Ok(()), |why| Err(format!("design.goals: {name}: {why}")))?;
    }
    for row in &result.limits {
        let limit = goals.limit(&row.metric.name);
        let bound = limit.and_then(|limit| limit.bound(&row.metric));
        let is_its = bound.is_some_and(|bound| (bound / row.limit - 1.0).abs() < 1e-9)
            && limit.is_some_and(|limit| limit.side == row.side)
            && result
                .design
                .primary
                .iter()
                .any(|it| it.is_same(&row.metric) && it.unit == row.metric.unit)
            && result.arm_index(&row.arm).is_some()
            && limits::holds(&row.comparison) == row.holds
            && row.comparison.question.direction == row.metric.direction
            && is_typical(row);
        require(is_its, || {
            format!(
                "limits: {:?} of {:?} contradicts its goal",
                row.metric.name, row.arm
            )
        })?;
    }
    Ok(())
}

/// What is shown is what the comparison says.
fn is_typical(row: &ArmLimit) -> bool {
    let is_near = |a: f64, b: f64| a.total_cmp(&b).is_eq() || (a - b).abs() <= 1e-6 * a.abs();
    let (value, interval) = limits::typical(row.metric.scale, row.limit, &row.comparison);
    let is_value = match (value, row.value) {
        (Some(a), Some(b)) => is_near(a, b),
        (a, b) => a == b,
    };
    let is_interval = match (interval, row.interval) {
        (Some(a), Some(b)) => is_near(a.lower, b.lower) && is_near(a.upper, b.upper),
        (a, b) => a == b,
    };
    is_value && is_interval
}
