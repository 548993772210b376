//! `iosched-ab scratch`: a device with a known truth, until Ctrl-C or as long as a command runs.

use std::ffi::OsString;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched::failure::{Failure, Kind, kind_of};
use iosched::journal::Journal;
use iosched::scratch::Scratch;
use iosched::workload::command;
use iosched::{guardian, interrupt};
use serde_json::json;

use crate::cli;
use crate::note;

pub fn run(arguments: &cli::Scratch) -> Result<()> {
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    guardian.take_notes().iter().for_each(|text| note(text));
    let scratch = Scratch::create(arguments.model, arguments.size, &journal)?;
    let node = format!("/dev/{}", scratch.device_name());
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let object =
            json!({ "device": node, "truth": scratch.truth(), "fallback": scratch.fallback() });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{node}: {}", scratch.truth().text)?;
        if let Some(why) = scratch.fallback() {
            writeln!(out, "  a plain loop device over memory, because {why}")?;
        }
    }
    out.flush()?;
    drop(out);
    if arguments.command.is_empty() {
        note("Ctrl-C removes it");
        return match wait(&scratch) {
            // Ctrl-C is how it is meant to end.
            Err(error) if matches!(kind_of(&error), Kind::Interrupted(2)) => Ok(()),
            other => other,
        };
    }
    let argv: Vec<OsString> = arguments
        .command
        .iter()
        .map(|argument| {
            argument
                .to_str()
                .map_or(argument.clone(), |text| text.replace("{}", &node).into())
        })
        .collect();
    let status = command::foreground(&journal, &launcher, &argv)?;
    if status == 0 {
        return Ok(());
    }
    Err(Failure::runtime(
        format!("{} ended with code {status}", argv[0].to_string_lossy()),
        "",
    ))
}

fn wait(scratch: &Scratch) -> Result<()> {
    loop {
        interrupt::sleep_until(Instant::now() + Duration::from_millis(500))?;
        if !scratch.is_healthy() {
            return Err(Failure::runtime(
                format!(
                    "the scratch device {} has stopped serving",
                    scratch.device_name()
                ),
                "something has detached or unmounted it",
            ));
        }
    }
}
