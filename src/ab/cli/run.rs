//! The command line of `iosched-ab run` and `aa`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use iosched_result::metric::listed;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::text::size::bytes;
use iosched_result::types::cold::Cold;
use iosched_result::types::washout::Washout;

use iosched_experiment::live::condition::Condition;
use iosched_experiment::workload::application::asked::Asked;
use iosched_experiment::workload::reported::pattern::Pattern;
use iosched_experiment::workload::reported::programs;
use iosched_result::types::between::Between;
use iosched_result::types::participant::Named;

use super::heading;
use super::values::{
    Chosen, Rounds, budget, cold, duration, long_duration, ramp, round_time, rounds,
    rounds_or_more, trace_time, washout,
};

pub fn help() -> String {
    let (metrics, programs) = (listed::help(), programs());
    format!("{HELP_OF_ARMS}{HELP_OF_METRICS}{metrics}{programs}{HELP_OF_COMMANDS}")
}

/// The programs whose output is read, in lines as wide as the others.
fn programs() -> String {
    const WIDE: usize = 84;
    // These two run another program.
    let names = programs::names().into_iter();
    let names: Vec<&str> = names
        .filter(|name| !["perf", "time"].contains(name))
        .collect();
    let text = format!(
        "its output is parsed if it is one of {}; perf stat and /usr/bin/time -v are read beside it; \
         --metric-regex finds others;",
        names.join(", ")
    );
    let mut lines = vec!["  of a COMMAND:".to_owned()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if lines[last].len() + word.len() < WIDE {
            lines[last].push(' ');
            lines[last].push_str(word);
        } else {
            lines.push(format!("    {word}"));
        }
    }
    lines.join("\n") + "\n"
}

/// Before the options, because most people look for a line that they can change.
pub const EXAMPLES: &str = "\
Examples:
  iosched-ab run scratch:ssd --arm none --arm bfq --workload probe-hog       a simulated SSD
  iosched-ab run nvme0n1 --arm none --arm kyber --workload randread --budget 20m
  iosched-ab run sdb --arm mq-deadline --arm bfq --job mine.fio --prefer throughput
  iosched-ab run sda --allow-mounted --workload live --arm present --arm bfq    the load it has";

const HELP_OF_ARMS: &str = "\
ARM is [LABEL=]SCHEDULER[,SETTING=VALUE]..., or `present` for the scheduler and
settings in force. A setting is a file below /sys/block/DEVICE/queue/, one of a control
group, one of the system, or what a command does (docs/arms.md):
  --arm mq-deadline,iosched/read_expire=200,nr_requests=128
  --arm tight=kyber,iosched/read_lat_nsec=1000000
  --arm capped=none,cgroup:/batch.slice/io.max=wbps=50000000
  --arm small=none,vm.dirty_bytes=67108864
  --arm policy=bfq,exec:./load-policy,undo:./unload-policy

The simulated disks scratch:ssd, scratch:hdd and scratch:ram are made for the run;
scratch:ssd+ext4 (xfs, btrfs) has a file system, on which the workload runs,
scratch:ssd*8 has eight LUNs, and scratch:ssd*4+btrfs is a btrfs of four.
If DEVICE is an array (md, LVM, a btrfs on several devices), all disks below it are
switched together.

TIME is a number of seconds, or 20s, 1500ms, 2m. With two arms and the default times
a run takes 2 to 18 minutes, as long as the noise of the disk needs.
";

const HELP_OF_METRICS: &str = "
Metrics (`iosched-ab metrics` explains them, `report --all` shows their values):
";

const HELP_OF_COMMANDS: &str =
    "    a script writes lines NAME VALUE [UNIT] [higher|lower] to $IOSCHED_METRICS;
    reported:NAME is the command's where iosched has a metric of that name, too

