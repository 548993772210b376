//! A watch needs its rights to begin; what it does not need to go on it gives up.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// For a process of one thread that has attached its probe and changes nothing. Keeps CAP_BPF, without which kernels
/// before 5.19 take no map operation (places of owners that have ended go to new ones), and CAP_SYS_ADMIN only where
/// the hardware depth cannot be read without a mount of our own.
pub fn keep_those_of_a_watch() -> Result<()> {
    let mut needed = CapabilitySet::BPF;
    if !Path::new("/sys/kernel/debug/block").exists() {
        needed |= CapabilitySet::SYS_ADMIN;
    }
    let now = capabilities(None).context("reading the capabilities")?;
    let kept = CapabilitySets {
        effective: now.effective & needed,
        permitted: now.permitted & needed,
        inheritable: CapabilitySet::empty(),
    };
    set_no_new_privs(true).context("giving up new privileges")?;
    set_capabilities(None, kept).context("giving up capabilities")
}
