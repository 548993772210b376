//! Runs a program for a short question, such as `fio --version`. The program may run forever or print without end: both
//! are limited, and the program is killed at either limit. It gets no input.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use iosched_files::interrupt;

/// How often to check for a signal to this process.
const SLICE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// Ctrl-C reaches the program and this process at the same moment; either may be the first to run.
const SIGNAL_DELAY: Duration = Duration::from_millis(500);
/// How long to wait for a killed program, which may be waiting for its I/O.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    /// The limit for standard output, and again for standard error.
    pub bytes: usize,
}

#[derive(Debug)]
pub struct Answer {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Returns when the program has ended and closed its output. The error wraps a [`std::io::Error`]: `NotFound` for a
/// missing program, `TimedOut`, `FileTooLarge`; or it is that of [`interrupt::check`]. Programs that it has started
/// itself are killed with it, unless they have left its process group.
pub fn ask(program: &OsStr, arguments: &[&OsStr], limits: Limits) -> Result<Answer> {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    run(command, program, arguments, limits)
}

/// As [`ask()`], with this as its standard input.
pub fn ask_with_input(
    program: &OsStr,
    arguments: &[&OsStr],
    input: &[u8],
    limits: Limits,
) -> Result<Answer> {
    // In memory, so that it need not be read while the answer is.
    let file = rustix::fs::memfd_create("input", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(file.context("making room for a question")?);
    file.write_all(input)
        .and_then(|()| file.rewind())
        .context("writing a question")?;
    let mut command = Command::new(program);
    command.stdin(file);
    run(command, program, arguments, limits)
}

/// As [`ask()`], without the variables of this process, which can change what the program reads and how it answers.
pub fn ask_alone(program: &OsStr, arguments: &[&OsStr], limits: Limits) -> Result<Answer> {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null());
    run(command, program, arguments, limits)
}

fn run(
    mut command: Command,
    program: &OsStr,
    arguments: &[&OsStr],
    limits: Limits,
) -> Result<Answer> {
    let mut child = command
        .args(arguments)
        .env("LC_ALL", "C")
        // What it starts ends with it.
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let answer = listen(&mut child, limits);
    if answer.is_err() {
        end(&mut child);
    }
    answer.map_err(|error| {
        if !error.is::<Error>() {
            return error;
        }
        let words = [&[program], arguments].concat().join(OsStr::new(" "));
        error.context(format!("running {}", words.display()))
    })
}

fn end(child: &mut Child) {
    // It may just have ended, which is fine.
    let group = Pid::from_raw(child.id() as i32);
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    let _ = child.kill();
    let _ = wait(child, Instant::now() + KILL_TIMEOUT);
}

fn listen(child: &mut Child, limits: Limits) -> Result<Answer> {
    let deadline = Instant::now() + limits.time;
    let stdout = child.stdout.take().map(OwnedFd::from);
    let stderr = child.stderr.take().map(OwnedFd::from);
    let mut streams = [stdout, stderr].map(|source| Stream {
        source: source.map(File::from),
        said: Vec::new(),
    });
    while streams.iter().any(|stream| stream.source.is_some()) {
        interrupt::check()?;
        if Instant::now() >= deadline {
            return Err(too_late(limits));
        }
        read_what_is_there(&mut streams, limits.bytes)?;
    }
    let status = wait(child, deadline)?.ok_or_else(|| too_late(limits))?;
    if was_interrupted(status) {
        // The answer that it would have given is not known.
        interrupt::sleep_until(Instant::now() + SIGNAL_DELAY)?;
    }
    interrupt::check()?;
    let [stdout, stderr] = streams.map(|stream| stream.said);
    Ok(Answer {
        status,
        stdout,
        stderr,
    })
}

/// By a signal that terminals send, also if it caught the signal and ended by itself.
fn was_interrupted(status: ExitStatus) -> bool {
    let signal = status.signal().or(status.code().map(|code| code - 128));
    signal.is_some_and(|signal| [SIGHUP, SIGINT, SIGTERM].contains(&signal))
}

struct Stream {
    /// None at end of file.
    source: Option<File>,
    said: Vec<u8>,
}

/// Waits briefly for output on any of the streams.
fn read_what_is_there(streams: &mut [Stream], limit: usize) -> Result<()> {
    let open = streams.iter().filter_map(|stream| stream.source.as_ref());
    let mut waiting: Vec<PollFd> = open.map(|file| PollFd::new(file, PollFlags::IN)).collect();
    match poll(&mut waiting, Some(&SLICE)) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(()),
        Err(error) => return Err(Error::from(error).into()),
    }
    let is_ready: Vec<bool> = waiting.iter().map(|it| !it.revents().is_empty()).collect();
    let open = streams.iter_mut().filter(|stream| stream.source.is_some());
    let ready = open.zip(is_ready).filter(|(_, is_ready)| *is_ready);
    ready
        .map(|(stream, _)| stream)
        .try_for_each(|stream| stream.read(limit))
}

