//! Starts the tracers, waits until their programs are attached, and ends them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use iosched_files::interrupt;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;

const PATIENCE: Duration = Duration::from_secs(15);
/// If nothing was loaded or attached for this long, the tracer is ready. Beside a busy load the verifier takes its time.
const SETTLED: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub struct Variant {
    pub name: String,
    /// An iosched variant; peers may be missing.
    pub is_under_test: bool,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Variant {
    pub fn iosched(name: &str, program: PathBuf, device: &str, more: &[&str]) -> Result<Variant> {
        ensure!(
            program.is_file(),
            "{} is missing; build it with the same profile: cargo build --release -p iosched-tui",
            program.display()
        );
        let arguments = [&["stat", device, "-i", "1", "--output", "json"], more].concat();
        Ok(Variant {
            name: name.to_owned(),
            is_under_test: true,
            program,
            arguments: arguments.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Programs that only read the clock.
    pub fn floor() -> Result<Variant> {
        Ok(Variant {
            name: "floor".to_owned(),
            is_under_test: false,
            program: std::env::current_exe().context("finding this binary")?,
            arguments: vec!["--bench".to_owned(), "--hold-floor".to_owned()],
        })
    }

    /// Whether they exist here is known when they are started.
    pub fn peers(device: &str) -> Vec<Variant> {
        let peer = |name: &str, program: &str, arguments: &[&str]| Variant {
            name: name.to_owned(),
            is_under_test: false,
            program: found(program),
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        };
        // As usual, and for one device as with iosched, which costs biolatency more.
        vec![
            peer("biolatency", "biolatency", &[]),
            peer("biolatency -d", "biolatency", &["-d", device]),
            peer("biolatency -Q -d", "biolatency", &["-Q", "-d", device]),
            peer("biosnoop", "biosnoop", &[]),
            peer("biolatency.bt", "biolatency.bt", &[]),
            peer("biosnoop.bt", "biosnoop.bt", &[]),
        ]
    }
}

/// Root's PATH may lack the directories of these tools.
fn found(name: &str) -> PathBuf {
    let known = ["/usr/sbin", "/usr/bin", "/usr/share/bpftrace/tools"];
    let place = known
        .iter()
        .map(|directory| Path::new(directory).join(name));
    place
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or(name.into())
}

pub struct Tracer {
    child: Child,
    stderr: NamedTempFile,
    held: Held,
}

impl Tracer {
    /// The inner error says why this tool cannot be used here.
    pub fn start(variant: &Variant) -> Result<Result<Tracer, String>> {
        let stderr = NamedTempFile::new().context("making a file for a tracer's messages")?;
        let child = Command::new(&variant.program)
            .args(&variant.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr.reopen().context("opening the file for messages")?)
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => return Ok(Err(format!("not started: {error}"))),
        };
        let mut tracer = Tracer {
            child,
            stderr,
            held: Held::default(),
        };
        Ok(tracer.wait_until_attached()?.map(|()| tracer))
    }

    fn wait_until_attached(&mut self) -> Result<Result<(), String>> {
        let deadline = Instant::now() + PATIENCE;
        let mut since = Instant::now();
        loop {
            interrupt::check()?;
            if let Some(status) = self.child.try_wait().context("waiting for a tracer")? {
                return Ok(Err(format!("{}; {status}", self.complaint())));
            }
            let held = Held::by(self.child.id());
            if held.programs != self.held.programs || held.links != self.held.links {
                since = Instant::now();
            }
            self.held = held;
            if self.held.programs.len() > 1 && since.elapsed() >= SETTLED {
                return Ok(Ok(()));
            }
            if Instant::now() > deadline {
                let seconds = PATIENCE.as_secs();
                return Ok(Err(format!(
                    "no BPF program attached within {seconds} s; {}",
                    self.complaint()
                )));
            }
            std::thread::sleep(LOOK);
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn program_ids(&self) -> &BTreeSet<u64> {
        &self.held.programs
    }

    /// Kernel memory of its maps.
    pub fn map_bytes(&self) -> u64 {
        self.held.maps.values().sum()
    }

    /// The most informative line of its messages.
    pub fn complaint(&self) -> String {
        let mut text = String::new();
        let read = self
            .stderr
            .reopen()
            .and_then(|mut file| file.read_to_string(&mut text));
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        let telling = |line: &&str| line.contains("failed") || line.contains("could not attach");
        match lines().find(telling).or_else(|| lines().next_back()) {
            Some(line) if read.is_ok() => format!("its last message: {line}"),
            _ => "it printed nothing".to_owned(),
        }
    }

    /// Ends the tracer. An error if it had already ended, because then it did not trace until the end.
    pub fn stop(&mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(format!("it ended with {status}; {}", self.complaint()));
        }
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        let pid = Pid::from_child(&self.child);
        for (signal, patience) in [(Signal::INT, 2), (Signal::TERM, 1), (Signal::KILL, 5)] {
            let deadline = Instant::now() + Duration::from_secs(patience);
            let _ = kill_process(pid, signal);
            while Instant::now() < deadline {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

/// The BPF objects of a process, from its file descriptors: exact even if others trace, too.
#[derive(Default)]
struct Held {
    programs: BTreeSet<u64>,
    links: usize,
    /// Bytes by map id.
    maps: BTreeMap<u64, u64>,
}

impl Held {
    fn by(pid: u32) -> Held {
        let mut held = Held::default();
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else {
            return held;
        };
        for descriptor in descriptors.filter_map(Result::ok) {
            // Descriptors may disappear meanwhile.
            if let Ok(text) = fs::read_to_string(descriptor.path()) {
                held.add(&text);
            }
        }
        held
    }

    fn add(&mut self, fdinfo: &str) {
        let number = |key: &str| {
            let line = fdinfo.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        if let Some(map) = number("map_id:") {
            self.maps.insert(map, number("memlock:").unwrap_or(0));
        }
        self.programs.extend(number("prog_id:"));
        self.links += usize::from(number("link_id:").is_some());
    }
}
