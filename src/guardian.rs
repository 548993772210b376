//! A second, tiny process that outlives this one by a moment: when this process ends without having undone its
//! journal (SIGKILL, out of memory), the guardian does, within milliseconds. It waits for the end of a pipe that
//! only this process holds open, so no signal, no polling and no race is involved.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};

use crate::journal::{self, Journal};

/// First argument by which a binary of ours recognises that it is to be the guardian.
pub const ARGUMENT: &str = "__guardian";

/// What could not be put back at once (a process that waits for its I/O holds its group) is tried again so often.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);
/// Its charge does not wait longer for it; it goes on alone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts the guardian of `journal`. `executable` is a binary that calls [`run_if_asked`].
/// The returned handle must live as long as changes may be in force.
///
/// Returns when the guardian is in its own session: whoever kills our whole process group from then on misses it.
pub fn start(executable: &Path, journal: &Journal) -> Result<Guardian> {
    let mut child = Command::new(executable)
        .arg(ARGUMENT)
        .arg(journal.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("starting the guardian process {}", executable.display()))?;
    let (pipe, said) = (child.stdin.take(), child.stdout.take());
    // From here on its end is waited for also on an error.
    let guardian = Guardian { child, pipe };
    said.context("the guardian's output")?
        .read_exact(&mut [0])
        .context("the guardian process did not start")?;
    Ok(guardian)
}

/// Holds the pipe; when it is dropped the guardian finds an empty journal and ends.
pub struct Guardian {
    child: std::process::Child,
    pipe: Option<std::process::ChildStdin>,
}

impl Guardian {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.pipe = None;
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The guardian's whole life, when this process was started as one. Binaries call this first.
pub fn run_if_asked() -> Option<Result<()>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ARGUMENT).then(|| {
        let path = PathBuf::from(arguments.next().context("the guardian needs a journal")?);
        run(&path)
    })
}

fn run(path: &Path) -> Result<()> {
    // A new session: whoever ends our charge with its whole process group, or its terminal, must not end us.
    rustix::process::setsid().context("leaving the session")?;
    let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    for signal in [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM,
    ] {
        signal_hook::flag::register(signal, ignored.clone())?;
    }
    // The last to go when memory runs out. Without the right to ask for that it guards as well as it can.
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    std::io::stdout()
        .write_all(b"r")
        .and_then(|()| std::io::stdout().flush())
        .context("telling the main process to begin")?;
    let mut byte = [0];
    loop {
        match std::io::stdin().read(&mut byte) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e).context("waiting for the end of the main process"),
        }
    }
    for _ in 1..ATTEMPTS {
        if journal::restore_file(path)?.is_empty() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    // What is left now stays in the journal, for `iosched restore`.
    journal::restore_file(path).map(drop)
}
