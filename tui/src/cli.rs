//! The command line of `iosched`.

mod look;
mod metrics;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use look::{Config, ConfigFile, Look};
pub use metrics::Metrics;

/// Watch what the I/O scheduler does to each process, live, and switch schedulers
#[derive(Parser)]
#[command(
    name = "iosched",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
#[command(
    after_help = "Examples:\n  iosched                     all disks; ? explains every key and word\n  \
    iosched nvme0n1 -i 0.5      one disk, twice a second\n  \
    iosched --demo              a simulated SSD with a reader and a writer; F rotates the schedulers\n\n\
    Measuring needs root, or CAP_BPF and CAP_PERFMON; `iosched doctor` says what is missing. Without a terminal, \
    `iosched` is `iosched stat`. To compare schedulers with a verdict, see `iosched-ab --help`."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub watch: Watch,
}

#[derive(Args)]
pub struct Watch {
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Seconds between two updates: 0.25, 0.5, 1, 2, 5 or 10; others are rounded up to one of these [default: 1, or what
    /// the configuration says]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<f64>,
    /// Offer this arm in place of the disk's schedulers; may be repeated. An arm is
    /// [LABEL=]SCHEDULER[,ATTRIBUTE=VALUE]..., as in mq-deadline,iosched/read_expire=200
    #[arg(long = "arm", value_name = "ARM")]
    pub arms: Vec<String>,
    /// Measure one more thing; this costs CPU time at every system call
    #[arg(long, value_enum, value_name = "DETAIL")]
    pub detail: Option<WatchDetail>,
    /// Keep no intervals: this saves CPU time and memory, but there are none to go back to or to write to a file
    #[arg(long)]
    pub no_history: bool,
    #[command(flatten)]
    pub look: Look,
    /// Watch a reader and a greedy writer on a simulated SSD; none of your disks is touched
    #[arg(long, conflicts_with = "devices")]
    pub demo: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchDetail {
    /// Latency since the program submitted the I/O (A2Q, A2D, A2C), for libaio and io_uring
    Asked,
}

#[derive(Subcommand)]
pub enum Command {
    /// Print latency, throughput and merges of each process at every interval
    #[command(
        after_help = "Examples:\n  iosched stat nvme0n1              every second, until Ctrl-C\n  \
        iosched stat /home -i 5 -n 12     the disk below /home: 12 intervals of 5 s\n  \
        iosched stat sda --detail order,fairness\n  \
        iosched stat sda --json | jq '.processes[0]'\n\n\
        Queue wait (Q2D) is the time from the bio's arrival to the first issue to the driver; device time (D2C) is \
        the time from there to completion. `N % waited`: the share of reads and writes whose queue wait was more than a tenth of the \
        median device time; near 0, a scheduler has nothing to decide."
    )]
    Stat(Stat),
    /// Say who waits behind whom on a disk, and what held the requests back
    #[command(
        after_help = "Examples:\n  iosched why sda                 10 seconds, then some sentences and a table\n  \
        iosched why /srv --for 60s      the disks below /srv\n  \
        iosched why --pid 4242          only what this process waits for, on all disks\n  \
        iosched why sda --json | jq '.devices[0].owners[0].behind'\n  \
        iosched why result.json         each arm of a run with --why; needs no privileges\n  \
        blktrace -d /dev/sda -w 10 -o - | blkparse -i - | iosched why -\n\n\
        While n requests are in service, whoever waits is charged for each of them with 1/n of the time; while none is, with the \
        idle device. So the parts add up to the queue wait (Q2D). They say who was there, not what would be without him."
    )]
    Why(Why),
    /// Export counts and histograms for Prometheus: over HTTP, as a file, or once
    #[command(after_help = metrics::HELP)]
    Metrics(Metrics),
    /// Record what the terminal UI would show into a file, for `iosched replay` or a bug report
    #[command(
        after_help = "Examples:\n  iosched snapshot busy.jsonl.gz              all disks, until Ctrl-C\n  \
        iosched snapshot busy.jsonl.gz sda -n 60    one disk, 60 intervals of 1 s\n  \
        zcat busy.jsonl.gz | jq 'select(.interval) | .interval.owners[].comm'\n\n\
        The last 3600 intervals are kept in at most 12 MiB, older ones as sums. The file names processes and control \
        groups. In the terminal UI, W writes such a file."
    )]
    Snapshot(Snapshot),
    /// Show a file of `iosched snapshot` on the screens of the terminal UI; needs no privileges
    #[command(
        after_help = "Example:\n  iosched replay busy.jsonl.gz    Left and Right go through the intervals, Space plays"
    )]
    Replay(Replay),
    /// Say which configuration of the terminal UI is in force, or print it: keys, colors, columns
    #[command(
        after_help = "Examples:\n  iosched config             which file is read, and whether it is valid\n  \
        mkdir -p ~/.config/iosched && iosched config --no-config --print > ~/.config/iosched/config.toml"
    )]
    Config(Config),
    /// Show the schedulers, every effective setting and the hardware queue depth of each disk
    #[command(
        after_help = "Examples:\n  iosched schedulers\n  iosched schedulers sda --json | jq '.[0].settings'"
    )]
    Schedulers(Schedulers),
    /// Switch the scheduler of a disk now, verify it, and print what else changed with it
    #[command(after_help = "Examples:\n  iosched set sda kyber\n  \
        iosched set sda mq-deadline,iosched/read_expire=200,nr_requests=128\n\n\
        All settings are applied, or none. Needs root. The change lasts until the next one, or until reboot.")]
    Set(Set),
    /// Restore what a killed run left changed: schedulers, settings, scratch devices and files
    #[command(
        after_help = "Examples:\n  iosched restore --list     show what would be restored\n  iosched restore"
    )]
    Restore(Restore),
    /// Check every requirement and say how to fix what is missing; exit code 0 if measuring and switching work
    #[command(
        after_help = "Examples:\n  iosched doctor             check all disks\n  \
        iosched doctor sda --json | jq '.items[] | select(.state != \"ok\")'\n\n\
        The BPF programs are attached for a moment, as a test; nothing is changed."
    )]
    Doctor(Doctor),
    /// Print a shell completion script
    #[command(after_help = "Example:\n  iosched completions bash > /etc/bash_completion.d/iosched")]
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print a manual page in roff: `iosched manual stat | man -l -` shows one
    Manual {
        /// The command whose page it is [default: the program's own]
        command: Option<String>,
    },
}

