//! `iosched-ab`: dispatches the commands and turns errors into exit codes.

mod cache;
mod carry_out;
mod cli;
mod consent;
mod demo;
mod gate;
mod metrics;
mod outlook;
mod permission;
mod persist;
mod place;
mod present;
mod progress;
mod read_loop;
mod reference;
mod report;
mod resume;
mod run;
mod scratch;
mod self_check;
mod study;
mod talk;
mod times;
mod washout;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use iosched_experiment::workload;
use iosched_files::{interrupt, stdout};
use iosched_host::safety::{guardian, journal, panics};
use iosched_result::failure;
use iosched_result::metric::listed;
use iosched_result::report::escape;
use talk::note;

fn main() -> ExitCode {
    // The guardian and the launcher of each workload are this same binary, started again.
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
    panics::end_in_order(say, work)
}

/// An error, on standard error, whose reader may be gone.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "iosched-ab: {}", escape::message(text));
}

fn work() -> ExitCode {
    let cli = Cli::parse();
    talk::set(cli.talk);
    let outcome = interrupt::install().and_then(|()| match cli.command {
        Command::Run(arguments) => changing(|| run::run(&arguments)),
        Command::Aa(arguments) => changing(|| run::placebo(&arguments)),
        Command::Study(arguments) if arguments.only_reads() => reading(|| study::show(&arguments)),
        Command::Study(arguments) => changing(|| study::run(&arguments)),
        Command::Demo(arguments) => changing(|| demo::run(&arguments)),
        Command::Scratch(arguments) => changing(|| scratch::run(&arguments)),
        Command::Report(arguments) => reading(|| report::run(&arguments)),
        Command::Gate(arguments) => reading(|| gate::run(&arguments)),
        Command::Persist(arguments) => reading(|| persist::run(&arguments)),
        Command::ReadLoop(arguments) => read_loop::run(&arguments),
        Command::Metrics => report::print(&listed::text()),
        Command::Workloads => report::workloads(),
        Command::Completions { shell } => completions(shell),
        Command::SelfCheck => self_check::run(),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if failure::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

/// For commands that compute what they print.
fn reading(command: impl FnOnce() -> Result<()>) -> Result<()> {
    interrupt::end_soon(say)?;
    command()
}

/// For commands that change the machine: first report what an earlier run left changed.
fn changing(command: impl FnOnce() -> Result<()>) -> Result<()> {
    for text in journal::notes() {
        note(&text);
    }
    command()
}

fn completions(shell: clap_complete::Shell) -> Result<()> {
    // Into memory first: `generate` panics if a write fails, for instance to a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "iosched-ab", &mut text);
    stdout::write_all(&text).context("writing the completions")
}
