//! A small second process that undoes the journal of this one within milliseconds if this process ends without doing so
//! (SIGKILL, out of memory). It waits for the end of a pipe that only this process holds open, which needs no signal
//! and no polling and has no race.
//!
//! The guardian itself may be killed. A thread waits for that and starts another one at once; if that fails, the work
//! ends in an orderly way (`interrupt`), so that no change remains that nobody would undo.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::termios::{InputModes, LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};

use crate::safety::journal::{self, Journal};
use iosched_files::interrupt;

/// The first argument by which a binary of ours recognises that it is the guardian.
pub const ARGUMENT: &str = "__guardian";

/// How often to retry what could not be undone at once, for example because a process in the group waits for its I/O.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);
/// The guarded process waits this long for the guardian's end, then continues alone.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// More kills than this are intentional.
const REPLACEMENTS: usize = 5;

/// The last byte to the guardian: this process ends by itself and leaves its screen.
const ORDERLY: u8 = b'e';
/// The guardian's first byte when it is ready: whether the OOM killer spares it.
const SPARED: u8 = b's';
const NOT_SPARED: u8 = b'n';

const NOT_SPARED_NOTE: &str = "the OOM killer may kill the guardian process (protection needs CAP_SYS_RESOURCE): \
    if both are killed then, run `iosched restore`";

/// Starts the guardian of `journal`. `executable` is a binary that calls [`run_if_asked`].
/// The returned handle must live as long as changes may be in force.
///
/// Returns once the guardian is in its own session: a kill of our whole process group from then on misses it.
pub fn start(executable: &Path, journal: &Journal) -> Result<Guardian> {
    start_with(executable, journal, false)
}

/// The same for a program that draws on the terminal of its standard output: the guardian leaves its screen, too.
pub fn start_beside_a_screen(executable: &Path, journal: &Journal) -> Result<Guardian> {
    start_with(executable, journal, true)
}

fn start_with(executable: &Path, journal: &Journal, takes_screen: bool) -> Result<Guardian> {
    let (process, is_spared) = GuardianProcess::start(executable, &journal.path(), takes_screen)?;
    let mut notes = Vec::new();
    if !is_spared {
        notes.push(NOT_SPARED_NOTE.to_owned());
    }
    let (stopped, stop) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("creating a pipe")?;
    let shared = Arc::new(Shared {
        executable: executable.to_owned(),
        journal: journal.path(),
        takes_screen,
        process: Mutex::new(process),
        notes: Mutex::new(notes),
    });
    let watched = shared.clone();
    let thread = std::thread::Builder::new()
        .name("guardian-watch".to_owned())
        .spawn(move || watched.watch(&stopped))
        .context("starting the thread that watches the guardian")?;
    Ok(Guardian {
        shared,
        stop,
        thread: Some(thread),
    })
}

/// Holds the pipe; once dropped, the guardian finds an empty journal and ends.
pub struct Guardian {
    shared: Arc<Shared>,
    /// One byte ends the thread.
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    executable: PathBuf,
    journal: PathBuf,
    takes_screen: bool,
    process: Mutex<GuardianProcess>,
    notes: Mutex<Vec<String>>,
}

struct GuardianProcess {
    child: Child,
    /// Taken to end the guardian.
    pipe: Option<ChildStdin>,
}

impl Guardian {
    pub fn pid(&self) -> u32 {
        lock(&self.shared.process).child.id()
    }

