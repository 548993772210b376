//! The arguments of `iosched-ab`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use iosched::ab::stopping::Stopping;
use iosched::scratch::Model;

/// Compare: which I/O scheduler is right for this device and this workload?
#[derive(Parser)]
#[command(
    name = "iosched-ab",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 done, 1 run-time error, 2 usage, 3 a gate failed, 4 no decision where one was \
    required, 5 refused before anything was touched, 6 the run is invalid, 130 and 143 interrupted after everything was put back."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Interleaved rounds of a workload under each arm, with a verdict
    #[command(after_help = RUN_HELP)]
    Run(Box<Run>),
    /// An arm against itself: how small a difference can this machine show, and in what time?
    #[command(after_help = "Example:\n  iosched-ab aa nvme0n1 --workload randread --quick")]
    Aa(Box<Aa>),
    /// A complete comparison on a scratch device of its own; needs nothing but root
    #[command(
        after_help = "Example:\n  iosched-ab demo -o demo.json && jq '.comparisons[0]' demo.json"
    )]
    Demo(Demo),
    /// Make a device with a known service time, on which schedulers differ; it is removed on Ctrl-C
    #[command(
        after_help = "Examples:\n  iosched-ab scratch                  an SSD of 1 GiB, until Ctrl-C\n  \
        iosched-ab scratch --model hdd -- fio --filename={} ...   as long as the command runs; {} is the device"
    )]
    Scratch(Scratch),
    /// Print a result file again
    #[command(after_help = "Examples:\n  iosched-ab report result.json --all\n  \
        iosched-ab report result.json --format markdown >> \"$GITHUB_STEP_SUMMARY\"")]
    Report(Report),
    /// Pass or fail by exit code, for CI
    #[command(after_help = GATE_HELP)]
    Gate(Gate),
    /// List the built-in workloads
    Workloads,
    /// Print a completion script
    #[command(
        after_help = "Example:\n  iosched-ab completions bash > /etc/bash_completion.d/iosched-ab"
    )]
    Completions { shell: clap_complete::Shell },
}

const RUN_HELP: &str = "\
ARM is [LABEL=]SCHEDULER[,ATTRIBUTE=VALUE]..., with attributes below the device's queue/:
  --arm mq-deadline,iosched/read_expire=200,nr_requests=128   --arm tight=kyber,iosched/read_lat_nsec=1000000
DEVICE may be scratch:ssd, scratch:hdd or scratch:ram, a device made for this run. Of an array (md, LVM, a btrfs of
several devices) the disks below it are switched together.

Examples:
  iosched-ab run nvme0n1 --arm none --arm kyber --workload randread
  iosched-ab run sda --arm mq-deadline --arm bfq --job db.fio --metric read_total_p99:10 --rounds 12
  iosched-ab run /srv/data --arm none --arm kyber --workload randwrite --allow-mounted  in a file
  iosched-ab run sdb --arm none --arm bfq --destroy-data --yes-destroy S3X9NX0 -- ./my-benchmark
  iosched-ab run --resume iosched-ab-20260203T040506Z.json
  iosched-ab run scratch:ssd --arm none --arm mq-deadline --workload probe-hog --metric probe.read_clat_p50";

/// What is run, for how long, and where the result goes.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // they are the command line
pub struct Conditions {
    /// A built-in workload, see `iosched-ab workloads`
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// A fio job file; options that reach beyond the device and the round are refused
    #[arg(long, value_name = "FILE")]
    pub job: Option<PathBuf>,
    /// Any command; it sees IOSCHED_DEVICE (of several the first; IOSCHED_DEVICES has all), IOSCHED_ARM, IOSCHED_BLOCK,
    /// IOSCHED_ROUND, IOSCHED_SEED, and with --scratch IOSCHED_SCRATCH, a directory that each round finds empty
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// A command that takes longer is ended, and its round does not count
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["workload", "job"])]
    pub limit: Option<Duration>,
    /// Measured length of a round
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = round_time)]
    pub round_time: Duration,
    /// Left out at the start of a round
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub ramp: Duration,
    /// Rounds of 5 s after 2 s; slow reactions of a scheduler are not seen
    #[arg(long, conflicts_with_all = ["round_time", "ramp"])]
    pub quick: bool,
    /// A primary metric, and the difference that matters in per cent [default: throughput and program_p99; elapsed
    /// for a command]
    #[arg(long = "metric", value_name = "NAME[:MARGIN]")]
    pub metrics: Vec<String>,
    /// Of the schedule and the workloads [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// The workload runs in a file of its own in this directory, on a mounted file system of DEVICE: the raw device is not
    /// written, and the file is removed at the end [default: DEVICE, if that is a mount point and the workload writes]
    #[arg(long, value_name = "DIR", conflicts_with = "destroy_data")]
    pub scratch: Option<PathBuf>,
    /// Of that file, which is written whole first [default: 1G, or a tenth of the free space if that is less; for a
    /// command there is none]
    #[arg(long, value_name = "SIZE", value_parser = bytes, conflicts_with = "destroy_data")]
    pub scratch_size: Option<u64>,
    /// The workload may write to the raw device: all data on it is lost. Asks for the disk's serial number or name
    #[arg(long)]
    pub destroy_data: bool,
    /// The answer to that, where there is no terminal to ask on
    #[arg(long, value_name = "SERIAL", requires = "destroy_data")]
    pub yes_destroy: Option<String>,
    /// The device is in use by a mounted file system, and may have its scheduler switched nevertheless
    #[arg(long)]
    pub allow_mounted: bool,
    /// Result file [default: iosched-ab-TIMESTAMP.json]; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the result file if it exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