More examples:
  writes to a scratch file on a mounted disk:
    iosched-ab run /srv/data --allow-mounted --arm none --arm kyber --workload randwrite
  a fio job file, 12 rounds per arm; decide on the reads' p99, 10 % matters:
    iosched-ab run sda --arm mq-deadline --arm bfq --job db.fio --rounds 12 \\
      --metric read_total_p99:10
  your own benchmark, which overwrites the raw disk:
    iosched-ab run sdb --arm none --arm bfq --destroy-data --yes-destroy S3X9NX0 \\
      -- ./my-benchmark
  pgbench and the I/O of its server:
    iosched-ab run /var/lib/postgresql --allow-mounted --arm none --arm bfq \\
      --unit postgresql@15-main --metric pgbench.tps -- pgbench -T 60 -c 8 bench
  whatever runs on the disk, for two hours; bfq ends if reads wait too long:
    iosched-ab run sda --allow-mounted --workload live --arm present --arm bfq \\
      --for 2h --stop-if 'read_queue_wait_p99 > 50ms for 3s'
  the same, judged by what the database says of itself:
    iosched-ab run sda --allow-mounted --workload live --arm present --arm bfq --for 2h \\
      --metric-cmd 'tps:higher:counter=sudo -u postgres psql -Atc \\
        \"select sum(xact_commit) from pg_stat_database\"' \\
      --metric-url 'wait:lower=http://127.0.0.1:9090/metrics#mean(request_seconds)'
  the same, in three nights:
    iosched-ab run sda --allow-mounted --workload live --arm present --arm bfq \\
      --for 3d --between 02:00-05:00
  a command that reads files, each time from the disk:
    iosched-ab run /srv --allow-mounted --arm none --arm bfq --cold=ALL -- grep -r x /srv/data
  your own script on a new file system, where it finds the directory $IOSCHED_SCRATCH:
    iosched-ab run scratch:hdd+ext4 --arm none --arm bfq -- ./my-script
  continue an interrupted run:
    iosched-ab run --resume iosched-ab-20260203T040506Z.json
  12 more rounds per arm, because what it found is not enough:
    iosched-ab run --resume iosched-ab-20260203T040506Z.json --rounds +12";

