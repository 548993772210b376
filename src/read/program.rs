//! How a program begins and ends: its exit code, and what it says of an error.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use iosched_files::{interrupt, stdout};
use iosched_result::failure;
use iosched_result::report::escape;

use crate::messages;

/// An error, on standard error, whose reader may be gone.
pub fn say(text: &str) {
    let name = messages::program();
    let _ = writeln!(std::io::stderr(), "{name}: {}", escape::message(text));
}

/// For commands that compute what they print: a signal ends them at once.
pub fn reading(command: impl FnOnce() -> Result<()>) -> Result<()> {
    interrupt::end_soon(say)?;
    command()
}

pub fn exit_code(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if failure::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

pub fn completions(shell: clap_complete::Shell, mut command: Command) -> Result<()> {
    // Into memory first: `generate` panics if a write fails, for instance to a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, messages::program(), &mut text);
    stdout::write_all(&text).context("writing the completions")
}
