//! Any command as a workload: it runs to its end, and the time it takes is the result. No shell in between.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cgroup::Group;
use super::launch::{self, Ended, Launch, Process};
use super::{CgroupRef, Fixed, Outcome, Round, Running, Workload};
use crate::failure::Failure;
use crate::interrupt;
use crate::journal::Journal;

pub struct CommandLine {
    name: String,
    argv: Vec<OsString>,
    limit: Option<Duration>,
    writes: bool,
}

impl CommandLine {
    /// `writes`: nobody can tell from a command line, so the caller must say.
    pub fn new(argv: Vec<OsString>, writes: bool, limit: Option<Duration>) -> Result<Self> {
        ensure!(
            argv.first().is_some_and(|program| !program.is_empty()),
            Failure::usage(
                "no command to run",
                "give one after --: iosched-ab run ... -- COMMAND"
            )
        );
        let name = Path::new(&argv[0]).file_name().unwrap_or(&argv[0]);
        Ok(CommandLine {
            name: name.to_string_lossy().into_owned(),
            argv,
            limit,
            writes,
        })
    }
}

/// Runs a command of the user's in the foreground, with our input and output, and returns its exit code
/// (128 and the number for a signal, 127 if it could not be run). On a signal of ours it is ended and waited for. Nothing
/// of it outlives us.
pub fn foreground(journal: &Journal, launcher: &Path, argv: &[OsString]) -> Result<i32> {
    let group = Group::create(journal, "foreground")?;
    let mut child = launch::foreground(launcher, argv, &group)?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Err(interrupted) = interrupt::check() {
            child.kill()?;
            child.wait()?;
            return Err(interrupted);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    group.end()?;
    Ok(status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

impl Workload for CommandLine {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Value {
        let argv: Vec<_> = self
            .argv
            .iter()
            .map(|argument| argument.to_string_lossy())
            .collect();
        json!({
            "kind": "command",
            "argv": argv,
            "limit_ms": self.limit.map(|limit| limit.as_millis() as u64),
        })
    }

    fn writes(&self) -> bool {
        self.writes
    }

    fn may_claim_the_device(&self) -> bool {
        true
    }

    fn fixed(&self) -> Fixed {
        Fixed::Work
    }

    fn start(&mut self, round: &Round<'_>) -> Result<Box<dyn Running>> {
        let group = Group::create(round.journal, "command")?;
        let process = launch::start(
            &Launch {
                launcher: round.launcher,
                argv: &self.argv,
                environment: &environment(round),
                working_directory: None,
                stdout: &round.directory.join("command.stdout"),
                stderr: round.directory.join("command.stderr"),
            },
            &group,
        )?;
        Ok(Box::new(RunningCommand {
            name: self.name.clone(),
            reference: group.reference(),
            group: Some(group),
            process,
            started: Instant::now(),
            limit: self.limit,
            outcome: None,
        }))
    }
}

fn environment(round: &Round<'_>) -> Vec<(&'static str, OsString)> {
    let nodes: Vec<&OsStr> = round.device_nodes.iter().map(|n| n.as_os_str()).collect();
    let mut variables = vec![
        (
            "IOSCHED_DEVICE",
            nodes.first().copied().unwrap_or_default().into(),
        ),
        ("IOSCHED_DEVICES", nodes.join(OsStr::new(" "))),
        ("IOSCHED_ARM", round.arm_label.into()),
        ("IOSCHED_BLOCK", round.block.to_string().into()),
        ("IOSCHED_ROUND", round.index.to_string().into()),
        ("IOSCHED_SEED", round.seed.to_string().into()),
    ];
    if let Some(scratch) = round.scratch_file {
        variables.push(("IOSCHED_SCRATCH", scratch.directory().into()));
    }
    variables
}

/// Field order is drop order: the group first, then the program itself.
struct RunningCommand {
    name: String,
    reference: CgroupRef,
    group: Option<Group>,
    process: Process,
    started: Instant,
    limit: Option<Duration>,
    outcome: Option<Outcome>,
}

impl RunningCommand {
    fn conclude(&self, ended: Option<Ended>) -> Outcome {
        let cpu_ns = self.group.as_ref().and_then(Group::cpu_ns);
        let left = self.group.as_ref().map_or(0, Group::processes);
        let problem = match (ended, self.limit) {
            (Some(ended), _) => {
                ended
                    .problem(&self.name)
                    .map(|problem| match self.process.last_words() {
                        words if words.is_empty() => problem,
                        words => format!("{problem}; it said: {words}"),
                    })
            }
            (None, limit) => {
                let seconds = limit.unwrap_or_default().as_secs_f64();
                Some(format!(
                    "{} did not end within {seconds} s and was ended",
                    self.name
                ))
            }
        };
        Outcome {
            exit_code: ended.and_then(|ended| ended.status.code()),
            signal: ended.and_then(|ended| ended.signal()),
            elapsed_ns: ended.map_or(0, |ended| ended.elapsed_ns()),
            user_cpu_ns: cpu_ns.map(|ns| ns.0),
            system_cpu_ns: cpu_ns.map(|ns| ns.1),
            jobs: Vec::new(),
            problem,
            raw: Some(
                json!({ "processes_ended_after_it": if ended.is_some() { left } else { 0 } }),
            ),
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
        // An error leaves the group in the journal, which reports it.
        self.group = None;
        self.process.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    #[test]
    fn a_command_is_described_as_it_was_given() {
        let argv = vec!["/usr/bin/cp".into(), "a b".into(), "$HOME".into()];
        let command = CommandLine::new(argv, false, Some(Duration::from_secs(2))).unwrap();
        assert_eq!(command.name(), "cp");
        assert_eq!(
            command.description(),
            json!({ "kind": "command", "argv": ["/usr/bin/cp", "a b", "$HOME"], "limit_ms": 2000 })
        );
        assert_eq!(command.fixed(), Fixed::Work);
    }

    #[test]
    fn nothing_is_no_command() {
        for argv in [vec![], vec![OsString::new()]] {
            let Err(error) = CommandLine::new(argv, false, None) else {
                panic!("an empty command was accepted")
            };
            assert_eq!(kind_of(&error), Kind::Usage);
        }
    }
}