/// The workload, its times, and where the result goes.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // they are the command line
pub struct Conditions {
    /// Result file, `-` for standard output [default: iosched-ab-TIMESTAMP.json, of `tune` iosched-tune-TIMESTAMP.json]
    #[arg(help_heading = heading::WHERE_TO, short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the result file if it exists
    #[arg(help_heading = heading::WHERE_TO, long)]
    pub force: bool,
    /// Built-in workload; `iosched-ab workloads` lists them. `live`: starts no load; the arms take turns on the load
    /// that the machine already has
    #[arg(help_heading = heading::COMPARE, long, value_name = "NAME")]
    pub workload: Option<String>,
    /// fio job file. Options that name a place (filename, directory) are replaced, with a note; options that affect more
    /// than this device and this round are refused
    #[arg(help_heading = heading::COMPARE, long, value_name = "FILE")]
    pub job: Vec<PathBuf>,
    /// Run only this job of the job file, as fio's option of the same name; may be repeated
    #[arg(help_heading = heading::COMPARE, long, value_name = "NAME", requires = "job")]
    pub section: Vec<String>,
    /// Command to run as the workload, after `--`. Its environment has IOSCHED_DEVICE (path of the named disk or
    /// partition), IOSCHED_DEVICES (paths of all of them), IOSCHED_ARM, IOSCHED_BLOCK, IOSCHED_ROUND, IOSCHED_SEED,
    /// IOSCHED_METRICS (a file for its metrics, see below) and, with --scratch, IOSCHED_SCRATCH (a directory, emptied
    /// before each round)
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Stop a COMMAND that runs longer than TIME; that round counts as worse than every other [default: no limit]
    #[arg(help_heading = heading::COMMAND, long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["workload", "job"])]
    pub limit: Option<Duration>,
    /// Run a COMMAND as this user, without the rights of root and without a way to get them; the user must be allowed to use
    /// the disk, or use --scratch
    #[arg(help_heading = heading::COMMAND, long, value_name = "NAME", conflicts_with_all = ["workload", "job"])]
    pub user: Option<String>,
    /// Parser for the output of a COMMAND, or `none` [default: by the name of the program]
    #[arg(help_heading = heading::COMMAND, long, value_name = "NAME", conflicts_with_all = ["workload", "job"])]
    pub parse: Option<String>,
    /// Metric in the output of a COMMAND, as NAME=REGEX[:higher|lower[:UNIT]]: its last match, with the number in the only group;
    /// may be repeated
    #[arg(help_heading = heading::COMMAND, long, value_name = "NAME=REGEX", conflicts_with_all = ["workload", "job"])]
    pub metric_regex: Vec<Pattern>,
    /// Control group whose I/O belongs to the workload, with its subgroups; may be repeated
    #[arg(help_heading = heading::WHOSE, long, value_name = "PATH")]
    pub cgroup: Vec<String>,
    /// systemd unit whose I/O belongs to the workload, such as that of a database server; may be repeated
    #[arg(help_heading = heading::WHOSE, long, value_name = "NAME")]
    pub unit: Vec<String>,
    /// Process whose I/O belongs to the workload, with its children; may be repeated
    #[arg(help_heading = heading::WHOSE, long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// Measured time of each round, in which the metrics get their values. auto: 5 to 20 s, by which a pilot of 10 s under each arm
    /// decides soonest; live: 20 s to 2 min, from the load's autocorrelation time, which is measured for a minute
    #[arg(help_heading = heading::HOW_LONG, long, value_name = "TIME|auto", default_value = "auto", value_parser = round_time)]
    pub round_time: Chosen,
    /// Warm-up before the measured time of each round. auto: 1 to 5 s, until the pilot has settled; live: 5 s
    #[arg(help_heading = heading::HOW_LONG, long, value_name = "TIME|auto", default_value = "auto", value_parser = ramp)]
    pub ramp: Chosen,
    /// Only with `live`: restore the reference at once when this holds, `METRIC > VALUE [for TIME]`, and do not run this arm
    /// again; that round counts as worse than every other
    #[arg(help_heading = heading::LIVE, long, value_name = "CONDITION")]
    pub stop_if: Option<Condition>,
    /// Only with `live`: begin a round only when this holds, `METRIC > VALUE`
    #[arg(help_heading = heading::LIVE, long, value_name = "CONDITION")]
    pub only_when: Option<Condition>,
    /// Only with `live`: begin no round after TIME
    #[arg(help_heading = heading::LIVE, long = "for", value_name = "TIME", value_parser = long_duration)]
    pub for_time: Option<Duration>,
    /// Only with `live`: begin rounds only between these local times of the day; in the rest of it the reference is in force
    #[arg(help_heading = heading::LIVE, long, value_name = "HH:MM-HH:MM")]
    pub between: Option<Between>,
    /// Only with `live`: decide on values that are adjusted for the load before each block, which none of its arms can have
    /// caused. Without it they are shown beside
    #[arg(help_heading = heading::LIVE, long, value_name = "WHAT", value_enum)]
    pub adjust: Option<Adjust>,
    /// Only with `live`: a metric of the application, as NAME:higher|lower[:counter|gauge][:UNIT]=COMMAND[ #SERIES], which COMMAND
    /// prints; read at both ends of each window. A number, or a page of metrics, of which SERIES is meant. `counter`: what it
    /// grows in a second; `gauge`: the mean of both readings. May be repeated
    #[arg(
        help_heading = heading::LIVE,
        long,
        value_name = "METRIC=COMMAND"
    )]
    pub metric_cmd: Vec<String>,
    /// Only with `live`: the same from a file, as NAME:...=PATH[#SERIES]
    #[arg(
        help_heading = heading::LIVE,
        long,
        value_name = "METRIC=PATH"
    )]
    pub metric_file: Vec<String>,
    /// Only with `live`: the same from a page of metrics (Prometheus, OpenMetrics), as NAME:...=http://HOST:PORT/PATH#SERIES. SERIES is NAME, NAME{LABEL="VALUE"},
    /// rate(SERIES), mean(SERIES), p99(SERIES), or above(BOUND,SERIES), the share of observations above a bound of the buckets
    #[arg(
        help_heading = heading::LIVE,
        long,
        value_name = "METRIC=URL"
    )]
    pub metric_url: Vec<String>,
    /// Before each round, run the workload this long under the reference and discard it, so that no arm affects the
    /// next one through the device's state; a COMMAND runs at least once, and again until TIME is over. auto: unless the first
    /// 6 blocks show nothing of what arms leave behind, the run begins again with a wash-out as long as three rounds
    #[arg(help_heading = heading::CONDITIONS, long, value_name = "TIME|auto", default_value = "0", value_parser = washout)]
    pub washout: Washout,
    /// Before the first round, run the workload under the reference and discard it, again and again until five in a row keep
    /// one level: I/Os per second differ by at most 20 % of their mean, and their slope by at most 10 %; at most 25 times
    #[arg(help_heading = heading::CONDITIONS, long)]
    pub precondition: bool,
    /// Before each round write back and drop what the page cache holds: of the scratch file or the device (FILE), or all
    /// caches of this machine (ALL)
    #[arg(help_heading = heading::CONDITIONS, long, value_name = "FILE|ALL", num_args = 0..=1, require_equals = true, default_missing_value = "FILE",
        value_parser = cold)]
    pub cold: Option<Cold>,
    /// Disk that no arm touches, read briefly before and after each round: if it differs between the arms, something other than
    /// the scheduler differs
    #[arg(help_heading = heading::CONDITIONS, long, value_name = "DEVICE")]
    pub control: Option<String>,
    /// Short rounds: --round-time 5s --ramp 2s; too short for schedulers that adapt slowly
    #[arg(help_heading = heading::HOW_LONG, long, conflicts_with_all = ["round_time", "ramp"])]
    pub quick: bool,
    /// Metric to decide on, and the smallest difference that matters in per cent (5 to 20 by metric); may be repeated
    /// [default: throughput and program_p99 (throughput alone if the job file disables fio's latencies); what a COMMAND
    /// reports, else elapsed]
    #[arg(help_heading = heading::DECIDES, long = "metric", value_name = "NAME[:MARGIN]")]
    pub metrics: Vec<String>,
    /// The metric that should get better: it alone decides for an arm, if what is kept gets no worse [default: each metric counts]
    #[arg(help_heading = heading::DECIDES, long, value_name = "NAME[:MARGIN]")]
    pub prefer: Option<String>,
    /// A metric that must be shown to get no worse by more than its margin, or to stay within an absolute limit: `NAME:at most 10ms`,
    /// `NAME:at least 500`; may be repeated [default: all others that decide]
    #[arg(help_heading = heading::DECIDES, long, value_name = "NAME[:LIMIT]")]
    pub keep: Vec<String>,
    /// Measure more: the order of dispatch (`seeks`, `reordered`), or who got how much device time and who starved
    /// (`fairness`); either costs a little CPU time for each I/O
    #[arg(help_heading = heading::MORE, long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub detail: Vec<DetailOption>,
    /// Say in each round who waited behind whom: in the report's text and HTML, and in `iosched why FILE`. At most 262,144 requests of
    /// a round are kept for it. In no value and no verdict
    #[arg(help_heading = heading::MORE, long)]
    pub why: bool,
    /// After the last round, run the workload once more under each arm and record every request for this long, at most
    /// 4096 of them: for `report --format html`, `perfetto` and `blkparse`. In no value and no verdict
    #[arg(help_heading = heading::MORE, long, value_name = "TIME", value_parser = trace_time)]
    pub trace: Option<Duration>,
    /// Seed for the schedule and the workloads [default: from the clock]
    #[arg(help_heading = heading::CONDITIONS, long, value_name = "N")]
    pub seed: Option<u32>,
    /// Run the workload on a scratch file in DIR, which must be on a mounted file system of DEVICE; the file is removed
    /// at the end [default: DEVICE, if that is a mount point and the workload writes]
    #[arg(help_heading = heading::DISK, long, value_name = "DIR", conflicts_with = "destroy_data")]
    pub scratch: Option<PathBuf>,
    /// Size of the scratch file in bytes, or with K, M, G; it is written completely before the first round
    /// [default: 1G, or a tenth of the free space if that is less; no file for a COMMAND]
    #[arg(help_heading = heading::DISK, long, value_name = "SIZE", value_parser = bytes, conflicts_with = "destroy_data")]
    pub scratch_size: Option<u64>,
    /// Accept a file of --job or --resume that another user could have written; first check the jobs, commands and
    /// settings in it
    #[arg(help_heading = heading::DISK, long, conflicts_with_all = ["workload", "command"])]
    pub trust: bool,
    /// Let the workload write to the raw device: ALL DATA ON IT IS LOST. Asks for the disk's serial number or name
    #[arg(help_heading = heading::DISK, long)]
    pub destroy_data: bool,
    /// Confirm --destroy-data without a terminal: the disk's serial number, or its name
    #[arg(help_heading = heading::DISK, long, value_name = "SERIAL", requires = "destroy_data")]
    pub yes_destroy: Option<String>,
    /// Switch the scheduler although the device is in use, for instance by a mounted file system
    #[arg(help_heading = heading::DISK, long)]
    pub allow_mounted: bool,
}

