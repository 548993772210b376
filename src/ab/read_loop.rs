//! `iosched-ab read-loop`: reads a file as a program does, with a buffer of a given size, and nothing else.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};
use iosched_result::failure::Failure;
use rustix::fs::Advice;

use crate::cli::{ReadAdvice, ReadLoop};

pub fn run(arguments: &ReadLoop) -> Result<()> {
    let path = &arguments.file;
    if arguments.buffer == 0 {
        return Err(Failure::usage("a buffer of 0 bytes reads nothing", ""));
    }
    let at = || format!("reading {}", path.display());
    let mut file = File::open(path).with_context(at)?;
    let advice = match arguments.advice {
        ReadAdvice::Normal => Advice::Normal,
        ReadAdvice::Sequential => Advice::Sequential,
        ReadAdvice::Random => Advice::Random,
    };
    // No length: up to the end.
    rustix::fs::fadvise(&file, 0, None, advice).with_context(at)?;
    let buffer_bytes = usize::try_from(arguments.buffer).context("a buffer of that size")?;
    let mut buffer = vec![0; buffer_bytes];
    let mut left = arguments.bytes;
    while left > 0 {
        let wanted = buffer_bytes.min(usize::try_from(left).unwrap_or(buffer_bytes));
        let read = file.read(&mut buffer[..wanted]).with_context(at)?;
        if read == 0 {
            return Err(Failure::runtime(
                format!("{} has {left} bytes less than --bytes", path.display()),
                "name a larger file, or read less of it",
            ));
        }
        left -= read as u64;
    }
    Ok(())
}
