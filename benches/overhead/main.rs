//! Overhead of watching: what `iosched stat` and its peers cost per I/O of three loads on a loop device on memory, in the
//! kernel and in user space. Needs root, fio and bpftool.
//!
//! All variants run interleaved within each round, in random order, beside the same running load, and are compared only with
//! others of the same round. A peer that cannot run is listed with its reason and never as a number. The loop device, its
//! file, the tracers and `kernel.bpf_stats_enabled` are restored at every end except SIGKILL.
//!
//! `cargo build --release -p iosched-tui && cargo bench --bench overhead -- --json raw.json`

mod as_result;
mod counters;
mod disk;
mod floor;
mod load;
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
use load::{Kind, Load};
use programs::Statistics;
use record::{CannotRun, Condition, Counted, Record, Slice, Window};
use tracer::{Tracer, Variant};

const SCHEDULERS: [&str; 2] = ["none", "mq-deadline"];
/// Two in each round: what differs between them is the noise of every other number.
const BASELINES: [&str; 2] = ["nothing A", "nothing B"];
const OURS: &str = "iosched";
const OURS_AGAIN: &str = "iosched, again";
const PEER: &str = "biolatency";
const WINDOW: Duration = Duration::from_millis(700);
const WINDOW_WITH_STATISTICS: Duration = Duration::from_millis(500);

