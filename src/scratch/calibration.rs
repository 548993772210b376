//! What the way through the loop driver, FUSE and the timer adds to every request. The replies then leave that
//! much earlier, so that the device as a whole takes the time of its model.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};

use super::completion::now_ns;

/// The service time while calibrating: as long a sleep as that of the fastest model.
pub const SERVICE_NS: u64 = 1_000_000;

/// More than this is no way but a machine that is too busy to calibrate on; it is not taken off.
pub const MOST_NS: u64 = 200_000;

const BLOCK_BYTES: usize = 4096;
const WARM_UP: u64 = 20;
const READS: u64 = 250;

/// The median of issue to complete above [`SERVICE_NS`], which every read must take for now.
pub fn overhead_ns(device: &str) -> Result<u64> {
    let path = Path::new("/dev").join(device);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(&path)
        .with_context(|| format!("opening {}", path.display()))?;
    let mut memory = vec![0; 2 * BLOCK_BYTES];
    let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
    let block = &mut memory[aligned..aligned + BLOCK_BYTES];
    read_one_by_one(&file, block, WARM_UP)?;
    let before = read_time(device)?;
    let reads_ns = read_one_by_one(&file, block, READS)?;
    let after = read_time(device)?;
    Ok(overhead(reads_ns, after.difference(before)))
}

fn read_one_by_one(file: &File, block: &mut [u8], count: u64) -> Result<Vec<u64>> {
    (0..count)
        .map(|number| {
            let start_ns = now_ns();
            file.read_exact_at(block, number * BLOCK_BYTES as u64)
                .context("reading the scratch device")?;
            Ok(now_ns() - start_ns)
        })
        .collect()
}

/// What the block layer has accounted: reads, and their time in whole milliseconds.
#[derive(Clone, Copy)]
struct ReadTime {
    reads: u64,
    total_ms: u64,
}

impl ReadTime {
    fn difference(self, before: ReadTime) -> ReadTime {
        ReadTime {
            reads: self.reads - before.reads,
            total_ms: self.total_ms - before.total_ms,
        }
    }
}

fn read_time(device: &str) -> Result<ReadTime> {
    let path = Path::new("/sys/block").join(device).join("stat");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    parse(&text).with_context(|| format!("{} is not a statistic of reads", path.display()))
}

/// Fields 1 and 4 of `/sys/block/X/stat`.
fn parse(text: &str) -> Option<ReadTime> {
    let mut fields = text.split_whitespace().map(str::parse);
    Some(ReadTime {
        reads: fields.next()?.ok()?,
        total_ms: fields.nth(2)?.ok()?,
    })
}

/// A read takes longer for its caller than for the device by the way to the block layer and back, which is not
/// the device's. Of that only the mean is known; the median of the device's own time is that of the callers
/// without it.
fn overhead(mut reads_ns: Vec<u64>, accounted: ReadTime) -> u64 {
    reads_ns.sort_unstable();
    let count = reads_ns.len() as u64;
    let Some(median_ns) = reads_ns.get(reads_ns.len() / 2) else {
        return 0;
    };
    let mean_ns = reads_ns.iter().sum::<u64>() / count;
    let accounted_ns = (accounted.total_ms * 1_000_000).checked_div(accounted.reads);
    let caller_ns = accounted_ns.map_or(0, |accounted_ns| mean_ns.saturating_sub(accounted_ns));
    (median_ns - caller_ns.min(*median_ns)).saturating_sub(SERVICE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistic_is_read() {
        let stat = "   1234      0     9872      250   77 0 616 3 0 240 250 0 0 0 0 0 0\n";
        let read = parse(stat).unwrap();
        assert_eq!((read.reads, read.total_ms), (1234, 250));
        assert!(parse("12 0 9").is_none());
    }

    #[test]
    fn the_callers_share_is_not_the_devices() {
        // 1.060 ms each for the caller, two outliers that only the mean sees, 1.050 ms accounted.
        let mut reads_ns = vec![1_060_000; 98];
        reads_ns.extend([6_060_000, 6_060_000]);
        let accounted = ReadTime {
            reads: 100,
            total_ms: 115,
        };
        assert_eq!(overhead(reads_ns, accounted), 50_000);
    }

    #[test]
    fn a_device_without_statistics_is_charged_with_all() {
        let nothing = ReadTime {
            reads: 0,
            total_ms: 0,
        };
        assert_eq!(overhead(vec![1_030_000; 9], nothing), 30_000);
        assert_eq!(overhead(vec![900_000; 9], nothing), 0);
        assert_eq!(overhead(Vec::new(), nothing), 0);
    }
}
