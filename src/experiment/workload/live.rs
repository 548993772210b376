//! A workload that starts no load: a round measures the existing I/O, and what the application says of itself.

use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::application::{Application, Read};
use super::description::Description;
use super::properties::Properties;
use super::{Execution, Running, Workload};
use iosched_result::metric::profile::{Profile, Reports};
use iosched_result::types::outcome::{CgroupRef, Fixed, Outcome};

/// Name of the workload.
pub const NAME: &str = "live";
/// The window begins slightly after the round.
const SLACK: Duration = Duration::from_millis(200);

#[derive(Default)]
pub struct Live {
    application: Rc<Application>,
}

impl Live {
    pub fn new(application: Application) -> Live {
        Live {
            application: Rc::new(application),
        }
    }
}

impl Workload for Live {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> Value {
        Description::Live {
            metrics: self.application.asked().to_vec(),
        }
        .value()
    }

    fn properties(&self) -> Properties {
        let names = self.application.names();
        let may_report = !names.is_empty();
        let reports = Reports::Known {
            of: "the application".to_owned(),
            patterns: names,
            is_all: true,
        };
        Properties {
            // Other programs may claim it at any time.
            may_claim_the_device: true,
            is_live: true,
            without_latency: Some(
                "a live run has no program that reports the latency of its I/Os".to_owned(),
            ),
            may_report,
            profile: Profile {
                reports: if may_report {
                    reports
                } else {
                    Reports::Nothing
                },
                ..Profile::default()
            },
            ..Properties::new(Fixed::Time)
        }
    }

    /// A name that is misspelled is found at once.
    fn check(&self) -> Result<()> {
        let begin = Instant::now();
        let read = self.application.read(&|| begin.elapsed())?;
        self.application.ensure_read(&read)
    }

    fn application(&self) -> Option<&Application> {
        Some(&*self.application).filter(|it| !it.is_empty())
    }

    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>> {
        Ok(Box::new(RunningLive {
            end: Instant::now() + round.ramp + round.time + SLACK,
            application: Rc::clone(&self.application),
            edges: Vec::new(),
        }))
    }
}

struct RunningLive {
    end: Instant,
    application: Rc<Application>,
    /// The readings at the edges of the window.
    edges: Vec<Vec<Read>>,
}

impl Running for RunningLive {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        let has_ended = Instant::now() >= self.end;
        Ok(has_ended.then(|| self.outcome()))
    }

    fn cgroups(&self) -> Vec<CgroupRef> {
        Vec::new()
    }

    fn window_edge(&mut self, now: &dyn Fn() -> Duration) -> Result<()> {
        let begin = Instant::now();
        self.edges.push(self.application.read(now)?);
        self.end += begin.elapsed();
        Ok(())
    }

    fn stop(&mut self) {
        self.end = Instant::now();
    }
}

impl RunningLive {
    /// A window that was not measured to its end has no values, and another reason than this.
    fn outcome(&self) -> Outcome {
        let [first, last] = self.edges.as_slice() else {
            return Outcome::default();
        };
        let found = self.application.between(first, last);
        Outcome {
            reported: found.metrics,
            problem: found.problem,
            misread: found.misread,
            ..Outcome::default()
        }
    }
}
