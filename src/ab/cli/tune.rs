//! The command line of `iosched-ab tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::heading;
use super::run::Conditions;
use super::values::long_duration;

pub const HELP: &str = "\
Each setting that is known to matter is tried alone, in stages that keep the better
half of the arms; then the best ones together. What the search finds claims nothing:
the best of many looks better than it is. At most three finalists are compared with
what the disk had before, in 20 fresh blocks, and their verdicts are the answer. To
keep what you have is a good one. docs/tune.md has the numbers.

Examples:
  what gives most reads, without making them wait longer:
    iosched-ab tune nvme0n1 --allow-mounted --workload randread --prefer iops --keep read_total_p99
  in two hours, for a database:
    iosched-ab tune /var/lib/postgresql --allow-mounted --prefer pgbench.tps --budget 2h -- \\
      pgbench -T 20 -c 8 bench
  arms of your own, one a line:
    iosched-ab tune sda --allow-mounted --workload probe-hog --prefer hog.throughput \\
      --keep probe.read_clat_mean --space arms.txt
  arms that a program names; it is told how its earlier ones did:
    iosched-ab tune sda --allow-mounted --workload randread --prefer iops --propose ./propose.py
  go on after an interruption:
    iosched-ab tune --resume iosched-tune-20260203T040506Z.json --allow-mounted";

#[derive(Args)]
#[command(group = ArgGroup::new("load").required(true).args(["workload", "job", "command", "resume"]))]
pub struct Tune {
    /// Kernel name, path, partition or mount point of a disk, or a simulated disk, as in `run`
    #[arg(value_name = "DEVICE", required_unless_present = "resume")]
    pub devices: Vec<String>,
    /// Try the arms of this file, one a line, in place of the settings that iosched knows
    #[arg(help_heading = heading::COMPARE, long, value_name = "FILE", conflicts_with = "propose")]
    pub space: Option<PathBuf>,
    /// Try the arms that this command names, one a line. It is run again and again, without a shell, and reads on its standard input
    /// how the earlier arms did: docs/tune.md
    #[arg(help_heading = heading::COMPARE, long, value_name = "COMMAND")]
    pub propose: Option<String>,
    /// Ask --propose for at most so many arms
    #[arg(help_heading = heading::COMPARE, long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub proposals: u16,
    /// End within this time: tries fewer settings, and leaves the time for the fresh blocks
    #[arg(help_heading = heading::HOW_LONG, long, value_name = "TIME", value_parser = long_duration)]
    pub budget: Option<Duration>,
    /// Go on with an interrupted search; FILE is its result file
    #[arg(help_heading = heading::WHERE_TO, long, value_name = "FILE", conflicts_with_all = ["devices", "space", "propose", "budget"])]
    pub resume: Option<PathBuf>,
    /// Print what would be tried and how long it takes, and change nothing
    #[arg(help_heading = heading::WHERE_TO, long, conflicts_with = "resume")]
    pub dry_run: bool,
    #[command(flatten)]
    pub conditions: Conditions,
}
