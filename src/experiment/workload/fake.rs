//! A fake for tests of the layers above: it starts nothing, logs the rounds it was given, and returns prepared
//! outcomes.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Result;
use serde_json::{Value, json};

use super::properties::Properties;
use super::{Execution, Running, Workload};
use iosched_result::types::outcome::{CgroupRef, Fixed, Outcome};

/// A round for which the fake was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub index: usize,
    pub block: usize,
    pub arm_label: String,
    pub seed: u64,
}

/// The fake's behaviour in one round.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Number of polls before it ends.
    pub polls_before_end: usize,
    pub outcome: Outcome,
}

type Script = Box<dyn FnMut(&Call) -> Result<Played>>;

pub struct Fake {
    log: Log,
    script: Script,
    pub fixed: Fixed,
    pub cgroups: Vec<CgroupRef>,
}

impl Fake {
    /// `script` returns each round's behaviour, or an error of its start.
    pub fn new(script: impl FnMut(&Call) -> Result<Played> + 'static) -> Self {
        Fake {
            log: Log::default(),
            script: Box::new(script),
            fixed: Fixed::Time,
            cgroups: Vec::new(),
        }
    }

    /// The log of past and future rounds.
    pub fn log(&self) -> Log {
        self.log.clone()
    }
}

/// Remains readable after the fake was moved.
#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Entries>>);

#[derive(Default)]
struct Entries {
    calls: Vec<Call>,
    at_work: usize,
}

impl Log {
    pub fn calls(&self) -> Vec<Call> {
        self.0.borrow().calls.clone()
    }

    /// Number of rounds that were started and not dropped.
    pub fn at_work(&self) -> usize {
        self.0.borrow().at_work
    }
}

impl Workload for Fake {
    // The trait returns names that live as long as the workload.
    #[allow(clippy::unnecessary_literal_bound)]
    fn name(&self) -> &str {
        "fake"
    }

    fn description(&self) -> Value {
        json!({ "kind": "fake" })
    }

    fn properties(&self) -> Properties {
        Properties::new(self.fixed)
    }

    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>> {
        let call = Call {
            index: round.index,
            block: round.block,
            arm_label: round.arm.map_or_else(String::new, |arm| arm.label.clone()),
            seed: round.seed,
        };
        self.log.0.borrow_mut().calls.push(call.clone());
        let played = (self.script)(&call)?;
        self.log.0.borrow_mut().at_work += 1;
        Ok(Box::new(RunningFake {
            played,
            log: self.log.clone(),
            cgroups: self.cgroups.clone(),
        }))
    }
}

struct RunningFake {
    played: Played,
    log: Log,
    cgroups: Vec<CgroupRef>,
}

impl Running for RunningFake {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        if self.played.polls_before_end == 0 {
            return Ok(Some(self.played.outcome.clone()));
        }
        self.played.polls_before_end -= 1;
        Ok(None)
    }

    fn cgroups(&self) -> Vec<CgroupRef> {
        self.cgroups.clone()
    }

    fn stop(&mut self) {
        self.played.polls_before_end = 0;
    }
}

impl Drop for RunningFake {
    fn drop(&mut self) {
        self.log.0.borrow_mut().at_work -= 1;
    }
}
