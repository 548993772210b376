//! The metrics that a run of a workload can have.

use super::Workload;
use iosched_result::metric::offer::Offer;

/// `participants`: their labels. `order`, `fairness`: whether these are measured.
pub fn for_workload(
    workload: &dyn Workload,
    participants: Vec<String>,
    order: bool,
    fairness: bool,
) -> Offer {
    let its = workload.properties();
    Offer {
        name: workload.name().to_owned(),
        profile: its.profile,
        participants,
        order,
        fairness,
        is_live: its.is_live,
        is_asynchronous: its.is_asynchronous,
        without_latency: its.without_latency,
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
