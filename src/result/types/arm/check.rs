//! Valid names of schedulers and of settings below `queue/`. Pure.

use std::collections::BTreeSet;

use anyhow::Result;

use super::SYNTAX;
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
pub(super) fn check_settings(text: &str, settings: &[(String, String)]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (attribute, value) in settings {
        if let Some(reason) = unfit_attribute(attribute) {
            return Err(Failure::usage(
                format!("arm {text:?}: attribute {attribute:?} {reason}"),
                "an attribute is a path below the device's queue/ in sysfs, for example nr_requests or iosched/read_expire",
            ));
        }
        if value.trim().is_empty() || value.contains(is_hidden) {
            return Err(Failure::usage(
                format!("arm {text:?}: attribute {attribute} has no value"),
                SYNTAX,
            ));
        }
        if value.len() > VALUE_BYTES {
            return Err(Failure::usage(
                format!("arm {text:?}: the value of {attribute} has more than {VALUE_BYTES} bytes"),
                SYNTAX,
            ));
        }
        if !seen.insert(attribute) {
            return Err(Failure::usage(
                format!("arm {text:?}: attribute {attribute} is given twice"),
                "set it once",
            ));
        }
    }
    Ok(())
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
