//! fio and other programs, as the load of a test and as a second opinion.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::NamedTempFile;

/// One process with one job that runs.
pub struct Fio {
    child: Child,
    output: NamedTempFile,
    is_interrupted: bool,
}

impl Fio {
    /// `job` in fio's own options. A single process, and direct I/O of 4 KiB unless it says otherwise.
    pub fn start(file: &str, job: &str) -> Fio {
        let output = NamedTempFile::new().expect("a file");
        let child = Command::new("fio")
            .args(["--name=job", "--direct=1", "--bs=4k", "--thread"])
            .args(["--ioengine=libaio", "--output-format=json"])
            .arg(format!("--filename={file}"))
            .arg(format!("--output={}", output.path().display()))
            .args(job.split_whitespace())
            .stdout(Stdio::null())
            .spawn()
            .expect("fio");
        Fio {
            child,
            output,
            is_interrupted: false,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it finish: what is under way, and its results.
    pub fn interrupt(&mut self) {
        self.is_interrupted = true;
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT)
            .expect("a process of ours");
    }

    /// Its process id and the job's results.
    #[track_caller]
    pub fn end(mut self) -> (u32, Value) {
        let status = self.child.wait().expect("its end");
        let text = fs::read_to_string(self.output.path()).expect("its output");
        // As fio ends after a signal, with a whole result.
        let as_asked = self.is_interrupted && status.code() == Some(128);
        assert!(status.success() || as_asked, "fio: {status}\n{text}");
        // Before it stands that it was interrupted.
        let json = text.find('{').map_or("", |start| &text[start..]);
        let result: Value = serde_json::from_str(json).expect("JSON");
        (self.child.id(), result["jobs"][0].clone())
    }

    #[track_caller]
    pub fn run(file: &str, job: &str) -> (u32, Value) {
        Self::start(file, job).end()
    }
}

/// One whose end nobody awaits ends here.
impl Drop for Fio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program to a good end; the process id that it had.
#[track_caller]
pub fn pid_of_run(program: &str, arguments: &[&str]) -> u32 {
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let pid = child.id();
    let status = child.wait().expect("its end");
    assert!(status.success(), "{program} {arguments:?}: {status}");
    pid
}
