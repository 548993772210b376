//! A Unix socket at a path, which is gone when its owner ends.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

pub struct Socket {
    pub listener: UnixListener,
    pub path: PathBuf,
}

impl Socket {
    /// A socket that is there and at which nobody listens, because its owner was killed, is replaced.
    pub fn bind(path: &Path) -> io::Result<Socket> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        // Its group may connect. By the umask, because the path may lead to something else a moment later.
        let umask = rustix::process::umask(Mode::from_raw_mode(0o117));
        let listener = UnixListener::bind(path);
        rustix::process::umask(umask);
        Ok(Socket {
            listener: listener?,
            path: path.to_owned(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
