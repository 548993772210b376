//! The exact dispatch order of a burst of successive issues, which counters with constant work per event cannot give.
//! Pure.
//!
//! Input are the start sequences in issue order. In [1, 2, 0] the last request was overtaken by two, and each of the
//! first two overtook one.

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::Op;

/// The issue of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispatch {
    /// CLOCK_MONOTONIC, of the request's start and of its issue.
    pub start_ns: u64,
    pub issue_ns: u64,
    pub sector: u64,
    pub bytes: u32,
    /// Its numbers among the device's starts and among its issues; both wrap.
    pub start_sequence: u32,
    pub issue_sequence: u32,
    pub hardware_queue: u16,
    pub op: Op,
}

/// Reordering in a burst. Issues before the burst are unknown: a request that they overtook counts as less late.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reordering {
    pub issued: usize,
    /// Requests issued after a request that started later.
    pub reordered: usize,
    /// RFC 4737's extent of each of them: the number of issues since the first one that started later.
    pub extents: Vec<usize>,
    /// For each request, how many later-started requests were issued before it. The sum is the number of inversions.
    pub overtaken_by: Vec<usize>,
}

impl Reordering {
    pub fn reordered_share(&self) -> Option<f64> {
        (self.issued > 0).then(|| self.reordered as f64 / self.issued as f64)
    }

    pub fn inversions(&self) -> usize {
        self.overtaken_by.iter().sum()
    }

    pub fn mean_overtakes(&self) -> Option<f64> {
        (self.issued > 0).then(|| self.inversions() as f64 / self.issued as f64)
    }

    /// The p-quantile of the overtakes, by nearest rank.
    pub fn overtakes_quantile(&self, p: f64) -> Option<usize> {
        let mut sorted = self.overtaken_by.clone();
        sorted.sort_unstable();
        let rank = ((p * sorted.len() as f64).ceil() as usize).max(1);
        sorted.get(rank - 1).copied()
    }
}

/// `sequences`: start sequences in issue order.
pub fn reordering(sequences: &[u32]) -> Reordering {
    let mut result = Reordering {
        issued: sequences.len(),
        ..Reordering::default()
    };
    // Sequences wrap: compare them relative to the first one.
    let base = sequences.first().copied().unwrap_or(0);
    let starts: Vec<i32> = sequences
        .iter()
        .map(|sequence| sequence.wrapping_sub(base).cast_signed())
        .collect();
    // The requests issued so far, sorted: those behind the insertion point started later.
    let mut sorted: Vec<i32> = Vec::with_capacity(starts.len());
    // The issues that raised the maximum, with their places: the first larger one is among them.
    let mut records: Vec<(i32, usize)> = Vec::new();
    for (place, &start) in starts.iter().enumerate() {
        let at = sorted.partition_point(|&other| other <= start);
        result.overtaken_by.push(sorted.len() - at);
        sorted.insert(at, start);
        match records.get(records.partition_point(|&(other, _)| other <= start)) {
            Some(&(_, first)) => {
                result.reordered += 1;
                result.extents.push(place - first);
            }
            None => records.push((start, place)),
        }
    }
    result
}

/// The longest gapless run of issues at the end of `dispatches`, which are in issue order.
pub fn last_burst(dispatches: &[Dispatch]) -> &[Dispatch] {
    let gap = dispatches
        .windows(2)
        .rposition(|pair| pair[1].issue_sequence.wrapping_sub(pair[0].issue_sequence) != 1);
    &dispatches[gap.map_or(0, |gap| gap + 1)..]
}

/// For one hardware queue, or for all.
pub fn reordering_of(dispatches: &[Dispatch], hardware_queue: Option<u16>) -> Reordering {
    let sequences: Vec<u32> = dispatches
        .iter()
        .filter(|dispatch| hardware_queue.is_none_or(|queue| queue == dispatch.hardware_queue))
        .map(|dispatch| dispatch.start_sequence)
        .collect();
    reordering(&sequences)
}

/// Issues numbered from `first`, given as (start sequence, hardware queue).
#[cfg(test)]
pub(crate) fn issues(first: u32, starts: &[(u32, u16)]) -> Vec<Dispatch> {
    let issue = |(place, &(start_sequence, hardware_queue)): (usize, &(u32, u16))| Dispatch {
        start_ns: 0,
        issue_ns: 0,
        sector: 0,
        bytes: 4096,
        start_sequence,
        issue_sequence: first.wrapping_add(place as u32),
        hardware_queue,
        op: Op::Read,
    };
    starts.iter().enumerate().map(issue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sequences: &[u32], reordered: usize, extents: &[usize], inversions: usize) {
        let found = reordering(sequences);
        assert_eq!(found.reordered, reordered, "{sequences:?}");
        assert_eq!(found.extents, extents, "{sequences:?}");
        assert_eq!(found.inversions(), inversions, "{sequences:?}");
    }

    #[test]
    fn known_sequences() {
        check(&[1, 2, 0, 3, 4], 1, &[2], 2);
        check(&[4, 3, 2, 1, 0], 4, &[1, 2, 3, 4], 10);
        check(&[0, 3, 1, 2, 5, 4], 3, &[1, 2, 1], 3);
        check(&[0, 1, 2], 0, &[], 0);
        check(&[], 0, &[], 0);
    }

    #[test]
    fn sequences_may_wrap() {
        check(&[u32::MAX, 1, 0, 2], 1, &[1], 1);
    }

    #[test]
    fn a_burst_begins_behind_the_last_gap() {
        let mut all = issues(5, &[(0, 0); 6]);
        assert_eq!(last_burst(&all), all);
        all.remove(3);
        assert_eq!(last_burst(&all), &all[3..]);
        all.remove(1);
        assert_eq!(last_burst(&all), &all[2..]);
        assert_eq!(last_burst(&[]), []);
    }

    #[test]
    fn a_wrap_is_no_gap() {
        let mut all = issues(u32::MAX - 1, &[(0, 0); 4]);
        assert_eq!(last_burst(&all), all);
        all.remove(1); // the highest number
        assert_eq!(last_burst(&all), &all[1..]);
    }

    /// Queue 1 is in order and overtakes queue 0, in which one request is late.
    #[test]
    fn hardware_queues_have_an_order_of_their_own() {
        let starts = [(2, 1), (1, 0), (4, 1), (0, 0), (5, 1), (3, 0)];
        let all = issues(0, &starts);
        let found = reordering_of(&all, Some(0)); // 1, 0, 3
        assert_eq!((found.issued, found.reordered), (3, 1));
        assert_eq!(found.overtaken_by, [0, 1, 0]);
        assert_eq!(found.extents, [1]);
        let found = reordering_of(&all, Some(1)); // 2, 4, 5
        assert_eq!((found.issued, found.reordered), (3, 0));
        let found = reordering_of(&all, None);
        assert_eq!((found.issued, found.reordered), (6, 3));
        assert_eq!(found.overtaken_by, [0, 1, 0, 3, 0, 2]);
        assert_eq!(found.extents, [1, 3, 3]);
        assert_eq!(reordering_of(&all, Some(2)), Reordering::default());
    }

    #[test]
    fn overtakes_are_those_that_started_later_and_were_issued_before() {
        let found = reordering(&[1, 2, 0, 3, 4]);
        assert_eq!(found.overtaken_by, [0, 0, 2, 0, 0]);
        assert_eq!(found.mean_overtakes(), Some(0.4));
        assert_eq!(found.overtakes_quantile(0.99), Some(2));
        assert_eq!(found.overtakes_quantile(0.5), Some(0));
        assert_eq!(reordering(&[]).reordered_share(), None);
    }
}
