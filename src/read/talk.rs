//! Messages on stderr beside results and errors, and their colours.

use std::io::Write;
use std::sync::OnceLock;

use iosched_result::report::escape;

/// Everything that is printed, result or not, follows these.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Talk {
    /// Print only results and errors: no notes, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print one line for each round with all metrics that decide, and what each run starts
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Colour the verdicts; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(
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
static TALK: OnceLock<(&str, Talk)> = OnceLock::new();

/// Once, from the command line.
pub fn begin(program: &'static str, talk: Talk) {
    match talk.color {
        When::Auto => anstream::ColorChoice::Auto,
        When::Always => anstream::ColorChoice::Always,
        When::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let _ = TALK.set((program, talk));
}

pub fn talk() -> Talk {
    TALK.get().map_or(Talk::default(), |(_, talk)| *talk)
}

/// Begins each line on stderr.
pub fn program() -> &'static str {
    TALK.get().map_or("iosched", |(program, _)| program)
}

pub fn note(text: &str) {
    if !talk().quiet {
        let _ = writeln!(
            std::io::stderr(),
            "{}: note: {}",
            program(),
            escape::line(text)
        );
    }
}

/// Only with --verbose.
pub fn detail(text: &str) {
    if talk().verbose {
        note(text);
    }
}
