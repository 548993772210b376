//! Scratch devices: what was asked for, and what a measurement must find.

pub mod model; // disks with a known delay
pub mod spec; // as the user names one
pub mod truth; // their properties
