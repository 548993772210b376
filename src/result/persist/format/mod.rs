//! Decisions in the language of each program that sets up machines. Pure.

mod config; // files that hold a udev rule
mod hwdb; // udev's hardware database
mod node; // what knows kernel names, or all disks
mod reasons; // why, as comments
mod tuned; // TuneD
mod udev; // the rule itself

use super::Decision;
use super::several::{self, LeftOut, Together};
use super::support::Refusal;
use crate::text::named::Named;

/// How a format is written: what each decision adds to it, and all of it together.
pub struct Writer {
    /// Err: the format cannot hold this decision.
    part: fn(&Decision) -> Result<String, Refusal>,
    whole: fn(&Sheet<'_>) -> Result<String, Refusal>,
    placed: fn(&Sheet<'_>) -> Placed,
}

/// What reads the text when it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// udev, as this file.
    Udev(String),
    Tmpfiles,
    Tuned,
    /// A machine that is set up by something else.
    Elsewhere,
}

/// What a format makes of decisions.
pub struct Written {
    pub text: String,
    /// Disks that it has nothing for.
    pub left_out: Vec<LeftOut>,
    pub placed: Placed,
}

/// What a format is made of.
struct Sheet<'a> {
    parts: Vec<(&'a Decision, String)>,
    left_out: &'a [LeftOut],
}

pub type Format = Named<Writer>;

const fn row(
    name: &'static str,
    about: &'static str,
    part: fn(&Decision) -> Result<String, Refusal>,
    whole: fn(&Sheet<'_>) -> Result<String, Refusal>,
    placed: fn(&Sheet<'_>) -> Placed,
) -> Format {
    Format::new(
        name,
        about,
        Writer {
            part,
            whole,
            placed,
        },
    )
}

/// As a udev rule in a file of the name that its comment says.
fn by_udev(sheet: &Sheet<'_>) -> Placed {
    Placed::Udev(udev::file(sheet))
}

pub const FORMATS: &[Format] = &[
    row(
        "udev",
        "A udev rule",
        udev::part,
        |sheet| Ok(udev::whole(sheet)),
        by_udev,
    ),
    row(
        "hwdb",
        "Entries of the hardware database, and the udev rule that reads them: for many models",
        hwdb::part,
        |sheet| Ok(hwdb::whole(sheet)),
        by_udev,
    ),
    row(
        "tuned",
        "A TuneD profile",
        tuned::part,
        |sheet| Ok(tuned::whole(sheet)),
        |_| Placed::Tuned,
    ),
    row(
        "tmpfiles",
        "systemd-tmpfiles: by kernel name, at boot",
        node::tmpfiles,
        node::all_tmpfiles,
        |_| Placed::Tmpfiles,
    ),
    row(
        "nixos",
        "A NixOS module",
        udev::part,
        |sheet| Ok(config::nixos(sheet)),
        |_| {
            // The option's rules are this file.
            Placed::Udev("/etc/udev/rules.d/99-local.rules".to_owned())
        },
    ),
    row(
        "ansible",
        "An Ansible playbook that installs the udev rule",
        udev::part,
        |sheet| Ok(config::ansible(sheet)),
        by_udev,
    ),
    row(
        "machineconfig",
        "A MachineConfig of OpenShift that installs the udev rule",
        udev::part,
        |sheet| Ok(config::machineconfig(sheet)),
        by_udev,
    ),
    row(
        "gke",
        "The node configuration of a GKE node pool: the scheduler of all attached disks, without settings",
        node::gke,
        node::whole_gke,
        |_| Placed::Elsewhere,
    ),
];

impl Writer {
    /// The text, and what it leaves out. Err: the format cannot hold any of them.
    pub fn write(&self, together: &Together) -> Result<Written, Refusal> {
        let mut left_out = together.left_out.clone();
        let mut parts = Vec::new();
        for decision in &together.decisions {
            match (self.part)(decision) {
                Ok(part) => parts.push((decision, part)),
                Err(why) => left_out.push(LeftOut {
                    disks: decision.whom(),
                    why,
                }),
            }
        }
        if parts.is_empty() {
            return Err(several::nothing(&left_out));
        }
        let sheet = Sheet {
            parts,
            left_out: &left_out,
        };
        Ok(Written {
            text: (self.whole)(&sheet)?,
            placed: (self.placed)(&sheet),
            left_out,
        })
    }
}

impl Sheet<'_> {
    /// The name of files and labels: that of the disk, if there is one decision alone.
    fn name(&self) -> String {
        match self.parts[..] {
            [(decision, _)] => format!("iosched-{}", decision.name()),
            _ => "iosched".to_owned(),
        }
    }

    fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.parts.iter().map(|(decision, _)| *decision)
    }

    fn text(&self) -> String {
        self.parts.iter().map(|(_, part)| part.as_str()).collect()
    }

    /// The schedulers, each once.
    fn schedulers(&self) -> String {
        let mut names: Vec<&str> = self.decisions().map(|it| it.scheduler.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }
}

/// Disks that get nothing, as comments.
fn left_out(sheet: &Sheet<'_>) -> String {
    let lines = sheet.left_out.iter();
    let lines =
        lines.map(|it| reasons::as_comment(&format!("Left out: {}: {}", it.disks, it.why.what)));
    lines.collect()
}

/// The text with `indent` before each line.
fn indented(text: &str, indent: &str) -> String {
    text.lines().flat_map(|line| [indent, line, "\n"]).collect()
}
