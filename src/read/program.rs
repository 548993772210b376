//! How a program begins and ends: its exit code, and what it says of an error.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use iosched_files::{interrupt, stdout};
use iosched_result::failure::{self, Failure};
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
    let name = messages::program();
    clap_complete::generate(shell, &mut command, name, &mut text);
    let text = String::from_utf8_lossy(&text);
    // clap_complete spells the name of a program with a hyphen in two ways, so that nothing below it is completed in bash:
    // https://github.com/clap-rs/clap/issues/6421
    let (one, other) = (name.replace('-', "__"), name.replace('-', "__subcmd__"));
    let text = match shell {
        clap_complete::Shell::Bash => text.replace(&other, &one),
        _ => text.into_owned(),
    };
    stdout::write_all(text.as_bytes()).context("writing the completions")
}

/// Prints the manual page of a program, or of one of its commands, in roff.
pub fn manual(of: Option<&str>, mut program: Command) -> Result<()> {
    program.build();
    let page = match of {
        None => &program,
        Some(name) => {
            let mut commands = program.get_subcommands();
            let named =
                commands.find(|command| command.get_name() == name && !command.is_hide_set());
            named.ok_or_else(|| {
                Failure::usage(
                    format!("{} has no command {name:?}", program.get_name()),
                    "its own page lists them: leave out the name",
                )
            })?
        }
    };
    // A page has what stands after the options alone.
    let after = [page.get_before_help(), page.get_after_help()];
    let after: Vec<String> = after
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    let page = page.clone().after_help(after.join("\n\n"));
    // Into memory first, as the completions.
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    stdout::write_all(&text).context("writing the manual page")
}
