//! What people and machines read. Types and pure functions; nothing here touches the machine.

pub mod gate; // what a gate found
pub mod live; // one interval of `iosched stat`
pub mod result; // the result of an A/B: the JSON
pub mod text; // the result as a text table
pub mod units; // numbers as people read them

#[cfg(test)]
pub mod fixture; // a made-up run
