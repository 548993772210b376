//! What `iosched doctor` finds: each requirement, whether it holds, and how to mend it. Pure but for [`facts`], which asks
//! with the very functions that measuring and switching use, so that the two cannot disagree.

pub mod facts; // what this machine says
pub mod rivals; // files by which others set schedulers
pub mod writers; // programs at work that set them

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::escape;
use crate::scheduler::known_missing_hint;
use facts::{Disk, Facts, Trouble};

pub const SCHEMA_VERSION: u32 = 1;
/// In docs/.
pub const SCHEMA: &str = "doctor-1.schema.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    /// What needs it cannot be done, or only in part.
    Missing,
    /// It is there and works against a comparison.
    Conflict,
    /// This user, or this system, is not told.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// What is required: stable, one line each; of disks `disk NAME`, of tracepoints `tracepoint NAME`.
    pub name: String,
    pub state: State,
    pub found: String,
    /// How to mend it; empty where there is nothing to mend.
    pub remedy: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub iosched_version: String,
    /// The probe was loaded and attached, and detached again.
    pub can_measure: bool,
    /// Of every disk that was named, or of any if none was.
    pub can_switch: bool,
    pub items: Vec<Item>,
}

/// `named`: the user has named the disks, so each must do.
pub fn diagnose(facts: &Facts, named: bool) -> Diagnosis {
    let mut items = vec![item("kernel", State::Ok, &facts.kernel, "")];
    items.extend(probe(facts));
    items.extend(rights(facts));
    items.extend(facts.disks.iter().map(disk));
    items.extend(schedulers(facts));
    items.extend(tools(facts));
    items.extend(rivals(facts));
    let mut switches = facts.disks.iter().map(|disk| disk.switch.is_ok());
    let can_switch = if named {
        !facts.disks.is_empty() && switches.all(|can| can)
    } else {
        switches.any(|can| can)
    };
    Diagnosis {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        iosched_version: env!("CARGO_PKG_VERSION").to_owned(),
        can_measure: facts.probe.is_ok(),
        can_switch,
        items,
    }
}

fn item(name: &str, state: State, found: impl AsRef<str>, remedy: impl AsRef<str>) -> Item {
    Item {
        name: name.to_owned(),
        state,
        found: escape::line(found.as_ref()),
        remedy: escape::line(remedy.as_ref()),
    }
}

fn outcome(name: &str, found: &Result<String, Trouble>) -> Item {
    match found {
        Ok(found) => item(name, State::Ok, found, ""),
        Err(trouble) => item(name, State::Missing, &trouble.what, &trouble.hint),
    }
}

fn probe(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    match &facts.tracepoints {
        Err(trouble) => items.push(item("BTF", State::Missing, &trouble.what, &trouble.hint)),
        Ok(tracepoints) => {
            items.push(item("BTF", State::Ok, "/sys/kernel/btf/vmlinux", ""));
            items.extend(tracepoints.iter().map(|tracepoint| {
                let name = format!("tracepoint {}", tracepoint.name);
                if tracepoint.is_there {
                    return item(&name, State::Ok, "", "");
                }
                let what = if tracepoint.is_needed {
                    "without it nothing can be measured"
                } else {
                    "without it some numbers are missing; docs/kernels.md says which"
                };
                item(&name, State::Missing, what, "a newer kernel has it")
            }));
        }
    }
    items.push(match &facts.probe {
        Ok(notes) if notes.is_empty() => item("probe", State::Ok, "attached and detached", ""),
        Ok(notes) => item(
            "probe",
            State::Ok,
            format!("attached and detached; {}", notes.join("; ")),
            "",
        ),
        Err(trouble) => item("probe", State::Missing, &trouble.what, &trouble.hint),
    });
    items
}

/// Numbers of linux/capability.h.
const CAPABILITIES: [(&str, u32, &str); 3] = [
    ("CAP_BPF", 39, "to load the probe"),
    ("CAP_PERFMON", 38, "to attach it"),
    (
        "CAP_SYS_ADMIN",
        21,
        "for scratch devices and the true hardware depth; before Linux 5.8 for the probe, too",
    ),
];

fn rights(facts: &Facts) -> Vec<Item> {
    let mut items: Vec<Item> = CAPABILITIES
        .iter()
        .map(|(name, bit, why)| match facts.capabilities {
            None => item(name, State::Unknown, "/proc/self/status does not say", "mount /proc"),
            Some(all) if all >> bit & 1 == 1 => item(name, State::Ok, *why, ""),
            Some(_) => item(name, State::Missing, *why, "run it with sudo, or give it the capability with setpriv or systemd's AmbientCapabilities="),
        })
        .collect();
    items.push(match facts.lockdown.as_deref() {
        None => item(
            "lockdown",
            State::Ok,
            "not in this kernel, or not shown",
            "",
        ),
        Some(modes) if modes.contains("[confidentiality]") => item(
            "lockdown",
            State::Missing,
            "confidentiality: what the probe may read is restricted",
            "boot without lockdown=confidentiality",
        ),
        Some(modes) => item("lockdown", State::Ok, modes, ""),
    });
    if let Some(limit) = facts.memlock_bytes {
        // The probe raises it where it may.
        const PLENTY: u64 = 256 << 20;
        let found = format!("{} KiB may be locked", limit >> 10);
        items.push(if limit >= PLENTY || facts.probe.is_ok() {
            item("memlock", State::Ok, found, "")
        } else {
            let remedy = "`ulimit -l unlimited` in root's shell that starts it, LimitMEMLOCK=infinity in a systemd unit, or CAP_SYS_RESOURCE";
            item("memlock", State::Missing, found, remedy)
        });
    }
    items
}

