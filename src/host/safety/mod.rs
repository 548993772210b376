//! Restores every change, however the process ends, and drops privileges.

pub mod guardian; // the process that restores when this one cannot
pub mod journal; // the log of changes to undo
pub mod lock; // one writer of a disk's scheduler at a time
pub mod panics; // a bug of ours ends the work in order
pub mod privileges; // drops capabilities
pub mod restorable; // whether a disk's own values can be written again
