//! Starts one program inside its control group. The group must be joined before the first I/O, and the kernel
//! must end the program with us; both are done by a step in between: our own binary, started again with a
//! hidden first argument, joins, asks for the signal, and becomes the program. No shell, no `pre_exec`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::cgroup::Group;
use super::fio_result::one_line;
use crate::failure::Failure;
use crate::input;

/// First argument by which a binary of ours recognises that it is to become the workload.
pub const ARGUMENT: &str = "__launch";
/// The same for a program that keeps our input and output.
const FOREGROUND: &str = "__foreground";
/// As a shell says that a program could not be run.
const NOT_RUN: u8 = 127;
/// In bytes, of why a program could not be run.
const LONGEST_REFUSAL: u64 = 4096;

/// What to start, and where its words go.
pub struct Launch<'a> {
    pub launcher: &'a Path,
    pub argv: &'a [OsString],
    pub environment: &'a [(&'a str, OsString)],
    /// None: that of this process.
    pub working_directory: Option<&'a Path>,
    pub stdout: &'a Path,
    pub stderr: PathBuf,
}

/// A started program. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    handle: OwnedFd,
    stderr: PathBuf,
    /// Fed by a thread that waits, so that the end is timed by the kernel and not by our polling.
    end: Receiver<std::io::Result<Ended>>,
    ended: Option<Ended>,
}

#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub elapsed: Duration,
}

impl Ended {
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Why this end is not a success; None if it is one.
    pub fn problem(&self, program: &str) -> Option<String> {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("{program} exited with code {code}")),
            (None, Some(signal)) => Some(format!("{program} was ended by signal {signal}")),
            (None, None) => Some(format!("{program} ended in an unknown way")),
        }
    }
}

