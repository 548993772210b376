//! How the overhead grows with the number of processes and devices: nanoseconds of BPF per I/O, and the time that
//! user space needs to read everything. Needs root and a C compiler. Times depend on the machine; compare the ratios.

#[allow(dead_code)] // the other bench uses more of it
#[path = "../overhead/disk.rs"]
mod disk;
#[allow(dead_code)]
#[path = "../overhead/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use iosched_files::interrupt;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::failure::{self, Failure};
use iosched_result::measured::snapshot::Interval;
use rustix::time::{ClockId, clock_gettime};

use disk::Disk;
use programs::Statistics;

/// Processes, devices, and whether all stages of the processes are measured.
const CASES: [(u32, usize, bool); 8] = [
    (1, 1, false),
    (32, 1, false),
    (500, 1, false),
    (500, 1, true),
    (2000, 1, false),
    (10_000, 1, false),
    (32, 8, false),
    (500, 8, false),
];
const SECONDS: u32 = 4;
/// Before each snapshot: the load uses the caches meanwhile.
const PAUSE: Duration = Duration::from_millis(125);

fn main() -> ExitCode {
    match interrupt::install().and_then(|()| run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("growth: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

fn run() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::refused(
            "only root can attach BPF programs and make a loop device",
            "run it with sudo",
        ));
    }
    let directory = tempfile::tempdir()?;
    let readers = compile(directory.path())?;
    let statistics = Statistics::off()?;
    println!(
        "processes  devices  stages     reads  ns/IO  owners  counters  snapshot  interval   memory"
    );
    for (processes, devices, has_stages) in CASES {
        let disks = (0..devices)
            .map(|_| Disk::create())
            .collect::<Result<Vec<Disk>>>()?;
        let detail = Detail {
            owner_stages: has_stages,
            ..Detail::default()
        };
        let row = case(&readers, processes, &disks, detail, &statistics)?;
        let stages = if has_stages { "all" } else { "-" };
        println!("{processes:9}  {devices:7}  {stages:>6}  {row}");
    }
    println!(
        "stages    stages of the processes: all, or (-) only Q2D and D2C\n\
         ns/IO     run time of the BPF programs per read, including the cost of the kernel's statistics\n\
         owners    owners with activity in the interval\n\
         counters  median time of user space to read all counters; snapshot: with histograms; interval: to subtract two\n\
         memory    kernel memory, fixed at the attach"
    );
    Ok(())
}

fn compile(directory: &Path) -> Result<PathBuf> {
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

fn case(
    readers: &Path,
    processes: u32,
    disks: &[Disk],
    detail: Detail,
    statistics: &Statistics,
) -> Result<String> {
    let devices = disks
        .iter()
        .map(|disk| Ok(Device::resolve(&disk.name)?.device))
        .collect::<Result<Vec<Device>>>()?;
    let mut probe = Probe::attach(&devices, 0, detail)?;
    let on = statistics.on()?;
    let mut child = Command::new(readers)
        .arg(processes.to_string())
        .arg(SECONDS.to_string())
        .args(disks.iter().map(Disk::node))
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the readers")?;
    let mut looks = Vec::new();
    let mut before = probe.snapshot()?;
    while child.try_wait()?.is_none() {
        if let Err(ended) = interrupt::check() {
            child.kill()?;
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
    let reads: u64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    let run_ns = probe.run_time_ns()?;
    // Snapshots taken while all processes ran.
    let most = looks.iter().map(|look| look.owners).max().unwrap_or(0);
    looks.retain(|look| look.owners * 10 >= most * 9);
    let median_ms = |time: fn(&Look) -> u64| median_ms(looks.iter().map(time).collect());
    Ok(format!(
        "{reads:8}  {:5.0}  {most:6} {:6.2} ms {:6.2} ms {:6.2} ms  {:3} MiB",
        run_ns as f64 / reads as f64,
        median_ms(|look| look.counters_ns),
        median_ms(|look| look.snapshot_ns),
        median_ms(|look| look.interval_ns),
        probe.memory_bytes() >> 20
    ))
}

struct Look {
    owners: usize,
    counters_ns: u64,
    snapshot_ns: u64,
    interval_ns: u64,
}

/// CPU time of this thread: the readers also use the CPUs meanwhile.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(u64, T)> {
    let start = cpu_ns();
    let result = work()?;
    Ok((cpu_ns() - start, result))
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}

fn median_ms(mut times_ns: Vec<u64>) -> f64 {
    times_ns.sort_unstable();
    times_ns[times_ns.len() / 2] as f64 / 1e6
}
