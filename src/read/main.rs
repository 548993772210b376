//! `iosched-read`: the commands of `iosched-ab` that only read results, for laptops and CI.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use iosched_files::interrupt;
use iosched_read::messages::{self, Verbosity};
use iosched_read::program::{completions, exit_code, manual, reading};
use iosched_read::{evidence, gate, merge, metrics, persist, report};

/// Read results of iosched-ab: the same commands, on any Unix, without root
#[derive(Parser)]
#[command(
    name = "iosched-read",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    messages: Verbosity,
}

#[derive(Subcommand)]
enum Command {
    /// Print a result file as a report, or convert it to another format
    #[command(after_help = report::HELP)]
    Report(report::ReportArguments),
    /// Pass or fail a result by exit code, for CI
    #[command(after_help = gate::HELP)]
    Gate(gate::Gate),
    /// Print a result as a block of text for a pull request or a mailing list, or check such a block
    #[command(after_help = evidence::HELP)]
    Evidence(evidence::EvidenceArguments),
    /// Make one answer of the results of many hosts, for each model of disk, firmware and kernel series
    #[command(after_help = merge::HELP)]
    Merge(merge::MergeArguments),
    /// Print what makes the winner permanent: a udev rule, or the same for TuneD, NixOS, Ansible and others
    #[command(after_help = persist::HELP)]
    Persist(persist::PersistArguments),
    /// List all metrics that iosched measures
    Metrics,
    /// Print a shell completion script
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print a manual page in roff: `iosched-read manual gate | man -l -` shows one
    Manual {
        /// The command whose page it is [default: the program's own]
        command: Option<String>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    messages::begin("iosched-read", cli.messages);
    exit_code(interrupt::install().and_then(|()| match cli.command {
        Command::Report(arguments) => reading(|| report::run(&arguments)),
        Command::Gate(arguments) => reading(|| gate::run(&arguments)),
        Command::Evidence(arguments) => reading(|| evidence::run(&arguments)),
        Command::Merge(arguments) => reading(|| merge::run(&arguments)),
        Command::Persist(arguments) => reading(|| persist::run(&arguments, |_, _| Vec::new())),
        Command::Metrics => metrics::run(),
        Command::Completions { shell } => completions(shell, Cli::command()),
        Command::Manual { command } => manual(command.as_deref(), Cli::command()),
    }))
}