#[allow(clippy::struct_field_names)] // they are the command line
#[command(group = ArgGroup::new("load").required(true).args(["workload", "job", "command", "resume"]))]
pub struct Run {
    /// Kernel name, path, partition or mount point; several are switched together and measured as one. Or scratch:ssd,
    /// scratch:hdd, scratch:ram
    #[arg(value_name = "DEVICE", required_unless_present = "resume")]
    pub devices: Vec<String>,
    /// A scheduler with its settings; give at least two
    #[arg(long = "arm", value_name = "ARM", required_unless_present = "resume")]
    pub arms: Vec<String>,
    /// The arm that others are compared to [default: the present scheduler if it is an arm, else the first]
    #[arg(long, value_name = "LABEL")]
    pub reference: Option<String>,
    /// Rounds per arm: a number; `auto`: 8, 12, 16 or 20, until the primary metrics have their verdicts; `open`: until
    /// they have, however long, or Ctrl-C, with intervals that hold at any time
    #[arg(long, value_name = "N|auto|open", default_value = "auto", value_parser = rounds)]
    pub rounds: Stopping,
    #[command(flatten)]
    pub conditions: Conditions,
    /// Go on with an interrupted run, whose file says all but the consents; it is written on
    #[arg(long, value_name = "FILE", conflicts_with_all = ["devices", "arms", "reference", "rounds", "round_time",
        "ramp", "quick", "metrics", "seed", "output", "force", "dry_run", "limit", "scratch", "scratch_size"])]
    pub resume: Option<PathBuf>,
    /// Go on with a file that somebody else could have written: its command and settings, which are shown, are yours
    #[arg(long, requires = "resume")]
    pub trust: bool,
    /// Print the schedule and touch nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
#[command(group = ArgGroup::new("load").required(true).args(["workload", "job", "command"]))]
pub struct Aa {
    /// Kernel name, path, partition or mount point, also several; or scratch:ssd, scratch:hdd, scratch:ram
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<String>,
    /// What runs as both arms [default: the present scheduler; none on a scratch device]
    #[arg(long, value_name = "ARM")]
    pub arm: Option<String>,
    /// Rounds per arm: a number, auto or open
    #[arg(long, value_name = "N", default_value = "12", value_parser = rounds)]
    pub rounds: Stopping,
    #[command(flatten)]
    pub conditions: Conditions,
}

#[derive(Args)]
pub struct Demo {
    /// Result file [default: iosched-ab-demo-TIMESTAMP.json]; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the result file if it exists
    #[arg(long)]
    pub force: bool,
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

#[derive(Args)]
pub struct Scratch {
    #[arg(long, default_value = "ssd")]
    pub model: Model,
    /// Size in bytes, or with K, M, G
    #[arg(long, default_value = "1G", value_parser = bytes)]
    pub size: u64,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Keep the device as long as this command runs; `{}` in it is the device's path
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Args)]
pub struct Report {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The exploratory metrics too, in the text
    #[arg(long)]
    pub all: bool,
    /// Where to [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite that file if it exists
    #[arg(long)]
    pub force: bool,
}

const GATE_HELP: &str = "\
Without --baseline each arm is held against the reference of the same run: name the old settings as --reference.
With it, the ratio to the reference is held against that of earlier runs. Five or more of them show how much it varies;
fewer are taken to vary by 3 %, which is said.

Exit codes: 0 passed, 3 failed, 4 no decision where one was required or a baseline that cannot be compared, 6 invalid.

Examples:
  iosched-ab gate result.json
  iosched-ab gate result.json --mode noninferior
  iosched-ab gate result.json --baseline nightly-*.json";

#[derive(Args)]
pub struct Gate {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Earlier results of the same device, workload and reference
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub baseline: Vec<PathBuf>,
    #[arg(long, value_enum, default_value_t = GateMode::Worse)]
    pub mode: GateMode,
    /// Inconclusive comparisons do not pass (exit code 4)
    #[arg(long)]
    pub require_verdict: bool,
    /// The kernel is what is tested: baselines of another one are accepted
    #[arg(long)]
    pub other_kernel: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum GateMode {
    /// Fails what is shown to be worse
    Worse,
    /// Fails what is shown to be worse by more than the margin
    BeyondMargin,
    /// Fails what is worse, and does not pass what is not shown to be within the margin
    Noninferior,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    Text,
    Json,
    /// A row per round
    Csv,
    /// For a step summary or a comment
    Markdown,
    /// A test case per primary comparison; worse is a failure
    Junit,
    /// The same in the kernel's test protocol
    Ktap,
    /// Go's benchmark format: benchstat -col /arm
    Benchfmt,
    /// Bencher
    Bmf,
    /// For github-action-benchmark: two files, FILE-smaller.json and FILE-bigger.json
    GithubBenchmark,
    /// Prometheus
    Openmetrics,
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    let length = parsed.map_err(|error| format!("{error}; for instance 20s, 1500ms or 2m"))?;
    if length > Duration::from_secs(86_400) {
        return Err("a time from 0 to a day is needed".to_owned());
    }
    Ok(length)
}

fn round_time(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    if length < Duration::from_millis(100) {
        return Err("a round of at least 100ms is needed".to_owned());
    }
    Ok(length)
}

fn rounds(text: &str) -> Result<Stopping, String> {
    match text {
        "auto" => Ok(Stopping::Looks),
        "open" => Ok(Stopping::Open),
        _ => match text.parse() {
            Ok(blocks @ 1..=1000) => Ok(Stopping::Fixed { blocks }),
            _ => Err("a number from 1 to 1000, auto or open is needed".to_owned()),
        },
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("{text} is not a size such as 512M or 2G"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("{text} is too large"))
}
