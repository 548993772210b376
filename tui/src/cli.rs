//! The arguments of `iosched`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Look: what does the I/O scheduler do to each process?
#[derive(Parser)]
#[command(
    name = "iosched",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
#[command(
    after_help = "Examples:\n  iosched                     all disks, on the terminal; ? shows every key\n  \
    iosched nvme0n1 -i 0.5      one disk, twice a second\n  \
    iosched --demo              a simulated SSD with two processes at work: F rotates the schedulers\n\n\
    Without a terminal it is `iosched stat`. To compare schedulers on a device, see `iosched-ab --help`."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub watch: Watch,
}

#[derive(Args)]
pub struct Watch {
    /// Kernel name, path, partition or mount point; all disks if none is given
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Seconds from picture to picture; 0.25 to 10
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: f64,
    /// Offer this scheduler with settings, too: [LABEL=]SCHEDULER[,ATTRIBUTE=VALUE]...
    #[arg(long = "arm", value_name = "ARM")]
    pub arms: Vec<String>,
    /// Measure more than order and fairness: costs time at every system call
    #[arg(long, value_enum, value_name = "DETAIL")]
    pub detail: Option<WatchDetail>,
    /// On a simulated SSD of its own, a reader and a greedy writer at work
    #[arg(long, conflicts_with = "devices")]
    pub demo: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchDetail {
    /// Since the program asked (A2Q, A2D, A2C): for libaio and io_uring
    Asked,
}

#[derive(Subcommand)]
pub enum Command {
    /// Latency, throughput and merges of each process, interval by interval
    #[command(
        after_help = "Examples:\n  iosched stat nvme0n1              every second, until Ctrl-C\n  \
        iosched stat /home -i 5 -n 12     the disk below /home, a minute in steps of 5 s\n  \
        iosched stat sda --json | jq '.processes[0]'\n\n\
        queue wait: from the bio's arrival to the first issue; device: from there to completion."
    )]
    Stat(Stat),
    /// Schedulers, every effective setting and the hardware depth of each device
    #[command(
        after_help = "Examples:\n  iosched schedulers\n  iosched schedulers sda --json | jq '.[0].settings'"
    )]
    Schedulers(Schedulers),
    /// Switch the scheduler of a device now, verified; prints what else changed with it
    #[command(after_help = "Examples:\n  iosched set sda kyber\n  \
        iosched set sda mq-deadline,iosched/read_expire=200,nr_requests=128")]
    Set(Set),
    /// Put back what a killed run left behind
    #[command(
        after_help = "Examples:\n  iosched restore --list     show it only\n  iosched restore"
    )]
    Restore(Restore),
    /// Every requirement, whether it holds, and how to mend it; exit code 0 if measuring and switching work
    #[command(
        after_help = "Examples:\n  iosched doctor             of all disks\n  \
        iosched doctor sda --json | jq '.items[] | select(.state != \"ok\")'\n\n\
        The probe is attached and detached for it; nothing is changed."
    )]
    Doctor(Doctor),
    /// Print a completion script
    #[command(after_help = "Example:\n  iosched completions bash > /etc/bash_completion.d/iosched")]
    Completions { shell: clap_complete::Shell },
}

#[allow(clippy::struct_excessive_bools)] // independent switches
#[derive(Args)]
pub struct Stat {
    /// Kernel name, path, partition or mount point; all disks if none is given
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Length of an interval in seconds
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: f64,
    /// End after so many intervals
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub count: Option<u64>,
    /// What a row stands for
    #[arg(long, value_enum, default_value_t = By::Process)]
    pub by: By,
    /// Show more, and measure it: several with commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DETAIL")]
    pub detail: Vec<Detail>,
    /// Charge writeback to the process that dirtied the pages, not to the kernel's flusher
    #[arg(long)]
    pub writeback_owner: bool,
    /// Leave out the wait for a request to exist (Q2G): one BPF program less, and the queue wait is G2D alone
    #[arg(long)]
    pub no_q2g: bool,
    /// Measure the driver's own commands and SG_IO, too
    #[arg(long)]
    pub passthrough: bool,
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// As --output json
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    /// Only this process
    #[arg(long)]
    pub pid: Option<u32>,
    /// Only this control group and those below it, as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
}

impl Stat {
    /// The same look, line by line.
    pub fn of(watch: &Watch) -> Self {
        let detail = watch.detail.iter().map(|detail| match detail {
            WatchDetail::Asked => Detail::Asked,
        });
        Stat {
            devices: watch.devices.clone(),
            interval: watch.interval,
            count: None,
            by: By::Process,
            detail: detail.collect(),
            writeback_owner: false,
            no_q2g: false,
            passthrough: false,
            output: Output::Text,
            json: false,
            pid: None,
            cgroup: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    Process,
    Cgroup,
    Device,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Detail {
    /// Reordering, seeks, runs of reads and of writes
    Order,
    /// Shares of the device's time, Jain's index, starvation
    Fairness,
    /// Merges, sizes, latency per bio
    Merges,
    /// Every stage of every operation and process, and what fsync waits for
    Stages,
    /// Since the program asked (A2Q, A2D, A2C): for libaio and io_uring; costs time at every system call
    Asked,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Text,
    /// One JSON object a line and interval
    Json,
    Csv,
}

#[derive(Args)]
pub struct Schedulers {
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Doctor {
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Set {
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// SCHEDULER[,ATTRIBUTE=VALUE]...
    #[arg(value_name = "ARM")]
    pub arm: String,
}

#[derive(Args)]
pub struct Restore {
    /// Show what was left behind and change nothing
    #[arg(long)]
    pub list: bool,
    /// Put back what this journal says, although somebody else could have written it; look at it with --list first
    #[arg(long, value_name = "JOURNAL", conflicts_with = "list")]
    pub trust: Option<PathBuf>,
    /// Put nothing back: keep this journal under another name, so that it holds nothing up any more
    #[arg(long, value_name = "JOURNAL", conflicts_with_all = ["list", "trust"])]
    pub set_aside: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.1 to 86400 is needed".to_owned()),
    }
}
