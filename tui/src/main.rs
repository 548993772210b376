//! `iosched`: look. Arguments, one call a command, exit code.

mod cli;
mod restore;
mod schedulers;
mod set;
mod stat;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use iosched::failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if !matches!(
        cli.command,
        Command::Restore(_) | Command::Completions { .. }
    ) {
        for note in iosched::journal::notes() {
            let _ = writeln!(std::io::stderr(), "iosched: note: {note}");
        }
    }
    let outcome = iosched::interrupt::install().and_then(|()| match cli.command {
        Command::Stat(arguments) => stat::run(&arguments),
        Command::Schedulers(arguments) => schedulers::run(&arguments),
        Command::Set(arguments) => set::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Cli::command(),
                "iosched",
                &mut std::io::stdout(),
            );
            Ok(())
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "iosched: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

/// The reader has seen enough, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
