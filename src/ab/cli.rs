//! The command line of `iosched-ab`.

mod heading;
mod read_loop;
mod run;
mod scratch;
mod study;
mod tune;
mod values;

use clap::{Parser, Subcommand};

use iosched_read::evidence::{self, EvidenceArguments};
use iosched_read::gate::{self, Gate};
use iosched_read::merge::{self, MergeArguments};
use iosched_read::messages::Verbosity;
use iosched_read::persist::{self, PersistArguments};
use iosched_read::report::{self, ReportArguments};

pub use read_loop::{ReadAdvice, ReadLoop};
pub use run::{Aa, Conditions, DetailOption, Run};
pub use scratch::{DemoArguments, ScratchArguments};
pub use study::StudyArguments;
pub use tune::Tune;
pub use values::Rounds;

/// Compare I/O schedulers on a device under a workload, in interleaved, randomised rounds
#[derive(Parser)]
#[command(
    name = "iosched-ab",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(after_help = HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub messages: Verbosity,
}

/// As clap's own, with what stands before the help after the usage.
const WITH_EXAMPLES_FIRST: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

#[derive(Subcommand)]
pub enum Command {
    /// Run a workload under each arm in interleaved rounds, and print a verdict for each comparison
    #[command(help_template = WITH_EXAMPLES_FIRST, before_help = run::EXAMPLES, after_help = run::help())]
    Run(Box<Run>),
    /// Compare an arm with itself: the smallest difference that this machine can show, and how long that takes
    #[command(
        after_help = "Examples:\n  iosched-ab aa nvme0n1 --workload randread --quick\n  \
        iosched-ab aa scratch:ssd --arm bfq --workload probe-hog --rounds 20"
    )]
    Aa(Box<Aa>),
    /// Compare schedulers in many workloads at once: a study that iosched brings, or one of your own
    #[command(after_help = study::HELP)]
    Study(StudyArguments),
    /// Search for the best settings of a disk, and let fresh rounds judge what was found
    #[command(after_help = tune::HELP)]
    Tune(Box<Tune>),
    /// Compare every scheduler on a simulated SSD, about 2 minutes; needs root, fio and no disk
    #[command(
        after_help = "Examples:\n  iosched-ab demo\n  iosched-ab demo -o demo.json && jq '.comparisons[0]' demo.json"
    )]
    Demo(DemoArguments),
    /// Make a simulated disk with a known service time; it is removed on Ctrl-C
    #[command(
        after_help = "Examples:\n  iosched-ab scratch                      an SSD of 1 GiB, until Ctrl-C\n  \
        iosched-ab scratch --model hdd -- fio --name=x --filename={} --rw=randread --direct=1\n  \
        \x20                                       until fio ends; {} stands for the device's path"
    )]
    Scratch(ScratchArguments),
    /// Print a result file as a report, or convert it to another format
    #[command(after_help = report::HELP)]
    Report(ReportArguments),
    /// Pass or fail a result by exit code, for CI
    #[command(after_help = gate::HELP)]
    Gate(Gate),
    /// Print a result as a block of text for a pull request or a mailing list, or check such a block
    #[command(after_help = evidence::HELP)]
    Evidence(EvidenceArguments),
    /// Make one answer of the results of many hosts, for each model of disk, firmware and kernel series
    #[command(after_help = merge::HELP)]
    Merge(MergeArguments),
    /// Print what makes the winner permanent: a udev rule, or the same for TuneD, NixOS, Ansible and others
    #[command(after_help = persist::HELP)]
    Persist(PersistArguments),
    /// List the built-in workloads
    #[command(after_help = "Example:\n  iosched-ab workloads")]
    Workloads,
    /// List all metrics that iosched measures
    #[command(after_help = "Example:\n  iosched-ab metrics")]
    Metrics,
    /// Read a file with a buffer of one size: the command that the study read-buffer times
    #[command(
        after_help = "Example:\n  iosched-ab read-loop /srv/file --buffer 64K --bytes 16M --advice random"
    )]
    ReadLoop(ReadLoop),
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  iosched-ab completions bash > /etc/bash_completion.d/iosched-ab"
    )]
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print a manual page in roff: `iosched-ab manual run | man -l -` shows one
    Manual {
        /// The command whose page it is [default: the program's own]
        command: Option<String>,
    },
    /// Check what only this build can tell, for the tests of a release
    #[command(hide = true)]
    SelfCheck,
}

const HELP: &str = "\
Examples:
  iosched-ab demo        compare all schedulers on a simulated SSD, about 2 minutes
  iosched-ab run nvme0n1 --arm none --arm kyber --workload randread
  iosched-ab report iosched-ab-20260203T040506Z.json --all

Exit codes:
  0  success
  1  run-time error
  2  usage error
  3  a comparison failed the gate
  4  the gate could not decide
  5  refused before anything was changed
  6  the run is invalid
  101  a bug in iosched, after everything was restored
  130, 143  interrupted by Ctrl-C or SIGTERM, after everything was restored

To watch schedulers live, see `iosched --help`.";
