//! What watching costs with this many processes and disks. Each case runs in a process of its own, whose memory is then its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use iosched_files::interrupt;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::Interval;
use rustix::time::{ClockId, clock_gettime};

use crate::exponent::median;
use crate::programs::Statistics;
use crate::table::{Column, Costs};

pub const COLUMNS: [Column; 7] = [
    Column::time("BPF per read"),
    Column::time("attach"),
    Column::time("read the counters"),
    Column::time("with percentiles"),
    Column::time("an interval of two"),
    Column::memory("kernel memory"),
    Column::memory("resident"),
];

const SECONDS: u32 = 4;
/// Before each snapshot: the load uses the caches meanwhile.
const PAUSE: Duration = Duration::from_millis(125);

pub fn compile(directory: &Path) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/growth/readers.c");
    let binary = directory.join("readers");
    let output = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&binary, &source])
        .output()
        .context("starting cc (a C compiler)")?;
    ensure!(
        output.status.success(),
        "compiling {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(binary)
}

/// Runs this program once more for the case.
pub fn costs(readers: &Path, processes: u64, disks: &[String]) -> Result<Costs> {
    interrupt::check()?;
    let output = Command::new(std::env::current_exe()?)
        .arg("--bench")
        .args(["--one-case", &processes.to_string(), "--readers"])
        .arg(readers)
        .args(disks)
        .stderr(Stdio::inherit())
        .output()
        .context("starting this program for one case")?;
    ensure!(
        output.status.success(),
        "the case of {processes} processes on {} disks failed",
        disks.len()
    );
    serde_json::from_slice(&output.stdout).context("the costs of a case")
}

/// In the order of [`COLUMNS`].
pub fn one_case(readers: &Path, processes: u64, disks: &[String]) -> Result<Costs> {
    let devices = disks
        .iter()
        .map(|name| Ok(Device::resolve(name)?.device))
        .collect::<Result<Vec<Device>>>()?;
    let (attach_ns, mut probe) = timed(|| Probe::attach(&devices, 0, Detail::default()))?;
    let statistics = Statistics::off()?;
    let on = statistics.on()?;
    let mut child = Command::new(readers)
        .arg(processes.to_string())
        .arg(SECONDS.to_string())
        .args(disks.iter().map(|name| format!("/dev/{name}")))
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the readers")?;
    let mut looks = Vec::new();
    let mut before = probe.snapshot()?;
    while child.try_wait()?.is_none() {
        if let Err(ended) = interrupt::check() {
            child.kill()?;
            child.wait()?;
            return Err(ended);
        }
        std::thread::sleep(PAUSE);
        let (counters_ns, counters) = timed(|| probe.snapshot_of_counters())?;
        probe.reuse(counters);
        std::thread::sleep(PAUSE);
        let (snapshot_ns, after) = timed(|| probe.snapshot())?;
        let (interval_ns, interval) = timed(|| Interval::between(&before, &after))?;
        looks.push(Look {
            owners: interval.owners.len(),
            counters_ns,
            snapshot_ns,
            interval_ns,
        });
        probe.reuse(std::mem::replace(&mut before, after));
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the readers failed");
    drop(on);
    let reads: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    // Snapshots taken while all processes ran.
    let most = looks.iter().map(|look| look.owners).max().unwrap_or(0);
    looks.retain(|look| look.owners * 10 >= most * 9);
    let of = |time: fn(&Look) -> f64| median(looks.iter().map(time).collect());
    Ok(vec![
        (reads > 0.0).then_some(probe.run_time_ns()? as f64 / reads),
        Some(attach_ns),
        of(|look| look.counters_ns),
        of(|look| look.snapshot_ns),
        of(|look| look.interval_ns),
        Some(probe.memory_bytes() as f64),
        resident_bytes(),
    ])
}

struct Look {
    owners: usize,
    counters_ns: f64,
    snapshot_ns: f64,
    interval_ns: f64,
}

/// CPU time of this thread: the readers also use the CPUs meanwhile.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = cpu_ns();
    let result = work()?;
    Ok(((cpu_ns() - start) as f64, result))
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}

/// The most that was resident of this process, with the kernel's maps that it has mapped.
fn resident_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}
