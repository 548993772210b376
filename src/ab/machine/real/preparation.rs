//! What the rounds of a study need beside its workloads, made once.

use std::time::Duration;

use anyhow::{Context, Result};

use super::RealMachine;
use crate::ab::machine::Machine;
use crate::failure::Failure;
use crate::scratch::file::ScratchFile;
use crate::workload::command::CommandLine;
use crate::workload::{Execution, Workload};

const POLL: Duration = Duration::from_millis(20);

impl RealMachine<'_> {
    /// Runs commands, in the directory that rounds do not empty, before the first round.
    pub fn prepare_once(&mut self, commands: &[Vec<String>]) -> Result<()> {
        if commands.is_empty() {
            return Ok(());
        }
        let scratch_file = self.scratch_file.as_ref().ok_or_else(|| {
            Failure::usage(
                "what the rounds need cannot be prepared without a file system",
                "name a mount point, or no device for a simulated disk",
            )
        })?;
        scratch_file.make_prepared()?;
        for argv in commands {
            self.run_once(argv)
                .context("what the rounds need could not be prepared")?;
        }
        self.write_back_scratch()
    }

    fn run_once(&mut self, argv: &[String]) -> Result<()> {
        let output = self.prepare()?;
        let mut command = CommandLine::new(argv.iter().map(Into::into).collect(), true, None)?
            .with_sources(Some("none"), Vec::new())?
            .with_places();
        let mut running = command.start(&Execution {
            device_nodes: &self.disks.nodes(),
            arm_label: "",
            index: 0,
            block: 0,
            seed: 0,
            ramp: Duration::ZERO,
            time: Duration::ZERO,
            directory: output.path(),
            scratch_file: self.scratch_file.as_ref(),
            journal: self.means.journal,
            launcher: self.means.launcher,
        })?;
        loop {
            if let Some(outcome) = running.poll()? {
                let failed = |problem| Err(Failure::runtime(problem, ""));
                return outcome.problem.map_or(Ok(()), failed);
            }
            self.ensure_uninterrupted()?;
            self.sleep(POLL);
        }
    }

    fn write_back_scratch(&self) -> Result<()> {
        self.scratch_file
            .as_ref()
            .map_or(Ok(()), ScratchFile::write_back)
    }
}