#[derive(Args)]
#[allow(clippy::struct_field_names)] // named after the options
#[command(group = ArgGroup::new("load").required(true).args(["workload", "job", "command", "resume"]))]
pub struct Run {
    /// Kernel name, path, partition or mount point of a disk; several disks are switched together and measured as one.
    /// Or a simulated disk: scratch:ssd, scratch:hdd or scratch:ram, see below
    #[arg(value_name = "DEVICE", required_unless_present = "resume")]
    pub devices: Vec<String>,
    /// Scheduler with its settings, see below; give at least two
    #[arg(help_heading = heading::COMPARE, long = "arm", value_name = "ARM", required_unless_present = "resume")]
    pub arms: Vec<String>,
    /// Arm that the others are compared with [default: the active scheduler if it is an arm, else the first arm]
    #[arg(help_heading = heading::COMPARE, long, value_name = "LABEL")]
    pub reference: Option<String>,
    /// Rounds per arm: a number from 1 to 1000; `auto`: 6, 8, 12, 16 or 20 (more if they are short: see --round-time), an arm ends
    /// when its metrics have their verdict;
    /// `open`: continue until every metric has its verdict, or Ctrl-C (intervals stay valid, but are wider);
    /// +N: so many more of a run that has ended, with --resume [default: auto]
    #[arg(help_heading = heading::HOW_LONG, long, value_name = "N|auto|open|+N", value_parser = rounds_or_more)]
    pub rounds: Option<Rounds>,
    /// The time for pilot and rounds, from which length and number of the rounds are planned; before the first one it says what
    /// they can show. The run ends earlier if all verdicts are in, and later if rounds become slower or blocks are repeated. Files and --precondition
    /// come before [default: no limit]
    #[arg(help_heading = heading::HOW_LONG, long, value_name = "TIME", value_parser = budget)]
    pub budget: Option<Duration>,
    /// Continue an interrupted run in its result file (or into -o FILE). With --rounds +N, go on with one that has ended: a new
    /// result has all its rounds and those that are added. Give --allow-mounted and --destroy-data again if it needs them
    #[arg(help_heading = heading::WHERE_TO, long, value_name = "FILE", conflicts_with_all = ["devices", "arms", "reference", "round_time",
        "ramp", "washout", "precondition", "cold", "control", "parse", "metric_regex", "cgroup", "unit", "pid", "user", "detail", "why", "trace", "stop_if", "only_when", "for_time", "between", "adjust", "quick", "metrics", "prefer", "keep", "seed", "limit", "scratch", "scratch_size"])]
    pub resume: Option<PathBuf>,
    /// Print the schedule and change nothing; with --resume, the rounds that are left
    #[arg(help_heading = heading::WHERE_TO, long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub conditions: Conditions,
}

