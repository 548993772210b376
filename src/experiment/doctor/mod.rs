//! Report of `iosched doctor`: each requirement, whether it is met, and how to fix it. Pure except for [`facts`],
//! which uses the functions that measure and switch, so that the two cannot disagree.

mod agents; // what else sets schedulers
pub mod clash; // what would set them beside a new rule
pub mod facts; // facts of this machine
mod persistent; // settings that iosched-ab persist wrote
mod requests; // I/O classes that nothing applies, and throttles
mod weights; // weights of control groups that nothing applies

use serde::{Deserialize, Serialize};

use facts::{DiskFacts, Facts, Trouble};
use iosched_host::scheduler::known_missing_hint;
use iosched_result::report::escape;
use iosched_result::report::page::Page;
pub use persistent::PersistentSetting;

pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "doctor-1.schema.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    Ok,
    /// Functions that depend on it do not work, or only in part.
    Missing,
    /// It is present and disturbs a comparison.
    Conflict,
    /// It cannot be determined on this system or by this user.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Item {
    /// The requirement: a stable name, one line each; `disk NAME` for disks, `tracepoint NAME` for tracepoints.
    pub name: String,
    pub state: ItemState,
    pub found: String,
    /// How to fix it; empty where nothing needs fixing.
    pub remedy: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub iosched_version: String,
    /// The probe was loaded, attached and detached again.
    pub can_measure: bool,
    /// Whether every named disk can be switched; if none was named, whether any disk can.
    pub can_switch: bool,
    pub items: Vec<Item>,
    /// The settings that `iosched-ab persist` wrote.
    pub persistent: Vec<PersistentSetting>,
}

/// `named`: the user named the disks, so every one of them must work.
pub fn diagnose(facts: &Facts, named: bool) -> Diagnosis {
    let mut items = vec![item("kernel", ItemState::Ok, &facts.kernel, "")];
    items.extend(probe(facts));
    items.extend(rights(facts));
    items.extend(facts.disks.iter().map(disk));
    items.extend(schedulers(facts));
    items.extend(tools(facts));
    items.extend(agents::items(facts));
    items.extend(weights::items(facts));
    items.extend(requests::items(facts));
    let persistent = persistent::settings(facts);
    items.extend(persistent::items(&persistent));
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
        can_switch: can_switch && facts.can_record,
        items,
        persistent,
    }
}

fn item(name: &str, state: ItemState, found: impl AsRef<str>, remedy: impl AsRef<str>) -> Item {
    Item {
        name: name.to_owned(),
        state,
        found: escape::line(found.as_ref()),
        remedy: escape::line(remedy.as_ref()),
    }
}

fn outcome(name: &str, found: &Result<String, Trouble>) -> Item {
    match found {
        Ok(found) => item(name, ItemState::Ok, found, ""),
        Err(trouble) => item(name, ItemState::Missing, &trouble.what, &trouble.hint),
    }
}

fn probe(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    match &facts.tracepoints {
        Err(trouble) => items.push(item(
            "BTF",
            ItemState::Missing,
            &trouble.what,
            &trouble.hint,
        )),
        Ok(tracepoints) => {
            items.push(item("BTF", ItemState::Ok, "/sys/kernel/btf/vmlinux", ""));
            items.extend(tracepoints.iter().map(|tracepoint| {
                let name = format!("tracepoint {}", tracepoint.name);
                if tracepoint.is_there {
                    return item(&name, ItemState::Ok, "", "");
                }
                let what = if tracepoint.is_needed {
                    "without it nothing can be measured"
                } else {
                    "without it some numbers are missing; docs/kernels.md lists them"
                };
                item(&name, ItemState::Missing, what, "boot a newer kernel")
            }));
        }
    }
    items.push(match &facts.probe {
        Ok(notes) if notes.is_empty() => item("probe", ItemState::Ok, "attached and detached", ""),
        Ok(notes) => item(
            "probe",
            ItemState::Ok,
            format!("attached and detached; {}", notes.join("; ")),
            "",
        ),
        Err(trouble) => item("probe", ItemState::Missing, &trouble.what, &trouble.hint),
    });
    items
}

/// Capability numbers from linux/capability.h.
const CAPABILITIES: [(&str, u32, &str); 3] = [
    ("CAP_BPF", 39, "to load the probe"),
    ("CAP_PERFMON", 38, "to attach it"),
    (
        "CAP_SYS_ADMIN",
        21,
        "for scratch devices and the true hardware depth; before Linux 5.8 also for the probe",
    ),
];

