//! Overhead of watching: fio's IOPS on a loop device on memory with and without `iosched stat` and its peers
//! attached, and the nanoseconds per I/O of their BPF programs. Needs root, fio and bpftool.
//!
//! All variants run interleaved within each round, in random order, and are compared only with the baseline of the
//! same round. A peer that cannot run is listed with its reason and never as a number. The loop device, its file, the
//! tracers and `kernel.bpf_stats_enabled` are restored at every end except SIGKILL.
//!
//! `cargo build --release -p iosched-tui && cargo bench --bench overhead -- --json raw.json`

mod disk;
mod fio;
mod floor;
mod programs;
mod record;
mod table;
mod tracer;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use iosched_files::interrupt;
use iosched_result::failure::{self, Failure};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use disk::Disk;
use programs::Statistics;
use record::{CannotRun, Record, Slice};
use tracer::{Tracer, Variant};

const SCHEDULERS: [&str; 2] = ["none", "mq-deadline"];
/// Two per round: the ratio between them is the noise of every other ratio.
const BASELINES: [&str; 2] = ["nothing A", "nothing B"];
const SLICE: Duration = Duration::from_secs(1);
const SLICE_WITH_STATISTICS: Duration = Duration::from_millis(500);
/// No round starts that would end after this.
const BUDGET: Duration = Duration::from_secs(350);

#[derive(Parser)]
#[command(
    name = "overhead",
    about = "The overhead of watching, measured in interleaved rounds"
)]
struct Arguments {
    /// Number of rounds; fewer if six minutes are not enough
    #[arg(long, env = "ROUNDS", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Write the raw numbers of every slice to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The binary to measure [default: the one in this profile's directory]
    #[arg(long, value_name = "PATH")]
    iosched: Option<PathBuf>,
    /// Another build of iosched, compared in the same rounds
    #[arg(long, value_name = "NAME=PATH", value_parser = named_path)]
    also: Vec<(String, PathBuf)>,
    /// Hold the floor's programs attached; used by this bench itself
    #[arg(long, hide = true)]
    hold_floor: bool,
    /// Do not measure the peers
    #[arg(long)]
    no_peers: bool,
    /// Passed by `cargo bench`; without it, as in `cargo test --benches`, nothing runs
    #[arg(long, hide = true)]
    bench: bool,
}

fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("give NAME=PATH")?;
    Ok((name.to_owned(), path.into()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.bench {
        println!("overhead: nothing measured; run it with `cargo bench --bench overhead`");
        return ExitCode::SUCCESS;
    }
    match interrupt::install().and_then(|()| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overhead: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::refused(
            "only root can attach BPF programs and make a loop device",
            "run it with sudo",
        ));
    }
    if arguments.hold_floor {
        return floor::hold();
    }
    let begin = Instant::now();
    let disk = Disk::create()?;
    let statistics = Statistics::off()?;
    let variants = variants(arguments, &disk.name)?;
    let seed = u64::from(std::process::id()) ^ record::unix_seconds();
    let mut bench = Bench {
        record: Record::new(seed)?,
        random: ChaCha8Rng::seed_from_u64(seed),
        disk,
        statistics,
        variants,
    };
    bench.try_all()?;
    let mut longest = Duration::ZERO;
    for round in 1..=arguments.rounds {
        if begin.elapsed() + longest > BUDGET {
            eprintln!("overhead: time limit reached after {} rounds", round - 1);
            break;
        }
        let start = Instant::now();
        bench.round(round)?;
        longest = longest.max(start.elapsed());
        eprintln!(
            "round {round} of {}, {:.0} s",
            arguments.rounds,
            begin.elapsed().as_secs_f64()
        );
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string(&bench.record)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    let text = table::render(&bench.record);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn variants(arguments: &Arguments, device: &str) -> Result<Vec<Variant>> {
    let binary = match &arguments.iosched {
        Some(path) => path.clone(),
        None => beside_this_binary()?,
    };
    let mut variants = Vec::new();
    for (name, options) in [
        ("iosched", &[][..]),
        ("iosched, order, fairness", &["--detail", "order,fairness"]),
        (
            "iosched, all details",
            &["--detail", "order,fairness,stages"],
        ),
        ("iosched, no Q2G", &["--no-q2g"]),
    ] {
        variants.push(Variant::iosched(name, binary.clone(), device, options)?);
    }
    for (name, path) in &arguments.also {
        let name = format!("iosched {name}");
        variants.push(Variant::iosched(&name, path.clone(), device, &[])?);
    }
    variants.push(Variant::floor()?);
    if !arguments.no_peers {
        variants.extend(Variant::peers(device));
    }
    Ok(variants)
}

/// This binary is `target/PROFILE/deps/overhead-HASH`; the other is `target/PROFILE/iosched`.
fn beside_this_binary() -> Result<PathBuf> {
    let this = std::env::current_exe().context("finding this binary")?;
    let profile = this.parent().and_then(|deps| deps.parent());
    Ok(profile
        .context("this binary lies in the root directory")?
        .join("iosched"))
}

struct Bench {
    record: Record,
    random: ChaCha8Rng,
    disk: Disk,
    statistics: Statistics,
    variants: Vec<Variant>,
}

impl Bench {
    /// A variant that does not run here is removed, with its reason.
    fn try_all(&mut self) -> Result<()> {
        for variant in self.variants.clone() {
            if let Err(reason) = self.measure(&variant, 0, SCHEDULERS[0])? {
                self.withdraw(&variant, reason)?;
            }
        }
        Ok(())
    }

    fn round(&mut self, round: u32) -> Result<()> {
        let mut schedulers = SCHEDULERS;
        schedulers.shuffle(&mut self.random);
        for scheduler in schedulers {
            self.disk.switch(scheduler)?;
            let mut order: Vec<Option<usize>> = (0..self.variants.len()).map(Some).collect();
            order.extend(BASELINES.map(|_| None));
            order.shuffle(&mut self.random);
            let mut baselines = BASELINES.iter();
            for place in order {
                let Some(index) = place else {
                    let name = baselines.next().context("more baselines than names")?;
                    let result = fio::run(&self.disk, SLICE)?;
                    self.record
                        .slices
                        .push(Slice::plain(round, scheduler, name, &result));
                    continue;
                };
                let variant = self.variants[index].clone();
                if self.is_withdrawn(&variant) {
                    continue;
                }
                match self.measure(&variant, round, scheduler)? {
                    Ok(slices) => self.record.slices.extend(slices),
                    Err(reason) => self.withdraw(&variant, reason)?,
                }
            }
        }
        Ok(())
    }

    /// A variant that failed once has no ratio, because its other rounds may have been incomplete, too.
    fn withdraw(&mut self, variant: &Variant, reason: String) -> Result<()> {
        if variant.is_under_test {
            return Err(Failure::runtime(
                format!("{} could not be measured: {reason}", variant.name),
                "run `iosched doctor`",
            ));
        }
        let slices = &mut self.record.slices;
        slices.retain(|slice| slice.variant != variant.name);
        self.record.cannot_run.push(CannotRun {
            variant: variant.name.clone(),
            reason,
        });
        Ok(())
    }

    fn is_withdrawn(&self, variant: &Variant) -> bool {
        let mut failed = self.record.cannot_run.iter();
        failed.any(|failed| failed.variant == variant.name)
    }

    /// With the tracer attached: a slice for the IOPS, then one for the programs' times. The inner error is the
    /// variant's own.
    fn measure(
        &mut self,
        variant: &Variant,
        round: u32,
        scheduler: &str,
    ) -> Result<Result<[Slice; 2], String>> {
        let mut tracer = match Tracer::start(variant)? {
            Ok(tracer) => tracer,
            Err(reason) => return Ok(Err(reason)),
        };
        let plain = fio::run(&self.disk, SLICE)?;
        let mut counted = {
            let _on = self.statistics.on()?;
            let before = programs::read(tracer.program_ids())?;
            let result = fio::run(&self.disk, SLICE_WITH_STATISTICS)?;
            let after = programs::read(tracer.program_ids())?;
            Slice::counted(round, scheduler, &variant.name, &result, &before, &after)
        };
        counted.map_bytes = Some(tracer.map_bytes());
        if let Err(reason) = tracer.stop() {
            return Ok(Err(reason));
        }
        // Each I/O passes an issue and a completion; a tool with fewer than one run per I/O misses most of them.
        let runs = counted.runs();
        if runs < counted.ios {
            return Ok(Err(format!(
                "its {} programs ran {runs} times in {} I/Os; {}",
                tracer.program_ids().len(),
                counted.ios,
                tracer.complaint()
            )));
        }
        let plain = Slice::plain(round, scheduler, &variant.name, &plain);
        Ok(Ok([plain, counted]))
    }
}
