//! The command line of `iosched-ab read-loop`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use iosched_result::text::size::bytes;

#[derive(Args)]
pub struct ReadLoop {
    /// The file, or a device
    pub file: PathBuf,
    /// Size of the buffer in bytes, or with K, M, G: each read(2) asks for as much
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub buffer: u64,
    /// How much is read, from the beginning
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub bytes: u64,
    /// What posix_fadvise(2) says of the whole file first
    #[arg(long, value_enum, default_value = "normal")]
    pub advice: ReadAdvice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReadAdvice {
    Normal,
    Sequential,
    Random,
}
