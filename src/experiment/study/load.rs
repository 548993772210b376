//! The load that a cell of a study runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;

use crate::workload::command::CommandLine;
use crate::workload::fio::Fio;
use crate::workload::group_settings::GroupSettings;
use crate::workload::with_background::WithBackground;
use crate::workload::{Workload, catalogue, places};

#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    Catalogue(String),
    Fio {
        processes: BTreeMap<String, String>,
        /// Settings of their control groups, by process.
        groups: BTreeMap<String, GroupSettings>,
        /// They run on the first so many of the disks; None: on all.
        disks: Option<usize>,
    },
    Command {
        argv: Vec<String>,
        parse: Option<String>,
        /// Processes of fio that load the disk meanwhile; none is usual.
        beside: BTreeMap<String, String>,
        /// How long these run before the command starts.
        lead: Duration,
    },
}

impl LoadSpec {
    /// `may_write`: what it runs on holds nothing that can be lost.
    pub fn workload(&self, name: &str, may_write: bool) -> Result<Box<dyn Workload>> {
        Ok(match self {
            LoadSpec::Catalogue(name) => Box::new(catalogue::find(name)?),
            LoadSpec::Fio {
                processes,
                groups,
                disks,
            } => Box::new(fio(name, processes)?.with_groups(groups).on_first(*disks)),
            LoadSpec::Command {
                argv,
                parse,
                beside,
                lead,
            } => {
                let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
                let command = CommandLine::new(argv, may_write, None)?
                    .with_sources(parse.as_deref(), Vec::new())?
                    .with_places();
                if beside.is_empty() {
                    Box::new(command)
                } else {
                    Box::new(WithBackground::new(command, fio(name, beside)?, *lead))
                }
            }
        })
    }

    /// How many of the disks it runs on; None: on all.
    pub fn disks(&self) -> Option<usize> {
        match self {
            LoadSpec::Fio { disks, .. } => *disks,
            LoadSpec::Catalogue(_) | LoadSpec::Command { .. } => None,
        }
    }

    /// Whether it names files on a file system.
    pub fn needs_files(&self) -> bool {
        match self {
            LoadSpec::Command { argv, .. } => argv.iter().any(|word| places::is_of_files(word)),
            LoadSpec::Catalogue(_) | LoadSpec::Fio { .. } => false,
        }
    }

    /// Whether fio needs a file there, or the command names it.
    pub fn needs_scratch_file(&self) -> bool {
        match self {
            LoadSpec::Command { argv, beside, .. } => {
                !beside.is_empty() || argv.iter().any(|word| word.contains(places::FILE))
            }
            LoadSpec::Catalogue(_) | LoadSpec::Fio { .. } => true,
        }
    }
}

fn fio(name: &str, processes: &BTreeMap<String, String>) -> Result<Fio> {
    let processes = processes.iter();
    catalogue::of_processes(
        name,
        processes.map(|(label, options)| (&**label, &**options)),
    )
}
