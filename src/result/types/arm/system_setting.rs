//! Settings of the whole system that decide when data is written, and what is read. Pure.

#[derive(Debug, PartialEq, Eq)]
pub struct SystemSetting {
    /// As `sysctl` names it.
    pub name: &'static str,
    /// The same limit in another unit: the kernel sets it to 0 when this one is written.
    pub other_unit: Option<&'static str>,
}

pub const ALL: &[SystemSetting] = &[
    in_units("vm.dirty_bytes", "vm.dirty_ratio"),
    in_units("vm.dirty_ratio", "vm.dirty_bytes"),
    in_units("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
    in_units("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
    alone("vm.dirty_expire_centisecs"),
    alone("vm.dirty_writeback_centisecs"),
    alone("vm.swappiness"),
    alone("vm.vfs_cache_pressure"),
    alone("vm.page-cluster"),
];

const fn in_units(name: &'static str, other: &'static str) -> SystemSetting {
    SystemSetting {
        name,
        other_unit: Some(other),
    }
}

const fn alone(name: &'static str) -> SystemSetting {
    SystemSetting {
        name,
        other_unit: None,
    }
}

pub fn of(name: &str) -> Option<&'static SystemSetting> {
    ALL.iter().find(|setting| setting.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_for_each_other() {
        for setting in ALL {
            let other = setting.other_unit.map(|name| of(name).expect(name));
            assert!(other.is_none_or(|other| other.other_unit == Some(setting.name)));
        }
    }
}