#[derive(Args)]
#[command(group = ArgGroup::new("load").required(true).args(["workload", "job", "command"]))]
pub struct Aa {
    /// Kernel name, path, partition or mount point of one or more disks; or scratch:ssd, scratch:hdd, scratch:ram
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<String>,
    /// Arm that is compared with itself, as in `run` [default: the active scheduler; none on a simulated disk]
    #[arg(help_heading = heading::COMPARE, long, value_name = "ARM")]
    pub arm: Option<String>,
    /// Rounds per arm: a number from 1 to 1000, auto or open, as in `run`
    #[arg(help_heading = heading::HOW_LONG, long, value_name = "N", default_value = "12", value_parser = rounds)]
    pub rounds: Stopping,
    #[command(flatten)]
    pub conditions: Conditions,
}

/// Quantities that live rounds can be adjusted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Adjust {
    Load,
}

/// Details that can be measured beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DetailOption {
    Order,
    Fairness,
}

impl Conditions {
    /// Processes that already run and belong to the workload.
    pub fn participants(&self) -> Vec<Named> {
        let groups = self.cgroup.iter().cloned().map(Named::Cgroup);
        let units = self.unit.iter().cloned().map(Named::Unit);
        groups
            .chain(units)
            .chain(self.pid.iter().copied().map(Named::Pid))
            .collect()
    }

    /// Metrics of the application.
    pub fn asked(&self) -> Vec<Asked> {
        let commands = self.metric_cmd.iter().cloned().map(Asked::Cmd);
        let files = self.metric_file.iter().cloned().map(Asked::File);
        let pages = self.metric_url.iter().cloned().map(Asked::Url);
        commands.chain(files).chain(pages).collect()
    }
}
