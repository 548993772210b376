//! A udev rule, which other formats install. Pure.

use std::fmt::Write;

use super::reasons::reasons;
use super::{Sheet, left_out};
use crate::persist::quote::glob;
use crate::persist::support::Refusal;
use crate::persist::{Decision, Disk};

/// The rule below its reasons.
pub fn part(decision: &Decision) -> Result<String, Refusal> {
    Ok(format!(
        "{}ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {}, TEST==\"queue/scheduler\", {}\n",
        reasons(decision),
        condition(&decision.disk)?,
        assignments(decision)
    ))
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
    Ok(match disk {
        Disk::Model(model) => format!("ATTRS{{model}}==\"{}\"", glob(model)),
        Disk::Serial(serial) => format!("ENV{{ID_SERIAL}}==\"{}\"", glob(serial)),
        Disk::Alike(alike) => format!(
            "DRIVERS==\"{}\", ATTR{{queue/rotational}}==\"{}\", ATTR{{size}}==\"{}\"",
            glob(&alike.driver),
            u8::from(alike.is_rotational),
            alike.sectors()
        ),
        Disk::Unnamed(why) => return Err(why.clone()),
    })
}

pub fn file(sheet: &Sheet<'_>) -> String {
    format!("/etc/udev/rules.d/61-{}.rules", sheet.name())
}

pub fn whole(sheet: &Sheet<'_>) -> String {
    let file = file(sheet);
    let device = sheet.decisions().find_map(|it| it.devices.first());
    let device = device.map_or("DISK", String::as_str);
    format!(
        "# {file}\n\
         # Check: udevadm verify {file}     (systemd 254 or later)\n\
         # Try:   udevadm test --action=change /sys/block/{device}     (before systemd 256, that applies it)\n\
         # Apply: udevadm control --reload && udevadm trigger --action=change --subsystem-match=block\n\
         # The kernel loads the module of {} when it is first set. A disk that appears in the initramfs needs it there.\n\
         {}{}",
        sheet.schedulers(),
        left_out(sheet),
        sheet.text()
    )
}
