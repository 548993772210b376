//! `iosched restore`.

use std::io::Write;

use anyhow::Result;
use iosched::failure::Failure;
use iosched::journal;
use iosched::report::escape;

use crate::cli::Restore;

pub fn run(arguments: &Restore) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let left_behind = journal::left_behind()?;
    if left_behind.is_empty() {
        writeln!(out, "Nothing was left behind.")?;
        return Ok(());
    }
    let mut problems = Vec::new();
    for left in left_behind {
        let left = match left {
            Ok(left) => left,
            Err(error) => {
                problems.push(format!("{error:#}"));
                continue;
            }
        };
        let when = if left.rebooted {
            ", before the last boot"
        } else {
            ""
        };
        writeln!(
            out,
            "Process {} ({}){when} left behind:",
            left.pid,
            escape::line(&left.command)
        )?;
        for line in left.describe() {
            writeln!(out, "  {}", escape::line(&line))?;
        }
        if !arguments.list {
            let errors = left.restore()?;
            if errors.is_empty() {
                writeln!(out, "All of it was put back.")?;
            }
            problems.extend(errors.iter().map(|error| format!("{error:#}")));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::runtime(
        problems.join("\n"),
        "what could not be put back stays listed in `iosched restore --list`; mend the cause and try again",
    ))
}
