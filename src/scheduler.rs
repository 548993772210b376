//! A scheduler and its settings: read, apply, verify, put back. The only module that writes sysfs.
use anyhow::Result;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedQueue {
    pub device: String,
}
pub fn restore(_saved: &SavedQueue) -> Result<()> {
    unimplemented!()
}
