//! Which metrics a run of a workload can have.

use super::Workload;
use iosched_result::metric::offer::Offer;

/// `participants`: their labels. `order`, `fairness`: whether these are measured.
pub fn of(
    workload: &dyn Workload,
    participants: Vec<String>,
    order: bool,
    fairness: bool,
) -> Offer {
    Offer {
        name: workload.name().to_owned(),
        profile: workload.profile(),
        participants,
        order,
        fairness,
        is_live: workload.is_live(),
        is_asynchronous: workload.is_asynchronous(),
        without_latency: workload.without_latency(),
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
