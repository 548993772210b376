//! `iosched`: dispatches the commands and turns errors into exit codes.

mod cli;
mod doctor;
mod metrics;
mod restore;
mod schedulers;
mod set;
mod stat;
mod syncs;
mod ui;
mod why;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use iosched_files::stdout;
use iosched_read::program;
use iosched_result::failure;
use iosched_result::report::escape;

fn main() -> ExitCode {
    // The guardian and the launcher of the demo's workload are this same binary, started again.
    if let Some(code) = iosched_experiment::workload::launch::run_if_asked() {
        return code;
    }
    if let Some(outcome) = iosched_host::safety::guardian::run_if_asked() {
        return if outcome.is_ok() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    iosched_host::safety::panics::end_in_order(say, work)
}

/// An error, on standard error, whose reader may be gone.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "iosched: {}", escape::message(text));
}

fn work() -> ExitCode {
    let cli = Cli::parse();
    if !matches!(
        cli.command,
        Some(
            Command::Restore(_)
                | Command::Doctor(_)
                | Command::Replay(_)
                | Command::Config(_)
                | Command::Completions { .. }
                | Command::Manual { .. }
        )
    ) {
        for note in iosched_host::safety::journal::notes() {
            let _ = writeln!(std::io::stderr(), "iosched: note: {}", escape::line(&note));
        }
    }
    let outcome = iosched_files::interrupt::install().and_then(|()| match cli.command {
        Some(Command::Stat(arguments)) => stat::run(&arguments),
        Some(Command::Why(arguments)) => why::run(&arguments),
        Some(Command::Metrics(arguments)) => metrics::run(&arguments),
        Some(Command::Snapshot(arguments)) => ui::snapshot::run(&arguments),
        Some(Command::Replay(arguments)) => replay(&arguments),
        Some(Command::Config(arguments)) => ui::config::run(&arguments),
        Some(Command::Schedulers(arguments)) => schedulers::run(&arguments),
        Some(Command::Set(arguments)) => set::run(&arguments),
        Some(Command::Doctor(arguments)) => doctor::run(&arguments),
        Some(Command::Restore(arguments)) => restore::run(&arguments),
        None => watch(&cli.watch),
        Some(Command::Completions { shell }) => completions(shell),
        Some(Command::Manual { command }) => program::manual(command.as_deref(), Cli::command()),
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

/// The terminal UI; without a terminal, `iosched stat`.
fn watch(arguments: &cli::Watch) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return ui::run(arguments);
    }
    if arguments.demo {
        return Err(failure::Failure::usage(
            "--demo needs a terminal",
            "without one, `iosched-ab demo` compares the schedulers on the same device",
        ));
    }
    // As text it has neither keys nor columns, but a wrong file that was named is not passed over.
    if arguments.look.file.config.is_some() {
        ui::config::load(&arguments.look.file)?;
    }
    stat::run(&cli::Stat::of(arguments))
}

fn replay(arguments: &cli::Replay) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return ui::replay::run(arguments);
    }
    Err(failure::Failure::usage(
        "replay needs a terminal",
        "the file is JSON Lines compressed by gzip: `zcat FILE | jq .` reads it",
    ))
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    // Into memory first: `generate` panics if a write fails, for instance to a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "iosched", &mut text);
    stdout::write_all(&text).context("writing the completions")
}
