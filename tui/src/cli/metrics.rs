//! The options of `iosched metrics`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use super::seconds;

/// No registered port of Prometheus' exporters.
const PORT: u16 = 9437;

pub const HELP: &str = "\
Examples:
  iosched metrics                     all disks, on http://127.0.0.1:9437/metrics
  iosched metrics nvme0n1 --unix /run/iosched/metrics.sock
  iosched metrics --textfile /var/lib/node_exporter/textfile/iosched.prom
  iosched metrics --once --interval 10 | grep ^iosched_queue_wait

It listens on the loopback interface only, without TLS and passwords, which a
proxy has. docs/exporter.md explains each metric; contrib/prometheus has rules
and a unit, contrib/grafana a dashboard.";

#[derive(Args)]
pub struct Metrics {
    /// Kernel name, path, partition or mount point of one or more disks [default: all disks, also those that appear later]
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    #[command(flatten)]
    pub to: To,
    /// Seconds between two writes of --textfile, and how long --once counts, 0.1 to 86400
    #[arg(short, long, value_name = "SECONDS", default_value = "15", value_parser = seconds)]
    pub interval: f64,
    /// How many commands, each in its control group, have series of their own, at most 1000; all others together are one
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = clap::value_parser!(u16).range(..=1000))]
    pub top: u16,
}

/// Where the metrics go.
#[derive(Args)]
pub struct To {
    /// Address of the loopback interface and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)), conflicts_with_all = ["unix", "textfile", "once"])]
    pub listen: SocketAddr,
    /// Listen on this Unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["textfile", "once"])]
    pub unix: Option<PathBuf>,
    /// Write this file again and again, for node_exporter's textfile collector
    #[arg(long, value_name = "PATH", conflicts_with = "once")]
    pub textfile: Option<PathBuf>,
    /// Print the metrics once, after --interval
    #[arg(long)]
    pub once: bool,
}
