//! A binary under test, as its users run it: with a state directory and a working directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub struct Program {
    path: PathBuf,
    state: TempDir,
    work: TempDir,
    umask: Option<u32>,
}

impl Program {
    pub fn new(path: &str) -> Self {
        Program {
            path: path.into(),
            state: TempDir::new().expect("a temporary directory"),
            work: TempDir::new().expect("a temporary directory"),
            umask: None,
        }
    }

    /// Everything that it starts has this umask.
    #[must_use]
    pub fn with_umask(mut self, umask: u32) -> Self {
        self.umask = Some(umask);
        self
    }

    /// Where it runs and puts its files.
    pub fn directory(&self) -> &Path {
        self.work.path()
    }

    pub fn file(&self, name: &str) -> String {
        self.directory().join(name).display().to_string()
    }

    /// Where its journals go.
    pub fn state(&self) -> &Path {
        self.state.path()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(&self.path, arguments)
    }

    /// Another program that sees the same state.
    pub fn command_of(&self, path: &Path, arguments: &[&str]) -> Command {
        let mut command = match self.umask {
            None => Command::new(path),
            Some(umask) => {
                let mut shell = Command::new("sh");
                let script = format!("umask {umask:03o}; exec \"$0\" \"$@\"");
                shell.args(["-c", &script]).arg(path);
                shell
            }
        };
        command
            .args(arguments)
            .env("IOSCHED_STATE_DIR", self.state())
            .env("XDG_STATE_HOME", self.directory())
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .current_dir(self.directory())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn start(&self, arguments: &[&str]) -> Started {
        Started::of(&mut self.command(arguments))
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command(arguments))
    }

    /// Journals that have an entry.
    pub fn journals(&self) -> Vec<PathBuf> {
        let Ok(files) = fs::read_dir(self.state().join("journal")) else {
            return Vec::new();
        };
        files.map(|file| file.expect("a file").path()).collect()
    }

    pub fn result(&self, name: &str) -> Value {
        let bytes = fs::read(self.directory().join(name)).expect("a result file");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The path of a file that the terminal UI wrote, by the beginning of its name.
    pub fn export(&self, beginning: &str) -> Option<String> {
        let files = fs::read_dir(self.directory().join("iosched")).ok()?;
        let names = files.map(|file| file.expect("a file").file_name());
        let mut names = names.map(|name| name.to_string_lossy().into_owned());
        let name = names.find(|name| name.starts_with(beginning))?;
        Some(self.file(&format!("iosched/{name}")))
    }

    /// Files where it runs, the test's own included.
    pub fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.directory()).expect("a directory");
        let names = files.map(|file| file.expect("a file").file_name());
        names.map(|name| name.to_string_lossy().into()).collect()
    }
}

/// One that runs. A test that fails ends it; its guardian then tidies up.
pub struct Started(Option<Child>);

impl Started {
    pub fn of(command: &mut Command) -> Self {
        Started(Some(command.spawn().expect("the binary")))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("not ended yet")
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    pub fn end(mut self) -> Ended {
        Ended::wait(self.0.take().expect("not ended yet"))
    }

    /// Until it has come so far. It must not end before.
    #[track_caller]
    pub fn until(&mut self, limit: Duration, what: &str, has_come: impl Fn() -> bool) {
        let deadline = Instant::now() + limit;
        while !has_come() {
            if self.child().try_wait().expect("its state").is_some() {
                let child = self.0.take().expect("not ended yet");
                panic!("it ended before {what}: {:#?}", Ended::wait(child));
            }
            assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How a run ended and what it said.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub pid: u32,
}

impl Ended {
    pub fn of(mut command: Command) -> Self {
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self::wait(child)
    }

    pub fn wait(child: Child) -> Self {
        let pid = child.id();
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("its end");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Ended {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
            pid,
        }
    }

    /// It ended with this code, and said each of these on stderr.
    #[track_caller]
    pub fn ends(self, code: i32, says: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for text in says {
            assert!(self.stderr.contains(text), "{text:?} is not in {self:#?}");
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}