impl Stream {
    /// Reads once; data is available.
    fn read(&mut self, limit: usize) -> Result<()> {
        let mut piece = [0; 4096];
        let Some(source) = &mut self.source else {
            return Ok(());
        };
        match source.read(&mut piece) {
            Ok(0) => self.source = None,
            Ok(length) => self.said.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if self.said.len() > limit {
            let what = format!("it printed more than {limit} bytes and was killed");
            return Err(Error::new(ErrorKind::FileTooLarge, what).into());
        }
        Ok(())
    }
}

/// None if it has not ended by the deadline.
fn wait(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= deadline {
            return Ok(status);
        }
        interrupt::check()?;
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn too_late(limits: Limits) -> anyhow::Error {
    let seconds = limits.time.as_secs_f64();
    let what = format!("it did not end within {seconds} s and was killed");
    Error::new(ErrorKind::TimedOut, what).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        time: Duration::from_secs(20),
        bytes: 1000,
    };

    fn asked(words: &[&str], limits: Limits) -> Result<Answer> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        ask(words[0], &words[1..], limits)
    }

    fn kind(error: &anyhow::Error) -> Option<ErrorKind> {
        error.downcast_ref::<Error>().map(Error::kind)
    }

    #[test]
    fn an_answer_has_both_outputs_and_the_end() {
        let script = "echo yes; echo no >&2; echo $LC_ALL; cat; exit 3";
        let answer = asked(&["sh", "-c", script], LIMITS).unwrap();
        assert_eq!(answer.status.code(), Some(3));
        assert_eq!(answer.stdout, b"yes\nC\n");
        assert_eq!(answer.stderr, b"no\n");
    }

    #[test]
    fn a_program_asked_alone_has_no_variables_of_ours() {
        let words = [
            "-c",
            "env | cut -d= -f1 | sort | grep -vx -e _ -e PWD -e SHLVL",
        ];
        let answer = ask_alone("/bin/sh".as_ref(), &words.map(OsStr::new), LIMITS).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.stdout), "LC_ALL\nPATH\n");
    }

    #[test]
    fn up_to_the_limit_all_is_read() {
        for (bytes, is_read) in [(1000, true), (1001, false)] {
            let script = format!("head -c {bytes} /dev/zero");
            let answer = asked(&["sh", "-c", &script], LIMITS);
            assert_eq!(answer.is_ok(), is_read, "{answer:?}");
        }
    }

    #[test]
    fn a_program_that_never_ends_is_ended() {
        let limits = Limits {
            time: Duration::from_millis(200),
            ..LIMITS
        };
        // The second command closes its output and continues.
        for words in [
            &["sleep", "600"][..],
            &["sh", "-c", "exec sleep 600 >&- 2>&-"],
        ] {
            let started = Instant::now();
            let error = asked(words, limits).unwrap_err();
            assert_eq!(kind(&error), Some(ErrorKind::TimedOut), "{error:#}");
            assert!(
                format!("{error:#}").contains("did not end within 0.2 s"),
                "{error:#}"
            );
            assert!(started.elapsed() < LIMITS.time);
        }
    }

    #[test]
    fn a_program_that_floods_is_ended() {
        for words in [&["yes"][..], &["sh", "-c", "exec yes >&2"]] {
            let error = asked(words, LIMITS).unwrap_err();
            assert_eq!(kind(&error), Some(ErrorKind::FileTooLarge), "{error:#}");
            assert!(format!("{error:#}").contains("more than 1000 bytes"));
        }
    }

    #[test]
    fn an_end_by_a_signal_of_the_terminal_is_told_from_others() {
        let status = |script: &str| asked(&["sh", "-c", script], LIMITS).unwrap().status;
        assert!(was_interrupted(status("kill -INT $$")));
        assert!(was_interrupted(status("exit 130")));
        assert!(!was_interrupted(status("kill -KILL $$")));
        assert!(!was_interrupted(status("exit 2")));
        assert!(!was_interrupted(status("true")));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = asked(&["iosched-no-such-program"], LIMITS).unwrap_err();
        assert_eq!(kind(&error), Some(ErrorKind::NotFound));
        let text = format!("{error:#}");
        assert!(
            text.contains("cannot run iosched-no-such-program"),
            "{text}"
        );
    }
}
