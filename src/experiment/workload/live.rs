//! A workload that starts no load: a round measures the existing I/O.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::description::Description;
use super::properties::Properties;
use super::{Execution, Running, Workload};
use iosched_result::types::outcome::{CgroupRef, Fixed, Outcome};

/// Name of the workload.
pub const NAME: &str = "live";
/// The window begins slightly after the round.
const SLACK: Duration = Duration::from_millis(200);

pub struct Live;

impl Workload for Live {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> Value {
        Description::Live.value()
    }

    fn properties(&self) -> Properties {
        Properties {
            // Other programs may claim it at any time.
            may_claim_the_device: true,
            is_live: true,
            without_latency: Some(
                "a live run has no program that reports the latency of its I/Os".to_owned(),
            ),
            ..Properties::new(Fixed::Time)
        }
    }

    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>> {
        Ok(Box::new(RunningLive {
            end: Instant::now() + round.ramp + round.time + SLACK,
        }))
    }
}

struct RunningLive {
    end: Instant,
}

impl Running for RunningLive {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        Ok((Instant::now() >= self.end).then(Outcome::default))
    }

    fn cgroups(&self) -> Vec<CgroupRef> {
        Vec::new()
    }

    fn stop(&mut self) {
        self.end = Instant::now();
    }
}