#[allow(clippy::struct_excessive_bools)] // independent switches
#[derive(Args)]
pub struct Stat {
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Length of an interval in seconds, 0.1 to 86400
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: f64,
    /// Stop after COUNT intervals [default: on Ctrl-C]
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub count: Option<u64>,
    /// What one row shows
    #[arg(long, value_enum, default_value_t = By::Process)]
    pub by: By,
    /// Measure and show more; separate several with commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DETAIL")]
    pub detail: Vec<DetailChoice>,
    /// Account writeback to the process that dirtied the pages, not to the kernel's flusher thread
    #[arg(long)]
    pub writeback_owner: bool,
    /// Measure only the device time of each disk, with two BPF programs per I/O instead of four: no processes, queue waits,
    /// merges or journals
    #[arg(long, conflicts_with_all = ["detail", "by", "writeback_owner", "no_q2g", "passthrough", "pid", "cgroup", "unit"])]
    pub light: bool,
    /// Do not measure the wait for a request structure (Q2G): one BPF program less, and queue wait is G2D alone
    #[arg(long)]
    pub no_q2g: bool,
    /// Also measure passthrough requests: the driver's own commands and SG_IO
    #[arg(long)]
    pub passthrough: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Same as --output json
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    /// Show all columns however narrow the terminal is [default: in a terminal, or if COLUMNS is set, the columns that have room]
    #[arg(short, long)]
    pub wide: bool,
    #[command(flatten)]
    pub whose: Whose,
}

