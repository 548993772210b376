//! The last intervals, in bounded memory: the newest one by one, those before them 8 as one, the oldest 64 as one. Pure.

use std::collections::VecDeque;

use super::packed::Packed;

/// Intervals that are held in some form: an hour at one per second.
pub const MOST: u64 = 3600;
/// How many intervals are one, at most.
pub const SPANS: [u64; 3] = [1, 8, 64];
/// So many are held whatever they take: those of which the next sum may still be open.
const LEAST: [usize; 3] = [8, 9, 1];
/// Memory for each.
const BYTES: [usize; 3] = [4 << 20; 3];

/// Some intervals as one. They have numbers, from 0 on.
#[derive(Clone, Debug)]
pub struct Block {
    pub first: u64,
    pub last: u64,
    /// Index into [`SPANS`].
    pub tier: usize,
    pub packed: Packed,
}

#[derive(Clone, Debug)]
pub struct Buffer {
    tiers: [VecDeque<Block>; 3],
    bytes: [usize; 3],
    limits: [usize; 3],
    most: u64,
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::with_limits(BYTES)
    }
}

impl Buffer {
    /// Memory for each tier.
    pub fn with_limits(limits: [usize; 3]) -> Self {
        Buffer {
            tiers: Default::default(),
            bytes: [0; 3],
            limits,
            most: MOST,
        }
    }

    /// Whatever it takes.
    pub fn everything() -> Self {
        Buffer {
            most: u64::MAX,
            ..Buffer::with_limits([usize::MAX; 3])
        }
    }

    pub fn push(&mut self, block: Block) {
        let tier = block.tier;
        let newest = self.last().unwrap_or(0).max(block.last);
        self.bytes[tier] += block.packed.bytes().len();
        self.tiers[tier].push_back(block);
        let limits = LEAST.into_iter().zip(self.limits);
        let tiers = self.tiers.iter_mut().zip(&mut self.bytes).zip(limits);
        for ((blocks, bytes), (least, limit)) in tiers {
            while blocks.len() > least
                && (*bytes > limit || blocks[0].last.saturating_add(self.most) <= newest)
            {
                let oldest = blocks.pop_front();
                *bytes -= oldest.map_or(0, |block| block.packed.bytes().len());
            }
        }
    }

    /// The number of the first interval that is held in any form.
    pub fn first(&self) -> u64 {
        let firsts = self
            .tiers
            .iter()
            .filter_map(|blocks| Some(blocks.front()?.first));
        firsts.min().unwrap_or(0)
    }

    /// The number of the newest; None if there is none.
    pub fn last(&self) -> Option<u64> {
        Some(self.tiers[0].back()?.last)
    }

    /// The block with this interval, in its finest form; if there is none, the next one.
    pub fn at_or_after(&self, number: u64) -> Option<&Block> {
        let found = self.tiers.iter().filter_map(|blocks| {
            let at = blocks.partition_point(|block| block.last < number);
            blocks.get(at)
        });
        // Ties go to the first, which is the finest.
        found.min_by_key(|block| block.first.max(number))
    }

    /// From the block with this interval on.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &Block> {
        let next = |block: &&Block| self.at_or_after(block.last + 1);
        std::iter::successors(self.at_or_after(number), next)
    }

    pub fn is_empty(&self) -> bool {
        self.last().is_none()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.iter().sum()
    }
}
