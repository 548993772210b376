//! The threads that serve the file system, and how they end.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fuser::{Session, SessionACL};

use super::completion::{Completions, Punctuality};
use super::disk::MemoryDisk;
use super::fuse::{Clockwork, OneFile};
use super::thread;
use crate::system::fuse_mount;
use iosched_result::types::scratch::model::Service;

/// How long [`Server`] waits for its threads when it is dropped. They end within milliseconds of the unmount; a thread
/// that hangs is abandoned instead of waiting forever.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// A mounted file system. Its threads end when it is unmounted.
pub struct Server {
    pub clockwork: Arc<Clockwork>,
    /// Whether the threads got real-time priority.
    pub is_realtime: bool,
    completions: Completions,
    thread: Option<JoinHandle<()>>,
}

struct Started {
    clockwork: Arc<Clockwork>,
    completions: Completions,
    is_realtime: bool,
}

impl Server {
    /// Mounts it at the directory `path`, with the source `source`.
    pub fn start(path: &Path, source: &str, size_bytes: u64, service: Service) -> Result<Server> {
        let (sender, receiver) = mpsc::channel();
        let (path, source) = (path.to_owned(), source.to_owned());
        let thread = std::thread::Builder::new()
            .name("scratch-fuse".to_owned())
            .spawn(move || match set_up(&path, &source, size_bytes, service) {
                Ok((session, started)) => {
                    let completions = started.completions.clone();
                    // The receiver waits below, so this cannot fail.
                    let _ = sender.send(Ok(started));
                    // The session ends by the unmount; its return value does not matter.
                    let _ = session.run();
                    completions.close();
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                }
            })
            .context("starting the thread that serves the scratch device")?;
        let started = receiver
            .recv()
            .context("the thread that serves the scratch device ended at once")??;
        Ok(Server {
            clockwork: started.clockwork,
            is_realtime: started.is_realtime,
            completions: started.completions,
            thread: Some(thread),
        })
    }

    pub fn is_alive(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Time from the deadline of the last reply until it was sent.
    pub fn last_lag_ns(&self) -> u64 {
        self.completions.last_lag_ns()
    }

    pub fn punctuality(&self) -> Punctuality {
        self.completions.punctuality()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let deadline = Instant::now() + UNMOUNT_TIMEOUT;
        while self.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) {
            // A panic was already printed where it happened.
            let _ = thread.join();
        }
    }
}

/// Runs in the serving thread: every file that it opens belongs to that thread's own descriptor table.
fn set_up(
    path: &Path,
    source: &str,
    size_bytes: u64,
    service: Service,
) -> Result<(Session<OneFile>, Started)> {
    thread::own_descriptors()
        .context("separating the descriptors of the serving threads (Linux 5.9 and later)")?;
    // Fails before Linux 5.6 and without CAP_SYS_RESOURCE; this only matters if the machine runs out of memory.
    let _ = thread::never_wait_for_writeback();
    let is_realtime = thread::become_punctual();
    let disk = MemoryDisk::new("iosched-scratch", size_bytes)
        .context("creating the memory of the device")?;
    let device = PathBuf::from("/dev/fuse");
    let connection = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&device)
        .with_context(|| format!("opening {}", device.display()))?;
    let completions = Completions::start().context("starting the reply thread")?;
    let clockwork = Arc::new(Clockwork::new(service));
    let file = OneFile::new(disk, clockwork.clone(), completions.clone());
    fuse_mount::mount(path, source, connection.as_raw_fd())?;
    let session = Session::from_fd(
        file,
        OwnedFd::from(connection),
        SessionACL::All,
        fuser::Config::default(),
    )
    .context("negotiating the FUSE protocol with the kernel")?;
    Ok((
        session,
        Started {
            clockwork,
            completions,
            is_realtime,
        },
    ))
}
