//! What knows disks by their kernel names only, or all at once. Pure.

use std::fmt::Write;

use super::reasons::reasons;
use super::{Sheet, left_out};
use crate::persist::support::Refusal;
use crate::persist::{Decision, Disk};

/// Schedulers that the GKE API takes.
const GKE_SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

pub fn tmpfiles(decision: &Decision) -> Result<String, Refusal> {
    if decision.devices.is_empty() || decision.reasons.len() > 1 {
        return Err(only_here());
    }
    let mut lines = reasons(decision);
    let scheduler = ("scheduler".to_owned(), decision.scheduler.clone());
    for device in &decision.devices {
        for (attribute, value) in [&scheduler].into_iter().chain(&decision.settings) {
            let value = value.replace(' ', "\\x20");
            let _ = writeln!(
                lines,
                "w /sys/block/{device}/queue/{attribute} - - - - {value}"
            );
        }
    }
    Ok(lines)
}

fn only_here() -> Refusal {
    Refusal {
        what: "tmpfiles.d knows disks by their kernel names, which differ from host to host"
            .to_owned(),
        hint: "name the result of one run on this host, or use --format udev".to_owned(),
    }
}

/// Err: of several disks, nobody knows which have these names here.
pub fn all_tmpfiles(sheet: &Sheet<'_>) -> Result<String, Refusal> {
    if sheet.parts.len() > 1 || !sheet.left_out.is_empty() {
        return Err(only_here());
    }
    let name = sheet.name();
    Ok(format!(
        "# /etc/tmpfiles.d/{name}.conf\n\
         # This knows the disk by its kernel name only, which may change from boot to boot, and acts once, at boot: use udev if\n\
         # you can.\n\
         # Apply: systemd-tmpfiles --create /etc/tmpfiles.d/{name}.conf\n{}{}",
        left_out(sheet),
        sheet.text()
    ))
}

/// Part of a request of the GKE API (container/v1): `LinuxNodeConfig.diskIoScheduler`. It knows disks by their use only.
pub fn gke(decision: &Decision) -> Result<String, Refusal> {
    if let Some((attribute, _)) = decision.settings.first() {
        return Err(lacks(attribute));
    }
    if let Disk::Serial(_) | Disk::Alike(_) = &decision.disk {
        return Err(lacks("the scheduler of some disks only"));
    }
    if !GKE_SCHEDULERS.contains(&decision.scheduler.as_str()) {
        return Err(lacks(&format!("the scheduler {}", decision.scheduler)));
    }
    Ok(reasons(decision))
}

fn lacks(what: &str) -> Refusal {
    Refusal {
        what: format!("a GKE node configuration cannot set {what}"),
        hint: "use --format udev".to_owned(),
    }
}

/// Err: it sets all disks, and they do not all get the same.
pub fn whole_gke(sheet: &Sheet<'_>) -> Result<String, Refusal> {
    let first = sheet.parts[0].0;
    if sheet.decisions().any(|it| it.scheduler != first.scheduler) {
        return Err(lacks("different schedulers for different disks"));
    }
    if let Some(other) = sheet.left_out.first() {
        return Err(lacks(&format!(
            "some disks only, and nothing is proven for {}",
            other.disks
        )));
    }
    Ok(format!(
        "# The body of a request that updates a node pool of GKE, as YAML; yq -o json FILE makes it JSON\n{}\
         # nodeAttachedDiskIoScheduler is for all attached disks of a node. For the boot disk, or the local SSD that the\n\
         # node system uses, its name is nodeSystemIoScheduler. The pool's nodes are made anew.\n\
         # Check: cat /sys/block/*/queue/scheduler on a node\n\
         linuxNodeConfig:\n\
         \x20 diskIoScheduler:\n\
         \x20   nodeAttachedDiskIoScheduler: {}\n",
        sheet.text(),
        first.scheduler
    ))
}
