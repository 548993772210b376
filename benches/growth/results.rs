//! What it costs to read a result with this many rounds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use iosched_files::interrupt;
use iosched_result::measured::snapshot::{OwnerKey, OwnerKind, OwnerNumbers};
use iosched_result::report::fixture;
use iosched_result::statistics::stopping::Stopping;

use crate::table::{Column, Costs};

const PROGRAM: &str = env!("CARGO_BIN_EXE_iosched-ab");
const COMMANDS: [&[&str]; 3] = [
    &["report"],
    &["report", "--format", "html"],
    &["gate", "--mode", "beyond-margin"],
];
pub const COLUMNS: [Column; 7] = [
    Column::time("`report`"),
    Column::memory("resident"),
    Column::time("`--format html`"),
    Column::memory("resident"),
    Column::time("`gate`"),
    Column::memory("resident"),
    Column::memory("the file"),
];
const ARMS: [&str; 2] = ["none", "mq-deadline"];
/// Programs that did I/O in each round.
const OWNERS: u32 = 8;

/// A result whose rounds have histograms of the disk and of some programs.
pub fn write(directory: &Path, rounds: u64) -> Result<PathBuf> {
    let blocks = usize::try_from(rounds)? / ARMS.len();
    let mut result = fixture::empty(&ARMS, Stopping::Fixed { blocks }, &["read_iops"]);
    fixture::play(&mut result, |turn| {
        Ok(fixture::values(
            turn,
            &[("read_iops", 1000.0), ("read_p99", 2e6)],
        ))
    });
    for (round, number) in result.rounds.iter_mut().zip(0_u64..) {
        let read = &mut round.evidence.device.ops[0];
        for cell in 0..200 {
            read.d2c.record(20_000 + cell * 700 + number % 50);
            read.g2d.record(900 + cell * 40);
        }
        (read.ios, read.bytes) = (200, 200 * 4096);
        round.evidence.owners = (0..OWNERS).map(|tgid| owner(tgid, number)).collect();
    }
    let path = directory.join(format!("{rounds}-rounds.json"));
    let bytes = serde_json::to_vec(&result).context("a result as JSON")?;
    std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

fn owner(tgid: u32, number: u64) -> OwnerNumbers {
    let key = OwnerKey {
        device: "nvme0n1".into(),
        kind: OwnerKind::Process,
        tgid: 100 + tgid,
        start_ms: 1,
        cgroup_id: 42,
        file: None,
    };
    let mut owner = OwnerNumbers::new(key, &format!("reader{tgid}"));
    owner.ops[0].ios = 25;
    for cell in 0..25 {
        owner.d2c[0].record(20_000 + cell * 900 + number % 50);
    }
    owner
}

/// In the order of [`COLUMNS`].
pub fn costs(file: &Path) -> Result<Costs> {
    let mut costs = Vec::new();
    for arguments in COMMANDS {
        interrupt::check()?;
        let (cpu_s, resident_bytes) = cost(arguments, file)?;
        costs.extend([Some(cpu_s), Some(resident_bytes)]);
    }
    let bytes = std::fs::metadata(file)
        .context("the size of a result")?
        .len();
    costs.push(Some(bytes as f64));
    Ok(costs)
}

/// CPU time, and the most memory that was resident.
fn cost(arguments: &[&str], file: &Path) -> Result<(f64, f64)> {
    let output = Command::new("time")
        .args(["--quiet", "--format=%U %S %M", PROGRAM])
        .args(arguments)
        .arg(file)
        .stdout(Stdio::null())
        .output()
        .context("starting time (package time)")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let what = || format!("iosched-ab {}: {text}", arguments.join(" "));
    // A gate also ends with 3 or 4, when it has judged.
    let has_judged = matches!(output.status.code(), Some(0 | 3 | 4));
    ensure!(has_judged, what());
    let last = text.lines().last().with_context(what)?;
    let numbers: Vec<f64> = last
        .split(' ')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(what)?;
    let [user_s, system_s, kib] = numbers[..] else {
        anyhow::bail!(what());
    };
    // Ticks of 10 ms: a start takes at least a part of one.
    Ok(((user_s + system_s).max(0.005), kib * 1024.0))
}
