//! Metrics that a command reports itself.

use serde::{Deserialize, Serialize};

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Higher,
    Lower,
}

/// A value that a command reported in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {
    pub name: String,
    /// As given by the command; built-in parsers convert times to `ns` and byte rates to `bytes/s`. `1` if there is
    /// none.
    pub unit: String,
    /// Absent: a difference is shown, but no value is better.
    pub better: Option<Better>,
    pub value: f64,
    /// Whether this metric is primary when the user names none.
    #[serde(default)]
    pub is_headline: bool,
}

impl Reported {
    pub fn new(name: impl Into<String>, value: f64, unit: &str, better: Option<Better>) -> Self {
        Reported {
            name: name.into(),
            unit: unit.to_owned(),
            better,
            value,
            is_headline: false,
        }
    }

    #[must_use]
    pub fn headline(self) -> Self {
        Reported {
            is_headline: true,
            ..self
        }
    }
}

/// Maximum length of a name and of a unit, in characters.
const LONGEST_NAME: usize = 60;

/// Why `name` is not a valid name of a metric.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
        return Err(format!(
            "the name of a metric has 1 to {LONGEST_NAME} letters, digits, points, hyphens or underscores"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["tps", "pgbench.latency_p99.9", "a-b"] {
            check_name(good).unwrap();
        }
        for bad in ["", "a b", "a\u{1b}[2J", "ü", &"x".repeat(61)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
