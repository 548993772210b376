//! How the costs grow with the number of processes, of disks, and of the rounds of a result: tables in Markdown for
//! docs/performance.md, with the exponent of each cost. Needs root, a C compiler and GNU time. Times are ratios to the smallest case
//! of the same run; the cases run interleaved, in random order.

#[allow(dead_code)] // the other bench uses more of it
#[path = "../overhead/disk.rs"]
mod disk;
mod exponent;
#[allow(dead_code)]
#[path = "../overhead/programs.rs"]
mod programs;
mod results;
mod table;
mod watching;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use iosched_files::interrupt;
use iosched_result::failure::{self, Failure};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use disk::Disk;
use table::{Case, Column, Costs, Growth};

const PROCESSES: [u64; 3] = [10, 1_500, 20_000];
const DISKS: [u64; 3] = [1, 64, 500];
/// Distributed over the disks.
const PROCESSES_ON_DISKS: u64 = 500;
const ROUNDS: [u64; 3] = [10, 1_000, 10_000];
const BYTES: u64 = 4 << 20;

#[derive(Parser)]
#[command(name = "growth", about = "How the costs grow")]
struct Arguments {
    /// How often each case runs
    #[arg(long, env = "RUNS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Only what reads results; needs no root
    #[arg(long)]
    results_only: bool,
    /// Used by this bench itself: so many processes read the disks
    #[arg(long, hide = true, requires = "readers")]
    one_case: Option<u64>,
    #[arg(long, hide = true)]
    readers: Option<PathBuf>,
    #[arg(hide = true)]
    disks: Vec<String>,
    /// Passed by `cargo bench`; without it, as in `cargo test --benches`, nothing runs
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.bench {
        println!("growth: nothing measured; run it with `cargo bench --bench growth`");
        return ExitCode::SUCCESS;
    }
    match interrupt::install().and_then(|()| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("growth: {error:#}");
            ExitCode::from(failure::kind_of(&error).exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if let (Some(processes), Some(readers)) = (arguments.one_case, &arguments.readers) {
        let costs = watching::one_case(readers, processes, &arguments.disks)?;
        println!("{}", serde_json::to_string(&costs)?);
        return Ok(());
    }
    let seed = u64::from(std::process::id());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let directory = tempfile::tempdir()?;
    println!(
        "Times as multiples of the first row's, medians of {} runs in random order [least, most]; the exponent e of cost ~ size^e\n\
         {}, seed {seed}\n",
        arguments.runs,
        machine()
    );
    if !arguments.results_only {
        watch(arguments.runs, &mut random, directory.path())?;
    }
    let files = ROUNDS.map(|rounds| results::write(directory.path(), rounds));
    let files: Vec<PathBuf> = files.into_iter().collect::<Result<_>>()?;
    let cases = interleaved("results", &ROUNDS, arguments.runs, &mut random, |place| {
        results::costs(&files[place])
    })?;
    print("rounds of a result", &results::COLUMNS, cases);
    Ok(())
}

fn watch(runs: u32, random: &mut ChaCha8Rng, directory: &Path) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::refused(
            "only root can attach BPF programs and make a loop device",
            "run it with sudo, or with --results-only",
        ));
    }
    let readers = watching::compile(directory)?;
    let most = DISKS.into_iter().max().unwrap_or(1);
    let disks = (0..most)
        .map(|_| Disk::of(BYTES))
        .collect::<Result<Vec<Disk>>>()?;
    let names: Vec<String> = disks.iter().map(|disk| disk.name.clone()).collect();
    let cases = interleaved("processes", &PROCESSES, runs, random, |place| {
        watching::costs(&readers, PROCESSES[place], &names[..1])
    })?;
    print("processes on a disk", &watching::COLUMNS, cases);
    let cases = interleaved("disks", &DISKS, runs, random, |place| {
        let count = usize::try_from(DISKS[place])?;
        watching::costs(&readers, PROCESSES_ON_DISKS, &names[..count])
    })?;
    print("disks of 500 processes", &watching::COLUMNS, cases);
    Ok(())
}

fn interleaved(
    what: &str,
    sizes: &[u64],
    runs: u32,
    random: &mut ChaCha8Rng,
    cost: impl Fn(usize) -> Result<Costs>,
) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = sizes
        .iter()
        .map(|&size| Case {
            size,
            runs: Vec::new(),
        })
        .collect();
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}, {eta} left")
        .context("the bar's template")?;
    let bar = ProgressBar::new(u64::from(runs) * sizes.len() as u64)
        .with_style(style)
        .with_prefix(what.to_owned());
    for _ in 0..runs {
        let mut order: Vec<usize> = (0..cases.len()).collect();
        order.shuffle(random);
        for place in order {
            cases[place].runs.push(cost(place)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(cases)
}

fn print(dimension: &str, columns: &[Column], cases: Vec<Case>) {
    let growth = Growth {
        dimension,
        columns,
        cases,
    };
    println!("{}", growth.markdown());
}

fn machine() -> String {
    let found = iosched_host::system::environment::read(None);
    format!(
        "{}, {} CPUs, Linux {}",
        found.cpu_model.as_deref().unwrap_or("unknown processor"),
        found.cpus,
        found.kernel_release
    )
}
