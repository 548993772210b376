//! Overhead of the terminal UI on 200x60 beside processes that read: its share of one core on each screen, by thread, its
//! memory, and the time until the first screen; and the share without I/O. Needs root and a C compiler, and perf for
//! `--interrupts`. Nothing is asserted, because the shares depend on the machine; what is above its limit is marked.
//!
//! `cargo bench -p iosched-tui --bench ui -- --rounds 5 --look-s 30 --screen Overview --also before=PATH`

#[path = "../../tests/terminal/pty.rs"]
mod pty;
#[path = "../../../tests/support/mod.rs"]
mod support;

mod load;
mod looks;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use load::Load;
use looks::Look;
use pty::Terminal;
use support::LoopDevice;
use support::program::Program;

const BINARY: &str = env!("CARGO_BIN_EXE_iosched");
const SIZE: (u16, u16) = (200, 60);
const SIZE_BYTES: u64 = 64 << 20;
const LIMIT_MB: f64 = 45.0;
const STARTS: usize = 5;
/// Until a screen looks as it goes on.
const SETTLE: Duration = Duration::from_secs(2);
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

#[derive(Parser)]
#[command(name = "ui", about = "The overhead of the terminal UI")]
struct Arguments {
    /// Seconds of each look at a screen
    #[arg(long, default_value_t = 8)]
    look_s: u64,
    /// Looks at each screen; the binaries take turns
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Only these screens, by their names
    #[arg(long, value_delimiter = ',')]
    screen: Vec<String>,
    /// Seconds between two updates
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 0.25])]
    interval: Vec<f64>,
    /// Number of processes of the load; 0: measure without I/O
    #[arg(long, value_delimiter = ',', default_values_t = [300, 0])]
    processes: Vec<usize>,
    /// Pause of each process after each read, in microseconds
    #[arg(long, default_value_t = 20_000)]
    pause_us: u64,
    /// Another build, compared in the same rounds
    #[arg(long, value_name = "NAME=PATH", value_parser = named_path)]
    also: Vec<(String, PathBuf)>,
    /// Let the UI keep no history
    #[arg(long)]
    no_history: bool,
    /// Ask perf how much of the time belongs to interrupts, in one more look at each screen
    #[arg(long)]
    interrupts: bool,
    /// Passed by `cargo bench`; without it, as in `cargo test --benches`, nothing runs
    #[arg(long, hide = true)]
    bench: bool,
}

fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("give NAME=PATH")?;
    Ok((name.to_owned(), path.into()))
}

/// A build of the UI.
struct Build {
    name: String,
    path: String,
    program: Program,
}

/// One look at one screen of one build.
struct Seen {
    round: usize,
    build: usize,
    screen: &'static str,
    look: Look,
    /// Only with `--interrupts`, in the first round.
    interrupted_share: Option<f64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.bench {
        println!("ui: nothing measured; run it with `cargo bench -p iosched-tui --bench ui`");
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ui: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "only root can attach BPF programs and make a loop device: run it with sudo"
    );
    let builds = builds(arguments)?;
    let directory = tempfile::tempdir()?;
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    for build in &builds {
        starts(build, &disk)?;
    }
    for &processes in &arguments.processes {
        let mut load = (processes > 0)
            .then(|| {
                let crowd = (processes, arguments.pause_us);
                Load::start(directory.path(), &disk.node(), crowd)
            })
            .transpose()?;
        for &interval in &arguments.interval {
            println!(
                "\n{processes} processes, one update each {interval} s, {}x{}, {} look(s) of {} s at each screen:",
                SIZE.0, SIZE.1, arguments.rounds, arguments.look_s
            );
            let seen = measure(&builds, &disk, (processes, interval), arguments)?;
            print!(
                "{}",
                table::of(&builds, &seen, limit_percent(processes, interval))
            );
            if let Some(load) = &mut load {
                load.ensure_runs()?;
            }
        }
    }
    Ok(())
}

