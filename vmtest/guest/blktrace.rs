//! blktrace, while a piece of work is done.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Disk, run};

/// A recording by blktrace: one file for each CPU, in a directory that goes with this.
pub struct Blktrace {
    directory: TempDir,
}

impl Blktrace {
    /// Fails if the kernel dropped an event.
    #[track_caller]
    pub fn over<T>(disk: &Disk, work: impl FnOnce() -> T) -> (Blktrace, T) {
        let directory = tempfile::tempdir().expect("a directory");
        let mut child = start(disk, directory.path());
        let result = work();
        let dropped = fs::read_to_string(debugfs(disk, "dropped")).expect("blktrace still traces");
        run("kill", &["-INT", &child.id().to_string()]);
        assert!(child.wait().expect("its end").success());
        assert_eq!(dropped.trim(), "0", "events that blktrace lacks");
        (Blktrace { directory }, result)
    }

    /// One line for each event, in the order of their times.
    #[track_caller]
    pub fn text(&self, format: &str) -> String {
        self.shell(&format!("blkparse -q -i trace -f '{format}'"))
    }

    #[track_caller]
    pub fn btt(&self) -> String {
        self.shell("blkparse -i trace -d trace.bin -O >/dev/null && btt -i trace.bin")
    }

    /// What a script prints where the recording is, as `trace`.
    #[track_caller]
    pub fn shell(&self, script: &str) -> String {
        let output = Command::new("sh")
            .args(["-c", script])
            .current_dir(self.directory.path())
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{script}: {}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }
}

fn debugfs(disk: &Disk, file: &str) -> String {
    format!("/sys/kernel/debug/block/{}/{file}", disk.name())
}

/// Returns when it traces.
#[track_caller]
fn start(disk: &Disk, directory: &Path) -> Child {
    let child = Command::new("blktrace")
        .args(["-d", &disk.node(), "-o", "trace", "-b", "512", "-n", "16"])
        .current_dir(directory)
        .stdout(Stdio::null())
        .spawn()
        .expect("blktrace");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !Path::new(&debugfs(disk, "trace0")).exists() {
        assert!(Instant::now() < deadline, "blktrace does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Its buffers stand; it turns the tracing on a moment later, which nothing shows.
    std::thread::sleep(Duration::from_millis(300));
    child
}
