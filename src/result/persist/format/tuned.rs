//! A TuneD profile. Pure.

use std::fmt::Write;

use super::reasons::reasons;
use super::{Sheet, left_out};
use crate::persist::quote::regex;
use crate::persist::support::Refusal;
use crate::persist::{Decision, Disk};

/// Characters that SCSI has for a model; the last may be a blank, which is left out.
const SCSI_MODEL: [usize; 2] = [15, 16];

/// The lines of a section of the disk plugin.
pub fn part(decision: &Decision) -> Result<String, Refusal> {
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
    Ok(format!(
        "devices_udev_regex={}\n{disk}",
        pattern(&decision.disk)?
    ))
}

fn pattern(disk: &Disk) -> Result<String, Refusal> {
    Ok(match disk {
        // sysfs has the first 16 characters of the model of a SCSI or SATA disk, udev may have more.
        Disk::Model(model) if SCSI_MODEL.contains(&model.len()) => {
            format!("^ID_MODEL={}", regex(model))
        }
        Disk::Model(model) => format!("^ID_MODEL={}$", regex(model)),
        Disk::Serial(serial) => format!("^ID_SERIAL={}$", regex(serial)),
        Disk::Alike(_) => {
            return Err(Refusal {
                what: "TuneD knows disks by one property of udev".to_owned(),
                hint: "use --format udev".to_owned(),
            });
        }
        Disk::Unnamed(why) => return Err(why.clone()),
    })
}

pub fn whole(sheet: &Sheet<'_>) -> String {
    let name = sheet.name();
    let sections = sheet.parts.iter().enumerate();
    let sections = sections.map(|(index, (decision, part))| {
        let head = match sheet.parts.len() {
            1 => "[disk]\n".to_owned(),
            _ => format!("[disk_{}]\ntype=disk\n", index + 1),
        };
        format!("\n{}{head}{part}", reasons(decision))
    });
    format!(
        "# /etc/tuned/profiles/{name}/tuned.conf; before TuneD 2.23 it is /etc/tuned/{name}/tuned.conf\n\
         # Add include=PROFILE to [main] to keep the profile in force.\n\
         # Apply: tuned-adm profile {name}; check: tuned-adm verify\n\
         {}[main]\n\
         summary={} by iosched-ab persist\n{}",
        left_out(sheet),
        sheet.schedulers(),
        sections.collect::<String>(),
    )
}
