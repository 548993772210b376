//! Control groups: mount points, names, and how our own groups are ended.

pub mod caller; // the group of this process, and its limits
pub mod controller; // enables a controller for our groups
pub mod cpu_stat; // its CPU time. Pure
pub mod end; // kills the processes of a group and removes it
pub mod group_file; // files of control groups that arms set
pub mod mounts; // where the hierarchies are mounted. Pure
pub mod names; // paths by id
pub mod requests; // classes that groups ask for, and throttles
pub mod setting; // the value of such a file: for a disk, or for all
pub mod weights; // what groups ask for, and who acts on it

/// Prefix of all our groups; no other group is ever ended.
pub const PREFIX: &str = "iosched-";
