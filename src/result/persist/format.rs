//! A decision in the language of each program that sets up machines. Pure.

use std::fmt::Write;

use super::evidence::MARK;
use super::quote::{comment, glob, regex};
use super::support::Refusal;
use super::{Decision, Disk};
use crate::text::named::Named;

/// Characters that SCSI has for a model.
const SCSI_MODEL: usize = 16;
/// Schedulers that the GKE API takes.
const GKE_SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// An error if the format cannot hold the decision.
pub type Render = fn(&Decision) -> Result<String, Refusal>;
pub type Format = Named<Render>;

pub const FORMATS: &[Format] = &[
    Format::new("udev", "A udev rule", udev),
    Format::new(
        "hwdb",
        "An entry of the hardware database, and the udev rule that reads it: for many models",
        hwdb,
    ),
    Format::new("tuned", "A TuneD profile", tuned),
    Format::new(
        "tmpfiles",
        "systemd-tmpfiles: by kernel name, at boot",
        |decision| Ok(tmpfiles(decision)),
    ),
    Format::new("nixos", "A NixOS module", nixos),
    Format::new(
        "ansible",
        "An Ansible playbook that installs the udev rule",
        ansible,
    ),
    Format::new(
        "gke",
        "The node configuration of a GKE node pool: the scheduler of all attached disks, without settings",
        gke,
    ),
];

/// The decision and its reasons, as comments.
fn reasons(decision: &Decision) -> String {
    let settings: String = decision
        .settings
        .iter()
        .flat_map(|(name, value)| [", ", name, "=", value])
        .collect();
    let disk = match &decision.disk {
        Disk::Model(model) => format!("disks of the model {model}"),
        Disk::Serial(serial) => format!("the disk {serial}"),
        Disk::Unnamed(_) => format!(
            "the disk that is called {} here",
            decision.devices.join(", ")
        ),
    };
    let evidence = &decision.evidence;
    let what = format!(
        "{}{settings} for {disk}, by iosched-ab persist. Measured:",
        decision.scheduler
    );
    let found = decision.found.iter().map(|found| format!("  {found}"));
    let how = format!(
        "Workload {}, Linux {}, firmware {}, {}, seed {}.",
        evidence.workload,
        evidence.kernel,
        evidence.firmware.as_deref().unwrap_or("unknown"),
        evidence.measured,
        evidence.seed
    );
    let lines: Vec<String> = match &decision.block {
        Some(block) => [what]
            .into_iter()
            .chain(block.lines().map(str::to_owned))
            .collect(),
        None => [what].into_iter().chain(found).chain([how]).collect(),
    };
    let lines = lines.iter().map(|line| format!("# {}", comment(line)));
    let mut text: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    // Its names are as comment() left them.
    text.push(format!(
        "{MARK}{}",
        serde_json::to_string(evidence).unwrap_or_default()
    ));
    text.join("\n") + "\n"
}

fn rule_file(decision: &Decision) -> String {
    format!("/etc/udev/rules.d/61-iosched-{}.rules", decision.name())
}

/// The scheduler comes first: it makes its own settings appear, and resets `nr_requests`.
fn assignments(decision: &Decision) -> String {
    let mut text = format!("ATTR{{queue/scheduler}}=\"{}\"", decision.scheduler);
    for (attribute, value) in &decision.settings {
        let _ = write!(text, ", ATTR{{queue/{attribute}}}=\"{value}\"");
    }
    text
}

/// Err: nothing that lasts tells which disk is meant.
fn condition(disk: &Disk) -> Result<String, Refusal> {
    match disk {
        Disk::Model(model) => Ok(format!("ATTRS{{model}}==\"{}\"", glob(model))),
        Disk::Serial(serial) => Ok(format!("ENV{{ID_SERIAL}}==\"{}\"", glob(serial))),
        Disk::Unnamed(why) => Err(why.clone()),
    }
}

fn rule(decision: &Decision) -> Result<String, Refusal> {
    Ok(format!(
        "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {}, TEST==\"queue/scheduler\", {}\n",
        condition(&decision.disk)?,
        assignments(decision)
    ))
}

