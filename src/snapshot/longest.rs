//! The longest time of an interval. The kernel side keeps the longest since it was last looked at, and each snapshot takes
//! that away: exact between a snapshot and the next. Across several only what is longer than all before is exact; of the
//! rest the histogram gives the cell. Never below the truth where there is a histogram. Pure.

use crate::histogram::Histogram;

/// As a snapshot finds it. 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// Since the attach.
    pub ever_ns: u64,
    /// Since the snapshot before.
    pub new_ns: u64,
}

impl Longest {
    /// Folds in what was taken from the kernel side for the present snapshot.
    pub fn look(&mut self, new_ns: u64) {
        self.new_ns = new_ns;
        self.ever_ns = self.ever_ns.max(new_ns);
    }

    /// Of the time after `earlier`. `is_next`: no snapshot was taken in between.
    pub(super) fn since(
        self,
        earlier: Longest,
        is_next: bool,
        known: Option<Known<'_>>,
    ) -> Option<u64> {
        let last = known.and_then(Known::last_cell);
        if is_next {
            let new = Some(self.new_ns).filter(|&ns| ns > 0);
            return match last {
                // Two CPUs may have raised it at once, or the I/O ended while the snapshot was taken.
                Some(cell) if !cell.contains(&self.new_ns) => Some(cell.end - 1),
                _ => new,
            };
        }
        if self.ever_ns > earlier.ever_ns {
            return Some(self.ever_ns);
        }
        let cell = last?;
        let ever = Some(self.ever_ns).filter(|ns| cell.contains(ns));
        Some(ever.unwrap_or(cell.end - 1))
    }
}

/// The histogram of an interval that has the times in it.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    /// Only them.
    Same(&'a Histogram),
    /// Others beside them: no time is longer, all may be shorter.
    More(&'a Histogram),
}

impl Known<'_> {
    /// Where the longest is, as far as that is known.
    fn last_cell(self) -> Option<std::ops::Range<u64>> {
        let (Known::Same(histogram) | Known::More(histogram)) = self;
        let (place, _) = histogram.cells().next_back()?;
        let layout = histogram.layout();
        let start = match self {
            Known::Same(_) => layout.lower_ns(place),
            Known::More(_) => 0,
        };
        let end = if place + 1 == layout.cells as usize {
            u64::MAX // it takes all that is longer
        } else {
            layout.upper_ns(place)
        };
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::OWNER;

    fn histogram(times_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(OWNER);
        for &ns in times_ns {
            histogram.record(ns);
        }
        histogram
    }

    fn longest(ever_ns: u64, new_ns: u64) -> Longest {
        Longest { ever_ns, new_ns }
    }

    const BEFORE: Longest = Longest {
        ever_ns: 9_000_000,
        new_ns: 9_000_000,
    };

    #[test]
    fn it_is_exact_from_one_snapshot_to_the_next() {
        let (now, times) = (
            longest(9_000_000, 4_340_000),
            histogram(&[1_000, 4_340_000]),
        );
        for known in [Some(Known::Same(&times)), Some(Known::More(&times)), None] {
            assert_eq!(now.since(BEFORE, true, known), Some(4_340_000));
        }
        let nothing = histogram(&[]);
        let now = longest(9_000_000, 0);
        assert_eq!(now.since(BEFORE, true, Some(Known::Same(&nothing))), None);
        let mut fold = Longest::default();
        for (new_ns, ever_ns) in [(70, 70), (0, 70), (90, 90)] {
            fold.look(new_ns);
            assert_eq!(fold, longest(ever_ns, new_ns));
        }
    }

    #[test]
    fn one_that_was_lost_or_is_of_another_interval_is_bounded_by_its_cell() {
        let times = histogram(&[1_000, 4_340_000]);
        let end = times.end_ns().unwrap() - 1;
        for new_ns in [0, 1_000, 9_000_000] {
            let now = longest(9_000_000, new_ns);
            let found = now.since(BEFORE, true, Some(Known::Same(&times)));
            assert_eq!(found, Some(end), "{new_ns}");
        }
        let more = longest(9_000_000, 1_000).since(BEFORE, true, Some(Known::More(&times)));
        assert_eq!(more, Some(1_000), "the longer one is of the other kind");
    }

    #[test]
    fn across_several_it_is_exact_or_the_end_of_its_cell() {
        let times = histogram(&[4_340_000]);
        let known = Some(Known::Same(&times));
        let end = times.end_ns().unwrap() - 1;
        let risen =
            longest(9_500_000, 5).since(BEFORE, false, Some(Known::Same(&histogram(&[9_500_000]))));
        assert_eq!(risen, Some(9_500_000));
        assert_eq!(longest(9_000_000, 5).since(BEFORE, false, known), Some(end));
        assert_eq!(longest(9_000_000, 5).since(BEFORE, false, None), None);
        let same_cell = longest(4_350_000, 4_340_000);
        assert_eq!(same_cell.since(same_cell, false, known), Some(4_350_000));
    }

    #[test]
    fn what_is_longer_than_the_layout_is_exact_too() {
        let hour = 3_600_000_000_000;
        let found = longest(hour, hour).since(BEFORE, true, Some(Known::Same(&histogram(&[hour]))));
        assert_eq!(found, Some(hour));
    }
}
