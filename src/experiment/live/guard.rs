//! Checks a condition every second while a round runs.

use std::time::Duration;

use anyhow::Result;

use super::condition::Condition;
use crate::machine::Machine;
use iosched_result::measured::snapshot::{Interval, Snapshot};

const PAUSE: Duration = Duration::from_secs(1);

pub struct Guard {
    condition: Condition,
    /// Time and counts of the last check.
    last: Option<(Duration, Snapshot)>,
    holds_since: Option<Duration>,
}

impl Guard {
    pub fn new(condition: Condition) -> Guard {
        Guard {
            condition,
            last: None,
            holds_since: None,
        }
    }

    /// Earlier counts belong to another arm.
    pub fn begin(&mut self) {
        self.last = None;
        self.holds_since = None;
    }

    /// A description, once the condition has held for its time. Checks at most once a second.
    pub fn check(&mut self, machine: &mut dyn Machine) -> Result<Option<String>> {
        let now = machine.now();
        let is_due = self
            .last
            .as_ref()
            .is_none_or(|(then, _)| now.saturating_sub(*then) >= PAUSE);
        if !is_due {
            return Ok(None);
        }
        let snapshot = machine.snapshot()?;
        let Some((then, earlier)) = self.last.replace((now, snapshot)) else {
            return Ok(None);
        };
        let (_, latest) = self.last.as_ref().expect("it was just put there");
        let interval = Interval::between(&earlier, latest)?;
        let name = interval
            .devices
            .first()
            .map(|device| device.name.clone())
            .unwrap_or_default();
        let (holds, value) = self.condition.holds(&interval.together(&name));
        if !holds {
            self.holds_since = None;
            return Ok(None);
        }
        let since = *self.holds_since.get_or_insert(then);
        let lasted = now.saturating_sub(since);
        Ok((lasted >= self.condition.lasting).then(|| {
            let value = value.map_or("nothing completed".to_owned(), |value| {
                self.condition.in_words(value)
            });
            format!(
                "{} for {:.1} s (at the end: {value})",
                self.condition.without_time(),
                lasted.as_secs_f64()
            )
        }))
    }
}