fn udev(decision: &Decision) -> Result<String, Refusal> {
    let (file, device, scheduler) = (
        rule_file(decision),
        &decision.devices[0],
        &decision.scheduler,
    );
    Ok(format!(
        "# {file}\n{}\
         # Check: udevadm verify {file}     (systemd 254 or later)\n\
         # Try:   udevadm test --action=change /sys/block/{device}     (before systemd 256, that applies it)\n\
         # Apply: udevadm control --reload && udevadm trigger --action=change --subsystem-match=block\n\
         # The kernel loads the module of {scheduler} when it is first set. A disk that appears in the initramfs needs it there.\n\
         {}",
        reasons(decision),
        rule(decision)?
    ))
}

fn hwdb(decision: &Decision) -> Result<String, Refusal> {
    if let Disk::Unnamed(why) = &decision.disk {
        return Err(why.clone());
    }
    let Disk::Model(model) = &decision.disk else {
        return Err(Refusal {
            what: "the format hwdb is for models of disks".to_owned(),
            hint: "leave out --serial, or use --format udev".to_owned(),
        });
    };
    let mut properties = format!(" IOSCHED_SCHEDULER={}\n", decision.scheduler);
    let mut settings = String::new();
    for (index, (attribute, value)) in decision.settings.iter().enumerate() {
        let _ = writeln!(properties, " IOSCHED_SETTING_{index}={value}");
        let _ = writeln!(
            settings,
            "ENV{{IOSCHED_SETTING_{index}}}==\"?*\", ATTR{{queue/{attribute}}}=\"$env{{IOSCHED_SETTING_{index}}}\""
        );
    }
    let name = decision.name();
    Ok(format!(
        "# Two files. The first: /etc/udev/hwdb.d/61-iosched-{name}.hwdb; then systemd-hwdb update\n{}\
         # Query: systemd-hwdb query 'iosched:model:{pattern}:'\n\n\
         iosched:model:{pattern}:*\n{properties}\n\
         # The second: {file}\n\
         ACTION!=\"add|change\", GOTO=\"iosched_end\"\n\
         SUBSYSTEM!=\"block\", GOTO=\"iosched_end\"\n\
         ENV{{DEVTYPE}}!=\"disk\", GOTO=\"iosched_end\"\n\
         IMPORT{{builtin}}=\"hwdb 'iosched:model:$attr{{device/model}}:'\"\n\
         ENV{{IOSCHED_SCHEDULER}}==\"?*\", TEST==\"queue/scheduler\", ATTR{{queue/scheduler}}=\"$env{{IOSCHED_SCHEDULER}}\"\n\
         {settings}LABEL=\"iosched_end\"\n",
        reasons(decision),
        pattern = glob(model),
        file = rule_file(decision),
    ))
}

fn tuned(decision: &Decision) -> Result<String, Refusal> {
    let mut disk = format!("elevator={}\n", decision.scheduler);
    for (attribute, value) in &decision.settings {
        if attribute != "read_ahead_kb" {
            return Err(Refusal {
                what: format!("TuneD's disk plugin cannot set {attribute} for some disks only"),
                hint: "use --format udev".to_owned(),
            });
        }
        let _ = writeln!(disk, "readahead={value}");
    }
    let pattern = match &decision.disk {
        // sysfs has the first 16 characters of the model of a SCSI or SATA disk, udev may have more.
        Disk::Model(model) if model.len() == SCSI_MODEL => format!("^ID_MODEL={}", regex(model)),
        Disk::Model(model) => format!("^ID_MODEL={}$", regex(model)),
        Disk::Serial(serial) => format!("^ID_SERIAL={}$", regex(serial)),
        Disk::Unnamed(why) => return Err(why.clone()),
    };
    let name = decision.name();
    Ok(format!(
        "# /etc/tuned/profiles/iosched-{name}/tuned.conf; before TuneD 2.23 it is /etc/tuned/iosched-{name}/tuned.conf\n\
         # Add include=PROFILE to [main] to keep the profile in force.\n{}\
         # Apply: tuned-adm profile iosched-{name}; check: tuned-adm verify\n\
         [main]\n\
         summary={} for disks with {pattern}\n\n\
         [disk]\n\
         devices_udev_regex={pattern}\n{disk}",
        reasons(decision),
        decision.scheduler
    ))
}

