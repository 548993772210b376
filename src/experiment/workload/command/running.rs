//! A command while it runs, and what it came to.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::workload::Running;
use crate::workload::cgroup::Group;
use crate::workload::launch::{Ended, Process};
use crate::workload::reported::{Found, Sources, output};
use iosched_result::types::outcome::{CgroupRef, Outcome};
use iosched_result::types::raw::RawJson;

/// Field order is drop order: the group first, then the program.
pub(super) struct RunningCommand {
    pub name: String,
    pub reference: CgroupRef,
    pub group: Option<Group>,
    pub process: Process,
    pub started: Instant,
    pub limit: Option<Duration>,
    pub outcome: Option<Outcome>,
    pub directory: PathBuf,
    pub sources: Rc<Sources>,
}

impl RunningCommand {
    fn conclude(&self, ended: Option<Ended>) -> Outcome {
        let cpu_ns = self.group.as_ref().and_then(Group::cpu_ns);
        let left = self.group.as_ref().map_or(0, Group::processes);
        let problem = match (ended, self.limit) {
            (Some(ended), _) => {
                ended
                    .problem(&self.name)
                    .map(|problem| match self.process.end_of_stderr() {
                        words if words.is_empty() => problem,
                        words => format!("{problem}; its output: {words}"),
                    })
            }
            (None, limit) => {
                let seconds = limit.unwrap_or_default().as_secs_f64();
                Some(format!(
                    "{} did not end within {seconds} s and was killed",
                    self.name
                ))
            }
        };
        let (found, output) = match output::read(&self.directory) {
            Ok((printed, output)) => (self.sources.find(&printed), Some(output)),
            Err(why) => (Found::because(why), None),
        };
        Outcome {
            exit_code: ended.and_then(|ended| ended.status.code()),
            signal: ended.and_then(|ended| ended.signal()),
            elapsed_ns: ended.map_or(0, |ended| ended.elapsed_ns()),
            user_cpu_ns: cpu_ns.map(|ns| ns.0),
            system_cpu_ns: cpu_ns.map(|ns| ns.1),
            jobs: Vec::new(),
            // A command that failed has printed only a part.
            misread: found.misread.filter(|_| problem.is_none()),
            resembles: found.resembles,
            problem: problem.or(found.problem),
            disks: self.group.as_ref().map_or_else(Vec::new, Group::disks),
            reported: found.metrics,
            too_few_samples: found.insufficient_tail,
            output,
            ended_by_others: false,
            overran: ended.is_none(),
            raw: Some(RawJson::from(
                &json!({ "processes_ended_after_it": if ended.is_some() { left } else { 0 } }),
            )),
        }
    }
}

impl Running for RunningCommand {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        if self.outcome.is_none() {
            let ended = self.process.poll()?;
            let overdue = self
                .limit
                .is_some_and(|limit| self.started.elapsed() > limit);
            if ended.is_none() && !overdue {
                return Ok(None);
            }
            self.outcome = Some(self.conclude(ended));
            self.stop();
        }
        Ok(self.outcome.clone())
    }

    fn cgroups(&self) -> Vec<CgroupRef> {
        vec![self.reference.clone()]
    }

    fn stop(&mut self) {
        // On an error the group stays in the journal, which reports it.
        self.group = None;
        self.process.kill();
    }
}
