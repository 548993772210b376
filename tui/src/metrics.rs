//! `iosched metrics`: counters and histograms for Prometheus.

mod families; // names, units and values
mod http; // a server of one page
mod owners; // the busiest processes
mod spread; // histograms
mod text; // the formats
mod watch; // the probe

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched_files::{interrupt, output, stdout};
use iosched_host::safety::privileges;
use rustix::event::{PollFd, PollFlags, poll};

use crate::cli::Metrics;
use crate::stat::{devices, say};
use http::Server;
use text::{Format, encode};
use watch::Watch;

/// Processes that have ended are counted, and forgotten by the probe, at least this often.
const STEP: Duration = Duration::from_secs(5);

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
        (Some(server), _) => serve(watch, &server),
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

fn serve(mut watch: Watch, server: &Server) -> Result<()> {
    say(&[format!("listening on {}", server.name())]);
    loop {
        let next = Instant::now() + STEP;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            // A signal is how a service ends.
            if interrupt::received().is_some() {
                return Ok(());
            }
            let timeout = left.min(Duration::from_millis(500)).try_into()?;
            let mut fds = [PollFd::from_borrowed_fd(server.fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error).context("waiting for a connection"),
            }
            let mut news = Vec::new();
            server.answer(&mut |format| {
                news = watch.look()?;
                page(&watch, format)
            })?;
            say(&news);
        }
        let news = watch.look()?;
        say(&news);
    }
}

/// The file is replaced as a whole: who reads it sees one or the other.
fn write_each(mut watch: Watch, path: &Path, interval_s: f64) -> Result<()> {
    let mut next = Instant::now();
    loop {
        let news = watch.look()?;
        say(&news);
        output::write_again(path, &page(&watch, Format::Plain)?)?;
        next += Duration::from_secs_f64(interval_s);
        while Instant::now() < next {
            if interrupt::sleep_until(next.min(Instant::now() + STEP)).is_err() {
                return Ok(());
            }
            say(&watch.look()?);
        }
    }
}

fn once(mut watch: Watch, interval_s: f64) -> Result<()> {
    interrupt::sleep_until(Instant::now() + Duration::from_secs_f64(interval_s))?;
    say(&watch.look()?);
    stdout::write_all(&page(&watch, Format::OpenMetrics)?).context("writing the metrics")
}

fn page(watch: &Watch, format: Format) -> Result<Vec<u8>> {
    encode(watch.families(), format).context("writing the metrics")
}
