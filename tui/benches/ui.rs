//! Overhead of the terminal UI: its share of one core with 4 updates per second on 200x60 and 300 active processes, and its
//! memory, both with and without the history; and the time until the first screen. Needs root and a C compiler. Nothing is asserted, because the shares depend on the machine; what is above its limit is marked.

#[path = "../tests/terminal/pty.rs"]
mod pty;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pty::Terminal;
use support::LoopDevice;
use support::program::Program;

const BINARY: &str = env!("CARGO_BIN_EXE_iosched");
const READERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/growth/readers.c");
const SIZE: (u16, u16) = (200, 60);
const SIZE_BYTES: u64 = 64 << 20;
const PROCESSES: usize = 300;
/// Each mode has its name, its arguments, and its limit in percent of one core.
const MODES: [(&str, &[&str], f64); 2] = [
    ("with the history", &[], 4.0),
    ("without the history", &["--no-history"], 2.0),
];
const LIMIT_MB: f64 = 60.0;
const STARTS: usize = 5;
/// Measured on each screen, after it has settled.
const LOOK: Duration = Duration::from_secs(6);
const SETTLE: Duration = Duration::from_secs(1);
/// The key of each screen.
const SCREENS: [(&str, &str); 7] = [
    ("1", "Overview"),
    ("2", "Compare"),
    ("3", "Processes"),
    ("4", "Order"),
    ("5", "Fairness"),
    ("6", "Heatmap"),
    ("?", "Help"),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ui: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "only root can attach BPF programs and make a loop device: run it with sudo"
    );
    let directory = tempfile::tempdir()?;
    let readers = compile(directory.path())?;
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let program = Program::new(BINARY);
    starts(&program, &disk)?;
    let mut load = Load::start(&readers, &disk)?;
    for (name, arguments, limit_percent) in MODES {
        println!("\n{name}:");
        let mut terminal = open(&program, &disk, arguments);
        measure(&mut terminal, limit_percent)?;
        ensure!(load.is_running()?, "the load ended before the measurement");
        terminal.keys("q");
        terminal.end();
    }
    println!(
        "\nat 4 updates per second on {}x{} with {PROCESSES} processes, including reading the kernel's counters",
        SIZE.0, SIZE.1
    );
    Ok(())
}

/// Each screen, then the memory.
fn measure(terminal: &mut Terminal, limit_percent: f64) -> Result<()> {
    terminal.until("IOPS");
    std::thread::sleep(SETTLE);
    println!("screen       of one core    user  system   output");
    for (key, name) in SCREENS {
        terminal.keys(key);
        std::thread::sleep(SETTLE);
        let (before, started, written) = (times(terminal)?, Instant::now(), terminal.count());
        std::thread::sleep(LOOK);
        let (after, seconds) = (times(terminal)?, started.elapsed().as_secs_f64());
        let share = |before: f64, after: f64| (after - before) / seconds * 100.0;
        let (user, system) = (share(before.0, after.0), share(before.1, after.1));
        let output = (terminal.count() - written) as f64 / seconds / 1000.0;
        let mark = above(user + system, limit_percent, "%");
        println!(
            "{name:<12} {:>9.2} % {user:>5.2} % {system:>5.2} % {output:>5.0} kB/s{mark}",
            user + system
        );
    }
    terminal.keys("3");
    terminal.until(&format!("{PROCESSES} processes did I/O"));
    let resident = of_status_mb(terminal, "VmHWM:")?;
    let own = of_status_mb(terminal, "RssAnon:")?;
    let mapped = of_status_mb(terminal, "RssFile:")?;
    println!(
        "resident memory {resident:.1} MB{}: {own:.1} MB of its own, {mapped:.1} MB of the program and of the kernel's \
         maps, which are mapped",
        above(resident, LIMIT_MB, "MB")
    );
    Ok(())
}

fn above(value: f64, limit: f64, unit: &str) -> String {
    if value <= limit {
        return String::new();
    }
    format!("   ABOVE {limit} {unit}")
}

/// A line of /proc/PID/status.
fn of_status_mb(terminal: &Terminal, name: &str) -> Result<f64> {
    let path = format!("/proc/{}/status", terminal.id());
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.with_context(|| format!("no {name}"))?.parse::<f64>()? * 1024.0 / 1e6)
}

fn open(program: &Program, disk: &LoopDevice, more: &[&str]) -> Terminal {
    let node = disk.node();
    let arguments = [&[&*node, "-i", "0.25"], more].concat();
    Terminal::start(program, BINARY, &arguments, SIZE)
}

/// Median start-up times, without load.
fn starts(program: &Program, disk: &LoopDevice) -> Result<()> {
    let (mut frames, mut numbers) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let start = Instant::now();
        let mut terminal = open(program, disk, &[]);
        terminal.until("Overview");
        frames.push(start.elapsed());
        terminal.until("IOPS");
        numbers.push(start.elapsed());
        terminal.keys("q");
        let (status, written) = terminal.end();
        ensure!(status.success(), "it ended with {status}: {written}");
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[STARTS / 2].as_millis()
    };
    println!(
        "first screen after {} ms, first numbers after {} ms (medians of {STARTS})",
        median(&mut frames),
        median(&mut numbers)
    );
    Ok(())
}

fn compile(directory: &Path) -> Result<PathBuf> {
    let binary = directory.join("readers");
    let compiled = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&binary)
        .arg(READERS)
        .status()
        .context("starting cc (a C compiler)")?;
    ensure!(compiled.success(), "compiling {READERS}");
    Ok(binary)
}

/// This many processes that read at full speed.
struct Load(Child);

impl Load {
    fn start(readers: &Path, disk: &LoopDevice) -> Result<Self> {
        let looks = (LOOK + SETTLE) * (SCREENS.len() * MODES.len()) as u32;
        let seconds = (looks + Duration::from_secs(30)).as_secs();
        let child = Command::new(readers)
            .args([&PROCESSES.to_string(), &seconds.to_string(), &disk.node()])
            .stdout(Stdio::null())
            .spawn()
            .context("starting the readers")?;
        Ok(Load(child))
    }

    fn is_running(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_none())
    }
}

impl Drop for Load {
    /// They end by themselves; the disk must exist until then.
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

/// User and system time so far, in seconds, of all its threads.
fn times(terminal: &Terminal) -> Result<(f64, f64)> {
    let path = format!("/proc/{}/stat", terminal.id());
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    // The name may contain spaces; the fields after its bracket do not.
    let after = text.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<&str> = after.split(' ').collect();
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let seconds = |place: usize| -> Result<f64> {
        let ticks = fields.get(place).context("a short line")?;
        Ok(ticks.parse::<f64>()? / ticks_per_s)
    };
    Ok((seconds(11)?, seconds(12)?))
}
