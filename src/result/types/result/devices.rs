//! The disks of a result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::types::disk_id::DiskId;
use crate::types::scratch::truth::Truth;

/// The disk that was measured; with several disks the first of them, and `group` lists all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceInfo {
    pub device: DiskId,
    /// The disk's own name, by its hardware or by what it stands on: the kernel may call it otherwise tomorrow. Absent where
    /// nothing that lasts tells it from another one, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    pub model: Option<String>,
    /// The kernel's driver of the disk: `virtio_blk`. Absent for devices without one, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    pub firmware: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub hardware_queues: usize,
    /// The known properties of a scratch device that iosched made for the run.
    pub scratch: Option<Truth>,
    /// Set for several disks that are measured as one, and for a disk below the device that the workload used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupInfo>,
}

/// Disks that are switched together and measured as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupInfo {
    /// The devices that the user named: kernel names, or the mount point of a file system on several devices.
    pub named: Vec<String>,
    /// Which layer is switched and measured, and which device the workload's I/O goes to.
    pub layers: String,
    /// Sorted by device number.
    pub members: Vec<DeviceInfo>,
}

impl DeviceInfo {
    /// The name for reports: `sda`, `md0`, `/mnt/raid`; `sda,sdb` for several disks.
    pub fn name(&self) -> String {
        match &self.group {
            Some(group) => group.named.join(","),
            None => self.device.name.clone(),
        }
    }

    /// The name under which it is found again: its identity, or the name for reports where a disk has none. A scratch device
    /// is what was simulated.
    pub fn lasting_name(&self) -> String {
        if let Some(truth) = &self.scratch {
            return format!("scratch:{}", truth.spec());
        }
        let identities = self.disks().iter().map(|disk| disk.identity.as_deref());
        match identities.collect::<Option<Vec<&str>>>() {
            Some(mut identities) => {
                identities.sort_unstable();
                identities.join(",")
            }
            None => self.name(),
        }
    }

    /// The disk itself, or every member of its group.
    pub fn disks(&self) -> &[DeviceInfo] {
        match &self.group {
            Some(group) => &group.members,
            None => std::slice::from_ref(self),
        }
    }

    /// Disks of the same model are counted: `2 x ST4000, MX500`.
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
