//! The longest time of an interval. The kernel keeps the maximum since the last read, and each snapshot resets it: it
//! is exact between consecutive snapshots. The maximum since the start of a window is kept as well, so it is exact for
//! the window too. Across other snapshots it is exact only if it exceeds all earlier times; otherwise it is the upper
//! end of its histogram cell, which is never below the true maximum if there is a histogram. Pure.

use crate::measured::histogram::Histogram;

/// The maxima at one snapshot; 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// Since the attach.
    pub ever_ns: u64,
    /// Since the snapshot that began the window.
    pub window_ns: u64,
    /// Since the previous snapshot.
    pub new_ns: u64,
}

/// The relation between two snapshots, as far as [`Longest`] needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// Consecutive snapshots.
    Step,
    /// The window: it began with the earlier snapshot, with others in between.
    Window,
    Other,
}

impl Longest {
    /// Adds the maximum that the present snapshot read from the kernel.
    pub fn look(&mut self, new_ns: u64) {
        self.new_ns = new_ns;
        self.window_ns = self.window_ns.max(new_ns);
        self.ever_ns = self.ever_ns.max(new_ns);
    }

    /// A window begins with the last snapshot.
    pub fn begin_window(&mut self) {
        self.window_ns = 0;
    }

    /// The maximum since `earlier`.
    pub(super) fn since(
        self,
        earlier: Longest,
        span: Span,
        known: Option<Known<'_>>,
    ) -> Option<u64> {
        let last = known.and_then(Known::last_cell);
        let taken_ns = match span {
            Span::Step => Some(self.new_ns),
            Span::Window => Some(self.window_ns),
            Span::Other => None,
        };
        if let Some(ns) = taken_ns {
            return match last {
                // Two CPUs may have raised the maximum at once, or the I/O completed during the snapshot.
                Some(cell) if !cell.contains(&ns) => Some(cell.end - 1),
                _ => Some(ns).filter(|&ns| ns > 0),
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

/// A histogram over the interval that contains these times.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    /// It contains only these times.
    Same(&'a Histogram),
    /// It contains other times as well: its maximum is an upper bound.
    More(&'a Histogram),
}

impl Known<'_> {
    /// The cell that contains the longest time, if it is known.
    fn last_cell(self) -> Option<std::ops::Range<u64>> {
        let (Known::Same(histogram) | Known::More(histogram)) = self;
        let (place, _) = histogram.cells().next_back()?;
        let layout = histogram.layout();
        let start = match self {
            Known::Same(_) => layout.lower_ns(place),
            Known::More(_) => 0,
        };
        let end = if place + 1 == layout.cells as usize {
            u64::MAX // the last cell contains all longer times too
        } else {
            layout.upper_ns(place)
        };
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::histogram::OWNER;

    fn histogram(times_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(OWNER);
        for &ns in times_ns {
            histogram.record(ns);
        }
        histogram
    }

    /// At the start of a window.
    fn longest(ever_ns: u64, new_ns: u64) -> Longest {
        Longest {
            ever_ns,
            window_ns: new_ns,
            new_ns,
        }
    }

    const BEFORE: Longest = Longest {
        ever_ns: 9_000_000,
        window_ns: 9_000_000,
        new_ns: 9_000_000,
    };

    #[test]
    fn it_is_exact_from_one_snapshot_to_the_next() {
        let (now, times) = (
            longest(9_000_000, 4_340_000),
            histogram(&[1_000, 4_340_000]),
        );
        for known in [Some(Known::Same(&times)), Some(Known::More(&times)), None] {
            assert_eq!(now.since(BEFORE, Span::Step, known), Some(4_340_000));
        }
        let nothing = histogram(&[]);
        let now = longest(9_000_000, 0);
        assert_eq!(
            now.since(BEFORE, Span::Step, Some(Known::Same(&nothing))),
            None
        );
        let mut fold = Longest::default();
        for (new_ns, ever_ns) in [(70, 70), (0, 70), (90, 90)] {
            fold.look(new_ns);
            assert_eq!((fold.new_ns, fold.ever_ns), (new_ns, ever_ns));
        }
    }

    #[test]
    fn of_a_window_with_snapshots_in_it_it_is_exact() {
        let mut now = BEFORE;
        now.begin_window();
        let earlier = now;
        for ns in [1_000, 4_340_000, 2_000] {
            now.look(ns);
        }
        let times = histogram(&[1_000, 4_340_000, 2_000]);
        let of = |span| now.since(earlier, span, Some(Known::Same(&times)));
        assert_eq!(of(Span::Window), Some(4_340_000));
        assert_eq!(of(Span::Other), Some(times.end_ns().unwrap() - 1));
        assert_eq!(now.since(earlier, Span::Window, None), Some(4_340_000));
        // An update is lost when two CPUs raise the maximum at once.
        let more = histogram(&[1_000, 4_340_000, 7_000_000]);
        let lost = now.since(earlier, Span::Window, Some(Known::Same(&more)));
        assert_eq!(lost, Some(more.end_ns().unwrap() - 1));
    }

    #[test]
    fn one_that_was_lost_or_is_of_another_interval_is_bounded_by_its_cell() {
        let times = histogram(&[1_000, 4_340_000]);
        let end = times.end_ns().unwrap() - 1;
        for new_ns in [0, 1_000, 9_000_000] {
            let now = longest(9_000_000, new_ns);
            let found = now.since(BEFORE, Span::Step, Some(Known::Same(&times)));
            assert_eq!(found, Some(end), "{new_ns}");
        }
        let more = longest(9_000_000, 1_000).since(BEFORE, Span::Step, Some(Known::More(&times)));
        assert_eq!(more, Some(1_000), "the longer one is of the other kind");
    }

    #[test]
    fn across_several_it_is_exact_or_the_end_of_its_cell() {
        let times = histogram(&[4_340_000]);
        let known = Some(Known::Same(&times));
        let end = times.end_ns().unwrap() - 1;
        let risen = longest(9_500_000, 5).since(
            BEFORE,
            Span::Other,
            Some(Known::Same(&histogram(&[9_500_000]))),
        );
        assert_eq!(risen, Some(9_500_000));
        assert_eq!(
            longest(9_000_000, 5).since(BEFORE, Span::Other, known),
            Some(end)
        );
        assert_eq!(longest(9_000_000, 5).since(BEFORE, Span::Other, None), None);
        let same_cell = longest(4_350_000, 4_340_000);
        assert_eq!(
            same_cell.since(same_cell, Span::Other, known),
            Some(4_350_000)
        );
    }

    #[test]
    fn what_is_longer_than_the_layout_is_exact_too() {
        let hour = 3_600_000_000_000;
        let found =
            longest(hour, hour).since(BEFORE, Span::Step, Some(Known::Same(&histogram(&[hour]))));
        assert_eq!(found, Some(hour));
    }
}
