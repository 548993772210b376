//! What people and machines read. Types and pure functions; nothing here touches the machine.

pub mod live; // one interval of `iosched stat`
pub mod units; // numbers as people read them