/// Returns when the program runs, and is a member of `group`.
pub fn start(launch: &Launch<'_>, group: &Group) -> Result<Process> {
    let program = launch.argv.first().context("a program to start")?;
    let program = program.to_string_lossy();
    let (mut refusals, refusal_end) = std::io::pipe().context("making a pipe")?;
    let mut command = trampoline(launch, group)?;
    command.stdin(refusal_end);
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {}", launch.launcher.display()))?;
    // Our copy of the pipe's other end must go, else its end never comes.
    drop(command);
    let mut refusal = Vec::new();
    // Whoever says more than that has not become the workload, and finds the pipe closed.
    refusals
        .by_ref()
        .take(LONGEST_REFUSAL)
        .read_to_end(&mut refusal)
        .context("waiting for the workload to start")?;
    drop(refusals);
    let started = Instant::now();
    if !refusal.is_empty() {
        child.wait().context("waiting for the failed start")?;
        let refusal = one_line(&String::from_utf8_lossy(&refusal));
        return Err(Failure::runtime(
            format!("cannot run {program}: {refusal}"),
            "see that it is installed and in PATH",
        ));
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = pidfd_open(pid.context("a process number")?, PidfdFlags::empty())
        .with_context(|| format!("taking a handle of {program}"))?;
    Ok(Process {
        handle,
        stderr: launch.stderr.clone(),
        end: watch(child, started)?,
        ended: None,
    })
}

/// A program in the foreground, a member of `group`. It does not outlive this thread, nor the group what it forks.
pub fn foreground(launcher: &Path, argv: &[OsString], group: &Group) -> Result<Child> {
    let procs_files = group.procs_files();
    Command::new(launcher)
        .arg(FOREGROUND)
        .arg(std::process::id().to_string())
        .arg(procs_files.len().to_string())
        .args(procs_files)
        .args(argv)
        .spawn()
        .with_context(|| format!("starting {}", launcher.display()))
}

/// Ourselves again, told what to become.
fn trampoline(launch: &Launch<'_>, group: &Group) -> Result<Command> {
    let create = |path: &Path| {
        File::create(path).with_context(|| format!("creating the output file {}", path.display()))
    };
    // Relative names would be looked up in the working directory of the workload.
    let launcher = std::path::absolute(launch.launcher).context("the launcher's path")?;
    let procs_files = group.procs_files();
    let mut command = Command::new(launcher);
    command
        .arg(ARGUMENT)
        .arg(std::process::id().to_string())
        .arg(procs_files.len().to_string())
        .args(&procs_files)
        .args(launch.argv)
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .stdout(create(launch.stdout)?)
        .stderr(create(&launch.stderr)?)
        // The terminal's ^C is for us: we end the workload in order.
        .process_group(0);
    if let Some(directory) = launch.working_directory {
        command.current_dir(directory);
    }
    Ok(command)
}

/// A thread that waits for the end and takes its time.
fn watch(mut child: Child, started: Instant) -> Result<Receiver<std::io::Result<Ended>>> {
    let (sender, end) = channel();
    std::thread::Builder::new()
        .name("workload-wait".to_owned())
        .spawn(move || {
            let ended = child.wait().map(|status| Ended {
                status,
                elapsed: started.elapsed(),
            });
            // Nobody waits any more: the process was dropped.
            let _ = sender.send(ended);
        })
        .context("starting the thread that waits for the workload")?;
    Ok(end)
}

impl Process {
    /// How it ended, once it has.
    pub fn poll(&mut self) -> Result<Option<Ended>> {
        if self.ended.is_none() {
            self.ended = match self.end.try_recv() {
                Ok(ended) => Some(ended.context("waiting for the workload")?),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => bail!("lost sight of the workload's end"),
            };
        }
        Ok(self.ended)
    }

    /// SIGINT: the program may finish what it has to.
    pub fn interrupt(&mut self) {
        if self.ended.is_none() {
            let _ = pidfd_send_signal(&self.handle, Signal::INT);
        }
    }

    /// Asks the kernel to end the program itself (what it forked is ended through the group).
    pub fn kill(&mut self) {
        if self.ended.is_none() {
            // It may have ended this moment, which is as good.
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        }
    }

    /// Waits for the end, at most so long.
    pub fn wait(&mut self, patience: Duration) {
        if self.ended.is_none() {
            match self.end.recv_timeout(patience) {
                Ok(ended) => self.ended = ended.ok(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// The last words on its standard error, in one line; empty if it said nothing.
    pub fn last_words(&self) -> String {
        const TAIL_BYTES: u64 = 4096;
        let (tail, is_cut) = input::tail(&self.stderr, TAIL_BYTES).unwrap_or_default();
        let words = one_line(&String::from_utf8_lossy(&tail));
        if is_cut {
            format!("[...] {words}")
        } else {
            words
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.wait(Duration::from_secs(10));
    }
}

/// The step in between, when this process was started as one. Binaries call this first; it returns only
/// if the process was not, or if the program could not be run.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let asked = arguments.next()?;
    if asked == FOREGROUND {
        let Err(error) = become_program(arguments, Stdio::inherit());
        let _ = writeln!(std::io::stderr(), "iosched: cannot run it: {error:#}");
        return Some(ExitCode::from(NOT_RUN));
    }
    if asked != ARGUMENT {
        return None;
    }
    // Standard input is the pipe on which a refusal is told; the program itself closes it by starting.
    let refusals = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3);
    let Err(error) = become_program(arguments, Stdio::null());
    if let Ok(pipe) = refusals {
        let _ = write!(File::from(pipe), "{error:#}");
    }
    Some(ExitCode::from(NOT_RUN))
}

fn become_program(
    mut arguments: impl Iterator<Item = OsString>,
    input: Stdio,
) -> Result<Infallible> {
    let mut number = |what: &'static str| -> Result<i32> {
        let text = arguments.next().context(what)?;
        text.to_str().and_then(|t| t.parse().ok()).context(what)
    };
    let parent = number("the parent's process number")?;
    let groups = number("the number of control groups")?;
    for _ in 0..groups {
        let file = PathBuf::from(arguments.next().context("a control group")?);
        std::fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .and_then(|mut f| f.write_all(b"0"))
            .with_context(|| format!("joining {}", file.display()))?;
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("asking to be ended with the parent")?;
    // It may have gone before the line above.
    ensure!(
        rustix::process::getppid() == Pid::from_raw(parent),
        "the parent has gone"
    );
    let program = arguments.next().context("a program")?;
    let error = Command::new(program).args(arguments).stdin(input).exec();
    Err(error.into())
}