/// Which processes are shown.
#[derive(Args, Default)]
pub struct Whose {
    /// Show only this process, which must exist
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Show only this control group and those below it: its path as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", conflicts_with = "unit")]
    pub cgroup: Option<String>,
    /// Show only the control group of this systemd unit and those below it
    #[arg(long, value_name = "NAME")]
    pub unit: Option<String>,
}

impl Stat {
    /// `iosched stat` with the options of `iosched`.
    pub fn of(watch: &Watch) -> Self {
        let detail = watch.detail.iter().map(|detail| match detail {
            WatchDetail::Asked => DetailChoice::Asked,
        });
        Stat {
            devices: watch.devices.clone(),
            interval: watch.interval.unwrap_or(1.0),
            count: None,
            by: By::Process,
            detail: detail.collect(),
            writeback_owner: false,
            light: false,
            no_q2g: false,
            passthrough: false,
            output: Output::Text,
            json: false,
            wide: false,
            whose: Whose::default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// One process on one device
    Process,
    /// One file of one process on one device: regular files by path, metadata, journal, swap. Bios that were merged count
    /// with the file of the request's first bio
    File,
    /// One control group on one device
    Cgroup,
    /// Devices only
    Device,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhyBy {
    /// All I/O of a process together
    Process,
    /// One file of one process: regular files by path, metadata, journal, swap
    File,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DetailChoice {
    /// Order of dispatch: reordering, seeks, runs of reads and of writes
    Order,
    /// Share of the device's time, Jain's fairness index, starvation
    Fairness,
    /// Merges, request sizes, latency per bio
    Merges,
    /// Latency of every stage (Q2G, G2D, I2D, D2C, Q2C), and what fsync waits for
    Stages,
    /// What each process waits for: tags by pool, throttle, plug, scheduler, flushes, requeues, device
    Waits,
    /// Latency since the program submitted the I/O (A2Q, A2D, A2C), for libaio and io_uring; slows every system call
    Asked,
    /// Time in fsync by what it waits for, throttled writers, waits for writeback; slows system calls and context switches
    Syncs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table per interval
    Text,
    /// One line with a JSON object per interval
    Json,
    /// One row per device and per process
    Csv,
}

#[derive(Args)]
pub struct Why {
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks]; or one file: a result of iosched-ab
    /// (run --why or --trace), or blkparse's text, `-` for standard input
    #[arg(value_name = "DEVICE|FILE")]
    pub devices: Vec<String>,
    /// How long to look, such as 10s or 2m; at most 1,048,576 requests [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = look_time)]
    pub time: Option<Duration>,
    /// Who waits: a process, or each file of a process
    #[arg(long, value_enum, default_value_t = WhyBy::Process)]
    pub by: WhyBy,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub whose: Whose,
}

#[derive(Args)]
pub struct Snapshot {
    /// File to write: JSON Lines, compressed by gzip
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Length of an interval in seconds, 0.1 to 86400
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: f64,
    /// Stop after COUNT intervals [default: on Ctrl-C]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct Replay {
    /// File to show
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Args)]
pub struct Schedulers {
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Doctor {
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Set {
    /// Kernel name, path, partition or mount point of the disk
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// SCHEDULER[,ATTRIBUTE=VALUE]...; ATTRIBUTE is a file below /sys/block/DEVICE/queue/
    #[arg(value_name = "ARM")]
    pub arm: String,
}

#[derive(Args)]
pub struct Restore {
    /// Show what was left changed, and change nothing
    #[arg(long)]
    pub list: bool,
    /// Restore what this journal says, although another user could have written it; check it with --list first
    #[arg(long, value_name = "JOURNAL", conflicts_with = "list")]
    pub trust: Option<PathBuf>,
    /// Restore nothing: rename this journal, so that it no longer blocks other runs
    #[arg(long, value_name = "JOURNAL", conflicts_with_all = ["list", "trust"])]
    pub set_aside: Option<PathBuf>,
}

fn look_time(text: &str) -> Result<Duration, String> {
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?,
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string())?,
    };
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&time) {
        Ok(time)
    } else {
        Err("give a time from 100ms to 1h".to_owned())
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("give a number of seconds from 0.1 to 86400".to_owned()),
    }
}
