//! Files: untrusted ones are read with a size limit, our own are written atomically.

pub mod flock; // a lock on an open file
pub mod glob; // patterns for names
pub mod hidden; // characters that a reader does not see
pub mod input; // reads untrusted files with a size limit
pub mod output; // writes files atomically, makes private directories
pub mod size; // sizes as people write them
pub mod stdout; // standard output, whose reader may stop reading
pub mod trust; // files that lead to actions, and who may have written them
pub mod way; // who can replace what a path leads to
