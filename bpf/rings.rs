//! The records of completed requests, read without system calls.

use std::mem::offset_of;

use anyhow::Result;

use crate::mapped::MappedArray;
use crate::maps::Sizes;
use crate::skeleton::IoschedSkel;
use crate::wire::{record, ring};

/// The rings of all CPUs and levels. Whoever has them is their only reader.
pub struct Rings {
    heads: MappedArray<ring>,
    records: MappedArray<record>,
    /// How many records a ring holds; a power of two.
    size: u64,
    read: Vec<u64>,
    /// How many records each ring had at the last look.
    written: Vec<u64>,
}

impl Rings {
    pub(crate) fn new(skeleton: &IoschedSkel<'_>, sizes: &Sizes) -> Result<Rings> {
        let (rings, size) = (sizes.rings as usize, sizes.ring_records);
        Ok(Rings {
            heads: MappedArray::writable(&skeleton.maps.rings, rings)?,
            records: MappedArray::new(&skeleton.maps.records, rings * size as usize)?,
            size: size.into(),
            read: vec![0; rings],
            written: vec![0; rings],
        })
    }

    /// How many records a ring holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Passes on every record that was complete when this was called: in the order of their completion on each CPU, one CPU
    /// after another. Returns how full the fullest ring was, from 0 to 1.
    pub fn drain(&mut self, mut each: impl FnMut(&record)) -> f64 {
        let before = self.written.clone();
        for (index, written) in self.written.iter_mut().enumerate() {
            *written = self.heads.word(index, offset_of!(ring, written));
        }
        if self.written == self.read {
            return 0.0;
        }
        // Records that were there at the last look have arrived long since.
        let ends = if have_stores_arrived() {
            &self.written
        } else {
            &before
        };
        let mut most = 0;
        for (index, (read, end)) in self.read.iter_mut().zip(ends).enumerate() {
            most = most.max(self.written[index] - *read);
            let first = index * self.size as usize;
            while *read < *end {
                let place = (*read & (self.size - 1)) as usize;
                each(&self.records.get(first + place));
                *read += 1;
            }
            self.heads
                .store_released(index, offset_of!(ring, read), *read);
        }
        most as f64 / self.size as f64
    }

    /// Records that found their ring full.
    pub fn lost(&self) -> u64 {
        let rings = 0..self.read.len();
        rings
            .map(|index| self.heads.word(index, offset_of!(ring, lost)))
            .sum()
    }
}

/// Whether every record is there whose number is there. The kernel's programs store a record before its number, but have no
/// barrier on old kernels. Where other CPUs may see these stores in another order, this waits until all of them have passed
/// a barrier; false if the kernel cannot do that.
fn have_stores_arrived() -> bool {
    std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    #[cfg(any(target_arch = "x86_64", target_arch = "s390x"))]
    return true;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "s390x")))]
    {
        const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
        // SAFETY: it only takes numbers.
        unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0 }
    }
}
