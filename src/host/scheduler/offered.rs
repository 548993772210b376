//! Parts of an arm that a device has, and refusals of those that it lacks.

use anyhow::Result;

use super::is_of_scheduler;
use super::known::{meant, no_attribute};
use super::state::{Choice, attributes, choice};
use crate::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::text::similar::near;
use iosched_result::types::arm::Arm;

/// A part of an arm that a device lacks.
enum Lack<'a> {
    /// The schedulers that it offers instead.
    Scheduler(Choice),
    /// An attribute of the queue.
    Attribute(&'a str),
}

/// As far as can be told without a switch: the settings of a scheduler are only there while it is active.
fn lack<'a>(device: &Device, arm: &'a Arm) -> Result<Option<Lack<'a>>> {
    let choice = choice(device)?;
    if !choice.available.contains(&arm.scheduler) {
        return Ok(Some(Lack::Scheduler(choice)));
    }
    let names = arm.queue_settings().map(|(name, _)| name);
    let mut of_queue = names.filter(|name| !is_of_scheduler(name));
    let missing = of_queue.find(|name| !device.sysfs("queue").join(name).is_file());
    Ok(missing.map(Lack::Attribute))
}

/// Checks everything that can be rejected before the first write. An attribute that is not there may be one of the arm's
/// scheduler, named without `iosched/`: what is meant can only be said while that scheduler is active, so the switch is
/// made and undone.
pub(super) fn refuse_unknown(device: &Device, arm: &Arm) -> Result<()> {
    match lack(device, arm)? {
        Some(Lack::Scheduler(choice)) => Err(unknown_scheduler(device, &arm.scheduler, &choice)),
        Some(Lack::Attribute(name)) if choice(device)?.active == arm.scheduler => {
            Err(unknown_attribute(device, arm, name)?)
        }
        _ => Ok(()),
    }
}

/// In words, what the device lacks for an arm. None: nothing that can be told without a switch.
pub fn lacks(device: &Device, arm: &Arm) -> Result<Option<String>> {
    if !device.sysfs("queue/scheduler").exists() {
        return Ok(None); // refused later, with a better reason
    }
    let name = &device.name;
    Ok(lack(device, arm)?.map(|lack| match lack {
        Lack::Scheduler(choice) => {
            let hint = known_missing_hint(&arm.scheduler);
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            format!("{name} offers only {}{hint}", choice.available.join(", "))
        }
        Lack::Attribute(attribute) => format!("{name} has no queue/{attribute}"),
    }))
}

/// A usage failure that lists the available schedulers.
pub(crate) fn unknown_scheduler(device: &Device, name: &str, choice: &Choice) -> anyhow::Error {
    let hint = known_missing_hint(name).unwrap_or_else(|| {
        let offered = choice.available.iter().map(String::as_str);
        match near(name, offered)[..] {
            [] => "choose one of the schedulers that it offers".to_owned(),
            ref guesses => format!("did you mean {}?", guesses.join(" or ")),
        }
    });
    Failure::usage(
        format!(
            "{} has no scheduler {name:?}; it offers {}",
            device.name,
            choice.available.join(", ")
        ),
        hint,
    )
}

/// How to load a scheduler that Linux has but this kernel has not loaded.
pub fn known_missing_hint(name: &str) -> Option<String> {
    let module = match name {
        "bfq" => "bfq",
        "kyber" => "kyber-iosched",
        "mq-deadline" => "mq-deadline",
        _ => return None,
    };
    Some(format!(
        "`modprobe {module}` loads it, if this kernel has it as a module"
    ))
}

pub(super) fn unknown_attribute(
    device: &Device,
    arm: &Arm,
    attribute: &str,
) -> Result<anyhow::Error> {
    let there = attributes(device)?;
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    Ok(Failure::usage(
        no_attribute(device, arm, attribute),
        meant(attribute, &there),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_where_the_name_is_known() {
        assert!(
            known_missing_hint("kyber").is_some_and(|hint| hint.contains("modprobe kyber-iosched"))
        );
        assert!(known_missing_hint("bfq").is_some_and(|hint| hint.contains("modprobe bfq")));
        assert_eq!(known_missing_hint("adios"), None);
    }
}