fn rights(facts: &Facts) -> Vec<Item> {
    let mut items: Vec<Item> = CAPABILITIES
        .iter()
        .map(|(name, bit, why)| match facts.capabilities {
            None => item(name, ItemState::Unknown, "/proc/self/status does not list capabilities", "mount /proc"),
            Some(all) if all >> bit & 1 == 1 => item(name, ItemState::Ok, *why, ""),
            Some(_) => item(name, ItemState::Missing, *why, "run it with sudo, or grant the capability with setpriv or systemd's AmbientCapabilities="),
        })
        .collect();
    items.push(match facts.lockdown.as_deref() {
        None => item(
            "lockdown",
            ItemState::Ok,
            "not in this kernel, or not shown",
            "",
        ),
        Some(modes) if modes.contains("[confidentiality]") => item(
            "lockdown",
            ItemState::Missing,
            "confidentiality: the probe's access to kernel memory is restricted",
            "boot without lockdown=confidentiality",
        ),
        Some(modes) => item("lockdown", ItemState::Ok, modes, ""),
    });
    if let Some(limit) = facts.memlock_bytes {
        // The probe raises the limit itself where it may.
        const PLENTY: u64 = 256 << 20;
        let found = format!("RLIMIT_MEMLOCK is {} KiB", limit >> 10);
        items.push(if limit >= PLENTY || facts.probe.is_ok() {
            item("memlock", ItemState::Ok, found, "")
        } else {
            let remedy = "run `ulimit -l unlimited` in the root shell that starts iosched, set LimitMEMLOCK=infinity in its systemd unit, or grant CAP_SYS_RESOURCE";
            item("memlock", ItemState::Missing, found, remedy)
        });
    }
    items
}

fn disk(disk: &DiskFacts) -> Item {
    let name = format!("disk {}", disk.name);
    let schedulers = format!("{} of {}", disk.active, disk.available.join(" "));
    match &disk.switch {
        Ok(warnings) if warnings.is_empty() => item(&name, ItemState::Ok, schedulers, ""),
        Ok(warnings) => item(
            &name,
            ItemState::Ok,
            format!("{schedulers}; {}", warnings.join("; ")),
            "",
        ),
        Err(trouble) => item(
            &name,
            ItemState::Missing,
            format!("{schedulers}; {}", trouble.what),
            &trouble.hint,
        ),
    }
}

/// The kernel's schedulers that no disk offers.
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
                    ItemState::Unknown,
                    "not loaded; /lib/modules has no list of modules",
                    hint,
                ),
                Some(modules) if modules.iter().any(|module| is_of(module, scheduler)) => {
                    item(&name, ItemState::Missing, "its module is not loaded", hint)
                }
                Some(_) => item(
                    &name,
                    ItemState::Missing,
                    "not in this kernel",
                    "boot a kernel that has it, for example your distribution's standard kernel",
                ),
            }
        })
        .collect()
}

/// `kernel/block/kyber-iosched.ko.zst` is the module of kyber.
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

/// One line per requirement, and below it how to fix it.
/// In a terminal as wide as that, the names have a column of their own.
const ALIGNED_FROM: usize = 120;

/// `width`: of the terminal; without one, each finding is one line.
pub fn render(diagnosis: &Diagnosis, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let name_width = diagnosis
        .items
        .iter()
        .map(|item| item.name.chars().count())
        .max()
        .unwrap_or(0);
    for item in &diagnosis.items {
        let state = match item.state {
            ItemState::Ok => "ok",
            ItemState::Missing => "missing",
            ItemState::Conflict => "conflict",
            ItemState::Unknown => "unknown",
        };
        let fix = format!("fix: {}", item.remedy);
        let mut said = vec![item.found.as_str(), &fix];
        said.truncate(if item.remedy.is_empty() { 1 } else { 2 });
        if width.is_none_or(|width| width >= ALIGNED_FROM) {
            let mut head = format!("{state:11}  {:name_width$}  ", item.name);
            if item.found.is_empty() {
                page.text += head.trim_end();
                page.text.push('\n');
            }
            for said in said.into_iter().filter(|said| !said.is_empty()) {
                page.sentence(&head, said);
                head = " ".repeat(13 + name_width + 2);
            }
        } else {
            let head = format!("{state:8} ");
            let named = match item.found.as_str() {
                "" => item.name.clone(),
                found => format!("{}: {found}", item.name),
            };
            page.sentence(&head, &named);
            for fix in &said[1..] {
                page.sentence(&" ".repeat(head.len()), fix);
            }
        }
    }
    let can = |can: bool| if can { "yes" } else { "no" };
    page.text
        + &format!(
            "\nmeasure: {}; switch schedulers: {}\n",
            can(diagnosis.can_measure),
            can(diagnosis.can_switch)
        )
}

#[cfg(test)]
mod tests;
