//! Preparations that the rounds of a study need beside its workloads, made once for each stage.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use super::RealMachine;
use crate::machine::Machine;
use crate::workload::command::CommandLine;
use crate::workload::{Execution, Workload, places};
use iosched_host::scratch::file::ScratchFile;
use iosched_result::failure::Failure;

const POLL: Duration = Duration::from_millis(20);

impl RealMachine<'_> {
    /// Runs commands, which may use the directory that rounds do not empty, before the rounds that need what they make.
    pub(super) fn run_all(&mut self, commands: &[Vec<String>]) -> Result<()> {
        let words = || commands.iter().flatten();
        match &self.scratch_file {
            Some(scratch_file) => scratch_file.make_prepared()?,
            None if words().any(|word| places::is_of_files(word)) => {
                return Err(Failure::usage(
                    "what the rounds need cannot be prepared without a file system",
                    "name a mount point, or no device for a simulated disk",
                ));
            }
            None => (),
        }
        for argv in commands {
            let nodes = self.disks.nodes();
            // Each disk of a group is brought into the same state.
            let names_device = argv.iter().any(|word| word.contains(places::DEVICE));
            for node in nodes
                .iter()
                .take(if names_device { nodes.len() } else { 1 })
            {
                self.run_once(argv, std::slice::from_ref(node))
                    .context("what the rounds need could not be prepared")?;
            }
        }
        self.write_back_scratch()
    }

    fn run_once(&mut self, argv: &[String], nodes: &[PathBuf]) -> Result<()> {
        let output = self.prepare()?;
        let mut command = CommandLine::new(argv.iter().map(Into::into).collect(), true, None)?
            .with_sources(Some("none"), Vec::new())?
            .with_places();
        let mut running = command.start(&Execution {
            device_nodes: nodes,
            arm: None,
            disks: &self.disks.members,
            index: 0,
            block: 0,
            seed: 0,
            ramp: Duration::ZERO,
            time: Duration::ZERO,
            directory: output.path(),
            scratch_file: self.scratch_file.as_ref(),
            journal: self.resources.journal,
            launcher: self.resources.launcher,
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
