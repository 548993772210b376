//! A BPF array mapped into user space, read without system calls.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Types that may be copied word by word: every bit pattern is valid, and the size is a multiple of 8.
///
/// # Safety
/// The implementor is plain data, `repr(C)`, without padding and without pointers.
pub unsafe trait Plain: Copy {}

/// Implements [`Plain`] for structures that are generated from a wire header, without padding: bpf/tests/sources.rs.
macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        $(
            const _: () = assert!(size_of::<$type>().is_multiple_of(8));
            // SAFETY: integers only, without padding.
            unsafe impl $crate::mapped::Plain for $type {}
        )*
    };
}
pub(crate) use plain;

/// The bytes of a map's key or value.
pub fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: all of its bytes are initialised, since it has no padding, and they live as long as it.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// The value that these bytes begin with.
pub fn value_of<T: Plain>(bytes: &[u8]) -> Option<T> {
    (bytes.len() >= size_of::<T>())
        // SAFETY: there are enough bytes, and any bytes are a valid value.
        .then(|| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// The first part of an array that is mapped as it is needed; each later part is as large as all before it.
const FIRST_BYTES: usize = 256 << 10;

/// The kernel's pages count as this process's memory from the moment they are mapped, used or not. So a part of an array
/// is mapped when one of its elements is first needed.
pub struct MappedArray<T: Plain> {
    base: *mut c_void,
    len: usize,
    bytes: usize,
    protection: ProtFlags,
    map: OwnedFd,
    mapped_bytes: AtomicUsize,
    mapping: Mutex<()>,
    _element: PhantomData<T>,
}

// SAFETY: the mapping is memory of the kernel, alive as long as the value, read with atomic loads.
unsafe impl<T: Plain> Send for MappedArray<T> {}
// SAFETY: as above; changes are atomic stores.
unsafe impl<T: Plain> Sync for MappedArray<T> {}

impl<T: Plain> MappedArray<T> {
    /// `map` must be an array with `BPF_F_MMAPABLE`, `len` elements and values of type `T`.
    pub fn new(map: &impl AsFd, len: usize) -> Result<Self> {
        Self::map(map, len, ProtFlags::READ)
    }

    /// Like `new`; the elements may also be changed.
    pub fn writable(map: &impl AsFd, len: usize) -> Result<Self> {
        Self::map(map, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    fn map(map: &impl AsFd, len: usize, protection: ProtFlags) -> Result<Self> {
        ensure!(
            size_of::<T>().is_multiple_of(8),
            "the kernel's element stride is a multiple of 8"
        );
        let page = rustix::param::page_size();
        let bytes = (len * size_of::<T>()).next_multiple_of(page);
        let map = map.as_fd().try_clone_to_owned()?;
        // SAFETY: a fresh range of addresses that the kernel chooses, and that nobody can access.
        let base = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), flags)
        }
        .context("reserving addresses for a BPF array")?;
        let array = MappedArray {
            base,
            len,
            bytes,
            protection,
            map,
            mapped_bytes: AtomicUsize::new(0),
            mapping: Mutex::new(()),
            _element: PhantomData,
        };
        // An array that cannot be mapped fails here.
        array.extend(FIRST_BYTES.min(bytes))?;
        Ok(array)
    }

    /// Maps the first `to` bytes, whole pages.
    fn extend(&self, to: usize) -> Result<()> {
        let _one_at_a_time = self.mapping.lock();
        let from = self.mapped_bytes.load(Ordering::Acquire);
        if to <= from {
            return Ok(());
        }
        // SAFETY: inside the reserved range, whose pages from here on were not mapped before; the kernel checks that the
        // array is as long.
        unsafe {
            let at = self.base.byte_add(from);
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            mmap(
                at,
                to - from,
                self.protection,
                flags,
                &self.map,
                from as u64,
            )
        }
        .context("mapping a BPF array")?;
        self.mapped_bytes.store(to, Ordering::Release);
        Ok(())
    }

    /// The words of an element.
    ///
    /// # Panics
    /// If there is no such element, or no memory to map it.
    fn element(&self, index: usize) -> &[AtomicU64] {
        assert!(
            index < self.len,
            "element {index} of an array of {}",
            self.len
        );
        let end = (index + 1) * size_of::<T>();
        let mapped = self.mapped_bytes.load(Ordering::Acquire);
        if end > mapped {
            let wanted = end.max(2 * mapped);
            let pages = wanted.next_multiple_of(rustix::param::page_size());
            let outcome = self.extend(pages.min(self.bytes));
            outcome.unwrap_or_else(|error| panic!("{error:#}"));
        }
        // SAFETY: inside the mapping, which is page-aligned, so that each element is 8-aligned; the kernel changes the words
        // concurrently, hence atomic accesses.
        unsafe {
            let first = self.base.cast::<AtomicU64>();
            std::slice::from_raw_parts(first.add(index * Self::WORDS), Self::WORDS)
        }
    }

    const WORDS: usize = size_of::<T>() / 8;

    /// The 8-byte word at byte `offset` of an element that may be changed.
    fn changeable(&self, index: usize, offset: usize) -> &AtomicU64 {
        assert!(self.protection.contains(ProtFlags::WRITE) && offset.is_multiple_of(8));
        &self.element(index)[offset / 8]
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Zeroes an element that the kernel side no longer uses.
    pub fn clear(&self, index: usize) {
        for offset in (0..size_of::<T>()).step_by(8) {
            self.store(index, offset, 0);
        }
    }

    /// Stores the 8-byte word at byte `offset` of an element.
    pub fn store(&self, index: usize, offset: usize, value: u64) {
        self.changeable(index, offset)
            .store(value, Ordering::Relaxed);
    }

    /// Stores the word after everything that was read or written before.
    pub fn store_released(&self, index: usize, offset: usize, value: u64) {
        self.changeable(index, offset)
            .store(value, Ordering::Release);
    }

    /// Stores the word and returns the old value atomically: no update by the kernel is lost in between.
    pub fn swap(&self, index: usize, offset: usize, value: u64) -> u64 {
        self.changeable(index, offset)
            .swap(value, Ordering::Relaxed)
    }

    /// The 8-byte word at byte `offset` of an element.
    pub fn word(&self, index: usize, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8));
        self.element(index)[offset / 8].load(Ordering::Relaxed)
    }

    /// A copy of the element. Each 8-byte word is read atomically; different words may be read at slightly different
    /// moments.
    pub fn get(&self, index: usize) -> T {
        let mut copy = MaybeUninit::<T>::uninit();
        let to = copy.as_mut_ptr().cast::<u64>();
        for (place, word) in self.element(index).iter().enumerate() {
            // SAFETY: the element has as many words as the copy.
            unsafe { to.add(place).write(word.load(Ordering::Relaxed)) };
        }
        // SAFETY: every word was written, and every bit pattern is valid.
        unsafe { copy.assume_init() }
    }
}

impl<T: Plain> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` reserved; nothing borrows from it, since all borrow the array.
        let _ = unsafe { munmap(self.base, self.bytes) };
    }
}
