//! A Unix socket at a path, which is gone when its owner ends.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

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
        let socket = Socket {
            listener: UnixListener::bind(path)?,
            path: path.to_owned(),
        };
        // Whatever the umask: its group may connect.
        fs::set_permissions(path, Permissions::from_mode(0o660))?;
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
