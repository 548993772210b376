//! A BPF array mapped into user space, read without system calls.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The 32-bit counts of one cache line.
pub type Line = [u32; 2 * LINE_WORDS];
const LINE_WORDS: usize = 8;

/// Types that may be copied word by word: every bit pattern is valid, and the size is a multiple of 8.
///
/// # Safety
/// The implementor is plain data, `repr(C)`, without padding and without pointers.
pub unsafe trait Plain: Copy {}

/// The bytes of a map's key or value.
pub fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: all of its bytes are initialised, since it has no padding, and they live as long as it.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

pub struct MappedArray<T: Plain> {
    base: *const T,
    len: usize,
    bytes: usize,
    is_writable: bool,
    _element: PhantomData<T>,
}

// SAFETY: the mapping is memory of the kernel, alive as long as the value, read with atomic loads.
unsafe impl<T: Plain> Send for MappedArray<T> {}
// SAFETY: as above; changes are atomic stores.
unsafe impl<T: Plain> Sync for MappedArray<T> {}

impl<T: Plain> MappedArray<T> {
    /// `map` must be an array with `BPF_F_MMAPABLE`, `len` elements and values of type `T`.
    pub fn new(map: &impl AsFd, len: usize) -> Result<Self> {
        Self::map(map, len, false)
    }

    /// Like `new`; the elements may also be changed.
    pub fn writable(map: &impl AsFd, len: usize) -> Result<Self> {
        Self::map(map, len, true)
    }

    fn map(map: &impl AsFd, len: usize, is_writable: bool) -> Result<Self> {
        ensure!(
            size_of::<T>().is_multiple_of(8),
            "the kernel's element stride is a multiple of 8"
        );
        let bytes = len * size_of::<T>();
        // SAFETY: a fresh mapping at an address that the kernel chooses; the kernel checks the length.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                if is_writable {
                    ProtFlags::READ | ProtFlags::WRITE
                } else {
                    ProtFlags::READ
                },
                MapFlags::SHARED,
                map.as_fd(),
                0,
            )
        }
        .context("mapping a BPF array")?
        .cast::<T>()
        .cast_const();
        Ok(MappedArray {
            base,
            len,
            bytes,
            is_writable,
            _element: PhantomData,
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Zeroes an element that the kernel side no longer uses.
    pub fn clear(&self, index: usize) {
        assert!(self.is_writable && index < self.len);
        // SAFETY: inside the mapping, which is writable and page-aligned; whole words, as in `get`.
        unsafe {
            let to = self.base.add(index).cast::<AtomicU64>();
            for word in 0..size_of::<T>() / 8 {
                (*to.add(word)).store(0, Ordering::Relaxed);
            }
        }
    }

    /// Stores the 8-byte word at byte `offset` of an element.
    pub fn store(&self, index: usize, offset: usize, value: u64) {
        assert!(self.is_writable && index < self.len && offset.is_multiple_of(8));
        assert!(offset + 8 <= size_of::<T>());
        // SAFETY: as above.
        unsafe {
            let to = self.base.add(index).cast::<AtomicU64>();
            (*to.add(offset / 8)).store(value, Ordering::Relaxed);
        }
    }

    /// Stores the word and returns the old value atomically: no update by the kernel is lost in between.
    pub fn swap(&self, index: usize, offset: usize, value: u64) -> u64 {
        assert!(self.is_writable && index < self.len && offset.is_multiple_of(8));
        assert!(offset + 8 <= size_of::<T>());
        // SAFETY: as above.
        unsafe {
            let to = self.base.add(index).cast::<AtomicU64>();
            (*to.add(offset / 8)).swap(value, Ordering::Relaxed)
        }
    }

    /// The 8-byte word at byte `offset` of an element.
    pub fn word(&self, index: usize, offset: usize) -> u64 {
        assert!(index < self.len && offset.is_multiple_of(8) && offset + 8 <= size_of::<T>());
        // SAFETY: inside the mapping, as in `get`.
        unsafe {
            let from = self.base.add(index).cast::<AtomicU64>();
            (*from.add(offset / 8)).load(Ordering::Relaxed)
        }
    }

    fn words(&self, index: usize, words: Range<usize>) -> &[AtomicU64] {
        assert!(index < self.len && words.end * 8 <= size_of::<T>());
        // SAFETY: inside the mapping, as in `get`.
        unsafe {
            let element = self.base.add(index).cast::<AtomicU64>();
            std::slice::from_raw_parts(element.add(words.start), words.len())
        }
    }

    /// Calls `each` for every changed word of an element with its index in `last`, its old and its new value, and
    /// updates `last`. `first`: index in the element of the first word of `last`.
    pub fn changes(
        &self,
        index: usize,
        first: usize,
        last: &mut [u64],
        mut each: impl FnMut(usize, u64, u64),
    ) {
        let words = self.words(index, first..first + last.len());
        for (place, (word, last)) in words.iter().zip(last).enumerate() {
            let now = word.load(Ordering::Relaxed);
            if now != *last {
                each(place, *last, now);
                *last = now;
            }
        }
    }

    /// One bit for each byte, of 32 bytes from word `first` on, that is not 0.
    pub fn flags(&self, index: usize, first: usize) -> u32 {
        let words = self.words(index, first..first + 4);
        let bytes = words
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let bits = bytes
            .zip(0..)
            .map(|(byte, place)| u32::from(byte != 0) << place);
        bits.fold(0, |all, bit| all | bit)
    }

    /// Appends those non-empty lines of these words of an element whose bit is set in `among`. Returns one bit for
    /// each.
    pub fn lines(
        &self,
        index: usize,
        words: Range<usize>,
        among: u32,
        lines: &mut Vec<Line>,
    ) -> u32 {
        assert!(words.len() <= LINE_WORDS * 32);
        let words = self.words(index, words);
        let (chunks, rest) = words.as_chunks::<LINE_WORDS>();
        assert!(rest.is_empty());
        let mut occupied = 0;
        for (place, chunk) in chunks.iter().enumerate() {
            if among >> place & 1 == 0 {
                continue;
            }
            let line = chunk.each_ref().map(|word| word.load(Ordering::Relaxed));
            if line.iter().fold(0, |all, word| all | word) != 0 {
                lines.push(std::array::from_fn(|cell| {
                    crate::histograms::halves(line[cell / 2])[cell % 2]
                }));
                occupied |= 1 << place;
            }
        }
        occupied
    }

    /// A copy of the element. Each 8-byte word is read atomically; different words may be read at slightly different
    /// moments.
    pub fn get(&self, index: usize) -> T {
        assert!(
            index < self.len,
            "element {index} of an array of {}",
            self.len
        );
        let mut copy = MaybeUninit::<T>::uninit();
        // SAFETY: `index` is inside the mapping, which is page-aligned, so each element is 8-aligned;
        // the kernel changes the words concurrently, hence atomic loads; every word of `copy` is written.
        unsafe {
            let from = self.base.add(index).cast::<AtomicU64>();
            let to = copy.as_mut_ptr().cast::<u64>();
            for word in 0..size_of::<T>() / 8 {
                to.add(word)
                    .write((*from.add(word)).load(Ordering::Relaxed));
            }
            copy.assume_init()
        }
    }
}

impl<T: Plain> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `new` mapped; nothing borrows from it, since `get` copies.
        let _ = unsafe { munmap(self.base.cast_mut().cast(), self.bytes) };
    }
}
