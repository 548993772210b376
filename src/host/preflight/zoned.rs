//! Zoned disks need writes in order. Until Linux 6.10 only mq-deadline guaranteed it; since then the block layer does.

use std::fs::File;
use std::io::{BufRead, BufReader};

use super::{Findings, Severity};
use crate::system::device::Device;
use iosched_result::types::arm::Arm;

const MQ_DEADLINE: &str = "mq-deadline";

/// `is_written`: raw, the whole disk or a partition of it.
pub(super) fn check(device: &Device, arms: &[Arm], is_written: bool, findings: &mut Findings) {
    let Some(model) = device
        .optional_attribute("queue/zoned")
        .filter(|model| model != "none")
    else {
        return;
    };
    let name = &device.name;
    let host_managed = model == "host-managed";
    if host_managed && is_written {
        findings.add(
            Severity::Refuse,
            format!(
                "{name} is a host-managed zoned disk: it rejects writes that are not at the write pointer of a zone"
            ),
            "use a workload that only reads, or a file on a file system for zoned disks",
        );
    }
    let others: Vec<&str> = arms
        .iter()
        .map(|arm| arm.scheduler.as_str())
        .filter(|scheduler| *scheduler != MQ_DEADLINE)
        .collect();
    if host_managed && !others.is_empty() && !block_layer_keeps_order() {
        findings.add(
            Severity::Refuse,
            format!(
                "{name} is a host-managed zoned disk, and this kernel does not keep writes in order under {}",
                others.join(", ")
            ),
            "compare settings of mq-deadline, or use Linux 6.10 or later",
        );
    } else if !is_written {
        findings.add(
            Severity::Warning,
            format!("{name} is a zoned disk ({model})"),
            "before Linux 6.10 only mq-deadline keeps writes in order",
        );
    }
}

/// Whether the kernel has zone write plugging. Checks its symbols: version numbers are unreliable because of backports.
fn block_layer_keeps_order() -> bool {
    File::open("/proc/kallsyms").is_ok_and(|file| has_zone_plugs(BufReader::new(file)))
}

fn has_zone_plugs(symbols: impl BufRead) -> bool {
    let mut lines = symbols.lines().map_while(Result::ok);
    lines.any(|line| line.split_whitespace().nth(2) == Some("blk_zone_plug_bio"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbol_decides() {
        let with = "0000000000000000 T blk_zone_plug_bio\n";
        let without = "0000000000000000 T blk_zone_plug_bio_x\n0 T blk_zone\n";
        assert!(has_zone_plugs(with.as_bytes()));
        assert!(!has_zone_plugs(without.as_bytes()));
    }
}
