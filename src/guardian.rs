//! A second, tiny process that outlives this one by a moment: when this process ends without having undone its
//! journal (SIGKILL, out of memory), the guardian does, within milliseconds. It waits for the end of a pipe that
//! only this process holds open, so no signal, no polling and no race is involved.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::journal::{self, Journal};

/// First argument by which a binary of ours recognises that it is to be the guardian.
pub const ARGUMENT: &str = "__guardian";

/// Starts the guardian of `journal`. `executable` is a binary that calls [`run_if_asked`].
/// The returned handle must live as long as changes may be in force.
pub fn start(executable: &Path, journal: &Journal) -> Result<Guardian> {
    let mut child = Command::new(executable)
        .arg(ARGUMENT)
        .arg(journal.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("starting the guardian process {}", executable.display()))?;
    let pipe = child.stdin.take();
    Ok(Guardian { child, pipe })
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
        let _ = self.child.wait();
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
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, ignored.clone())?;
    }
    let mut byte = [0];
    loop {
        match std::io::stdin().read(&mut byte) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e).context("waiting for the end of the main process"),
        }
    }
    journal::restore_file(path)?;
    Ok(())
}
