//! Valid names of schedulers and settings. Pure.

use std::collections::BTreeSet;

use anyhow::Result;

use super::place::{self, Place};
use super::{PRESENT, SYNTAX, system_setting};
use crate::failure::Failure;
use crate::text::hidden::is_hidden;

/// The kernel accepts no more in one write to sysfs.
const VALUE_BYTES: usize = 4095;

pub(super) fn is_scheduler_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Maps names of older kernels to their successors, with a note, and refuses those without one.
pub(super) fn present_name(requested: &str) -> Result<(&str, Option<String>)> {
    match requested {
        "noop" => Ok((
            "none",
            Some("Linux 5.0 replaced noop by none; they differ: none itself neither merges nor sorts".into()),
        )),
        "deadline" => Ok((
            "mq-deadline",
            Some("Linux 5.0 replaced deadline by mq-deadline".into()),
        )),
        "cfq" => Err(Failure::usage(
            "scheduler cfq: removed in Linux 5.0; bfq pursues the same goals",
            "use --arm bfq (fairness by process, weights, slice_idle)",
        )),
        "anticipatory" | "as" => Err(Failure::usage(
            format!("scheduler {requested}: removed in Linux 2.6.33, no successor"),
            "bfq's iosched/slice_idle comes closest",
        )),
        name => Ok((name, None)),
    }
}
pub(super) fn check_settings(
    text: &str,
    scheduler: &str,
    settings: &[(String, String)],
) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (name, value) in settings {
        let place = place_of(text, name)?;
        if value.trim().is_empty() || value.contains(is_hidden) {
            return Err(Failure::usage(
                format!("arm {text:?}: {name} has no value"),
                SYNTAX,
            ));
        }
        if value.len() > VALUE_BYTES {
            return Err(Failure::usage(
                format!("arm {text:?}: the value of {name} has more than {VALUE_BYTES} bytes"),
                SYNTAX,
            ));
        }
        if let Err(why) = place::check_value(place, value) {
            return Err(Failure::usage(
                format!("arm {text:?}: {name} {why}"),
                SYNTAX,
            ));
        }
        if !seen.insert(name.as_str()) {
            return Err(Failure::usage(
                format!("arm {text:?}: {name} is given twice"),
                "set it once",
            ));
        }
        check_alone(text, scheduler, place)?;
    }
    check_together(text, &seen)
}

/// What speaks against a setting under this scheduler.
fn check_alone(text: &str, scheduler: &str, place: Place) -> Result<()> {
    match place {
        Place::Group { file, .. } | Place::Own { file, .. }
            if scheduler != PRESENT && file.scheduler.is_some_and(|only| only != scheduler) =>
        {
            let only = file.scheduler.unwrap_or_default();
            Err(Failure::usage(
                format!("arm {text:?}: {}: only {only} acts on it", file.name),
                format!("leave it out, or use {only}"),
            ))
        }
        _ => Ok(()),
    }
}

/// What speaks against settings beside each other.
fn check_together(text: &str, names: &BTreeSet<&str>) -> Result<()> {
    for setting in system_setting::ALL {
        let other = setting.other_unit.filter(|other| names.contains(other));
        if let Some(other) = other.filter(|_| names.contains(setting.name)) {
            return Err(Failure::usage(
                format!(
                    "arm {text:?}: {} and {other}: the kernel has only one of them",
                    setting.name
                ),
                "set one of them",
            ));
        }
    }
    for (one, other) in [(place::EXEC, place::UNDO), (place::UNDO, place::EXEC)] {
        if names.contains(one) && !names.contains(other) {
            return Err(Failure::usage(
                format!("arm {text:?}: {one} without {other}"),
                format!("add {other}:COMMAND, so that what the arm does can be undone"),
            ));
        }
    }
    Ok(())
}

fn place_of<'a>(text: &str, name: &'a str) -> Result<Place<'a>> {
    let wrong = match place::of(name) {
        Ok(Place::Queue) => match unfit_attribute(name) {
            Some(reason) => format!("attribute {name:?} {reason}"),
            None => return Ok(Place::Queue),
        },
        Ok(_) if name.contains(is_hidden) => format!("{name:?} has characters that cannot be seen"),
        Ok(place) => return Ok(place),
        Err(reason) => format!("{name:?} {reason}"),
    };
    Err(Failure::usage(
        format!("arm {text:?}: {wrong}"),
        "a setting is a path below the device's queue/ in sysfs, for example nr_requests or iosched/read_expire; \
         one of a control group (cgroup:/db.slice/io.max, or cgroup:{NAME}/io.max of a process of the workload); or one of the system (vm.dirty_bytes)",
    ))
}

fn unfit_attribute(attribute: &str) -> Option<&'static str> {
    if let Some(why) = leaves_the_queue(attribute) {
        return Some(why);
    }
    if attribute.chars().any(|c| is_hidden(c) || c.is_whitespace()) {
        return Some("has blanks");
    }
    if attribute == "scheduler" {
        return Some("is set by the first word of the arm");
    }
    if attribute.starts_with("queue/") {
        return Some("starts with queue/, which must be omitted");
    }
    None
}

/// Why a path does not name a file below a directory.
pub fn leaves_the_queue(attribute: &str) -> Option<&'static str> {
    if attribute.is_empty() {
        return Some("is empty");
    }
    if attribute.starts_with('/') {
        return Some("is an absolute path");
    }
    let mut parts = attribute.split('/');
    parts
        .any(|part| part.is_empty() || part == "." || part == ".." || part.contains('\0'))
        .then_some("leaves the device's queue/")
}
