//! Dispatch order as it stands in the JSON Lines of `iosched stat`. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::order::{Dispatch, last_burst, reordering_of};
use crate::snapshot::{Log2Histogram, Order};

/// What only the last successive issues can tell: at most the 8192 that are kept, without a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// Issues in it.
    pub issued: u64,
    /// Share of them after a request that started later.
    pub reordered_share: Option<f64>,
    /// How many requests that started later were issued before one.
    pub overtakes_mean: Option<f64>,
    /// The same, 99th percentile.
    pub overtakes_p99: Option<u64>,
    /// RFC 4737's extent: issues since the first that overtook.
    pub extent_max: Option<u64>,
    /// Of each hardware queue by itself, where there are several.
    pub hardware_queues: Vec<HardwareQueue>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareQueue {
    /// Its number.
    pub index: u16,
    /// Issues to it.
    pub issued: u64,
    /// Share of them after a request to it that started later.
    pub reordered_share: Option<f64>,
    /// How many requests to it that started later were issued before one.
    pub overtakes_mean: Option<f64>,
}

impl Burst {
    /// `dispatches`: the oldest first.
    pub fn of(dispatches: &[Dispatch]) -> Option<Burst> {
        let burst = last_burst(dispatches);
        if burst.is_empty() {
            return None;
        }
        let all = reordering_of(burst, None);
        let mut queues: Vec<u16> = burst.iter().map(|d| d.hardware_queue).collect();
        queues.sort_unstable();
        queues.dedup();
        let of_queue = |queue: u16| {
            let found = reordering_of(burst, Some(queue));
            HardwareQueue {
                index: queue,
                issued: found.issued as u64,
                reordered_share: found.reordered_share(),
                overtakes_mean: found.mean_overtakes(),
            }
        };
        Some(Burst {
            issued: all.issued as u64,
            reordered_share: all.reordered_share(),
            overtakes_mean: all.mean_overtakes(),
            overtakes_p99: all.overtakes_quantile(0.99).map(|n| n as u64),
            extent_max: all.extents.iter().max().map(|&n| n as u64),
            hardware_queues: if queues.len() > 1 {
                queues.into_iter().map(of_queue).collect()
            } else {
                Vec::new()
            },
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveOrder {
    /// Issues in the interval, without what a flush moves past the scheduler.
    pub issued: u64,
    /// Issued after a request that started later.
    pub reordered: u64,
    /// `reordered` over `issued`.
    pub reordered_share: Option<f64>,
    /// Issues that began where the one before ended.
    pub sequential_share: Option<f64>,
    /// Mean distance from the end of a request to the start of the next, in the order in which they started.
    pub mean_insert_seek_sectors: Option<f64>,
    /// The same in the order in which they were issued.
    pub mean_issue_seek_sectors: Option<f64>,
    /// The former over the latter: what the scheduler saved.
    pub scheduler_gain: Option<f64>,
    /// Mean number of successive issues of reads.
    pub mean_read_run: Option<f64>,
    /// Mean number of successive issues of writes.
    pub mean_write_run: Option<f64>,
    /// Requests by the places that they were issued before their turn: cell 0 for 0, cell n for n binary digits.
    pub early: Log2Histogram,
    /// Those after their turn, or in it (0); cells as of `early`.
    pub late: Log2Histogram,
    /// Issues by their distance from the end of the one before, in sectors; cells as of `early`.
    pub issue_seek: Log2Histogram,
    /// Null where nothing was issued.
    pub burst: Option<Burst>,
}

impl LiveOrder {
    pub fn of(order: &Order, burst: Option<Burst>) -> Self {
        LiveOrder {
            issued: order.issued,
            reordered: order.reordered,
            reordered_share: order.reordered_share(),
            sequential_share: order.sequential_share(),
            mean_insert_seek_sectors: order.mean_insert_seek_sectors(),
            mean_issue_seek_sectors: order.mean_issue_seek_sectors(),
            scheduler_gain: order.scheduler_gain(),
            mean_read_run: order.mean_run(0),
            mean_write_run: order.mean_run(1),
            early: order.early.clone(),
            late: order.late.clone(),
            issue_seek: order.issue_seek.clone(),
            burst,
        }
    }
}