/// In percent of one core.
fn limit_percent(processes: usize, interval: f64) -> f64 {
    match (processes, interval) {
        (0, 1.0..) => 0.3,
        (_, 1.0..) => 1.5,
        _ => 4.0,
    }
}

fn builds(arguments: &Arguments) -> Result<Vec<Build>> {
    let this = [("this".to_owned(), PathBuf::from(BINARY))];
    let all = arguments.also.iter().cloned().chain(this);
    let builds = all.map(|(name, path)| {
        let path = path
            .canonicalize()
            .with_context(|| path.display().to_string())?;
        let path = path
            .to_str()
            .context("a path that is not UTF-8")?
            .to_owned();
        Ok(Build {
            name,
            program: Program::new(&path),
            path,
        })
    });
    builds.collect()
}

/// All rounds. The builds take turns, and so does which of them is first.
fn measure(
    builds: &[Build],
    disk: &LoopDevice,
    (processes, interval): (usize, f64),
    arguments: &Arguments,
) -> Result<Vec<Seen>> {
    let mut seen = Vec::new();
    for round in 0..arguments.rounds {
        let mut order: Vec<usize> = (0..builds.len()).collect();
        order.rotate_left(round % builds.len());
        for build in order {
            let mut terminal = open(&builds[build], disk, interval, arguments.no_history);
            terminal.until("IOPS");
            let is_asked = |name: &str| {
                arguments.screen.is_empty() || arguments.screen.iter().any(|asked| asked == name)
            };
            for (key, screen) in SCREENS.into_iter().filter(|(_, name)| is_asked(name)) {
                terminal.keys(key);
                std::thread::sleep(SETTLE);
                let length = Duration::from_secs(arguments.look_s);
                let look = Look::at(&terminal, length)?;
                let interrupted_share = (arguments.interrupts && round == 0)
                    .then(|| looks::interrupted_share(&terminal, length))
                    .transpose()?;
                seen.push(Seen {
                    round,
                    build,
                    screen,
                    look,
                    interrupted_share,
                });
            }
            if round == 0 {
                say_memory(&mut terminal, &builds[build].name, processes)?;
            }
            terminal.keys("q");
            terminal.end();
        }
    }
    Ok(seen)
}

fn say_memory(terminal: &mut Terminal, name: &str, processes: usize) -> Result<()> {
    terminal.keys("3");
    if processes > 0 {
        terminal.until(&format!("{processes} processes did I/O"));
    }
    let resident = looks::of_status_mb(terminal, "VmHWM:")?;
    let own = looks::of_status_mb(terminal, "RssAnon:")?;
    let mapped = looks::of_status_mb(terminal, "RssFile:")?;
    let mark = above(resident, LIMIT_MB, "MB");
    println!(
        "{name}: resident memory {resident:.1} MB{mark}: {own:.1} MB of its own, {mapped:.1} MB of the program and of the \
         kernel's maps, which are mapped"
    );
    Ok(())
}

fn above(value: f64, limit: f64, unit: &str) -> String {
    if value <= limit {
        return String::new();
    }
    format!("   ABOVE {limit} {unit}")
}

fn open(build: &Build, disk: &LoopDevice, interval: f64, no_history: bool) -> Terminal {
    let (node, interval) = (disk.node(), interval.to_string());
    let mut arguments = vec![&*node, "--no-config", "-i", &interval];
    arguments.extend(no_history.then_some("--no-history"));
    Terminal::start(&build.program, &build.path, &arguments, SIZE)
}

/// Median start-up times, without load.
fn starts(build: &Build, disk: &LoopDevice) -> Result<()> {
    let (mut frames, mut numbers) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let start = Instant::now();
        let mut terminal = open(build, disk, 0.25, false);
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
        "{}: first screen after {} ms, first numbers after {} ms (medians of {STARTS})",
        build.name,
        median(&mut frames),
        median(&mut numbers)
    );
    Ok(())
}