fn tmpfiles(decision: &Decision) -> String {
    let name = decision.name();
    let scheduler = ("scheduler".to_owned(), decision.scheduler.clone());
    let mut lines = String::new();
    for device in &decision.devices {
        for (attribute, value) in [&scheduler].into_iter().chain(&decision.settings) {
            let value = value.replace(' ', "\\x20");
            let _ = writeln!(
                lines,
                "w /sys/block/{device}/queue/{attribute} - - - - {value}"
            );
        }
    }
    format!(
        "# /etc/tmpfiles.d/iosched-{name}.conf\n{}\
         # This knows the disk by its kernel name only, which may change from boot to boot, and acts once, at boot: use udev if\n\
         # you can.\n\
         # Apply: systemd-tmpfiles --create /etc/tmpfiles.d/iosched-{name}.conf\n{lines}",
        reasons(decision)
    )
}

/// The text with `indent` before each line.
fn indented(text: &str, indent: &str) -> String {
    text.lines().flat_map(|line| [indent, line, "\n"]).collect()
}

fn nixos(decision: &Decision) -> Result<String, Refusal> {
    Ok(format!(
        "{{\n  services.udev.extraRules = ''\n{}  '';\n}}\n",
        indented(&format!("{}{}", reasons(decision), rule(decision)?), "    ")
    ))
}

fn ansible(decision: &Decision) -> Result<String, Refusal> {
    let file = rule_file(decision);
    Ok(format!(
        "# A playbook: ansible-playbook --check --diff FILE\n\
         - name: {scheduler} for the disks that iosched-ab measured\n\
         \x20 hosts: all\n\
         \x20 become: true\n\
         \x20 tasks:\n\
         \x20   - name: Install the udev rule\n\
         \x20     ansible.builtin.copy:\n\
         \x20       dest: {file}\n\
         \x20       mode: \"0644\"\n\
         \x20       content: !unsafe |\n{rule}\
         \x20     notify: Apply the udev rules\n\
         \x20 handlers:\n\
         \x20   - name: Apply the udev rules\n\
         \x20     ansible.builtin.shell: udevadm control --reload && udevadm trigger --action=change --subsystem-match=block\n",
        scheduler = decision.scheduler,
        rule = indented(
            &format!("{}{}", reasons(decision), rule(decision)?),
            "          "
        ),
    ))
}

/// Part of a request of the GKE API (container/v1): `LinuxNodeConfig.diskIoScheduler`. It knows disks by their use only.
fn gke(decision: &Decision) -> Result<String, Refusal> {
    let lacks = |what: String| Refusal {
        what: format!("a GKE node configuration cannot set {what}"),
        hint: "use --format udev".to_owned(),
    };
    if let Some((attribute, _)) = decision.settings.first() {
        return Err(lacks(attribute.clone()));
    }
    if let Disk::Serial(_) = &decision.disk {
        return Err(lacks("the scheduler of one disk only".to_owned()));
    }
    if !GKE_SCHEDULERS.contains(&decision.scheduler.as_str()) {
        return Err(lacks(format!("the scheduler {}", decision.scheduler)));
    }
    Ok(format!(
        "# The body of a request that updates a node pool of GKE, as YAML; yq -o json FILE makes it JSON\n{}\
         # nodeAttachedDiskIoScheduler is for all attached disks of a node. For the boot disk, or the local SSD that the\n\
         # node system uses, its name is nodeSystemIoScheduler. The pool's nodes are made anew.\n\
         # Check: cat /sys/block/*/queue/scheduler on a node\n\
         linuxNodeConfig:\n\
         \x20 diskIoScheduler:\n\
         \x20   nodeAttachedDiskIoScheduler: {}\n",
        reasons(decision),
        decision.scheduler
    ))
}
