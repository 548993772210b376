//! Starts one program inside its control group. The process must join the group before its first I/O, and the kernel
//! must kill it when iosched dies; an intermediate step does both: our own binary, started with a hidden first
//! argument, joins, requests the signal, and executes the program. No shell, no `pre_exec`.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
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
use super::rights::{self, Rights};
use iosched_files::input;
use iosched_result::failure::Failure;

/// The first argument by which a binary of ours recognises that it must become the workload.
pub const ARGUMENT: &str = "__launch";
/// The same for a program that keeps our standard input and output.
const FOREGROUND: &str = "__foreground";
/// The exit code by which shells report that a program could not be run.
const NOT_RUN: u8 = 127;
/// Longest message, in bytes, about why a program could not be run.
const LONGEST_REFUSAL: u64 = 4096;

/// A program to start, and where its output goes.
pub struct Launch<'a> {
    pub launcher: &'a Path,
    pub argv: &'a [OsString],
    pub rights: Rights<'a>,
    pub environment: &'a [(&'a str, OsString)],
    /// None: the current working directory of this process.
    pub working_directory: Option<&'a Path>,
    pub stdout: &'a Path,
    pub stderr: PathBuf,
}

/// A started program. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    handle: OwnedFd,
    stderr: PathBuf,
    /// Sent by a waiting thread, so that the end is timed by the kernel and not by our polling.
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

    /// Why it failed; None if it succeeded.
    pub fn problem(&self, program: &str) -> Option<String> {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("{program} exited with code {code}")),
            (None, Some(signal)) => Some(format!("{program} was killed by signal {signal}")),
            (None, None) => Some(format!("{program} ended in an unknown way")),
        }
    }
}

/// Whether a program of this name would be found.
pub fn is_in_path(program: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Returns when the program runs and is a member of `group`.
pub fn start(launch: &Launch<'_>, group: &Group) -> Result<Process> {
    let program = launch.argv.first().context("a program to start")?;
    let program = program.to_string_lossy();
    let (mut refusals, refusal_end) = std::io::pipe().context("creating a pipe")?;
    let mut command = trampoline(launch, group)?;
    command.stdin(refusal_end);
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {}", launch.launcher.display()))?;
    // Close our copy of the pipe's write end, otherwise the read end never sees end of file.
    drop(command);
    let mut refusal = Vec::new();
    // A program that sends more than this has not become the workload, and finds the pipe closed.
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
            "check that it is installed and in PATH",
        ));
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = pidfd_open(pid.context("converting its PID")?, PidfdFlags::empty())
        .with_context(|| format!("opening the pidfd of {program}"))?;
    Ok(Process {
        handle,
        stderr: launch.stderr.clone(),
        end: watch(child, started)?,
        ended: None,
    })
}

/// Starts a program in the foreground, as a member of `group`. It is killed with this thread, and its children with the
/// group.
pub fn foreground(launcher: &Path, argv: &[OsString], group: &Group) -> Result<Child> {
    let procs_files = group.procs_files();
    Command::new(launcher)
        .arg(FOREGROUND)
        .arg(std::process::id().to_string())
        .arg(procs_files.len().to_string())
        .args(procs_files)
        .arg(Rights::All.argument())
        .args(argv)
        .spawn()
        .with_context(|| format!("starting {}", launcher.display()))
}

/// Our own binary, with arguments that say what to become.
fn trampoline(launch: &Launch<'_>, group: &Group) -> Result<Command> {
    let create = |path: &Path| {
        File::create(path).with_context(|| format!("creating the output file {}", path.display()))
    };
    // Relative names would be resolved in the workload's working directory.
    let launcher = std::path::absolute(launch.launcher).context("the launcher's path")?;
    let procs_files = group.procs_files();
    let mut command = Command::new(launcher);
    command
        .arg(ARGUMENT)
        .arg(std::process::id().to_string())
        .arg(procs_files.len().to_string())
        .args(&procs_files)
        .arg(launch.rights.argument())
        .args(launch.argv)
        .stdout(create(launch.stdout)?)
        .stderr(create(&launch.stderr)?);
    if let Rights::Of(user) = launch.rights {
        // It begins a session of its own, and root's secrets are not in its environment.
        command.env_clear().envs(user.environment());
    } else {
        // Ctrl-C in the terminal is for iosched, which then ends the workload in order.
        command.process_group(0);
    }
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = launch.working_directory {
        command.current_dir(directory);
    }
    Ok(command)
}

/// A thread that waits for the end and records its time.
fn watch(mut child: Child, started: Instant) -> Result<Receiver<std::io::Result<Ended>>> {
    let (sender, end) = channel();
    std::thread::Builder::new()
        .name("workload-wait".to_owned())
        .spawn(move || {
            let ended = child.wait().map(|status| Ended {
                status,
                elapsed: started.elapsed(),
            });
            // The receiver is gone if the process was dropped.
            let _ = sender.send(ended);
        })
        .context("starting the thread that waits for the workload")?;
    Ok(end)
}

impl Process {
    /// How the process ended, once it has ended.
    pub fn poll(&mut self) -> Result<Option<Ended>> {
        if self.ended.is_none() {
            self.ended = match self.end.try_recv() {
                Ok(ended) => Some(ended.context("waiting for the workload")?),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => {
                    bail!("the thread that waits for the workload has ended")
                }
            };
        }
        Ok(self.ended)
    }

    /// Sends SIGINT, after which the program may finish its work.
    pub fn interrupt(&mut self) {
        if self.ended.is_none() {
            let _ = pidfd_send_signal(&self.handle, Signal::INT);
        }
    }

    /// Kills the program itself; its children are killed through the group.
    pub fn kill(&mut self) {
        if self.ended.is_none() {
            // It may just have ended, which is fine.
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        }
    }

    /// Waits for the end, at most this long.
    pub fn wait(&mut self, patience: Duration) {
        if self.ended.is_none() {
            match self.end.recv_timeout(patience) {
                Ok(ended) => self.ended = ended.ok(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// The last lines of its standard error, joined into one; empty if there are none.
    pub fn end_of_stderr(&self) -> String {
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

/// The intermediate step, if this process was started as one. Binaries call this first; it returns only if the process
/// was not started as one, or if the program could not be run.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let asked = arguments.next()?;
    if asked == FOREGROUND {
        let Err(error) = become_program(arguments, Stdio::inherit());
        let _ = writeln!(
            std::io::stderr(),
            "iosched: cannot run the program: {error:#}"
        );
        return Some(ExitCode::from(NOT_RUN));
    }
    if asked != ARGUMENT {
        return None;
    }
    // Standard input is the pipe for error messages; exec of the program closes it.
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
    let parent = number("the parent's PID")?;
    let groups = number("the number of control groups")?;
    for _ in 0..groups {
        let file = PathBuf::from(arguments.next().context("a control group")?);
        std::fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .and_then(|mut f| f.write_all(b"0"))
            .with_context(|| format!("joining {}", file.display()))?;
    }
    rights::take(&arguments.next().context("its rights")?)?;
    // After them: the kernel forgets it when the user changes.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("requesting the parent-death signal")?;
    // The parent may have died before the line above.
    ensure!(
        rustix::process::getppid() == Pid::from_raw(parent),
        "the parent process has ended"
    );
    let program = arguments.next().context("a program")?;
    let error = Command::new(program).args(arguments).stdin(input).exec();
    Err(error.into())
}
