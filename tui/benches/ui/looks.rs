//! What a look at a running UI finds: CPU time by thread, output, memory, and the share of interrupts.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::pty::Terminal;

/// In percent of one core, by the thread's name. The main thread, which draws, has the program's.
pub type Threads = BTreeMap<String, f64>;

pub struct Look {
    pub threads: Threads,
    pub output_bytes_per_s: f64,
}

impl Look {
    pub fn at(terminal: &Terminal, length: Duration) -> Result<Look> {
        let (before, started, written) = (times(terminal)?, Instant::now(), terminal.count());
        std::thread::sleep(length);
        let (after, seconds) = (times(terminal)?, started.elapsed().as_secs_f64());
        let threads = after.into_iter().map(|(name, ns)| {
            let earlier_ns = before.get(&name).copied().unwrap_or(0);
            let ns = ns.saturating_sub(earlier_ns);
            (name, ns as f64 / 1e9 / seconds * 100.0)
        });
        Ok(Look {
            threads: threads.collect(),
            output_bytes_per_s: (terminal.count() - written) as f64 / seconds,
        })
    }

    pub fn percent(&self) -> f64 {
        self.threads.values().sum()
    }
}

/// CPU time so far in ns, by the name of the thread. Its sum is that of /proc/PID/stat, which has it in ticks.
fn times(terminal: &Terminal) -> Result<BTreeMap<String, u64>> {
    let directory = format!("/proc/{}/task", terminal.id());
    let mut times = BTreeMap::new();
    for task in fs::read_dir(&directory).with_context(|| format!("reading {directory}"))? {
        let task = task?.path();
        let read = |name| fs::read_to_string(task.join(name));
        // A thread may have ended meanwhile.
        let (Ok(name), Ok(schedule)) = (read("comm"), read("schedstat")) else {
            continue;
        };
        let ns = schedule.split(' ').next().unwrap_or_default();
        let ns: u64 = ns.parse().context("reading schedstat")?;
        *times.entry(name.trim().to_owned()).or_default() += ns;
    }
    Ok(times)
}

/// A line of /proc/PID/status.
pub fn of_status_mb(terminal: &Terminal, name: &str) -> Result<f64> {
    let path = format!("/proc/{}/status", terminal.id());
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.with_context(|| format!("no {name}"))?.parse::<f64>()? * 1024.0 / 1e6)
}

/// The share of its CPU time in which it was interrupted, mostly by completions of the load, according to perf.
pub fn interrupted_share(terminal: &Terminal, length: Duration) -> Result<f64> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("perf.data");
    let perf = || Command::new("perf");
    let recorded = perf()
        .args(["record", "-q", "-e", "cpu-clock", "-F", "5000", "-g"])
        .args(["-p", &terminal.id().to_string(), "-o"])
        .arg(&file)
        .args(["sleep", &length.as_secs().to_string()])
        .output()
        .context("starting perf")?;
    ensure!(
        recorded.status.success(),
        "perf record: {}",
        String::from_utf8_lossy(&recorded.stderr)
    );
    let stacks = perf()
        .args(["script", "-F", "ip,sym", "-i"])
        .arg(&file)
        .output()
        .context("starting perf")?;
    let text = String::from_utf8_lossy(&stacks.stdout);
    let (mut all, mut interrupted) = (0, 0);
    for stack in text.split("\n\n").filter(|stack| !stack.trim().is_empty()) {
        all += 1;
        let mut functions = stack
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1));
        interrupted += usize::from(functions.any(is_interrupt));
    }
    ensure!(all > 0, "perf has no samples");
    Ok(interrupted as f64 / f64::from(all))
}

/// Whether a function of the kernel runs in an interrupt, or in what an interrupt leaves to do.
fn is_interrupt(function: &str) -> bool {
    [
        "asm_sysvec_",
        "asm_common_interrupt",
        "handle_softirqs",
        "__irq_exit_rcu",
    ]
    .iter()
    .any(|start| function.starts_with(start))
}
