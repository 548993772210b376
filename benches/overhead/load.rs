//! The loads: fio reads 4 KiB at random, until it is dropped.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use iosched_files::interrupt;
use rustix::process::{Pid, Signal, kill_process};

use crate::counters;
use crate::disk::Disk;

/// A load without I/O for this long has not started, or is dead.
const PATIENCE: Duration = Duration::from_secs(15);
/// From the first I/O until the load counts as steady.
const WARM_UP: Duration = Duration::from_millis(300);

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One thread with 32 in flight, as fast as it can: caches are warm, and the CPU is the limit
    Full,
    /// One thread that reads 20,000 times per second: the CPU sleeps in between
    Paced,
    /// 300 processes that pause for 20 ms after each read: caches are cold
    Crowd,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Full, Kind::Paced, Kind::Crowd];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Full => "full",
            Kind::Paced => "paced",
            Kind::Crowd => "crowd",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        const ONE: [&str; 4] = [
            "--ioengine=libaio",
            "--iodepth=32",
            "--numjobs=1",
            "--thread",
        ];
        const PACED: [&str; 5] = [ONE[0], ONE[1], ONE[2], ONE[3], "--rate_iops=20000"];
        match self {
            Kind::Full => &ONE,
            Kind::Paced => &PACED,
            Kind::Crowd => &["--ioengine=psync", "--numjobs=300", "--thinktime=20ms"],
        }
    }
}

/// A fio that runs. Its jobs are its threads or children, each child in a session of its own.
pub struct Load {
    child: Child,
}

impl Load {
    pub fn start(kind: Kind, disk: &Disk) -> Result<Load> {
        let child = Command::new("fio")
            .args(["--name=overhead", "--rw=randread", "--bs=4k", "--direct=1"])
            .args(["--norandommap", "--time_based", "--runtime=1h"])
            .args(kind.arguments())
            .arg(format!("--filename={}", disk.node().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting fio (package fio)")?;
        let mut load = Load { child };
        load.wait_until_steady(disk)?;
        Ok(load)
    }

    fn wait_until_steady(&mut self, disk: &Disk) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let before = counters::ios_of(&disk.name)?;
        while counters::ios_of(&disk.name)? < before + 1000 {
            self.ensure_runs()?;
            ensure!(
                Instant::now() < deadline,
                "fio did no 1000 I/Os within {} s",
                PATIENCE.as_secs()
            );
            interrupt::check()?;
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(WARM_UP);
        Ok(())
    }

    pub fn ensure_runs(&mut self) -> Result<()> {
        let ended = self.child.try_wait().context("waiting for fio")?;
        ensure!(ended.is_none(), "fio ended too early");
        Ok(())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let jobs = counters::children_of(self.pid());
        let _ = self.child.kill();
        for job in jobs.iter().filter_map(|&pid| Pid::from_raw(pid)) {
            let _ = kill_process(job, Signal::KILL);
        }
        let _ = self.child.wait();
        // They hold the disk until the last of them is gone.
        let deadline = Instant::now() + PATIENCE;
        while jobs
            .iter()
            .any(|pid| Path::new(&format!("/proc/{pid}")).exists())
            && Instant::now() < deadline
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
