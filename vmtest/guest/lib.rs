//! Common parts of the tests in virtual machines: devices whose truth is known, and a probe on them.
//! These tests own their machine: they load modules, and leave them loaded.

mod blktrace;
mod disk;
pub mod file_system;
#[path = "../../tests/support/fio.rs"] // as on the host
mod fio;
mod ftrace;
mod stack;
mod watch;

pub use blktrace::Blktrace;
pub use disk::{Disk, SCHEDULERS};
pub use fio::{Fio, pid_of_run};
pub use ftrace::Ftrace;
pub use stack::{ARRAY, Array, MAPPED, Mapped, set};
pub use watch::{Seen, Watch};

use std::process::Command;

use iosched_host::system::device::Device;

/// Runs a command that must succeed; its output, trimmed.
#[track_caller]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// `count` direct reads of 4 KiB by a process of its own; its id.
#[track_caller]
pub fn dd_reads(disk: &Disk, count: u32) -> u32 {
    dd_reads_of(&disk.device, count)
}

#[track_caller]
pub fn dd_reads_of(device: &Device, count: u32) -> u32 {
    let from = format!("if={}", device.node().display());
    let count = format!("count={count}");
    pid_of_run(
        "dd",
        &[&from, "of=/dev/null", "bs=4k", &count, "iflag=direct"],
    )
}