    /// The notes that were not reported yet.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.notes))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Closing it would not suffice: a child that hangs in a write has inherited it.
        let _ = rustix::io::write(&self.stop, &[0]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        lock(&self.shared.process).end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Runs until something is written to the other end of `stopped`.
    fn watch(&self, stopped: &OwnedFd) {
        for _ in 0..=REPLACEMENTS {
            let pid = lock(&self.process).child.id();
            match wait_for_end(pid, stopped) {
                Ok(Some(())) => {}
                Ok(None) => return,
                Err(error) => return give_up(&format!("it cannot be watched: {error:#}")),
            }
            let started =
                GuardianProcess::start(&self.executable, &self.journal, self.takes_screen);
            match started {
                Ok((process, is_spared)) => {
                    let mut notes = lock(&self.notes);
                    notes.push(format!(
                        "the guardian process {pid} was killed, and process {} replaced it",
                        process.child.id()
                    ));
                    if !is_spared {
                        notes.push(NOT_SPARED_NOTE.to_owned());
                    }
                    let mut dead = std::mem::replace(&mut *lock(&self.process), process);
                    let _ = dead.child.wait();
                }
                Err(error) => return give_up(&format!("another could not be started: {error:#}")),
            }
        }
        give_up("so were its replacements");
    }
}

fn give_up(why: &str) {
    interrupt::end_because(&format!("the guardian process was killed, and {why}"));
}

/// Waits until the guardian has ended. None: the watch itself must end.
fn wait_for_end(pid: u32, stopped: &OwnedFd) -> Result<Option<()>> {
    let pid = Pid::from_raw(pid as i32).context("converting the guardian's PID")?;
    // The guardian is our child and was not waited for, so its PID is still its own.
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("opening its pidfd")?;
    let mut events = [
        PollFd::new(&handle, PollFlags::IN),
        PollFd::new(stopped, PollFlags::IN),
    ];
    retry_on_intr(|| poll(&mut events, None)).context("waiting for its end")?;
    Ok(events[1].revents().is_empty().then_some(()))
}

impl GuardianProcess {
    fn start(executable: &Path, journal: &Path, takes_screen: bool) -> Result<(Self, bool)> {
        let screen = if takes_screen {
            Stdio::from(std::io::stdout().as_fd().try_clone_to_owned()?)
        } else {
            Stdio::null()
        };
        let mut child = Command::new(executable)
            .arg(ARGUMENT)
            .arg(journal)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(screen)
            .spawn()
            .with_context(|| format!("starting the guardian process {}", executable.display()))?;
        let (pipe, said) = (child.stdin.take(), child.stdout.take());
        let mut process = GuardianProcess { child, pipe };
        let mut word = [0];
        let ready = said
            .context("opening the guardian's output")
            .and_then(|mut said| Ok(said.read_exact(&mut word)?));
        if let Err(error) = ready {
            process.end();
            return Err(error.context("the guardian process did not start"));
        }
        Ok((process, word[0] == SPARED))
    }

    fn end(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            let _ = pipe.write_all(&[ORDERLY]); // it may be gone
        }
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Everything that the guardian does, if this process was started as one. Binaries call this first.
pub fn run_if_asked() -> Option<Result<()>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ARGUMENT).then(|| {
        let path = PathBuf::from(arguments.next().context("the guardian needs a journal")?);
        run(&path)
    })
}

fn run(path: &Path) -> Result<()> {
    // A new session: whoever kills the whole process group or closes the terminal must not end the guardian.
    rustix::process::setsid().context("leaving the session")?;
    let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    for signal in [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM,
    ] {
        signal_hook::flag::register(signal, ignored.clone())?;
    }
    // Ask the OOM killer to spare the guardian. Without that right it guards as well as it can.
    let is_spared = std::fs::write("/proc/self/oom_score_adj", "-1000").is_ok();
    let word = if is_spared { SPARED } else { NOT_SPARED };
    std::io::stdout()
        .write_all(&[word])
        .and_then(|()| std::io::stdout().flush())
        .context("reporting readiness to the main process")?;
    let (mut byte, mut is_orderly) = ([0], false);
    loop {
        match std::io::stdin().read(&mut byte) {
            Ok(0) => break,
            Ok(_) => is_orderly = byte[0] == ORDERLY,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e).context("waiting for the end of the main process"),
        }
    }
    // The settings come first: a terminal may be stuck.
    let mut left = journal::restore_file(path)?;
    if !is_orderly {
        leave_screen();
    }
    for _ in 2..ATTEMPTS {
        if left.is_empty() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
        left = journal::restore_file(path)?;
    }
    if left.is_empty() {
        return Ok(());
    }
    std::thread::sleep(PAUSE);
    // Whatever could not be undone stays in the journal, for `iosched restore`.
    journal::restore_file(path).map(drop)
}

/// Makes a terminal usable again whose program was killed: the alternate screen, the mouse, the cursor, and the line
/// discipline. Standard error is that terminal, if there is one. Errors are ignored: the terminal may be gone.
fn leave_screen() {
    let screen = std::io::stderr();
    let Ok(mut termios) = tcgetattr(&screen) else {
        return;
    };
    termios.input_modes |= InputModes::BRKINT | InputModes::ICRNL | InputModes::IXON;
    termios.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    termios.local_modes |= LocalModes::ISIG
        | LocalModes::ICANON
        | LocalModes::IEXTEN
        | LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK;
    let _ = tcsetattr(&screen, OptionalActions::Now, &termios);
    // End of a synchronized update, no mouse and no marks around pasted text, main screen, cursor.
    let _ =
        (&screen).write_all(b"\x1b[?2026l\x1b[?1000;1002;1003;1006;1015;2004l\x1b[?1049l\x1b[?25h");
}
