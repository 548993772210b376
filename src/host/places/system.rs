//! Settings of the whole system, below /proc/sys.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::system_setting::{self, SystemSetting};

/// A setting and the same limit in another unit: one of the two is 0, and is not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSystem {
    /// By name, one or two.
    values: BTreeMap<String, String>,
}

impl SavedSystem {
    pub(super) fn take(setting: &'static SystemSetting) -> Result<SavedSystem> {
        let names = [Some(setting.name), setting.other_unit]
            .into_iter()
            .flatten();
        let values = names.map(|name| Ok((name.to_owned(), read(name)?)));
        Ok(SavedSystem {
            values: values.collect::<Result<_>>()?,
        })
    }

    /// What is in force.
    fn of_force(&self) -> Option<(&str, &str)> {
        let all = || {
            self.values
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
        };
        // The kernel takes a 0 for a ratio, and refuses it for bytes.
        all()
            .find(|(_, value)| *value != "0")
            .or_else(|| all().next_back())
    }

    pub(super) fn apply(&self, arm: &Arm) -> Result<()> {
        let mut of_arm = self
            .values
            .keys()
            .filter_map(|name| Some((name.as_str(), arm.setting(name)?)));
        match of_arm.next().or_else(|| self.of_force()) {
            Some((name, value)) => make(name, value),
            None => Ok(()),
        }
    }

    pub(super) fn restore(&self) -> Result<()> {
        if self
            .values
            .iter()
            .all(|(name, value)| read(name).is_ok_and(|now| now == *value))
        {
            return Ok(());
        }
        self.of_force()
            .map_or(Ok(()), |(name, value)| make(name, value))
    }

    pub(super) fn write_again(&self) -> Result<()> {
        self.of_force().map_or(Ok(()), |(name, value)| {
            write(name, value)?;
            ensure(name, value)
        })
    }

    pub(super) fn shown(&self) -> BTreeMap<String, String> {
        let shown = |name: &String| {
            let value = read(name);
            let value =
                value.unwrap_or_else(|error| format!("not readable: {:#}", error.root_cause()));
            (name.clone(), value)
        };
        self.values.keys().map(shown).collect()
    }

    pub(super) fn describe(&self) -> String {
        let names: Vec<&str> = self.values.keys().map(String::as_str).collect();
        names.join(" and ")
    }
}

/// Only known settings are read and written, also by what a journal says.
fn path(name: &str) -> Result<PathBuf> {
    let known = system_setting::of(name)
        .with_context(|| format!("{name} is not a setting that arms make"))?;
    Ok(PathBuf::from("/proc/sys").join(known.name.replace('.', "/")))
}

pub(super) fn read(name: &str) -> Result<String> {
    let path = path(name)?;
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    Ok(text.trim().to_owned())
}

fn make(name: &str, value: &str) -> Result<()> {
    if read(name)? == value {
        return Ok(());
    }
    write(name, value)?;
    ensure(name, value)
}

fn write(name: &str, value: &str) -> Result<()> {
    let path = path(name)?;
    fs::write(&path, value).map_err(|error| {
        let out_of_range = Errno::from_io_error(&error) == Some(Errno::RANGE);
        if out_of_range || error.kind() == std::io::ErrorKind::InvalidInput {
            Failure::usage(
                format!("{name}: the kernel refuses {value}"),
                "use a value within its limits, which are those of `sysctl`",
            )
        } else {
            anyhow::Error::new(error).context(format!("writing {value:?} to {}", path.display()))
        }
    })
}

fn ensure(name: &str, value: &str) -> Result<()> {
    let now = read(name)?;
    let same = match (now.parse::<u64>(), value.parse::<u64>()) {
        (Ok(now), Ok(value)) => now == value,
        _ => now == value,
    };
    if same {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{name}: {value} was written and reads back as {now}"),
        "use a value that the kernel takes unchanged",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(values: &[(&str, &str)]) -> SavedSystem {
        let values = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        SavedSystem {
            values: values.collect(),
        }
    }

    #[test]
    fn the_unit_that_is_in_force_is_the_one_that_is_restored() {
        let ratio = saved(&[("vm.dirty_bytes", "0"), ("vm.dirty_ratio", "20")]);
        assert_eq!(ratio.of_force(), Some(("vm.dirty_ratio", "20")));
        let bytes = saved(&[("vm.dirty_bytes", "8192"), ("vm.dirty_ratio", "0")]);
        assert_eq!(bytes.of_force(), Some(("vm.dirty_bytes", "8192")));
        let none = saved(&[("vm.dirty_bytes", "0"), ("vm.dirty_ratio", "0")]);
        assert_eq!(none.of_force(), Some(("vm.dirty_ratio", "0")));
        let alone = saved(&[("vm.dirty_writeback_centisecs", "0")]);
        assert_eq!(
            alone.of_force(),
            Some(("vm.dirty_writeback_centisecs", "0"))
        );
    }

    #[test]
    fn a_journal_leads_to_no_other_setting() {
        for name in ["kernel.panic", "vm.../../x", "vm.drop_caches"] {
            assert!(saved(&[(name, "1")]).restore().is_err(), "{name}");
        }
    }
}
