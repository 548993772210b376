//! The command line of `iosched-ab persist`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::metric_name;

#[derive(Args)]
pub struct PersistArguments {
    /// Result file of `run` or `study`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Result of a study of some of FILE's cells, made after it: its fresh rounds decide, so that the best of many cells is
    /// not taken for a difference
    #[arg(long, value_name = "FILE")]
    pub confirm: Option<PathBuf>,
    /// Arm to make permanent, by its label [default: the only one that the result supports]
    #[arg(long, value_name = "LABEL")]
    pub arm: Option<String>,
    /// Accept that the arm is worse in this metric, or cannot be judged by it; may be given several times
    #[arg(long, value_name = "METRIC", value_parser = metric_name)]
    pub accept: Vec<String>,
    /// For one disk only, by the ID_SERIAL of `udevadm info --query=property /dev/DISK` [default: all disks of the model]
    #[arg(long, value_name = "ID_SERIAL")]
    pub serial: Option<String>,
    /// Use the result although another user could have written its file
    #[arg(long)]
    pub trust: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Udev)]
    pub format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    /// A udev rule
    Udev,
    /// An entry of the hardware database, and the udev rule that reads it: for many models
    Hwdb,
    /// A TuneD profile
    Tuned,
    /// systemd-tmpfiles: by kernel name, at boot
    Tmpfiles,
    /// A NixOS module
    Nixos,
    /// An Ansible playbook that installs the udev rule
    Ansible,
    /// The node configuration of a GKE node pool: the scheduler of all attached disks, without settings
    Gke,
}
