//! Dispatch order as in the JSON Lines of `iosched stat`. Pure.

use serde::{Deserialize, Serialize};

use crate::measured::order::{Dispatch, last_burst, reordering_of};
use crate::measured::snapshot::{Log2Histogram, Order};

/// Exact results for the last successive issues: of the last 8192, which are kept, those after the last gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Burst {
    /// Number of issues.
    pub issued: u64,
    /// Share of issues after a request that started later.
    pub reordered_share: Option<f64>,
    /// Mean number of later-started requests that were issued before a request.
    pub overtakes_mean: Option<f64>,
    /// The same, 99th percentile.
    pub overtakes_p99: Option<u64>,
    /// RFC 4737's extent: number of issues since the first one that overtook.
    pub extent_max: Option<u64>,
    /// Each hardware queue by itself, if there are several.
    pub hardware_queues: Vec<HardwareQueue>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareQueue {
    /// Its number.
    pub index: u16,
    /// Issues to it.
    pub issued: u64,
    /// Share of issues to it after a request to it that started later.
    pub reordered_share: Option<f64>,
    /// Mean number of later-started requests to it that were issued before a request.
    pub overtakes_mean: Option<f64>,
}

impl Burst {
    /// `dispatches`: in issue order.
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveOrder {
    /// Issues in the interval, without requests that a flush moves past the scheduler.
    pub issued: u64,
    /// Issued after a request that started later.
    pub reordered: u64,
    /// `reordered` over `issued`.
    pub reordered_share: Option<f64>,
    /// Share of issues that began where the previous one ended.
    pub sequential_share: Option<f64>,
    /// Mean distance from the end of a request to the start of the next, in start order.
    pub mean_insert_seek_sectors: Option<f64>,
    /// The same in issue order.
    pub mean_issue_seek_sectors: Option<f64>,
    /// `mean_insert_seek_sectors` divided by `mean_issue_seek_sectors`: how much the scheduler shortened the seeks.
    pub scheduler_gain: Option<f64>,
    /// Mean number of successive reads, over the runs that ended in the interval.
    pub mean_read_run: Option<f64>,
    /// The same for all other operations: writes, discards.
    pub mean_write_run: Option<f64>,
    /// Requests issued early, by the number of places. Cell 0 is for 0, cell n for n binary digits.
    pub early: Log2Histogram,
    /// All other requests by the number of places that they were late; cell 0: in order.
    pub late: Log2Histogram,
    /// Successive starts by the seek between them in sectors; cell 0: sequential.
    pub insert_seek: Log2Histogram,
    /// Successive issues by the seek between them.
    pub issue_seek: Log2Histogram,
    /// The runs of `mean_read_run`, by their number of issues.
    pub read_run: Log2Histogram,
    /// The runs of `mean_write_run`.
    pub write_run: Log2Histogram,
    /// Null if nothing was issued.
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
            insert_seek: order.insert_seek.clone(),
            issue_seek: order.issue_seek.clone(),
            read_run: order.run_length[0].clone(),
            write_run: order.run_length[1].clone(),
            burst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::order::issues;

    fn burst(starts: &[(u32, u16)]) -> Burst {
        Burst::of(&issues(0, starts)).expect("issues")
    }

    /// Overtaken by 0, 1, 0, 3, 0 and 2; queue 7 by itself is 1, 0, 3.
    #[test]
    fn a_burst_of_two_hardware_queues() {
        let found = burst(&[(2, 9), (1, 7), (4, 9), (0, 7), (5, 9), (3, 7)]);
        assert_eq!((found.issued, found.reordered_share), (6, Some(0.5)));
        assert_eq!(found.overtakes_mean, Some(1.0));
        assert_eq!((found.overtakes_p99, found.extent_max), (Some(3), Some(3)));
        let queue = |index, share, mean| HardwareQueue {
            index,
            issued: 3,
            reordered_share: Some(share),
            overtakes_mean: Some(mean),
        };
        let third = 1.0 / 3.0;
        let queues = [queue(7, third, third), queue(9, 0.0, 0.0)];
        assert_eq!(found.hardware_queues, queues);
    }

    #[test]
    fn one_hardware_queue_is_not_told_apart() {
        let found = burst(&[(0, 4), (1, 4)]);
        assert_eq!((found.issued, found.reordered_share), (2, Some(0.0)));
        assert_eq!((found.extent_max, found.hardware_queues), (None, vec![]));
        assert_eq!(Burst::of(&[]), None);
    }
}
