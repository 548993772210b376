//! The last intervals, in bounded memory. Pure.

use std::collections::VecDeque;

use super::packed::Packed;

/// An hour at one interval per second.
pub const MOST: usize = 3600;
/// Of compressed intervals.
const BYTES: usize = 20 << 20;

/// Intervals have numbers, from 0 on. The oldest make room for new ones.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    frames: VecDeque<Packed>,
    bytes: usize,
    /// The number of the first that is still held.
    first: u64,
}

impl Kept {
    pub fn push(&mut self, frame: Packed) {
        self.bytes += frame.bytes().len();
        self.frames.push_back(frame);
        while self.frames.len() > MOST || (self.bytes > BYTES && self.frames.len() > 1) {
            self.bytes -= self
                .frames
                .pop_front()
                .map_or(0, |frame| frame.bytes().len());
            self.first += 1;
        }
    }

    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number of the newest; None if there is none.
    pub fn last(&self) -> Option<u64> {
        Some(self.first + (self.frames.len() as u64).checked_sub(1)?)
    }

    pub fn get(&self, number: u64) -> Option<&Packed> {
        let at = number.checked_sub(self.first)?;
        self.frames.get(usize::try_from(at).ok()?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Packed> {
        self.frames.iter()
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Size in memory, which is the size in a file.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
