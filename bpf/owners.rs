//! The owners' rows: reads, resets and recycles them.

use std::mem::offset_of;

use anyhow::Result;
use libbpf_rs::{MapCore, MapFlags};

use crate::mapped::bytes_of;
use crate::{Tracer, file_path, owner, owner_key, owner_op};

impl Tracer {
    /// Number of owners that can be kept apart; their indices are below this, and 0 is `other`.
    pub fn owner_count(&self) -> usize {
        self.owners.len()
    }

    /// Whether the row is in use.
    pub fn is_owner(&self, index: usize) -> bool {
        let word = self
            .owners
            .word(index, offset_of!(owner, key) + offset_of!(owner_key, tgid));
        word >> 48 != 0 // tgid, slot, kind
    }

    pub fn owner(&self, index: usize) -> owner {
        self.owners.get(index)
    }

    /// The end of the path of the owner's file; None where the probe does not tell files apart.
    pub fn file_path(&self, index: usize) -> Option<file_path> {
        let paths = self.file_paths.as_ref()?;
        (index < paths.len()).then(|| paths.get(index))
    }

    /// The same, and resets its longest times.
    pub fn take_owner(&self, index: usize) -> owner {
        let mut row = self.owners.get(index);
        let take = |longest: &mut u64, offset| {
            // Most operations were never used.
            if *longest > 0 {
                *longest = self.owners.swap(index, offset, 0);
            }
        };
        for (place, op) in row.op.iter_mut().enumerate() {
            let first = offset_of!(owner, op) + place * size_of::<owner_op>();
            let offset = first + offset_of!(owner_op, q2d_max_ns);
            take(&mut op.q2d_max_ns, offset);
            let offset = first + offset_of!(owner_op, d2c_max_ns);
            take(&mut op.d2c_max_ns, offset);
        }
        row
    }

    /// From now on threads look their owners up again. Call it before rows of owners that still run are freed.
    pub fn begin_owner_epoch(&self) {
        let epoch = self.owner_epoch.get(0) + 1;
        self.owner_epoch.store(0, 0, epoch);
    }

    /// Frees an owner's row for the next owner. Only for an owner whose process has ended and that has no request in
    /// flight; later writeback for it creates a new owner.
    pub fn recycle(&self, index: usize) -> Result<()> {
        let owner = self.owners.get(index);
        let maps = &self.skeleton.maps;
        maps.owner_index.delete(bytes_of(&owner.key))?;
        self.owners.clear(index);
        if self.file_paths.is_some() {
            let nothing = file_path::default();
            let key = (index as u32).to_ne_bytes();
            maps.file_paths
                .update(&key, bytes_of(&nothing), MapFlags::ANY)?;
        }
        maps.free_owners
            .update(&[], &(index as u32).to_ne_bytes(), MapFlags::ANY)?;
        Ok(())
    }
}
