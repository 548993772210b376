//! The intervals that the terminal UI has shown: kept in bounded memory, written to a file, and read again.

pub mod blocks; // several intervals as one
pub mod buffer; // the last intervals, in bounded memory
pub mod file; // a file of intervals
pub mod frame; // one interval of all watched disks
pub mod packed; // an interval in the form in which memory and files hold it

#[cfg(test)]
pub(crate) mod tests;
