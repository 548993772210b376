//! The command line of `iosched-ab scratch` and `demo`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use iosched_result::types::scratch::spec::DiskSpec;

use iosched_result::text::size::bytes;

#[derive(Args)]
pub struct DemoArguments {
    /// Result file, `-` for standard output [default: iosched-ab-demo-TIMESTAMP.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the result file if it exists
    #[arg(long)]
    pub force: bool,
    /// Seed for the schedule and the workload [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

#[derive(Args)]
pub struct ScratchArguments {
    /// ssd: four channels, 1 ms per request and 100 MB/s each. hdd: 7200 rpm, with seeks. ram: as fast as memory.
    /// hdd+ext4 (or xfs, btrfs): with a file system, mounted. ssd*8: one disk that shows itself as eight devices (LUNs);
    /// ssd*4+btrfs: a btrfs of all of them
    #[arg(long, value_name = "MODEL[*N][+FS]", default_value = "ssd")]
    pub model: DiskSpec,
    /// Size of the disk in bytes, or with K, M, G; it is kept in memory [default: 1G, or 512M for each LUN]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub size: Option<u64>,
    /// Mount its file system at DIR, an empty directory [default: a directory that only root can enter]
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,
    /// Print the devices, the mount point and the service time as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Keep the device until this command ends; `{}` in its arguments is replaced by the mount point, or else by the
    /// paths of the devices, separated by commas
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
