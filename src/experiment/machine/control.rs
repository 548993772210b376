//! Negative controls: work that does not depend on the arm, measured before and after the workload of each round. If its
//! time differs between arms, something other than the scheduler differs.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Instant;

use anyhow::{Context, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use iosched_host::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::metric::{CONTROL_CPU, CONTROL_DISK};
use iosched_result::random::below;

/// About 5 ms each on a 3 GHz CPU.
const STEPS: u64 = 4_000_000;
const LOOPS: usize = 5;
const READS: usize = 64;
const BLOCK_BYTES: usize = 4096;

pub struct Controls {
    disk: Option<ControlDisk>,
}

/// A disk that is only read.
struct ControlDisk {
    name: String,
    file: File,
    blocks: u64,
}

impl Controls {
    pub fn new(disk: Option<&Device>) -> Result<Controls> {
        Ok(Controls {
            disk: disk.map(ControlDisk::open).transpose()?,
        })
    }

    /// By metric.
    pub fn measure(&mut self, number: usize) -> Result<BTreeMap<String, f64>> {
        let mut found = BTreeMap::from([(CONTROL_CPU.to_owned(), cpu_loop_ns())]);
        if let Some(disk) = &self.disk {
            found.insert(CONTROL_DISK.to_owned(), disk.read_ns(number)?);
        }
        Ok(found)
    }
}

/// Median time of a few loops of fixed work.
fn cpu_loop_ns() -> f64 {
    let mut loops: Vec<f64> = (0..LOOPS)
        .map(|_| {
            let begin = Instant::now();
            black_box(fixed_work(black_box(1)));
            begin.elapsed().as_nanos() as f64
        })
        .collect();
    median(&mut loops)
}

/// It uses neither iterators nor calls: the compiler does not inline them in test builds, and each round would take a
/// second longer.
#[allow(clippy::manual_rotate)] // a call
fn fixed_work(mut x: u64) -> u64 {
    let mut step = 0;
    while step < STEPS {
        x = x.wrapping_mul(6_364_136_223_846_793_005);
        x = (x << 17 | x >> 47) ^ 1;
        step += 1;
    }
    x
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

impl ControlDisk {
    fn open(device: &Device) -> Result<ControlDisk> {
        let path = device.node();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(&path)
            .with_context(|| format!("opening the control disk {}", path.display()))?;
        let size_bytes = device.size_bytes()?;
        if size_bytes < BLOCK_BYTES as u64 {
            return Err(Failure::usage(
                format!("the control disk {} is empty", device.name),
                "choose a disk that has at least one block of 4 KiB",
            ));
        }
        Ok(ControlDisk {
            name: device.name.clone(),
            file,
            blocks: size_bytes / BLOCK_BYTES as u64,
        })
    }

    /// Median time of a random read. Each `number` reads other places, so that no lower cache can learn them.
    fn read_ns(&self, number: usize) -> Result<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(number as u64);
        let mut memory = vec![0; 2 * BLOCK_BYTES];
        let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
        let block = &mut memory[aligned..aligned + BLOCK_BYTES];
        let mut times = Vec::with_capacity(READS);
        for _ in 0..READS {
            let at = below(&mut random, self.blocks) * BLOCK_BYTES as u64;
            let begin = Instant::now();
            self.file
                .read_exact_at(block, at)
                .with_context(|| format!("reading the control disk {} at {at}", self.name))?;
            times.push(begin.elapsed().as_nanos() as f64);
        }
        Ok(median(&mut times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_takes_time_and_is_not_removed() {
        let found = Controls::new(None).unwrap().measure(0).unwrap();
        // Each of the 4 million dependent multiplications takes 3 cycles, at most at 10 GHz.
        assert!(found[CONTROL_CPU] > 1.2e6, "{found:?}");
        assert!(!found.contains_key(CONTROL_DISK));
    }
}
