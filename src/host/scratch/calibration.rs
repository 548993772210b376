//! Measures what the path through the loop driver, FUSE and the timer adds to every request. Replies then leave earlier
//! by this much, so that the whole device has the latency of its model.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};

use super::completion::now_ns;
use super::server::Server;

/// Service time during calibration: the sleep of the fastest model, because a CPU that slept longer wakes up later.
pub const SERVICE_NS: u64 = 1_000_000;

/// A larger overhead means that the machine is too busy to calibrate; no more than this is compensated.
const MOST_NS: u64 = 200_000;

const BLOCK_BYTES: usize = 4096;
const WARM_UP: usize = 20;
const READS: usize = 250;

/// Median over several reads of the time to reach the server plus the lag of its reply.
///
/// Issue (D) is a few microseconds after the reader's system call, and completion (C) about as much after the reply was
/// sent, so the two errors cancel. The wake-up of the reader does not belong to the device and is not included.
pub fn overhead_ns(device: &str, server: &Server) -> Result<u64> {
    let path = Path::new("/dev").join(device);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(&path)
        .with_context(|| format!("opening {}", path.display()))?;
    let mut memory = vec![0; 2 * BLOCK_BYTES];
    let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
    let block = &mut memory[aligned..aligned + BLOCK_BYTES];
    let mut ways_ns = Vec::with_capacity(WARM_UP + READS);
    for number in 0..WARM_UP + READS {
        ways_ns.push(way_ns(&file, block, number, server)?);
    }
    Ok(median(&mut ways_ns[WARM_UP..]).min(MOST_NS))
}

fn way_ns(file: &File, block: &mut [u8], number: usize, server: &Server) -> Result<u64> {
    let start_ns = now_ns();
    file.read_exact_at(block, (number * BLOCK_BYTES) as u64 % (1 << 20))
        .context("reading the scratch device")?;
    let there_ns = server.clockwork.last_arrival_ns().saturating_sub(start_ns);
    // This may still be the lag of the previous read; the median is not affected.
    Ok(there_ns + server.last_lag_ns())
}

fn median(values: &mut [u64]) -> u64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_do_not_move_the_median() {
        assert_eq!(median(&mut [9_000_000, 50, 52, 51, 0]), 51);
        assert_eq!(median(&mut [7]), 7);
    }
}
