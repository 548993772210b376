//! The settings in force, as an arm: a switch away from it and back loses none of them.

use anyhow::Result;

use super::{NONE, NR_REQUESTS, is_of_scheduler};
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::State;

/// All tunables of the scheduler and `nr_requests`; a switch does not change the queue's other settings.
pub fn present(label: &str, state: &State) -> Result<Arm> {
    let is_kept =
        |name: &str| is_of_scheduler(name) || (name == NR_REQUESTS && state.active != NONE);
    let settings = state.settings.iter().filter(|(name, _)| is_kept(name));
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    let parts: Vec<String> = std::iter::once(state.active.clone())
        .chain(settings)
        .collect();
    format!("{label}={}", parts.join(",")).parse()
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
        let arm = present("mq-deadline (present)", &state).unwrap();
        assert_eq!(arm.label, "mq-deadline (present)");
        assert_eq!(
            arm.to_string(),
            "mq-deadline,iosched/read_expire=77,nr_requests=64"
        );
        state.active = "none".to_owned();
        state.settings.remove("iosched/read_expire");
        assert_eq!(present("none", &state).unwrap().to_string(), "none");
    }
}
