//! The disks of a result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::{Device, Disks};
use crate::scratch::Truth;

/// The disk that was measured. Of several the first; then `group` has them all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceInfo {
    pub device: Device,
    pub model: Option<String>,
    pub firmware: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub hardware_queues: usize,
    /// What is known beforehand of a scratch device of our own.
    pub scratch: Option<Truth>,
    /// Of several disks as one, or of one below what the workload used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupInfo>,
}

/// Disks that were switched together and measured as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupInfo {
    /// What was asked for: kernel names, or the mount point of a file system on several devices.
    pub named: Vec<String>,
    /// Which layer was switched and measured, and which the workload was given.
    pub layers: String,
    /// In the order of their device numbers.
    pub members: Vec<DeviceInfo>,
}

impl DeviceInfo {
    pub fn of(device: &Device, scratch: Option<Truth>) -> DeviceInfo {
        DeviceInfo {
            device: device.clone(),
            model: device.model(),
            firmware: device.firmware(),
            size_bytes: device.size_bytes().ok(),
            rotational: device.rotational().ok(),
            hardware_queues: device.hardware_queues(),
            scratch,
            group: None,
        }
    }

    pub fn of_all(disks: &Disks, scratch: Option<Truth>) -> DeviceInfo {
        let members = || disks.members.iter().map(|disk| DeviceInfo::of(disk, None));
        DeviceInfo {
            group: disks.layers().map(|layers| GroupInfo {
                named: disks.named.clone(),
                layers,
                members: members().collect(),
            }),
            ..DeviceInfo::of(&disks.members[0], scratch)
        }
    }

    /// What it is called: `sda`, `md0`, `/mnt/raid`; `sda,sdb` of several.
    pub fn name(&self) -> String {
        match &self.group {
            Some(group) => group.named.join(","),
            None => self.device.name.clone(),
        }
    }

    /// Itself, or all of a group.
    pub fn disks(&self) -> &[DeviceInfo] {
        match &self.group {
            Some(group) => &group.members,
            None => std::slice::from_ref(self),
        }
    }

    /// Of several disks all, those of one model as one: `2 x ST4000, MX500`.
    pub fn models(&self) -> Option<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for model in self.disks().iter().filter_map(|disk| disk.model.as_deref()) {
            *counts.entry(model).or_default() += 1;
        }
        let models: Vec<String> = counts
            .into_iter()
            .map(|(model, count)| match count {
                1 => model.to_owned(),
                _ => format!("{count} x {model}"),
            })
            .collect();
        (!models.is_empty()).then(|| models.join(", "))
    }
}
