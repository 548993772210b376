//! A stand-in for tests of what stands above: it starts nothing, keeps a log of the rounds it was given, and
//! hands out the outcomes it was told to.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use serde_json::{Value, json};

use super::{CgroupRef, Fixed, Outcome, Round, Running, Workload};

/// A round that the fake was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub index: usize,
    pub block: usize,
    pub arm_label: String,
    pub seed: u64,
}

type Script = Box<dyn FnMut(&Call) -> Result<Outcome>>;

pub struct Fake {
    log: Arc<Mutex<Vec<Call>>>,
    script: Script,
    pub writes: bool,
    pub fixed: Fixed,
    /// How often a round says that it has not ended yet.
    pub polls_before_end: usize,
    pub cgroups: Vec<CgroupRef>,
}

impl Fake {
    /// `script` gives the outcome of each round, or the error of its start.
    pub fn new(script: impl FnMut(&Call) -> Result<Outcome> + 'static) -> Self {
        Fake {
            log: Arc::default(),
            script: Box::new(script),
            writes: false,
            fixed: Fixed::Time,
            polls_before_end: 0,
            cgroups: Vec::new(),
        }
    }

    /// The rounds so far, and those to come.
    pub fn log(&self) -> Log {
        Log(self.log.clone())
    }
}

/// Stays readable when the fake has been given away.
#[derive(Clone)]
pub struct Log(Arc<Mutex<Vec<Call>>>);

impl Log {
    pub fn calls(&self) -> Vec<Call> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Workload for Fake {
    // The trait lends names that live as long as the workload.
    #[allow(clippy::unnecessary_literal_bound)]
    fn name(&self) -> &str {
        "fake"
    }

    fn description(&self) -> Value {
        json!({ "kind": "fake" })
    }

    fn writes(&self) -> bool {
        self.writes
    }

    fn fixed(&self) -> Fixed {
        self.fixed
    }

    fn start(&mut self, round: &Round<'_>) -> Result<Box<dyn Running>> {
        let call = Call {
            index: round.index,
            block: round.block,
            arm_label: round.arm_label.to_owned(),
            seed: round.seed,
        };
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call.clone());
        Ok(Box::new(RunningFake {
            outcome: (self.script)(&call)?,
            polls_left: self.polls_before_end,
            cgroups: self.cgroups.clone(),
        }))
    }
}

struct RunningFake {
    outcome: Outcome,
    polls_left: usize,
    cgroups: Vec<CgroupRef>,
}

impl Running for RunningFake {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        if self.polls_left == 0 {
            return Ok(Some(self.outcome.clone()));
        }
        self.polls_left -= 1;
        Ok(None)
    }

    fn cgroups(&self) -> Vec<CgroupRef> {
        self.cgroups.clone()
    }

    fn stop(&mut self) {
        self.polls_left = 0;
    }
}
