//! Facts about this machine, and the kernel objects that iosched makes on it. Knows nothing about schedulers.

pub mod ask; // runs a program with limits of time and output
pub mod cgroup; // control groups: where they are mounted, their names, their end
pub mod device; // a block device and what sysfs says of it
pub mod environment; // everything else that can change a result
pub mod file_system; // file systems that iosched makes on its own devices
pub mod fuse_mount; // FUSE mounts made by iosched
pub mod kernel_functions; // kernel functions by address
pub mod loop_device; // loop devices made by iosched
pub mod memory; // how the allocator returns memory
pub mod page_cache; // what it holds of a file or a device, and how to drop it
pub mod pressure; // how long tasks waited for I/O, as the kernel counts it
pub(crate) mod writer; // a write in a child process, which may hang
