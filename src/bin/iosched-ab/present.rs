//! The arm `present`: replaced by the scheduler and the settings in force.

use anyhow::Result;
use iosched::failure::Failure;
use iosched::machine::device::Disks;
use iosched::scheduler::arm::Arm;
use iosched::scheduler::{self, State};

/// The arm's name on the command line.
const PRESENT: &str = "present";

/// Replaces the arm in place and returns its index.
pub fn write_out(arms: &mut [Arm], disks: &Disks) -> Result<Option<usize>> {
    let is_present = |arm: &Arm| arm.scheduler == PRESENT;
    let Some(index) = arms.iter().position(is_present) else {
        return Ok(None);
    };
    let states = disks.members.iter().map(scheduler::read);
    let states: Vec<State> = states.collect::<Result<_>>()?;
    let texts: Vec<String> = states
        .iter()
        .map(|state| text(&arms[index].label, state))
        .collect();
    let Some((first, others)) = texts.split_first() else {
        return Ok(None);
    };
    if others.iter().any(|other| other != first) {
        return Err(Failure::usage(
            "the disks have different schedulers or settings, so `present` is not one arm",
            "set them alike first, or name the arms",
        ));
    }
    arms[index] = first.parse()?;
    Ok(Some(index))
}

/// All tunables of the scheduler and `nr_requests`; a switch does not change the queue's other settings.
fn text(label: &str, state: &State) -> String {
    let is_kept = |name: &str| {
        name.starts_with("iosched/") || (name == "nr_requests" && state.active != "none")
    };
    let settings = state.settings.iter().filter(|(name, _)| is_kept(name));
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    let parts: Vec<String> = std::iter::once(state.active.clone())
        .chain(settings)
        .collect();
    format!("{label}={}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tunables_are_written_out() {
        let settings = [
            ("iosched/read_expire", "77"),
            ("nr_requests", "64"),
            ("read_ahead_kb", "128"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut state = State {
            active: "mq-deadline".to_owned(),
            available: Vec::new(),
            settings: settings.into(),
            hardware_depth: None,
        };
        let found = text("present", &state);
        assert_eq!(
            found,
            "present=mq-deadline,iosched/read_expire=77,nr_requests=64"
        );
        found.parse::<Arm>().unwrap();
        state.active = "none".to_owned();
        state.settings.remove("iosched/read_expire");
        assert_eq!(text("present", &state), "present=none");
    }
}
