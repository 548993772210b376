//! Messages on stderr beside results and errors, and their colours.

use std::io::Write;
use std::sync::OnceLock;

use iosched_result::report::escape;

use crate::fit;

/// The heading above these options in the help of each command.
const HEADING: &str = "Messages";

/// Everything that is printed, result or not, follows these.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Verbosity {
    /// Print only results and errors: no notes, no progress
    #[arg(help_heading = HEADING, short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print one line for each round with all metrics that decide, and what each run starts
    #[arg(help_heading = HEADING, short, long, global = true)]
    pub verbose: bool,
    /// Colour the verdicts; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(
        help_heading = HEADING,
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value = "auto"
    )]
    pub color: When,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, Default)]
pub enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// The name of the program, and how it talks.
static CHOSEN: OnceLock<(&str, Verbosity)> = OnceLock::new();

/// Once, from the command line.
pub fn begin(program: &'static str, messages: Verbosity) {
    match messages.color {
        When::Auto => anstream::ColorChoice::Auto,
        When::Always => anstream::ColorChoice::Always,
        When::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let _ = CHOSEN.set((program, messages));
}

pub fn messages() -> Verbosity {
    CHOSEN
        .get()
        .map_or(Verbosity::default(), |(_, messages)| *messages)
}

/// Begins each line on stderr.
pub fn program() -> &'static str {
    CHOSEN.get().map_or("iosched", |(program, _)| program)
}

pub fn note(text: &str) {
    if !messages().quiet {
        let line = format!("{}: note: {}\n", program(), escape::line(text));
        let line = fit::to_terminal(&line, &std::io::stderr());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// A note on one file of several; without a name, on the only one.
pub fn note_of(file: Option<&str>, text: &str) {
    match file {
        Some(file) => note(&format!("{file}: {text}")),
        None => note(text),
    }
}

/// Only with --verbose.
pub fn detail(text: &str) {
    if messages().verbose {
        note(text);
    }
}
