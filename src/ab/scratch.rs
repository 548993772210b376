//! `iosched-ab scratch`: a device with a known service time, until Ctrl-C or until a command ends.

use std::ffi::OsString;
use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched_experiment::workload::command;
use iosched_files::interrupt;
use iosched_host::safety::guardian;
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_result::failure::{Failure, Kind, kind_of};
use serde_json::json;

use crate::cli;
use iosched_read::messages::note;
use iosched_read::print::print_page;

pub fn run(arguments: &cli::ScratchArguments) -> Result<()> {
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    guardian.take_notes().iter().for_each(|text| note(text));
    let spec = arguments.model;
    if arguments.mount.is_some() && spec.file_system.is_none() {
        return Err(Failure::usage(
            format!("{spec} has no file system to mount"),
            format!("make one with --model {spec}+ext4"),
        ));
    }
    let size_bytes = arguments.size.unwrap_or_else(|| spec.usual_bytes());
    let scratch = Scratch::create_at(spec, size_bytes, arguments.mount.as_deref(), &journal)?;
    let nodes: Vec<String> = scratch
        .nodes()
        .iter()
        .map(|node| node.display().to_string())
        .collect();
    let mount_point = scratch
        .mount_point()
        .map(|point| point.display().to_string());
    let mut out = String::new();
    if arguments.json {
        let object = json!({
            "device": nodes[0],
            "devices": nodes,
            "mount_point": mount_point,
            "truth": scratch.truth(),
            "fallback": scratch.fallback(),
        });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{}: {}", nodes.join(", "), scratch.truth().text)?;
        if let Some(point) = &mount_point {
            writeln!(out, "  mounted at {point}")?;
        }
        if let Some(why) = scratch.fallback() {
            writeln!(
                out,
                "  a plain loop device on memory, without a simulated service time, because {why}"
            )?;
        }
    }
    print_page(&out)?;
    if arguments.command.is_empty() {
        note("press Ctrl-C to remove it");
        return match wait(&scratch) {
            // Ctrl-C is the normal way to end it.
            Err(error) if matches!(kind_of(&error), Kind::Interrupted(2)) => Ok(()),
            other => other,
        };
    }
    let place = mount_point.unwrap_or_else(|| nodes.join(","));
    let argv: Vec<OsString> = arguments
        .command
        .iter()
        .map(|argument| {
            argument
                .to_str()
                .map_or(argument.clone(), |text| text.replace("{}", &place).into())
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
                    "the scratch device {} no longer works",
                    scratch.device_name()
                ),
                "another program has detached or unmounted it; start again",
            ));
        }
    }
}
