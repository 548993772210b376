//! Names, patterns, numbers and units in texts.

pub mod comment; // text for comments in any language
pub mod glob; // patterns for names
pub mod hidden; // characters that a reader does not see
pub mod named; // things that are chosen by name
pub mod number; // a number as it was written
pub mod similar; // what a misspelled name may mean
pub mod size; // sizes as people write them
pub mod unit; // units, and factors between them