fn disk(disk: &Disk) -> Item {
    let name = format!("disk {}", disk.name);
    let schedulers = format!("{} of {}", disk.active, disk.available.join(" "));
    match &disk.switch {
        Ok(warnings) if warnings.is_empty() => item(&name, State::Ok, schedulers, ""),
        Ok(warnings) => item(
            &name,
            State::Ok,
            format!("{schedulers}; {}", warnings.join("; ")),
            "",
        ),
        Err(trouble) => item(
            &name,
            State::Missing,
            format!("{schedulers}; {}", trouble.what),
            &trouble.hint,
        ),
    }
}

/// Those of the kernel's own that no disk offers.
fn schedulers(facts: &Facts) -> Vec<Item> {
    let offered = |name: &str| {
        let mut disks = facts.disks.iter();
        disks.any(|disk| disk.available.iter().any(|other| other == name))
    };
    let missing = ["mq-deadline", "kyber", "bfq"].into_iter();
    missing
        .filter(|name| !facts.disks.is_empty() && !offered(name))
        .map(|scheduler| {
            let name = format!("scheduler {scheduler}");
            let hint = known_missing_hint(scheduler).unwrap_or_default();
            match &facts.modules {
                None => item(
                    &name,
                    State::Unknown,
                    "not loaded; no list of modules in /lib/modules",
                    hint,
                ),
                Some(modules) if modules.iter().any(|module| is_of(module, scheduler)) => {
                    item(&name, State::Missing, "a module that is not loaded", hint)
                }
                Some(_) => item(
                    &name,
                    State::Missing,
                    "not in this kernel",
                    "a kernel with it: your distribution's standard one, often",
                ),
            }
        })
        .collect()
}

/// `kernel/block/kyber-iosched.ko.zst` is kyber's.
fn is_of(module: &str, scheduler: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or_default();
    let name = file.split('.').next().unwrap_or_default();
    name.strip_suffix("-iosched").unwrap_or(name) == scheduler
}

fn tools(facts: &Facts) -> Vec<Item> {
    vec![
        outcome("fio", &facts.fio),
        outcome("io controller", &facts.io_controller),
        outcome("scratch devices", &facts.scratch),
        outcome("journal", &facts.journal),
    ]
}

fn rivals(facts: &Facts) -> Vec<Item> {
    const NAME: &str = "other agents";
    let rules = facts.rivals.iter().map(|rival| {
        let place = format!("{}:{}: {}", rival.file, rival.line, rival.text);
        let remedy = "if it is about your disk, switch it off for the time of an experiment";
        item(NAME, State::Conflict, place, remedy)
    });
    let writers = facts.writers.iter().map(|writer| {
        let found = format!("process {} {}: {}", writer.pid, writer.name, writer.why);
        item(
            NAME,
            State::Conflict,
            found,
            "stop it for the time of an experiment",
        )
    });
    let items: Vec<Item> = rules.chain(writers).collect();
    if items.is_empty() {
        return vec![item(
            NAME,
            State::Ok,
            "nothing found that sets schedulers",
            "",
        )];
    }
    items
}

/// A line for each, and below it how to mend it.
pub fn render(diagnosis: &Diagnosis) -> String {
    let width = diagnosis
        .items
        .iter()
        .map(|item| item.name.chars().count())
        .max()
        .unwrap_or(0);
    let lines = diagnosis.items.iter().map(|item| {
        let state = match item.state {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Conflict => "conflict",
            State::Unknown => "cannot tell",
        };
        let line = format!("{state:11}  {:width$}  {}", item.name, item.found);
        let remedy = match item.remedy.as_str() {
            "" => String::new(),
            remedy => format!("{:13}{:width$}  to mend: {remedy}\n", "", ""),
        };
        format!("{}\n{remedy}", line.trim_end())
    });
    let text: String = lines.collect();
    let can = |can: bool| if can { "yes" } else { "no" };
    text + &format!(
        "\nmeasure: {}; switch schedulers: {}\n",
        can(diagnosis.can_measure),
        can(diagnosis.can_switch)
    )
}

#[cfg(test)]
#[path = "doctor/tests.rs"]
mod tests;
