//! What is said on stderr beside results and errors, and in which colours.

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

static TALK: OnceLock<Talk> = OnceLock::new();

pub fn set(talk: Talk) {
    match talk.color {
        When::Auto => anstream::ColorChoice::Auto,
        When::Always => anstream::ColorChoice::Always,
        When::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    // It is set once, from the command line.
    let _ = TALK.set(talk);
}

pub fn talk() -> Talk {
    TALK.get().copied().unwrap_or_default()
}

pub fn note(text: &str) {
    if !talk().quiet {
        let _ = writeln!(
            std::io::stderr(),
            "iosched-ab: note: {}",
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
