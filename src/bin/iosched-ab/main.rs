//! `iosched-ab`: compare. Arguments, one call a command, exit code.

mod carry_out;
mod cli;
mod consent;
mod demo;
mod gate;
mod permission;
mod place;
mod progress;
mod report;
mod resume;
mod run;
mod scratch;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use iosched::report::escape;
use iosched::{failure, guardian, interrupt, journal, workload};

fn main() -> ExitCode {
    // This binary is also what it starts: the guardian, and the first moments of each workload.
    if let Some(code) = workload::launch::run_if_asked() {
        return code;
    }
    if let Some(outcome) = guardian::run_if_asked() {
        return if outcome.is_ok() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let cli = Cli::parse();
    let outcome = interrupt::install().and_then(|()| match cli.command {
        Command::Run(arguments) => changing(|| run::run(&arguments)),
        Command::Aa(arguments) => changing(|| run::placebo(&arguments)),
        Command::Demo(arguments) => changing(|| demo::run(&arguments)),
        Command::Scratch(arguments) => changing(|| scratch::run(&arguments)),
        Command::Report(arguments) => report::run(&arguments),
        Command::Gate(arguments) => gate::run(&arguments),
        Command::Workloads => report::workloads(),
        Command::Completions { shell } => completions(shell),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if failure::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "iosched-ab: {}",
                escape::page(&format!("{error:#}"))
            );
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

/// For commands that change the machine: first tell what an earlier one left changed.
fn changing(command: impl FnOnce() -> Result<()>) -> Result<()> {
    for text in journal::notes() {
        note(&text);
    }
    command()
}

fn note(text: &str) {
    let _ = writeln!(
        std::io::stderr(),
        "iosched-ab: note: {}",
        escape::line(text)
    );
}

fn completions(shell: clap_complete::Shell) -> Result<()> {
    // Into memory first: `generate` panics when a write fails, as to a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "iosched-ab", &mut text);
    std::io::stdout()
        .write_all(&text)
        .context("writing the completions")
}
