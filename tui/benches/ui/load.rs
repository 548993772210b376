//! The load: processes that read 4 KiB at random positions of the disk, and pause after each read.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/growth/readers.c");
/// Longer than any measurement: it is ended before.
const LONGEST_S: u64 = 24 * 3600;

/// Ends when it is dropped; the disk must exist until then.
pub struct Load(Child);

impl Load {
    pub fn start(
        directory: &Path,
        node: &str,
        (processes, pause_us): (usize, u64),
    ) -> Result<Load> {
        let binary = directory.join("readers");
        if !binary.exists() {
            compile(&binary)?;
        }
        let child = Command::new(binary)
            .args([processes.to_string(), LONGEST_S.to_string()])
            .args([&*format!("-{pause_us}"), node])
            .stdout(Stdio::null())
            .spawn()
            .context("starting the readers")?;
        Ok(Load(child))
    }

    pub fn ensure_runs(&mut self) -> Result<()> {
        let ended = self.0.try_wait()?;
        ensure!(ended.is_none(), "the load ended before the measurement");
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

fn compile(binary: &Path) -> Result<()> {
    let compiled = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(binary)
        .arg(SOURCE)
        .status()
        .context("starting cc (a C compiler)")?;
    ensure!(compiled.success(), "compiling {SOURCE}");
    Ok(())
}
