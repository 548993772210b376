//! Files: untrusted ones are read with a size limit, our own are written atomically.

pub mod flock; // a lock on an open file
pub mod glob; // patterns for names
pub mod input; // reads untrusted files with a size limit
pub mod output; // writes files atomically, makes private directories
pub mod size; // sizes as people write them
