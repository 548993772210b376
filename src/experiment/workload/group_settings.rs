//! Settings of the control group of a process: its share of the device, and its limits. Pure.

use serde::{Deserialize, Serialize};

const KEYS: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// For bfq, relative to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// As in `io.max`, of each device: `riops=2000 wbps=50000000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_max: Option<String>,
    /// Target of `io.latency` on each device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_latency_us: Option<u32>,
}

impl GroupSettings {
    /// Err: what is wrong, as in `weight is 0, which ...`.
    pub fn check(&self) -> Result<(), String> {
        if let Some(weight) = self.weight.filter(|it| !(1..=1000).contains(it)) {
            return Err(format!("weight is {weight}, which must be 1 to 1000"));
        }
        if self.io_latency_us == Some(0) {
            return Err("io_latency_us is 0, which must be 1 or more".to_owned());
        }
        self.check_limits()
    }

    fn check_limits(&self) -> Result<(), String> {
        let Some(text) = &self.io_max else {
            return Ok(());
        };
        let is_limit = |word: &str| {
            let parts = word.split_once('=');
            parts.is_some_and(|(key, value)| {
                KEYS.contains(&key) && value.parse::<u64>().is_ok_and(|it| it > 0)
            })
        };
        if !text.trim().is_empty() && text.split_whitespace().all(is_limit) {
            return Ok(());
        }
        Err(format!(
            "io_max is `{text}`, which must be limits such as `riops=2000 wbps=50000000`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_keys_with_numbers() {
        let of = |text: &str| GroupSettings {
            io_max: Some(text.to_owned()),
            ..GroupSettings::default()
        };
        assert_eq!(of("riops=2000 wbps=5").check(), Ok(()));
        for text in ["", "riops", "riops=0", "riops=max", "iops=1", "8:0 riops=1"] {
            let wrong = of(text).check().unwrap_err();
            assert!(wrong.contains("must be limits"), "{wrong}");
        }
        assert_eq!(GroupSettings::default().check(), Ok(()));
    }
}
