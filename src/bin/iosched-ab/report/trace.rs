//! `iosched-ab report --format perfetto` and `--format blkparse`.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use iosched::ab::result::ResultFile;
use iosched::failure::Failure;
use iosched::files::stdout;
use iosched::report::{blkparse, perfetto, traces};

use super::{file_to_write, print, write};
use crate::cli::{Format, ReportArguments};

pub fn deliver(result: &ResultFile, arguments: &ReportArguments) -> Result<()> {
    let arms = traces::of(result, arguments.arm.as_deref());
    let labels = || {
        let all = traces::of(result, None).into_iter().map(|of| of.arm);
        all.collect::<Vec<_>>().join(", ")
    };
    if arms.is_empty() {
        return Err(match &arguments.arm {
            Some(arm) if !labels().is_empty() => Failure::usage(
                format!("{} has no trace of {arm}", arguments.file.display()),
                format!("name one of {}", labels()),
            ),
            _ => none(arguments),
        });
    }
    let file = file_to_write(arguments.output.as_deref());
    if matches!(arguments.format, Format::Blkparse) {
        let [traced] = arms[..] else {
            return Err(Failure::usage(
                format!(
                    "{} has several traces: {}",
                    arguments.file.display(),
                    labels()
                ),
                "blkparse's columns hold one: add --arm LABEL",
            ));
        };
        let text = blkparse::render(result, traced);
        return match file {
            Some(path) => write(path, text.as_bytes(), arguments),
            None => print(&text),
        };
    }
    let bytes = perfetto::render(result, &arms);
    match file {
        Some(path) => write(path, &bytes, arguments),
        None if std::io::stdout().is_terminal() => Err(Failure::usage(
            "a Perfetto trace is binary, and would upset the terminal",
            "name a file: -o trace.perfetto; then open it in ui.perfetto.dev",
        )),
        None => stdout::write_all(&bytes).context("writing the trace"),
    }
}

pub fn none(arguments: &ReportArguments) -> anyhow::Error {
    Failure::usage(
        format!("{} has no trace", arguments.file.display()),
        "record one: iosched-ab run --trace 1s",
    )
}