#[allow(clippy::struct_excessive_bools)] // switches of the command line
#[derive(Parser)]
#[command(
    name = "overhead",
    about = "The overhead of watching, measured in interleaved rounds"
)]
struct Arguments {
    /// Number of rounds; fewer if the budget ends before
    #[arg(long, env = "ROUNDS", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// No round starts that would end after this many seconds
    #[arg(long, env = "BUDGET_S", default_value_t = 1500)]
    budget_s: u64,
    /// Only these loads
    #[arg(long, value_enum, value_delimiter = ',')]
    load: Vec<Kind>,
    /// Write the raw numbers of every slice to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a result of iosched-ab for each load and scheduler to this directory, for `iosched-ab gate --baseline`
    #[arg(long, value_name = "DIRECTORY")]
    results: Option<PathBuf>,
    /// Print nanoseconds, too, which hold for this machine and this hour only
    #[arg(long)]
    absolute: bool,
    /// The binary to measure [default: the one in this profile's directory]
    #[arg(long, value_name = "PATH")]
    iosched: Option<PathBuf>,
    /// Another build of iosched, compared in the same rounds
    #[arg(long, value_name = "NAME=PATH", value_parser = named_path)]
    also: Vec<(String, PathBuf)>,
    /// Measure iosched's default and biolatency only, and what --also names
    #[arg(long)]
    few: bool,
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
        conditions: conditions(&arguments.load),
        disk,
        statistics,
        variants,
    };
    bench.try_all()?;
    let mut longest = Duration::ZERO;
    for round in 1..=arguments.rounds {
        if begin.elapsed() + longest > Duration::from_secs(arguments.budget_s) {
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
    if let Some(directory) = &arguments.results {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("making {}", directory.display()))?;
        for (name, result) in as_result::results(&bench.record)? {
            let path = directory.join(name);
            std::fs::write(&path, serde_json::to_vec(&result)?)
                .with_context(|| format!("writing {}", path.display()))?;
            println!("written: {}", path.display());
        }
    }
    let text = table::render(&bench.record, arguments.absolute);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn conditions(loads: &[Kind]) -> Vec<Condition> {
    let loads = if loads.is_empty() { &Kind::ALL } else { loads };
    let on = |&load| SCHEDULERS.map(|scheduler| Condition { load, scheduler });
    loads.iter().flat_map(on).collect()
}

fn variants(arguments: &Arguments, device: &str) -> Result<Vec<Variant>> {
    let binary = match &arguments.iosched {
        Some(path) => path.clone(),
        None => beside_this_binary()?,
    };
    let mut variants = Vec::new();
    for (name, options) in [
        (OURS, &[][..]),
        (OURS_AGAIN, &[]),
        ("iosched, order, fairness", &["--detail", "order,fairness"]),
        (
            "iosched, all details",
            &["--detail", "order,fairness,stages"],
        ),
        ("iosched, waits", &["--detail", "waits"]),
        ("iosched, by file", &["--by", "file"]),
        ("iosched, syncs", &["--detail", "syncs"]),
        ("iosched, no Q2G", &["--no-q2g"]),
        ("iosched, light", &["--light"]),
    ] {
        if !arguments.few || options.is_empty() {
            variants.push(Variant::iosched(name, binary.clone(), device, options)?);
        }
    }
    for (name, path) in &arguments.also {
        let name = format!("iosched {name}");
        variants.push(Variant::iosched(&name, path.clone(), device, &[])?);
    }
    if !arguments.few {
        variants.push(Variant::floor()?);
    }
    let mut peers = Variant::peers(device);
    if arguments.few {
        peers.retain(|peer| peer.name == PEER);
    }
    if !arguments.no_peers {
        variants.extend(peers);
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
    conditions: Vec<Condition>,
    disk: Disk,
    statistics: Statistics,
    variants: Vec<Variant>,
}

impl Bench {
    /// A variant that does not run here is removed, with its reason.
    fn try_all(&mut self) -> Result<()> {
        let condition = self.conditions[0];
        self.disk.switch(condition.scheduler)?;
        let mut load = Load::start(condition.load, &self.disk)?;
        for variant in self.variants.clone() {
            if let Err(reason) = self.beside(&variant, 0, condition, &mut load)? {
                self.withdraw(&variant, reason)?;
            }
        }
        Ok(())
    }

    fn round(&mut self, round: u32) -> Result<()> {
        let mut conditions = self.conditions.clone();
        conditions.shuffle(&mut self.random);
        for condition in conditions {
            self.disk.switch(condition.scheduler)?;
            let mut load = Load::start(condition.load, &self.disk)?;
            let mut order: Vec<Option<usize>> = (0..self.variants.len()).map(Some).collect();
            order.extend(BASELINES.map(|_| None));
            order.shuffle(&mut self.random);
            let mut baselines = BASELINES.iter();
            for place in order {
                let Some(index) = place else {
                    let name = baselines.next().context("more baselines than names")?;
                    let plain = self.window(&mut load, None, WINDOW)?;
                    self.keep(Slice {
                        round,
                        condition,
                        variant: (*name).to_owned(),
                        plain,
                        counted: None,
                    });
                    continue;
                };
                let variant = self.variants[index].clone();
                if self.is_withdrawn(&variant) {
                    continue;
                }
                match self.beside(&variant, round, condition, &mut load)? {
                    Ok(slice) => self.keep(slice),
                    Err(reason) => self.withdraw(&variant, reason)?,
                }
            }
        }
        Ok(())
    }

    /// Tools that watch every disk pay for foreign I/O, and a busy machine changes everything.
    fn keep(&mut self, slice: Slice) {
        let counted = slice.counted.as_ref().map(|counted| &counted.window);
        if slice.plain.has_foreign_load() || counted.is_some_and(Window::has_foreign_load) {
            self.record.refused += 1;
        } else {
            self.record.slices.push(slice);
        }
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

    /// Measures a window beside the attached tracer as users have it, then one with the times of its programs. The inner error
    /// is the variant's own.
    fn beside(
        &mut self,
        variant: &Variant,
        round: u32,
        condition: Condition,
        load: &mut Load,
    ) -> Result<Result<Slice, String>> {
        let mut tracer = match Tracer::start(variant)? {
            Ok(tracer) => tracer,
            Err(reason) => return Ok(Err(reason)),
        };
        let plain = self.window(load, Some(tracer.pid()), WINDOW)?;
        let counted = {
            let _on = self.statistics.on()?;
            let before = programs::read(tracer.program_ids())?;
            let window = self.window(load, Some(tracer.pid()), WINDOW_WITH_STATISTICS)?;
            let after = programs::read(tracer.program_ids())?;
            Counted {
                window,
                programs: programs::between(&before, &after),
                map_bytes: tracer.map_bytes(),
            }
        };
        if let Err(reason) = tracer.stop() {
            return Ok(Err(reason));
        }
        // Each I/O passes an issue and a completion; a tool with fewer than one run per I/O misses most of them.
        let runs = counted.runs();
        if runs < counted.window.ios {
            return Ok(Err(format!(
                "its {} programs ran {runs} times in {} I/Os; {}",
                tracer.program_ids().len(),
                counted.window.ios,
                tracer.complaint()
            )));
        }
        Ok(Ok(Slice {
            round,
            condition,
            variant: variant.name.clone(),
            plain,
            counted: Some(counted),
        }))
    }

    fn window(&self, load: &mut Load, tool: Option<u32>, length: Duration) -> Result<Window> {
        let before = self.counters(load, tool)?;
        let end = Instant::now() + length;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            interrupt::check()?;
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
        load.ensure_runs()?;
        Ok(self.counters(load, tool)?.since(before))
    }

    fn counters(&self, load: &Load, tool: Option<u32>) -> Result<Window> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Ok(Window {
            time_ns: now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64,
            ios: counters::ios_of(&self.disk.name)?,
            foreign_ios: counters::foreign_ios(&self.disk.name)?,
            load_cpu_ns: counters::cpu_ns_of_load(load.pid())?,
            tool_cpu_ns: tool.and_then(counters::cpu_ns_of),
        })
    }
}
