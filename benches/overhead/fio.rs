//! One short run of fio: random 4 KiB reads, 32 in flight, one thread.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use iosched_files::interrupt;
use serde_json::Value;

use crate::disk::Disk;

pub struct Outcome {
    pub iops: f64,
    pub ios: u64,
}

/// Kills fio if an error ends this early.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

pub fn run(disk: &Disk, length: Duration) -> Result<Outcome> {
    let output = tempfile::NamedTempFile::new().context("making a file for fio's result")?;
    let child = Command::new("fio")
        .args(["--name=overhead", "--rw=randread", "--bs=4k", "--direct=1"])
        .args(["--ioengine=libaio", "--iodepth=32", "--numjobs=1"])
        .args(["--thread", "--norandommap", "--time_based"])
        .arg(format!("--runtime={}ms", length.as_millis()))
        .arg(format!("--filename={}", disk.node().display()))
        .arg("--output-format=json")
        .arg(format!("--output={}", output.path().display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("starting fio (package fio)")?;
    let mut running = Running(child);
    let status = loop {
        if let Some(status) = running.0.try_wait().context("waiting for fio")? {
            break status;
        }
        interrupt::check()?;
        std::thread::sleep(Duration::from_millis(20));
    };
    interrupt::check()?;
    ensure!(status.success(), "fio on {} ended with {status}", disk.name);
    let text = std::fs::read_to_string(output.path()).context("reading fio's result")?;
    parse(&text)
}

fn parse(text: &str) -> Result<Outcome> {
    let result: Value = serde_json::from_str(text).context("fio's result is not JSON")?;
    let read = result.pointer("/jobs/0/read");
    let outcome = read.and_then(|read| {
        Some(Outcome {
            iops: read.get("iops")?.as_f64()?,
            ios: read.get("total_ios")?.as_u64()?,
        })
    });
    let outcome = outcome.context("fio's result lacks jobs[0].read.iops or .total_ios")?;
    ensure!(outcome.ios > 0, "fio did no I/O");
    Ok(outcome)
}
