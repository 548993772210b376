//! `iosched-ab workloads`.

use std::io::Write;

use anyhow::Result;
use iosched_experiment::workload::catalogue;
use iosched_files::stdout;

pub fn list() -> Result<()> {
    let mut out = stdout::lines();
    for entry in catalogue::list() {
        writeln!(out, "{:14} {}", entry.name, entry.description)?;
    }
    writeln!(
        out,
        "\nWorkloads that write run on a scratch file on a mounted disk (DEVICE is a mount point, or --scratch DIR), on\n\
         a simulated disk (scratch:ssd), or on a raw disk, whose data is then lost (--destroy-data)."
    )?;
    Ok(())
}
