//! The records of completed requests, read without system calls.

use std::mem::offset_of;

use anyhow::Result;

use crate::mapped::MappedArray;
use crate::maps::Sizes;
use crate::skeleton::IoschedSkel;
use crate::wire::{record, ring};

/// A ring per CPU and level. Whoever has it is its only reader.
pub struct Rings {
    heads: MappedArray<ring>,
    records: MappedArray<record>,
    /// Of one ring; a power of two.
    size: u64,
    read: Vec<u64>,
}

impl Rings {
    pub(crate) fn new(skeleton: &IoschedSkel<'_>, sizes: &Sizes) -> Result<Rings> {
        let (rings, size) = (sizes.rings as usize, sizes.ring_records);
        Ok(Rings {
            heads: MappedArray::writable(&skeleton.maps.rings, rings)?,
            records: MappedArray::new(&skeleton.maps.records, rings * size as usize)?,
            size: size.into(),
            read: vec![0; rings],
        })
    }

    /// Passes on every record that was complete when this was called: in the order of their completion on each CPU, one CPU
    /// after another. Returns how full the fullest ring was, from 0 to 1.
    pub fn drain(&mut self, mut each: impl FnMut(&record)) -> f64 {
        let mut most = 0;
        for (index, read) in self.read.iter_mut().enumerate() {
            let written = self.heads.word(index, offset_of!(ring, written));
            if written == *read {
                continue;
            }
            after_stores();
            most = most.max(written - *read);
            let first = index * self.size as usize;
            while *read < written {
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

/// The kernel's programs store a record before its number, but have no barrier on old kernels. Where other CPUs may see
/// these stores in another order, this waits until all of them have passed one.
fn after_stores() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "s390x")))]
    {
        const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
        // SAFETY: it only takes numbers. Without it, as on no kernel since 4.3, the order is what the CPU makes of it.
        unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    }
}
