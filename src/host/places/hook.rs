//! A command that makes an arm what it is, and the one that undoes it. iosched cannot know what they do: it runs the
//! second before each other arm, at the end and after a kill, and looks at what can be seen of it (`traces`).

use std::env;
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::marked;
use crate::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::place::{EXEC, UNDO};

/// The same names as for a workload's command: the first disk's node, all of them, and the arm's label.
const DEVICE: &str = "IOSCHED_DEVICE";
const DEVICES: &str = "IOSCHED_DEVICES";
const ARM: &str = "IOSCHED_ARM";
/// Marks what these commands start, so that it is found after a kill.
const MARK: &str = "IOSCHED_HOOK";

const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// So much of its output is shown where it fails.
const MOST_OUTPUT_BYTES: u64 = 2000;

/// The two commands of an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub exec: Command,
    pub undo: Command,
}

impl Hook {
    /// None: the arm has none.
    pub fn of(arm: &Arm, disks: &[Device]) -> Result<Option<Hook>> {
        let (Some(exec), Some(undo)) = (arm.setting(EXEC), arm.setting(UNDO)) else {
            return Ok(None);
        };
        let mark = fs::read_to_string("/proc/sys/kernel/random/uuid").context("making a name")?;
        let nodes = disks.iter().map(|disk| disk.node().display().to_string());
        let surroundings = Surroundings {
            directory: env::current_dir().context("finding the working directory")?,
            devices: nodes.collect(),
            arm: arm.label.clone(),
            mark: mark.trim().to_owned(),
        };
        let command = |text: &str| Command::new(text, surroundings.clone());
        Ok(Some(Hook {
            exec: command(exec)?,
            undo: command(undo)?,
        }))
    }
}

/// Where a command runs, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Surroundings {
    directory: PathBuf,
    /// Nodes of the disks.
    devices: Vec<String>,
    arm: String,
    mark: String,
}

/// A command as it will be run, also by another process, later and elsewhere. What is shown of it is what is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    program: PathBuf,
    arguments: Vec<String>,
    surroundings: Surroundings,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.to_string_lossy();
        let words = [&*program].into_iter();
        let words = words.chain(self.arguments.iter().map(String::as_str));
        // A word with a NUL cannot be quoted, nor run.
        f.write_str(&shlex::try_join(words).unwrap_or_else(|error| error.to_string()))
    }
}

impl Command {
    /// Fails if there is no such program.
    fn new(text: &str, surroundings: Surroundings) -> Result<Command> {
        let words = shlex::split(text).unwrap_or_default();
        let (name, arguments) = words.split_first().context("a command without words")?;
        let Some(program) = found(name, &surroundings.directory) else {
            return Err(Failure::usage(
                format!("`{text}`: there is no program {name} that may be run"),
                "give its path",
            ));
        };
        Ok(Command {
            program,
            arguments: arguments.to_vec(),
            surroundings,
        })
    }

    /// For another process than the one that ran `exec`, which was killed: `exec` may still be at work.
    pub fn run_after_a_kill(&self) -> Result<()> {
        marked::end(&format!("{MARK}={}", self.surroundings.mark))?;
        self.run()
    }

    /// Fails unless it ends with success in time. It is not interrupted by what ends this program.
    pub fn run(&self) -> Result<()> {
        let Surroundings {
            directory,
            devices,
            arm,
            mark,
        } = &self.surroundings;
        anyhow::ensure!(
            self.program.is_absolute(),
            "`{self}` does not begin at the root"
        );
        // In memory: a full disk must not keep anything from being undone.
        let output = rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC);
        let mut output = File::from(output.context("making room for what a command says")?);
        let both = || Ok::<_, std::io::Error>(Stdio::from(output.try_clone()?));
        let mut child = process::Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(directory)
            .env(DEVICE, devices.first().map_or("", String::as_str))
            .env(DEVICES, devices.join(" "))
            .env(ARM, arm)
            .env(MARK, mark)
            .stdin(Stdio::null())
            .stdout(both()?)
            .stderr(both()?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting `{self}`"))?;
        let status = wait(&mut child)?;
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        let how = match status {
            Some(status) => status.to_string(),
            None => format!("not ended after {} s", PATIENCE.as_secs()),
        };
        Err(Failure::runtime(
            format!("`{self}`: {how}{}", told(&mut output)),
            "run it by hand until it succeeds: `undo:` also when there is nothing to undo",
        ))
    }
}

/// None: it had to be killed.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().context("waiting for a command")? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            let group = Pid::from_raw(child.id() as i32).context("a process without a number")?;
            let _ = kill_process_group(group, Signal::KILL); // it may have ended meanwhile
            child.wait().context("waiting for a command")?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// The end of its output, if there is any.
fn told(output: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = output.metadata().map_or(0, |metadata| metadata.len());
    let from = length.saturating_sub(MOST_OUTPUT_BYTES);
    let read = output
        .seek(SeekFrom::Start(from))
        .and_then(|_| output.take(MOST_OUTPUT_BYTES).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    match (read, text.trim()) {
        (Ok(_), text) if !text.is_empty() => format!("\n{text}"),
        _ => String::new(),
    }
}

/// As a shell finds it.
fn found(name: &str, directory: &Path) -> Option<PathBuf> {
    let may_run = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.contains('/') {
        return Some(directory.join(name)).filter(may_run);
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|entry| entry.join(name))
        .find(may_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(text: &str) -> Result<Command> {
        let surroundings = Surroundings {
            directory: env::temp_dir(),
            devices: vec!["/dev/sda".to_owned()],
            arm: "an arm".to_owned(),
            mark: "of a test".to_owned(),
        };
        Command::new(text, surroundings)
    }

    fn command(text: &str) -> Command {
        new(text).expect(text)
    }

    #[test]
    fn it_knows_its_disks_and_what_it_says_is_shown_when_it_fails() {
        command("true").run().unwrap();
        command("sh -c '[ \"$IOSCHED_DEVICES\" = /dev/sda ]'")
            .run()
            .unwrap();
        let error = command("sh -c 'echo it is locked >&2; exit 3'")
            .run()
            .unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("it is locked") && error.contains('3'),
            "{error}"
        );
        assert!(new("./no-such-program").is_err());
        assert!(new("no-such-program x").is_err());
    }

    /// A journal that another user wrote must not show another command than the one that it runs.
    #[test]
    fn what_is_shown_is_what_is_run() {
        let shown = command("sh -c 'exit 0' 'a b'").to_string();
        let words = shlex::split(&shown).expect("words");
        assert!(
            words[0].starts_with('/') && words[0].ends_with("/sh"),
            "{shown}"
        );
        assert_eq!(words[1..], ["-c", "exit 0", "a b"]);
    }

    #[test]
    fn what_it_leaves_running_does_not_hold_it() {
        let begin = Instant::now();
        command("sh -c 'sleep 2 & exit 0'").run().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(2));
    }
}
