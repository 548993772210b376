pub mod loop_device;
pub mod mount;
