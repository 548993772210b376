//! The command line of `iosched-ab study`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use iosched_result::text::size::bytes;

use super::values::long_duration;

pub const HELP: &str = "\
A study is a TOML file: arms, cells (each a workload), axes that expand cells to a matrix, metrics with margins, times.
`--print` shows a built-in one; a copy of it, changed, is a study of your own. One block of each cell is run in each pass,
in random order, until every cell is decided.

Without DEVICE it runs on a simulated disk of the study's own choice; scratch:hdd, scratch:ssd*8 or scratch:hdd+ext4 makes
another.

Examples:
  iosched-ab study --list
  iosched-ab study oltp-dss --original
  iosched-ab study interference --dry-run
  iosched-ab study interference --quick --cells 'writers-*'
  iosched-ab study fsync scratch:hdd+ext4 --quick
  iosched-ab study oltp-web nvme0n1 --allow-mounted --cells 'randread-*'
  iosched-ab study fsync /srv/data --allow-mounted --budget 2h
  iosched-ab study interference --quick --prefer hog.throughput --keep 'probe.read_clat_p99:at most 20ms'
  iosched-ab study --resume iosched-study-oltp-web-20260203T040506Z.json --allow-mounted
  iosched-ab study oltp-web --print > mine.toml && iosched-ab study ./mine.toml /srv/data --allow-mounted";

#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // they are the command line
pub struct StudyArguments {
    /// Name of a built-in study, or the path of a file (with a slash or .toml)
    #[arg(required_unless_present_any = ["list", "resume"])]
    pub study: Option<String>,
    /// Kernel name, path, partition or mount point of the disks, or scratch:MODEL, as in `run` [default: the simulated
    /// disk that the study names]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// List the built-in studies
    #[arg(long, exclusive = true)]
    pub list: bool,
    /// Print the study's file
    #[arg(long, conflicts_with_all = ["devices", "dry_run", "quick", "cells", "seed", "output", "force"])]
    pub print: bool,
    /// Print what the published comparison of this name claims, and what its own figures support
    #[arg(long, conflicts_with_all = ["devices", "print", "dry_run", "quick", "cells", "seed", "output", "force"])]
    pub original: bool,
    /// Print cells, rounds and duration, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Short rounds and few blocks, as the study's file has them
    #[arg(long)]
    pub quick: bool,
    /// End within this time, for instance 2h: chooses blocks and lengths from pilot rounds, and says what that can show
    #[arg(long, value_name = "TIME", value_parser = long_duration, conflicts_with_all = ["quick", "resume", "dry_run", "print", "original", "list"])]
    pub budget: Option<Duration>,
    /// Continue an interrupted study with the same schedule; FILE is its result file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "list", "print", "original", "dry_run", "quick", "cells", "seed", "output", "force"])]
    pub resume: Option<PathBuf>,
    /// Run the commands of a study's file or of --resume FILE although another user could have written it
    #[arg(long, conflicts_with_all = ["list", "print", "original", "dry_run"])]
    pub trust: bool,
    /// Run only cells whose name matches; `*` stands for any characters; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub cells: Vec<String>,
    /// The metric that should get better, in each chosen cell, instead of what the study's file says
    #[arg(long, value_name = "NAME[:MARGIN]", conflicts_with_all = ["resume", "list", "print", "original"])]
    pub prefer: Option<String>,
    /// A metric that must be shown to get no worse by more than its margin, or to stay within a limit (`NAME:at most 10ms`), in each
    /// chosen cell, instead of what the study's file says; may be repeated
    #[arg(long, value_name = "NAME[:LIMIT]", conflicts_with_all = ["resume", "list", "print", "original"])]
    pub keep: Vec<String>,
    /// Seed for the schedule and the workloads [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// Size of the scratch file in bytes, or with K, M, G, if it runs on a file system [default: as in `run`]
    #[arg(long, value_name = "SIZE", value_parser = bytes, conflicts_with = "resume")]
    pub scratch_size: Option<u64>,
    /// Switch the scheduler although the device is in use, for instance by a mounted file system
    #[arg(long)]
    pub allow_mounted: bool,
    /// Let the workloads write to the raw device: ALL DATA ON IT IS LOST. Asks for the disk's serial number or name
    #[arg(long)]
    pub destroy_data: bool,
    /// Confirm --destroy-data without a terminal: the disk's serial number, or its name
    #[arg(long, value_name = "SERIAL", requires = "destroy_data")]
    pub yes_destroy: Option<String>,
    /// Result file, `-` for standard output [default: iosched-study-NAME-TIMESTAMP.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the result file if it exists
    #[arg(long)]
    pub force: bool,
}

impl StudyArguments {
    /// Nothing is run.
    pub fn only_reads(&self) -> bool {
        self.list || self.print || self.dry_run || self.original
    }
}
