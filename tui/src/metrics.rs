//! `iosched metrics`: counters and histograms for Prometheus.

mod about; // disks and their settings
mod devices; // counts of disks
mod families; // names, units and values
mod http; // a server of one page
mod owners; // the busiest processes
mod protobuf; // native histograms
mod spread; // histograms
mod text; // the formats
mod watch; // the probe

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched_files::{input, interrupt, output, stdout};
use iosched_host::safety::privileges;
use iosched_result::failure::Failure;

use crate::cli::Metrics;
use crate::stat::{devices, say};
use http::Server;
use text::{Format, encode};
use watch::Watch;

/// Processes that have ended are counted, and forgotten by the probe, at least this often.
const STEP: Duration = Duration::from_secs(5);
/// A signal that comes just before a wait is seen after it.
const LONGEST_POLL: Duration = Duration::from_millis(500);

pub fn run(arguments: &Metrics) -> Result<()> {
    let server = server(arguments)?;
    let all = arguments.devices.is_empty();
    let watch = Watch::begin(
        devices(&arguments.devices)?,
        all,
        usize::from(arguments.top),
    )?;
    say(&watch.notes());
    match &arguments.to.textfile {
        Some(_) => privileges::keep_those_of_a_snapshot()?,
        None => privileges::keep_those_of_a_watch()?,
    }
    match (server, &arguments.to.textfile) {
        (Some(server), _) => serve(watch, server),
        (None, Some(path)) => write_each(watch, path, arguments.interval),
        (None, None) => once(watch, arguments.interval),
    }
}

/// None: nobody asks, it is written.
fn server(arguments: &Metrics) -> Result<Option<Server>> {
    let to = &arguments.to;
    if to.once || to.textfile.is_some() {
        return Ok(None);
    }
    Ok(Some(match &to.unix {
        Some(path) => Server::unix(path)?,
        None => Server::tcp(to.listen)?,
    }))
}

fn serve(mut watch: Watch, mut server: Server) -> Result<()> {
    say(&[format!("listening on {}", server.name())]);
    loop {
        let next = Instant::now() + STEP;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            // A signal is how a service ends.
            if interrupt::received().is_some() {
                return Ok(());
            }
            let mut news = Vec::new();
            server.answer(left.min(LONGEST_POLL), &mut |format| {
                news.extend(watch.look()?);
                page(&watch, format)
            })?;
            say(&news);
        }
        say(&watch.look()?);
    }
}

/// The file is replaced as a whole: who reads it sees one or the other. At the end it is gone, because nobody counts on.
fn write_each(mut watch: Watch, path: &Path, interval_s: f64) -> Result<()> {
    ensure_is_ours(path)?;
    let mut next = Instant::now();
    loop {
        say(&watch.look()?);
        output::write_again(path, &page(&watch, Format::Plain)?)?;
        next += Duration::from_secs_f64(interval_s);
        while Instant::now() < next {
            if interrupt::sleep_until(next.min(Instant::now() + STEP)).is_err() {
                return output::remove(path);
            }
            say(&watch.look()?);
        }
    }
}

/// A file that is there is replaced only if an exporter wrote it.
fn ensure_is_ours(path: &Path) -> Result<()> {
    const BEGINS: &str = "# HELP iosched_build_info";
    const LIMIT: u64 = 64 << 20;
    if !path.exists() || input::read_text(path, LIMIT).is_ok_and(|it| it.starts_with(BEGINS)) {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "{} is there, and no exporter of iosched wrote it",
            path.display()
        ),
        "name another file, or remove it",
    ))
}

fn once(mut watch: Watch, interval_s: f64) -> Result<()> {
    interrupt::sleep_until(Instant::now() + Duration::from_secs_f64(interval_s))?;
    say(&watch.look()?);
    stdout::write_all(&page(&watch, Format::OpenMetrics)?).context("writing the metrics")
}

fn page(watch: &Watch, format: Format) -> Result<Vec<u8>> {
    encode(watch.families(), format).context("writing the metrics")
}
