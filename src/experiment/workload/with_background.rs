//! A command that runs while fio loads the disk: how long it takes beside others is the result.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::command::CommandLine;
use super::description::Description;
use super::fio::Fio;
use super::properties::Properties;
use super::{Execution, Running, Target, Workload};
use iosched_files::interrupt;
use iosched_result::types::outcome::{CgroupRef, Outcome};

/// Longer than any command runs.
const WITHOUT_END: Duration = Duration::from_secs(24 * 60 * 60);
const POLL: Duration = Duration::from_millis(20);

pub struct WithBackground {
    command: CommandLine,
    background: Fio,
    /// How long the background runs before the command starts.
    lead: Duration,
}

impl WithBackground {
    pub fn new(command: CommandLine, background: Fio, lead: Duration) -> Self {
        WithBackground {
            command,
            background,
            lead,
        }
    }
}

impl Workload for WithBackground {
    fn name(&self) -> &str {
        self.command.name()
    }

    fn description(&self) -> Value {
        Description::WithBackground {
            command: self.command.description(),
            background: self.background.description(),
            lead_ms: self.lead.as_millis() as u64,
        }
        .value()
    }

    fn properties(&self) -> Properties {
        let (command, background) = (self.command.properties(), self.background.properties());
        let mut profile = command.profile;
        profile.groups.extend(background.profile.groups);
        Properties {
            writes: command.writes || background.writes,
            may_claim_the_device: false,
            through_page_cache: background.through_page_cache,
            lead: self.lead,
            profile,
            ..command
        }
    }

    fn check(&self) -> Result<()> {
        self.background.check()?;
        self.command.check()
    }

    fn check_on(&self, target: &Target) -> Result<Vec<String>> {
        self.background.check_on(target)
    }

    /// Returns when the command has been started.
    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>> {
        let endless = Execution {
            ramp: Duration::ZERO,
            time: WITHOUT_END,
            ..*round
        };
        let mut background = self.background.start(&endless)?;
        let begin = Instant::now();
        while begin.elapsed() < self.lead && background.poll()?.is_none() {
            interrupt::check()?;
            std::thread::sleep(POLL);
        }
        let command = self.command.start(round)?;
        Ok(Box::new(RunningBeside {
            background,
            command,
            outcome: None,
        }))
    }
}

/// Field order is drop order: the load must not end while the command is measured.
struct RunningBeside {
    command: Box<dyn Running>,
    background: Box<dyn Running>,
    outcome: Option<Outcome>,
}

impl Running for RunningBeside {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        if self.outcome.is_some() {
            return Ok(self.outcome.clone());
        }
        let early = self.background.poll()?;
        let Some(mut outcome) = self.command.poll()? else {
            let Some(early) = early else {
                return Ok(None);
            };
            let why = early.problem.unwrap_or_else(|| "it ended".to_owned());
            self.outcome = Some(Outcome {
                problem: Some(format!("the load beside the command failed: {why}")),
                ..Outcome::default()
            });
            self.stop();
            return Ok(self.outcome.clone());
        };
        if early.is_some() && outcome.problem.is_none() {
            outcome.problem = Some("the load beside the command ended before it".to_owned());
        }
        // Shown per I/O of all groups, while this is the command's alone.
        (outcome.user_cpu_ns, outcome.system_cpu_ns) = (None, None);
        self.outcome = Some(outcome);
        self.stop();
        Ok(self.outcome.clone())
    }

    /// The command's first: its metrics have no prefix.
    fn cgroups(&self) -> Vec<CgroupRef> {
        let mut groups = self.command.cgroups();
        groups.extend(self.background.cgroups());
        groups
    }

    fn stop(&mut self) {
        self.command.stop();
        self.background.stop();
    }
}
