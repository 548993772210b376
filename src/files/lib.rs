//! Untrusted files are read with a size limit, our own are written atomically, and signals end a program in order.

pub mod interrupt; // signals, turned into an orderly end

pub mod flock; // a lock on an open file
pub mod stdout; // standard output, whose reader may stop reading
pub mod way; // who can replace what a path leads to

pub mod socket; // a Unix socket at a path

pub mod output; // writes files atomically, makes private directories

pub mod input; // reads untrusted files with a size limit
pub mod trust; // files that lead to actions, and who may have written them
