//! Entries of udev's hardware database, and the rule that reads them. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::reasons::reasons;
use super::{Sheet, left_out, udev};
use crate::persist::quote::glob;
use crate::persist::support::Refusal;
use crate::persist::{Decision, Disk};

pub fn part(decision: &Decision) -> Result<String, Refusal> {
    let model = match &decision.disk {
        Disk::Model(model) => model,
        Disk::Unnamed(why) => return Err(why.clone()),
        Disk::Serial(_) | Disk::Alike(_) => {
            return Err(Refusal {
                what: "the format hwdb is for models of disks".to_owned(),
                hint: "leave out --serial or --alike, or use --format udev".to_owned(),
            });
        }
    };
    let mut properties = format!(" IOSCHED_SCHEDULER={}\n", decision.scheduler);
    for (attribute, value) in &decision.settings {
        let _ = writeln!(properties, " {}={value}", property(attribute));
    }
    Ok(format!(
        "{}# Query: systemd-hwdb query 'iosched:model:{pattern}:'\n\n\
         iosched:model:{pattern}:\n{properties}\n",
        reasons(decision),
        pattern = glob(model),
    ))
}

/// `iosched/low_latency` as the name of a property.
fn property(attribute: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = attribute.chars().map(plain).collect();
    format!("IOSCHED_SET_{}", name.to_ascii_uppercase())
}

pub fn whole(sheet: &Sheet<'_>) -> String {
    let settings = sheet.decisions().flat_map(|it| &it.settings);
    let attributes: BTreeSet<&str> = settings.map(|(attribute, _)| attribute.as_str()).collect();
    let settings = attributes.into_iter().map(|attribute| {
        let name = property(attribute);
        format!("ENV{{{name}}}==\"?*\", ATTR{{queue/{attribute}}}=\"$env{{{name}}}\"\n")
    });
    format!(
        "# Two files. The first: /etc/udev/hwdb.d/61-{}.hwdb; then systemd-hwdb update\n{}{}\
         # The second: {}\n\
         ACTION!=\"add|change\", GOTO=\"iosched_end\"\n\
         SUBSYSTEM!=\"block\", GOTO=\"iosched_end\"\n\
         ENV{{DEVTYPE}}!=\"disk\", GOTO=\"iosched_end\"\n\
         IMPORT{{builtin}}=\"hwdb 'iosched:model:$attr{{device/model}}:'\"\n\
         ENV{{IOSCHED_SCHEDULER}}==\"?*\", TEST==\"queue/scheduler\", ATTR{{queue/scheduler}}=\"$env{{IOSCHED_SCHEDULER}}\"\n\
         {}LABEL=\"iosched_end\"\n",
        sheet.name(),
        left_out(sheet),
        sheet.text(),
        udev::file(sheet),
        settings.collect::<String>(),
    )
}
