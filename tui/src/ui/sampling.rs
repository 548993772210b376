//! The thread that owns the probe: it takes samples, switches schedulers, and times rotations.

mod blame;
pub mod control;
pub mod devices;
#[cfg(test)]
mod panics;
pub mod parts;
pub mod programs;
pub mod read;
pub mod request;
mod result_path;
mod rotation;
pub mod sample;
pub mod score;
mod watched;
mod work;

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched_host::system::device::Device;
use iosched_result::types::arm::Arm;

use control::Control;
use request::Request;
use sample::SamplerReport;
use work::Work;

/// Everything that the thread needs at its start.
pub struct Setup {
    pub devices: Vec<Device>,
    /// Whether the user named them; else disks that appear later are measured, too.
    pub were_named: bool,
    /// For each device, all arms that may be applied.
    pub arms: Vec<Vec<Arm>>,
    /// Arms of `--arm`, for disks that appear later.
    pub named_arms: Vec<String>,
    pub interval: Duration,
    /// Whether to measure the times since submission, too.
    pub asked: bool,
    /// Whether to keep the intervals.
    pub has_history: bool,
    /// The directory of the rotations' results.
    pub directory: PathBuf,
    pub control: Control,
    /// Labels of control groups, by id.
    pub labels: Vec<(u64, String)>,
}

/// Dropping it ends the thread, after everything was restored.
pub struct Sampler {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<Vec<Result<String>>>>,
}

impl Sampler {
    pub fn start(setup: Setup, report: impl Fn(SamplerReport) + Send + 'static) -> Result<Self> {
        let (requests, inbox) = channel();
        let thread = std::thread::Builder::new()
            .name("sampling".to_owned())
            .spawn(move || Work::new(setup, Box::new(report)).run(&inbox))
            .context("starting the thread that takes samples")?;
        Ok(Sampler {
            requests: Some(requests),
            thread: Some(thread),
        })
    }

    /// Returns false if the thread has ended.
    pub fn request(&self, request: Request) -> bool {
        self.requests
            .as_ref()
            .is_some_and(|requests| requests.send(request).is_ok())
    }

    /// Reports of what was restored, one line each.
    pub fn end(mut self) -> Vec<Result<String>> {
        self.join()
    }

    fn join(&mut self) -> Vec<Result<String>> {
        self.requests = None;
        let panicked = |_| vec![Err(anyhow::anyhow!("the sampling thread panicked"))];
        self.thread
            .take()
            .map_or_else(Vec::new, |thread| thread.join().unwrap_or_else(panicked))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
    }
}
